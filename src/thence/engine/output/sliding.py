"""Aggregates over sliding windows, without telling apart again what is apart already.

A window that is just a range of the sorted relation, one per group, holds each event once and in
order. Aggregates are then over ranges (``rolling.py``): the work is that of finding them, however
much they overlap. For lists, and the few others of which that is not so, all that the ranges hold
is looked at, some ranges at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregates.aggregate import aggregate, depends_on_order, rolled
from thence.engine.aggregates.rolling import over_values
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.ranges import TimeIndex, blocks, expand
from thence.engine.arrays.rows import is_points, unique_by
from thence.engine.join.match import Match
from thence.engine.limits.growth import Growth, expect, listed
from thence.engine.output.latest import collecting, identified, ranks_of
from thence.engine.output.project import typed
from thence.engine.values.evaluate import evaluate
from thence.engine.window.windows import WindowSearch
from thence.logic.expr import Aggregate
from thence.model.events import Events


def sliding(matches: Sequence[Match], groups: Index, heads: Events) -> tuple[Events, Mask] | None:
    """The results of a rule whose groups have one window each, and the groups that have several;
    None where that is not to be said.

    ``heads`` holds the interval and the plain columns of each group. The matches of a group mostly
    share one window; where they do not, the group is not for ranges.
    """
    match = matches[0]
    conjunct = match.prepared.conjunct
    windows = [w for w in conjunct.windows if w.mode == "collect"]
    if len(matches) > 1 or len(windows) > 1:
        return None
    atom = windows[0].atom
    if len(match.rels[atom]) == 0 or not all(
        _reads(match, t) <= {atom} for t in conjunct.head.terms
    ):
        return None
    search, settled = collecting(match, windows[0])
    rel = identified(match, atom)
    if not settled or not search.exact or not unique_by(rel, rel.columns, start=True, end=True):
        return None
    first, last, torn = _one_range_each(search, groups, len(heads))
    filled = np.flatnonzero(((last > first) | windows[0].optional) & ~torn)
    ranges = _Ranges(match, atom, search.candidates.index, first[filled], last[filled])
    columns = {
        name: typed(ranges.aggregate(term), kind)
        if isinstance(term, Aggregate)
        else heads.columns[name].take(pa.array(filled))
        for name, term, kind in zip(
            conjunct.head.columns, conjunct.head.terms, conjunct.head.types, strict=True
        )
    }
    return Events(heads.start[filled], heads.end[filled], columns), torn


def expect_collected(match: Match, results: int, taken: int) -> None:
    """Say that there are so many results already, and about how many bytes they take: once as they
    are, and once more when they are put together."""
    expect(results, 2 * taken // max(results, 1), lambda: _collecting(match))


def _collecting(match: Match) -> Growth:
    windows = [w.atom for w in match.prepared.conjunct.windows if w.mode == "collect"]
    advice = "make the window shorter, its key finer, or aggregate without 'list'"
    return Growth(listed(match.prepared, windows, "collecting"), advice, "results")


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


def _reads(match: Match, term: object) -> frozenset[int] | set[int]:
    """The atoms that an aggregate of the head reads; plain terms are known already."""
    if not isinstance(term, Aggregate):
        return frozenset()
    return match.prepared.atoms_of(match.prepared.reads(term))


class _Ranges:
    """Ranges of a relation that is sorted by an index, one for each group, and what is in them.

    The relation's order is made to be that in which aggregates take events, where that is possible
    and matters. Only rows that lie in some range count: for others an argument may have no value.
    """

    def __init__(self, match: Match, atom: int, index: TimeIndex, first: Index, last: Index):
        self._match = match
        self._atom = atom
        self._index = index
        opened, closed = (np.bincount(ends, minlength=index.size + 1) for ends in (first, last))
        inside = np.cumsum(opened - closed)[:-1] > 0
        self._positions = np.flatnonzero(inside)
        moved = np.concatenate(([0], np.cumsum(inside)))
        self._first, self._last = moved[first], moved[last]
        self._ordered: tuple[Index, Index | None] | None = None

    def aggregate(self, call: Aggregate) -> Any:
        """An aggregate for each range."""
        if call.arg is None:
            return pa.array(self._last - self._first)
        rows = self._index.at(self._positions)
        values = self._values(call, rows)
        ranks: Index | None = None
        if depends_on_order(call, values.type):
            rows, ranks = self._in_order()
            values = self._values(call, rows)
            if ranks is not None and values.null_count:
                ranks = ranks[values.is_valid().to_numpy(zero_copy_only=False)]
        found = rolled(call, over_values(values, self._first, self._last), ranks)
        return self._expanded(call) if found is None else found

    def _values(self, call: Aggregate, rows: Index) -> Any:
        assert call.arg is not None
        alone = Match(self._match.prepared, self._match.rels, len(rows), {self._atom: rows})
        return evaluate(call.arg, alone.leaf, alone.length)

    def _expanded(self, call: Aggregate) -> Any:
        """From all that the ranges hold, some ranges at a time."""
        rows, ranks = self._in_order()
        values = self._values(call, rows)
        parts = []
        taken = 0
        for low, high in blocks(self._last - self._first):
            pairs = list(expand(self._first[low:high], self._last[low:high]))
            groups, positions = pairs[0] if pairs else (np.empty(0, np.int64),) * 2
            if ranks is not None:
                order = np.lexsort((ranks[positions], groups))
                groups, positions = groups[order], positions[order]
            held = values.take(pa.array(positions))
            parts.append(aggregate(call, groups, held, high - low))
            taken += parts[-1].nbytes
            expect_collected(self._match, high, taken)
        if not parts:
            none = np.empty(0, np.int64)
            return aggregate(call, none, values.slice(0, 0), 0)
        return pa.concat_arrays(parts)

    def _in_order(self) -> tuple[Index, Index | None]:
        """The rows in ranges, in the order of the index; and the ranks by which aggregates take
        them, where that is another order."""
        if self._ordered is None:
            rel = identified(self._match, self._atom)
            if is_points(rel):
                index = self._index.untied(lambda rows: ranks_of(rel, rows))
                self._ordered = index.at(self._positions), None
            else:
                rows = self._index.at(self._positions)
                self._ordered = rows, ranks_of(rel, rows)
        return self._ordered
