"""Strict repetitions: which events can be next to each other, and which a chain leads to.

Between one repetition and the next nothing of their kind may lie, so each event has few that can
follow it. Whether two can be the first and the last of a repetition is found by going from one to
the next, instead of asking it of every two events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thence.engine.arrays import ranges
from thence.engine.arrays.array_types import Codes, Index, Mask
from thence.engine.arrays.codes import combine, join_codes
from thence.engine.join.chains import spread
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.logic.conjunct import WindowUse
from thence.logic.expr import Expr
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.repetitions import other_end


@dataclass(frozen=True, slots=True)
class Graph:
    """For each event of a relation, the events that may come right after it, or right before it:
    ``targets[offsets[i]:offsets[i + 1]]``. Some of them may turn out not to, where that depends on
    more than the two."""

    offsets: Index
    targets: Index

    @property
    def single(self) -> bool:
        """Whether there is one way only from any event to any other."""
        return bool((np.diff(self.offsets) <= 1).all())


@dataclass(frozen=True, slots=True)
class Reached:
    """Candidates for the last of a repetition given its first, or the other way round: what a chain
    leads to from the one event of each row of a match. No time is settled by that."""

    graph: Graph
    sources: Index
    limits: Index
    starts: Index
    ahead: bool
    least: int
    most: int
    only_furthest: bool = False

    @property
    def exact(self) -> frozenset[int]:
        return frozenset()

    def outermost(self, side: str) -> Reached:
        """Only where a chain begins that can go back no further, where there is one way to go."""
        assert side == "first" and not self.ahead
        return replace(self, only_furthest=True) if self.graph.single else self

    def pairs(self) -> Iterator[tuple[Index, Index]]:
        """Chunks of (row of the match, row of the relation)."""
        from thence.engine.arrays.chain_kernels import (  # noqa: PLC0415 (compiles; few rules need it)
            furthest,
            reached_rows,
            reached_sizes,
        )

        graph = (self.graph.offsets, self.graph.targets, self.starts, self.ahead)
        if self.only_furthest:
            last = furthest(self.sources, self.limits, *graph, self.least, self.most)
            some = np.flatnonzero(last >= 0)
            yield some, last[some]
            return
        sizes = reached_sizes(self.sources, self.limits, *graph, self.least, self.most)
        for begin, stop in ranges.blocks(sizes):
            total = int(sizes[begin:stop].sum())
            if total:
                sources, limits = self.sources[begin:stop], self.limits[begin:stop]
                found = reached_rows(sources, limits, *graph, self.least, self.most, total)
                yield np.repeat(np.arange(begin, stop), sizes[begin:stop]), found


class Neighbours:
    """The strict repetitions of a rule, over the events of one join."""

    def __init__(self, prepared: Prepared, rels: Sequence[Events]) -> None:
        self.prepared = prepared
        self.rels = rels
        self._graphs: dict[tuple[int, bool], Graph] = {}

    def is_last(self, atom: int) -> bool:
        """Whether an atom is the last of its repetition, and not the first."""
        how = self.prepared.strict_ends[atom].repetition
        return how is not None and how.last == atom

    def reached(self, match: Match, atom: int, limits: Index) -> Reached:
        """What an atom can be, given the other end of its repetition in each row of a match, and
        the greatest time at which it may start (the least one, for the first of a repetition)."""
        window, partner = self.prepared.strict_ends[atom], other_end(self.prepared, atom)
        how = window.repetition
        assert how is not None and partner is not None
        ahead = self.is_last(atom)
        graph = self.graph(window, ahead)
        rel = self.rels[window.atom]
        # Where there are several ways, only the shortest is known: others may be long enough.
        least = how.least - 1 if graph.single else min(how.least - 1, 1)
        most = len(rel) if how.most is None else how.most - 1
        starts = np.array(rel.start)  # a copy, since compiled code takes none that is read-only
        return Reached(graph, match.rows(partner), limits, starts, ahead, max(least, 0), most)

    def graph(self, window: WindowUse, ahead: bool) -> Graph:
        found = self._graphs.get((window.atom, ahead))
        if found is None:
            before, after = _steps(self.prepared, self.rels, window)
            size = len(self.rels[window.atom])
            self._graphs[window.atom, True] = _graph(before, after, size)
            self._graphs[window.atom, False] = _graph(after, before, size)
            found = self._graphs[window.atom, ahead]
        return found


def _graph(sources: Index, targets: Index, size: int) -> Graph:
    order = np.argsort(sources, kind="stable")
    counts = np.bincount(sources, minlength=size)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Graph(offsets, np.ascontiguousarray(targets[order]))


def _steps(prepared: Prepared, rels: Sequence[Events], window: WindowUse) -> tuple[Index, Index]:
    """All pairs of an event and one that may come right after it, as far as the two tell."""
    from thence.engine.arrays.chain_kernels import adjacent  # noqa: PLC0415 (compiles; few rules need it)

    rel = rels[window.atom]
    codes = kind_codes(rel, window)
    known = np.flatnonzero(codes >= 0)
    order = known[np.lexsort((rel.end[known], rel.start[known], codes[known]))]
    offsets = np.searchsorted(codes[order], np.arange(int(codes.max(initial=-1)) + 2))
    low, high = adjacent(offsets.astype(np.int64), rel.start[order], rel.end[order])
    fit = _holds(prepared, rels, {window.atom: order}, _conditions(prepared, window), len(order))
    sizes = np.where(fit, high - low, 0)
    before, after = [], []
    for begin, stop in ranges.blocks(sizes):
        one = np.repeat(np.arange(begin, stop), sizes[begin:stop])
        other = spread(low[begin:stop], sizes[begin:stop])
        able = fit[other]
        one, other = order[one[able]], order[other[able]]
        linked = _linked(prepared, rels, window, one, other)
        before.append(one[linked])
        after.append(other[linked])
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *before]), np.concatenate([none, *after])


def kind_codes(rel: Events, window: WindowUse) -> Codes:
    """The kind of each event of a relation as a number: events of one kind agree in what all
    repetitions share. -1 where that is null, which agrees with nothing."""
    if not window.links:
        return np.zeros(len(rel), dtype=np.int64)
    numbered = []
    for name, _ in window.links:
        (codes,), size = join_codes([rel.columns[name]])
        numbered.append((codes, size))
    codes, _ = combine(numbered)
    found = np.full(len(codes), -1, dtype=np.int64)
    valid = codes >= 0
    found[valid] = np.unique(codes[valid], return_inverse=True)[1]
    return found


def _conditions(prepared: Prepared, window: WindowUse) -> list[Expr]:
    """What a repetition must fulfil that reads nothing else of the match."""
    assert window.repetition is not None
    conditions = window.repetition.conditions
    return [c for c in conditions if prepared.atoms_of(prepared.reads(c)) <= {window.atom}]


def _linked(
    prepared: Prepared, rels: Sequence[Events], window: WindowUse, before: Index, after: Index
) -> Mask:
    """Whether one event may follow another, as far as the two tell."""
    how = window.repetition
    assert how is not None
    both = {window.atom, how.previous}
    conditions = [c for c in how.linked if prepared.atoms_of(prepared.reads(c)) <= both]
    rows = {window.atom: after}
    if how.previous is not None:
        rows[how.previous] = before
    return _holds(prepared, rels, rows, conditions, len(after))


def _holds(
    prepared: Prepared,
    rels: Sequence[Events],
    rows: dict[int, Index],
    conditions: Sequence[Expr],
    length: int,
) -> Mask:
    """Whether some events fulfil conditions; all of them where a value that nobody may ever ask for
    has no result: then it is told when it is asked for."""
    try:
        mask = holds(Match(prepared, rels, length, rows), (), conditions)
    except EvaluationError:
        mask = None
    return np.ones(length, dtype=np.bool_) if mask is None else mask
