"""Counts, sums and averages over sliding windows without looking at each event again.

A window that is just a range of the sorted relation, one per group, needs only the difference of
two running totals. The work is then that of finding the ranges, however much they overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays import Index, Mask
from thence.engine.evaluate import evaluate
from thence.engine.match import Match
from thence.engine.rows import select, unique_by
from thence.engine.windows import WindowSearch
from thence.logic.conjunct import is_inner
from thence.logic.expr import Aggregate
from thence.model.events import Events


def sliding(matches: Sequence[Match], groups: Index, heads: Events) -> tuple[Events, Mask] | None:
    """The results of a rule whose aggregates are running totals, and the groups of which they are
    not; None where that is all of them.

    ``heads`` holds the interval and the plain columns of each group. The matches of a group mostly
    share one window; where they do not, the group is not for running totals.
    """
    match = matches[0]
    conjunct = match.prepared.conjunct
    windows = [w for w in conjunct.windows if w.mode == "collect"]
    alone = len(matches) == 1 and len(windows) == 1 and windows[0].last is None
    if not alone or not all(_is_total(match, windows[0].atom, t) for t in conjunct.terms):
        return None
    rel = match.rels[windows[0].atom]
    if len(rel) == 0:
        return None
    search = WindowSearch(match, windows[0])
    apart = identified(match, windows[0].atom).columns
    if not search.exact or not unique_by(rel, apart, start=True, end=True):
        return None
    first, last, torn = _one_range_each(search, groups, len(heads))
    filled = np.flatnonzero(((last > first) | windows[0].optional) & ~torn)
    first, last = first[filled], last[filled]
    order = search.candidates.index.rows(0, search.candidates.index.size)
    columns: dict[str, Any] = {}
    for name, term in zip(conjunct.columns, conjunct.terms, strict=True):
        if isinstance(term, Aggregate):
            column = _totals(match, windows[0].atom, term, order, first, last)
            if column is None:
                return None
            columns[name] = column
        else:
            columns[name] = heads.columns[name].take(pa.array(filled))
    return Events(heads.start[filled], heads.end[filled], columns), torn


def _one_range_each(search: WindowSearch, groups: Index, count: int) -> tuple[Index, Index, Mask]:
    """The range of candidates of each group, and the groups that have several different ones.

    Empty ranges do not count.
    """
    firsts, lasts = search.candidates.first, search.candidates.last
    rows = np.flatnonzero(lasts > firsts)
    first = np.zeros(count, dtype=np.int64)
    last = np.zeros(count, dtype=np.int64)
    first[groups[rows]], last[groups[rows]] = firsts[rows], lasts[rows]
    other = (first[groups[rows]] != firsts[rows]) | (last[groups[rows]] != lasts[rows])
    torn = np.zeros(count, dtype=np.bool_)
    torn[groups[rows[other]]] = True
    return first, last, torn


def identified(match: Match, atom: int) -> Events:
    """A relation with the columns that tell its events apart. An occurrence of an inner pattern is
    its variables and its interval; what is read through a label comes along, but is no part of it.
    """
    rel = match.rels[atom]
    if not is_inner(match.prepared.uses[atom].event):
        return rel
    return select(rel, [name for name in rel.columns if "." not in name])


def _is_total(match: Match, atom: int, term: object) -> bool:
    """Whether a head term is plain, or an aggregate that a running total can give."""
    if not isinstance(term, Aggregate):
        return True
    read = match.prepared.atoms_of(match.prepared.reads(term))
    return term.function in ("count", "sum", "avg") and not term.distinct and read <= {atom}


def _totals(
    match: Match, atom: int, term: Aggregate, order: Index, first: Index, last: Index
) -> Any | None:
    """An aggregate over ranges of the sorted relation, from running totals."""
    if term.arg is None:
        return pa.array(last - first)
    alone = Match(match.prepared, match.rels, len(order), {atom: order})
    values = evaluate(term.arg, alone.leaf, alone.length)
    counts = _between(values.is_valid().to_numpy(zero_copy_only=False), first, last)
    if term.function == "count":
        return pa.array(counts)
    if not pa.types.is_integer(values.type):
        # Differences of running totals of floats would round otherwise than their sums.
        return None
    if len(values) == 0:
        return pa.nulls(len(first), pa.int64() if term.function == "sum" else pa.float64())
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    low, high = int(numbers.min()), int(numbers.max())
    if max(-low, high) * len(numbers) >= 2**62:
        return None
    sums = _between(numbers, first, last)
    empty = counts == 0
    if term.function == "sum":
        return pa.array(sums, mask=empty)
    return pa.array(sums / np.where(empty, 1, counts), mask=empty)


def _between(values: Any, first: Index, last: Index) -> Index:
    """The sum of ``values[first:last]`` for each range."""
    running = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    return running[last] - running[first]
