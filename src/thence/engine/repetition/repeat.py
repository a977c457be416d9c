"""Repetitions: of what lies in a window, the events that follow one another as a pattern asks.

For each row of a match the candidates are put in order (start, end, attributes). A greedy
repetition takes the first that fits after the one before, again and again; otherwise every chain of
candidates is one, and a row of the match becomes as many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from thence.engine.aggregates.aggregate import collection_order
from thence.engine.arrays import ranges
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import take
from thence.engine.join.match import Match, concat_chained
from thence.engine.join.search import holds
from thence.engine.limits.growth import Growth, expect, listed
from thence.engine.repetition.anychain import any_chain, without_looking
from thence.engine.repetition.preferred import begun_earlier, preferred_rows
from thence.engine.repetition.scan import every_chain, greedy_chains
from thence.engine.values.evaluate import evaluate
from thence.engine.window.windows import WindowSearch
from thence.logic.conjunct import Repetition, WindowUse
from thence.logic.expr import Aggregate, Expr, Folded, leaves


def with_repetitions(match: Match, all_members: bool) -> Match:
    """The rows of a match that have the repetitions it asks for, with these; once for each chain
    where any will do. ``all_members`` is whether somebody asks which events they are."""
    conjunct, full = match.prepared.conjunct, match
    compares = match.prepared.compares_rows
    if compares:
        match = full.where(~begun_earlier(full))
    for window in conjunct.repetitions:
        if match.length:
            match = _repeated(match, window, all_members or _is_read(match, window))
    if compares:
        match = preferred_rows(match, full)
    if match.length and conjunct.having:
        mask = holds(match, (), conjunct.having)
        match = match if mask is None else match.where(mask)
    return match


def _is_read(match: Match, window: WindowUse) -> bool:
    """Whether an aggregate is over a repetition."""
    conjunct = match.prepared.conjunct
    terms = [term for term in conjunct.head.terms if isinstance(term, Aggregate)]
    computed = [term for term in conjunct.head.terms if not isinstance(term, Aggregate)]
    terms += [
        leaf.aggregate
        for expr in (*computed, *conjunct.having)
        for leaf in leaves(expr)
        if isinstance(leaf, Folded)
    ]
    return any(match.repetition_of(term) is window for term in terms)


@dataclass(frozen=True)
class Candidates:
    """What may be a repetition, row by row of a match, in order.

    ``first`` and ``last`` are the positions of what the match says is the first and the last, or
    -1 where it says nothing.
    """

    match: Match
    window: WindowUse
    offsets: Index
    rows: Index
    members: Index
    starts: Index
    ends: Index
    fit: Mask
    """Whether each fulfils its own conditions."""
    first: Index
    last: Index

    @property
    def repetition(self) -> Repetition:
        assert self.window.repetition is not None
        return self.window.repetition

    @cached_property
    def next_to(self) -> tuple[Index, Index]:
        """From and up to where those stand that come next after each, with nothing between."""
        from thence.engine.arrays.chain_kernels import adjacent  # noqa: PLC0415 (compiles)

        return adjacent(self.offsets, self.starts, self.ends)

    def growth(self, unit: str) -> Growth:
        """What listing chains makes grow, for a message."""
        return _repeating(self.match, self.window, unit)

    def values(self, expr: Expr, atom: int) -> Any:
        """An expression over each candidate, which stands for an atom."""
        longer = self.match.extend(self.rows, atom, self.members)
        return evaluate(expr, longer.leaf, longer.length)

    def linked(self, before: Index, after: Index) -> Mask:
        """Whether one candidate may follow another, by their positions."""
        repetition = self.repetition
        if repetition.previous is None or len(before) == 0:
            return np.ones(len(before), dtype=np.bool_)
        longer = self.match.extend(self.rows[after], self.window.atom, self.members[after])
        everyone = np.arange(longer.length)
        longer = longer.extend(everyone, repetition.previous, self.members[before])
        mask = holds(longer, (), repetition.linked)
        return np.ones(len(before), dtype=np.bool_) if mask is None else mask


def _repeated(match: Match, window: WindowUse, members_matter: bool) -> Match:
    repetition = window.repetition
    assert repetition is not None
    members_matter |= repetition.greedy or repetition.strict or bool(repetition.linked)
    if not members_matter:
        found = without_looking(match, window)
        if found is not None:
            return found
    parts, held = [], 0
    for block, search in _blocks(match, window):
        if block.length:
            parts.append(_in_block(block, window, search, members_matter))
            held += len(parts[-1].chains(window.atom).members)
            expect(held, 16, partial(_repeating, match, window, "repeated events"))
    return concat_chained(parts)


def _repeating(match: Match, window: WindowUse, unit: str) -> Growth:
    advice = "take the longest only ('using greedy'), at most so many ('{1,3}'), or shorter windows"
    return Growth(listed(match.prepared, [window.atom], "repeating"), advice, unit)


def _blocks(match: Match, window: WindowUse) -> Iterator[tuple[Match, WindowSearch | None]]:
    """Some rows of a match at a time, with about a chunk of candidates between them, and the search
    for these, none where there is nothing to find."""
    if len(match.rels[window.atom]) == 0:
        yield match, None
        return
    search = WindowSearch(match, window)
    found = search.candidates
    total = np.cumsum(found.last - found.first)
    low = 0
    while low < match.length:
        done = total[low - 1] if low else 0
        high = max(int(np.searchsorted(total, done + ranges.CHUNK, "right")), low + 1)
        if low == 0 and high >= match.length:
            yield match, search
            return
        block = match.take(np.arange(low, min(high, match.length)))
        yield block, WindowSearch(block, window)
        low = high


def _in_block(
    match: Match,
    window: WindowUse,
    search: WindowSearch | None,
    members_matter: bool,
) -> Match:
    found = _candidates(match, window, search)
    repetition = found.repetition
    if repetition.greedy:
        rows, chains = greedy_chains(found)
    elif members_matter:
        rows, chains = every_chain(found)
    else:
        rows, chains = any_chain(found)
    if len(rows) == match.length and np.array_equal(rows, np.arange(match.length)):
        return match.chained(None, window.atom, chains)
    return match.chained(rows, window.atom, chains)


def _candidates(match: Match, window: WindowUse, search: WindowSearch | None) -> Candidates:
    """What may be a repetition, in order."""
    rel, repetition = match.rels[window.atom], window.repetition
    assert repetition is not None
    none = np.empty(0, dtype=np.int64)
    rows, members = (none, none) if search is None else search.all()
    rows, members = _in_order(match, window.atom, rows, members)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=match.length))))
    fit = np.ones(len(rows), dtype=np.bool_)
    if repetition.conditions:
        longer = match.extend(rows, window.atom, members)
        mask = holds(longer, (), repetition.conditions)
        fit = fit if mask is None else mask
    return Candidates(
        match,
        window,
        offsets.astype(np.int64),
        rows,
        members,
        rel.start[members],
        rel.end[members],
        fit,
        _position(match, repetition.first, rows, members),
        _position(match, repetition.last, rows, members),
    )


def _in_order(match: Match, atom: int, rows: Index, members: Index) -> tuple[Index, Index]:
    """Pairs of a row and a member sorted by row, then the member's time, then its attributes."""
    rel = match.rels[atom]
    starts, ends = rel.start[members], rel.end[members]
    rises = (rows[1:] > rows[:-1]) | (
        (rows[1:] == rows[:-1])
        & ((starts[1:] > starts[:-1]) | ((starts[1:] == starts[:-1]) & (ends[1:] > ends[:-1])))
    )
    if rises.all():
        return rows, members
    order = np.lexsort((ends, starts, rows))
    rows, members, starts, ends = rows[order], members[order], starts[order], ends[order]
    same = (rows[1:] == rows[:-1]) & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1])
    if same.any():
        distinct, inverse = np.unique(members, return_inverse=True)
        ranks = collection_order([take(rel, distinct)])[inverse]
        order = np.lexsort((ranks, ends, starts, rows))
        rows, members = rows[order], members[order]
    return rows, members


def _position(match: Match, atom: int | None, rows: Index, members: Index) -> Index:
    """Where among the candidates of each row the event of an atom stands."""
    found = np.full(match.length, -1, dtype=np.int64)
    if atom is not None:
        hits = np.flatnonzero(members == match.rows(atom)[rows])
        found[rows[hits]] = hits
    return found
