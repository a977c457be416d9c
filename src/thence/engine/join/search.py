"""Finding the rows of one more atom that can continue a match: key, time range, residual checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Codes, Index, Mask
from thence.engine.arrays.ranges import TimeIndex, expand
from thence.engine.arrays.rows import is_points, take
from thence.engine.arrays.step_memo import remembered
from thence.engine.join.match import Match
from thence.engine.values.evaluate import evaluate
from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.conjunct import EPOCH
from thence.logic.expr import Call, Expr
from thence.model.arrow import to_numpy
from thence.model.events import Events
from thence.plan.order import FEW
from thence.plan.prepared import Prepared

CLASSED = 256
"""A relation with fewer rows is searched as one, however much their lengths differ."""

SKEWED = 8
"""Lengths differ much where the longest is this many times the mean."""

SMALL = 1024
"""A relation with fewer rows is sorted sooner than it is searched for those worth sorting."""


@dataclass(frozen=True, slots=True)
class Key:
    """Codes of the probing match and of the searched rows, numbered together."""

    probes: Codes
    rows: Codes
    groups: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """For each row of a match, a range of an index; ``exact`` nodes are settled by the range."""

    index: TimeIndex
    first: Index
    last: Index
    exact: frozenset[int]

    @property
    def count(self) -> int:
        """How many rows all ranges hold between them."""
        return int((self.last - self.first).sum())

    def pairs(self) -> Iterator[tuple[Index, Index]]:
        """Chunks of (row of the match, row of the relation)."""
        for probes, positions in expand(self.first, self.last):
            yield probes, self.index.at(positions)

    def latest(self, most: int, ranks: Callable[[Index], Index]) -> Candidates:
        """The same with ranges that hold the last so many rows; of those with one time, the ones
        of the highest ranks."""
        begins = np.maximum(self.first, self.last - most)
        tied = self.index.splits_ties(self.first, begins)
        return replace(self, index=self.index.untied(ranks) if tied else self.index, first=begins)

    def outermost(self, side: str) -> Candidates:
        """The same with ranges that hold only their last rows, or their first, ties included."""
        first, last = self.index.outermost(self.first, self.last, side)
        return replace(self, first=first, last=last)

    def take(self, rows: Index) -> Candidates:
        """The ranges of some rows of the match."""
        return replace(self, first=self.first[rows], last=self.last[rows])


def search(
    match: Match,
    atom: int,
    bound: Sequence[int],
    bounds: Bounds,
    constraints: Sequence[Constraint],
    key: Key | None,
    within: Index | None = None,
) -> Candidates:
    """Rows of an atom's relation with an equal key, inside the range that the bounds allow.

    ``bound`` are the nodes that have times in ``match``; the range is over the atom's start or
    its end, whichever the bounds hold tighter. It settles the ``constraints`` between that node
    and the bound ones, and uses what else the bounds imply to be narrower. ``within`` are the rows
    to search, where not all of them.
    """
    use, rel = match.prepared.uses[atom], match.rels[atom]
    points = is_points(rel)
    node = use.start
    if not points and _width(bounds, use.end, bound) < _width(bounds, use.start, bound):
        node = use.end
    times = rel.start if node == use.start else rel.end
    exact = frozenset((use.start, use.end) if points else (node,))
    asked = {
        other
        for constraint in constraints
        for other in _partner(constraint, exact)
        for other in (other, *_aliases(match, other))
    }
    low, high = _range(match, node, bound, bounds, times, asked)
    codes, groups = (None, 1) if key is None else (key.rows, key.groups)
    if match.length * FEW < len(times) and len(times) > SMALL:
        met = _semi_join(times, low, high, key)
        within = met if within is None else np.intersect1d(met, within, assume_unique=True)
    if within is not None:
        times, codes = times[within], None if codes is None else codes[within]
        index = TimeIndex(times, codes, groups, within)
    else:
        arrays = (times,) if codes is None else (times, codes)
        index = remembered("index", arrays, (groups,), lambda: TimeIndex(times, codes, groups))
    first, last = index.find(None if key is None else key.probes, low, high, match.length)
    return Candidates(index, first, last, exact)


def length_classes(rel: Events) -> list[Index]:
    """Rows by how long they last, where that differs much; otherwise none.

    A search for intervals that reach into another must look back as far as the longest one. Were
    all searched together, a single long interval would make every search a long one.
    """
    if is_points(rel) or len(rel) < CLASSED:
        return []
    lengths = rel.end - rel.start
    if int(lengths.max()) <= SKEWED * (float(lengths.mean()) + 1):
        return []
    classes = np.log2(lengths + 1.0).astype(np.int64) // 3
    return [np.flatnonzero(classes == number) for number in np.unique(classes)]


def _semi_join(
    times: Index, low: Index | int | None, high: Index | int | None, key: Key | None
) -> Index:
    """The rows that some probe can meet: for few probes, what is left is worth sorting, the whole
    relation is not."""
    mask = np.ones(len(times), dtype=np.bool_)
    if low is not None:
        mask &= times >= np.min(low)
    if high is not None:
        mask &= times <= np.max(high)
    if key is not None:
        mask &= np.isin(key.rows, key.probes)
    return np.flatnonzero(mask)


def _partner(constraint: Constraint, exact: frozenset[int]) -> frozenset[int]:
    pair = frozenset((constraint.later, constraint.earlier))
    return pair - exact if pair & exact else frozenset()


def _aliases(match: Match, node: int) -> tuple[int, ...]:
    """The other end of a simple event: its time is the same."""
    for atom in match.prepared.node_atoms(node):
        use = match.prepared.uses[atom]
        if node in (use.start, use.end) and is_points(match.rels[atom]):
            return (use.start, use.end)
    return ()


def _width(bounds: Bounds, node: int, bound: Sequence[int]) -> int:
    return bounds.width(node, bound)


def _range(
    match: Match,
    node: int,
    bound: Sequence[int],
    bounds: Bounds,
    times: Index,
    asked: set[int],
) -> tuple[Index | int | None, Index | int | None]:
    """The least and the greatest time that a node may have, for each row of a match."""
    high: Index | int | None = None
    for other in _tightest(bound, asked, lambda k: bounds[node, k], lambda m, k: bounds[m, k]):
        limit = match.time(other) + bounds[node, other]
        high = limit if high is None else np.minimum(high, limit)
    low: Index | int | None = None
    for other in _tightest(bound, asked, lambda k: bounds[k, node], lambda m, k: bounds[k, m]):
        limit = match.time(other) - bounds[other, node]
        low = limit if low is None else np.maximum(low, limit)
    if len(times):
        latest, earliest = bounds[node, EPOCH], -bounds[EPOCH, node]
        if latest < times.max():
            high = latest if high is None else np.minimum(high, latest)
        if earliest > times.min():
            low = earliest if low is None else np.maximum(low, earliest)
    return low, high


def time_range(
    match: Match, atom: int, node: int, bound: Sequence[int], bounds: Bounds
) -> tuple[Index, Index]:
    """The least and the greatest time that a node of an atom may have in each row of a match, by
    every bound between it and the bound nodes."""
    low, high = _range(match, node, bound, bounds, match.rels[atom].start, set(bound))
    ever = np.iinfo(np.int64)
    least, most = ever.min if low is None else low, ever.max if high is None else high
    return np.full(match.length, least), np.full(match.length, most)


def _tightest(
    bound: Sequence[int],
    asked: set[int],
    direct: Callable[[int], int],
    between: Callable[[int, int], int],
) -> list[int]:
    """The nodes whose bound counts: those that a constraint asks about, and of the others those
    whose bound does not follow from another's. (Bounds between nodes may rest on the very search
    at hand, so what is asked must never be left to them.) ``direct`` is the bound of each, and
    ``between(m, k)`` is what turns that of ``m`` into one of ``k``."""
    kept: list[int] = []
    for k in sorted(bound, key=direct):
        if direct(k) >= UNBOUNDED:
            break
        if k in asked or not any(direct(m) + between(m, k) <= direct(k) for m in kept):
            kept.append(k)
    return kept


def unsettled(
    constraints: Sequence[Constraint], exact: frozenset[int], bound: frozenset[int]
) -> list[Constraint]:
    """Constraints less those that a range search has settled: between one of its ``exact`` nodes
    and a node that had a time before."""
    left = []
    for constraint in constraints:
        pair = {constraint.later, constraint.earlier}
        other = pair - exact
        if not (pair & exact and other and other <= bound):
            left.append(constraint)
    return left


def holds(
    match: Match, constraints: Iterable[Constraint], predicates: Iterable[Expr]
) -> Mask | None:
    """Which rows satisfy constraints and predicates; None where all do."""
    mask: Mask | None = None
    for constraint in constraints:
        later = match.time(constraint.later)
        earlier = match.time(constraint.earlier) if constraint.earlier != EPOCH else 0
        ok = later - earlier <= constraint.limit
        mask = ok if mask is None else mask & ok
    conditions = tuple(predicates)
    if conditions:
        # Together and in the order of the text, so that `x != 0 and 10 % x = 1` is safe.
        whole = conditions[0] if len(conditions) == 1 else Call("and", conditions)
        ok = truth(evaluate(whole, match.leaf, match.length))
        mask = ok if mask is None else mask & ok
    return None if mask is None or mask.all() else mask


def truth(values: Any) -> Mask:
    """A boolean Arrow column as a mask in which null is false."""
    if values.null_count:
        values = values.fill_null(False)
    return to_numpy(values)  # type: ignore[no-any-return]


def fulfilling(prepared: Prepared, atom: int, events: Events) -> Events:
    """Those of some events that fulfil what is asked of an atom alone."""
    predicates = prepared.own_predicates(atom)
    if not predicates or len(events) == 0:
        return events
    rels = [events] * len(prepared.uses)
    match = Match(prepared, rels, len(events), {atom: np.arange(len(events))})
    mask = holds(match, (), predicates)
    return events if mask is None else take(events, mask)
