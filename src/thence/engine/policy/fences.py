"""Absence as a bound on times: what must not lie between two events keeps them close together.

In ``not(c(k)).[a(k), b(k)]`` an ``a`` must not end before the last ``c`` that comes before the
``b``. So from a ``b`` can be seen how far back its ``a`` may lie, and nothing further back need be
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import combine, join_codes
from thence.engine.arrays.ranges import TimeIndex
from thence.engine.arrays.rows import take
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.values.evaluate import evaluate
from thence.logic.bounds import UNBOUNDED, Bounds
from thence.logic.conjunct import Column, EndPoint, WindowUse
from thence.logic.expr import Expr
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.plan.prepared import Prepared

NOWHERE = 2**62
"""Beyond all times."""


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """How early or how late an end of one atom's event may be, for each row of another's relation.

    With ``low``, ``values`` are the earliest times, else the latest. The two may be one atom.
    """

    source: int
    target: int
    end: bool
    low: bool
    values: Index


def fence(
    prepared: Prepared,
    rels: Sequence[Events],
    bounds: Bounds,
    order: Sequence[int],
    window: WindowUse,
) -> Fence | None:
    """An absence as a fence between the two atoms it lies between, from the one that comes first in
    an order to the other; None where it is more than that."""
    use = prepared.uses[window.atom]
    own = {use.start, use.end}
    outer, inner = prepared.meantime(window)
    since = [c for c in outer if c.earlier in own]
    until = [c for c in outer if c.later in own]
    alone = all(prepared.atoms_of(prepared.reads(p)) == {window.atom} for p in window.predicates)
    if use.fact or len(since) != 1 or len(until) != 1 or not alone:
        return None
    (opening,), (closing,) = since, until
    before = _end_of_event(prepared, bounds, opening.later)
    after = _end_of_event(prepared, bounds, closing.earlier)
    if before is None or after is None:
        return None
    rel = rels[window.atom]
    rows = np.arange(len(rel))
    mask = holds(Match(prepared, rels, len(rel), {window.atom: rows}), inner, ())
    rel = rel if mask is None else take(rel, mask)
    ends = {use.start: rel.start, use.end: rel.end}
    later, earlier = ends[opening.earlier], ends[closing.later]
    forward = order.index(after.atom) <= order.index(before.atom)
    source, target = (after, before) if forward else (before, after)
    key = _key(prepared, rels, rel, window, source.atom)
    if key is None:
        return None
    probes, codes, groups = key
    known = rels[source.atom]
    times = (known.end if source.which == "end" else known.start) + source.offset
    count = len(known)
    if forward:
        index = TimeIndex(earlier, codes, groups)
        first, last = index.find(probes, None, times + closing.limit, count)
        best = _extremes(later, codes, index, latest=True)
        found = np.where(first < last, best[np.maximum(last - 1, 0)], -NOWHERE)
        values = np.where(first < last, found + opening.limit + 1 - target.offset, -NOWHERE)
    else:
        index = TimeIndex(later, codes, groups)
        first, last = index.find(probes, times - opening.limit, None, count)
        best = _extremes(earlier, codes, index, latest=False)
        found = np.where(first < last, best[np.minimum(first, len(best) - 1)], NOWHERE)
        values = np.where(first < last, found - closing.limit - 1 - target.offset, NOWHERE)
    return Fence(source.atom, target.atom, target.which == "end", forward, values)


@dataclass(frozen=True, slots=True)
class _End:
    """The start or the end of an atom's event, moved by so much."""

    atom: int
    which: str
    offset: int


def _end_of_event(prepared: Prepared, bounds: Bounds, node: int) -> _End | None:
    """Which event's end a node always is, if bounds say so."""
    for atom in prepared.conjunct.events:
        for own in (prepared.uses[atom].end, prepared.uses[atom].start):
            definition = prepared.conjunct.nodes[own]
            apart = bounds[node, own]
            if isinstance(definition, EndPoint) and apart < UNBOUNDED:
                if apart + bounds[own, node] == 0:
                    return _End(atom, definition.which, apart)
    return None


def _key(
    prepared: Prepared, rels: Sequence[Events], rel: Events, window: WindowUse, source: int
) -> tuple[Index | None, Index | None, int] | None:
    """Codes of what must be equal, for the rows of the atom that a fence starts from, and for the
    rows of the windowed atom; None where that atom does not tell."""
    parts = []
    for name, expr in window.links:
        values = _values(prepared, rels, expr, source)
        if values is None or values.type != rel.columns[name].type:
            return None
        codes, size = join_codes([values, rel.columns[name]])
        parts.append((np.concatenate(codes), size))
    if not parts:
        return None, None, 1
    joined, groups = combine(parts) if len(parts) > 1 else parts[0]
    count = len(rels[source])
    return joined[:count], joined[count:], groups


def _values(prepared: Prepared, rels: Sequence[Events], expr: Expr, source: int) -> Any | None:
    """What an expression is for each row of an atom's relation; None where it takes others."""
    if prepared.atoms_of(prepared.reads(expr)) <= {source}:
        count = len(rels[source])
        match = Match(prepared, rels, count, {source: np.arange(count)})
        try:
            return evaluate(expr, match.leaf, count)
        except EvaluationError:
            return None  # It is computed when it is asked for.
    for link in prepared.conjunct.links:
        if isinstance(expr, Column) and expr in link:
            for column in link:
                if column.atom == source:
                    return rels[source].columns[column.name]
    return None


def _extremes(times: Index, codes: Index | None, index: TimeIndex, latest: bool) -> Index:
    """For each place of an index, the latest of some times up to there among those of one key; or
    the earliest from there on."""
    if index.size == 0:
        return np.zeros(1, dtype=np.int64)
    rows = index.rows(0, index.size)
    levels, ranks = np.unique(times[rows], return_inverse=True)
    if codes is not None:
        _, groups = np.unique(codes[rows], return_inverse=True)
        ranks = groups * len(levels) + ranks
    along = np.maximum.accumulate(ranks) if latest else np.minimum.accumulate(ranks[::-1])[::-1]
    return levels[along % len(levels)]  # type: ignore[no-any-return]
