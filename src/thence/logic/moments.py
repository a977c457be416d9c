"""Operators over moments: patterns related by the instants at which they end.

The algebras of SNOOP and COMPOSE give every event one instant, the end of its occurrence here, and
say of their operators how these instants lie. So each operator is a row of a table: which instants
come at most how long after which, what must be absent between which, and at which one it occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time from ``since`` + ``first`` up to ``until`` + ``last``, both included.

    ``since`` and ``until`` are numbers of parts, the shifts microseconds.
    """

    since: int
    first: int
    until: int
    last: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What an operator asks of the instants of its parts.

    ``bounds`` are (later, earlier, limit): the instant of one part is at most so long after that of
    another. ``absences`` are where nothing may end, one for each pattern that must be absent;
    ``collections`` where everything is collected that ends there. The operator
    occurs at the instant of the part ``at``, or so much ``later``.
    """

    bounds: tuple[tuple[int, int, int], ...]
    absences: tuple[Stretch, ...]
    at: int
    collections: tuple[Stretch, ...] = ()
    later: int = 0


def shape_of(operator: str, parts: int, limit: int) -> Shape:
    """The shape of an operator over so many parts.

    >>> shape_of("prior", 2, 0)
    Shape(bounds=((0, 1, -1),), absences=(), at=1, collections=(), later=0)
    """
    return SHAPES[operator](parts, limit)


def _then(parts: int, _: int) -> Shape:
    return Shape(tuple((a, b, 0) for a, b in pairwise(range(parts))), (), parts - 1)


def _prior(parts: int, _: int) -> Shape:
    return Shape(tuple((a, b, -1) for a, b in pairwise(range(parts))), (), parts - 1)


def _simultaneous(parts: int, _: int) -> Shape:
    both = [pair for a, b in pairwise(range(parts)) for pair in ((a, b, 0), (b, a, 0))]
    return Shape(tuple(both), (), 0)


def _immediately(_parts: int, _: int) -> Shape:
    return Shape(((0, 1, -1),), (Stretch(0, 1, 1, -1),), 1)


def _other_than(_parts: int, _: int) -> Shape:
    return Shape((), (Stretch(0, 0, 0, 0),), 0)


def _aperiodic(_parts: int, _: int) -> Shape:
    return Shape(((0, 1, 0),), (Stretch(0, 0, 1, -1),), 1)


def _aperiodic_whole(_parts: int, _: int) -> Shape:
    return Shape(((0, 1, 0),), (), 1, (Stretch(0, 0, 1, 0),))


def _without(_parts: int, _: int) -> Shape:
    return Shape(((0, 1, 0),), (Stretch(0, 0, 1, 0), Stretch(0, 0, 1, -1)), 1)


def _after_period(_parts: int, limit: int) -> Shape:
    return Shape(((0, 1, -limit),), (), 1)


def _at_its_end(_parts: int, _: int) -> Shape:
    # A row of one is a row, and a longer one ends where its last part does.
    return Shape((), (), 0)


def _tick(_parts: int, limit: int) -> Shape:
    return Shape((), (Stretch(0, 0, 0, limit - 1),), 0, later=limit)


PERIODIC = "periodic"
"""SNOOP's P, which is no single shape: each tick follows from the one before."""

TICK = "#tick"
"""One period after an event, or after another tick, if nothing came that ends it."""

SHAPES: Mapping[str, Callable[[int, int], Shape]] = {
    "then": _then,
    "prior": _prior,
    "relative+": _at_its_end,
    "simultaneous": _simultaneous,
    "immediately": _immediately,
    "other_than": _other_than,
    "aperiodic": _aperiodic,
    "aperiodic*": _aperiodic_whole,
    "without": _without,
    "periodic*": _after_period,
    TICK: _tick,
}
"""SNOOP's sequence, A, A*, P* and negation; COMPOSE's prior, relative+, conjunction, sequence and
negation."""
