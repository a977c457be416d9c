"""Finding the rows of one more atom that can continue a match: key, time range, residual checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.engine.evaluate import evaluate
from thence.engine.keys import Codes
from thence.engine.match import Match
from thence.engine.ranges import TimeIndex, expand
from thence.engine.rows import is_points
from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.conjunct import EPOCH
from thence.logic.expr import Expr
from thence.model.events import Events

Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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

    def pairs(self) -> Iterator[tuple[Index, Index]]:
        """Chunks of (row of the match, row of the relation)."""
        for probes, positions in expand(self.first, self.last):
            yield probes, self.index.at(positions)


def search(
    match: Match, atom: int, bound: Sequence[int], bounds: Bounds, key: Key | None
) -> Candidates:
    """Rows of an atom's relation with an equal key, inside the range that the bounds allow.

    ``bound`` are the nodes that have times in ``match``; the range is over the atom's start or
    its end, whichever the bounds hold tighter.
    """
    use, rel = match.prepared.uses[atom], match.rels[atom]
    points = is_points(rel)
    node = use.start
    if not points and _width(bounds, use.end, bound) < _width(bounds, use.start, bound):
        node = use.end
    times = rel.start if node == use.start else rel.end
    index = TimeIndex(times, None if key is None else key.rows, 1 if key is None else key.groups)
    low, high = _range(match, node, bound, bounds, times)
    codes = None if key is None else key.probes
    first, last = index.find(codes, low, high, match.length)
    return Candidates(index, first, last, frozenset((use.start, use.end) if points else (node,)))


def _width(bounds: Bounds, node: int, bound: Sequence[int]) -> int:
    return min((bounds[node, k] + bounds[k, node] for k in bound), default=2 * UNBOUNDED)


def _range(
    match: Match, node: int, bound: Sequence[int], bounds: Bounds, times: Index
) -> tuple[Index | int | None, Index | int | None]:
    """The least and the greatest time that a node may have, for each row of a match."""
    high: Index | int | None = None
    for other in _tightest(bound, lambda k: bounds[node, k], lambda m, k: bounds[m, k]):
        limit = match.time(other) + bounds[node, other]
        high = limit if high is None else np.minimum(high, limit)
    low: Index | int | None = None
    for other in _tightest(bound, lambda k: bounds[k, node], lambda m, k: bounds[k, m]):
        limit = match.time(other) - bounds[other, node]
        low = limit if low is None else np.maximum(low, limit)
    if len(times):
        latest, earliest = bounds[node, EPOCH], -bounds[EPOCH, node]
        if latest < times.max():
            high = latest if high is None else np.minimum(high, latest)
        if earliest > times.min():
            low = earliest if low is None else np.maximum(low, earliest)
    return low, high


def _tightest(bound, direct, between):  # type: ignore[no-untyped-def]
    """The nodes whose bound is not implied by a bound through another of them."""
    kept: list[int] = []
    for k in sorted(bound, key=direct):
        if direct(k) >= UNBOUNDED:
            break
        if not any(direct(m) + between(m, k) <= direct(k) for m in kept):
            kept.append(k)
    return kept


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
    for predicate in predicates:
        ok = truth(evaluate(predicate, match.leaf, match.length))
        mask = ok if mask is None else mask & ok
    return None if mask is None or mask.all() else mask


def truth(values: object) -> Mask:
    """A boolean Arrow column as a mask in which null is false."""
    if values.null_count:  # type: ignore[attr-defined]
        values = values.fill_null(False)  # type: ignore[attr-defined]
    return values.to_numpy(zero_copy_only=False)  # type: ignore[attr-defined, no-any-return]


def filtered(rel: Events, keep: Mask | None) -> Mask | None:
    """A mask over a relation, or None where it keeps everything."""
    return None if keep is None or len(rel) == int(keep.sum()) else keep
