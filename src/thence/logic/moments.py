"""Operators over moments: patterns related by the instants at which they end.

The semantic windows and the algebras of SNOOP and COMPOSE give every event one instant, the end of
its occurrence here, and say of their operators how these instants lie. So each operator is a row of
one table: what its arguments are, which instants come at most how long after which, what must be
absent between which, and at which one it occurs. Whoever reads, writes or runs them asks the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Literal, TypeVar

from thence.logic.bounds import Constraint, less

T = TypeVar("T")

Role = Literal["part", "absent", "collected"]
"""What an argument is: it must occur, it must be absent, or what there is of it is collected."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time from ``since`` + ``first`` up to ``until`` + ``last``: ``after`` the one only, and
    ``before`` the other, where it says so; else these are included.

    ``since`` and ``until`` are numbers of parts, the shifts microseconds.
    """

    since: int
    first: int
    until: int
    last: int
    after: bool = False
    before: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What an operator asks of the instants of its parts.

    It occurs at the latest instant of the parts ``at``, or so much ``later``. ``bounds`` are
    between the instants of parts, by their numbers.
    ``absences`` are where nothing may end, one for each pattern that must be absent;
    ``collections`` where everything is collected that ends there.
    """

    at: tuple[int, ...]
    bounds: tuple[Constraint, ...] = ()
    absences: tuple[Stretch, ...] = ()
    collections: tuple[Stretch, ...] = ()
    later: int = 0


@dataclass(frozen=True, slots=True)
class Operator:
    """A row of the table: all that is particular to an operator.

    ``roles`` are what its arguments are, in the order in which they are written, and ``duration``
    is the place of the duration among them, if it takes one. ``last`` says of the last of them
    whether it stands there once, or more often, each time for one more; whether it is any number of
    alternatives, and every event that comes in where none is given (``among``); or whether it may
    be left out, and is the one before it again (``same``). ``shape`` is for a number of parts and a
    duration. With ``history``, each part but the first is finalised on what begins after the one
    before it has ended (``history.py``).
    """

    roles: tuple[Role, ...]
    shape: Callable[[int, int], Shape]
    duration: int | None = None
    last: Literal["once", "more", "among", "same"] = "once"
    history: bool = False

    @property
    def least(self) -> int:
        """How many arguments it takes at least, the duration not counted."""
        return len(self.roles) - (self.last in ("among", "same"))

    @property
    def more(self) -> bool:
        """Whether it takes any number of arguments from there on."""
        return self.last in ("more", "among")

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments, the duration not counted."""
        return self.least <= count and (self.more or count <= len(self.roles))

    def divided(self, arguments: Sequence[T]) -> dict[Role, list[T]]:
        """Arguments by what they are; those beyond the last one are what the last one is.

        >>> OPERATORS["aperiodic*"].divided(["open", "item", "close"])
        {'part': ['open', 'close'], 'absent': [], 'collected': ['item']}
        >>> OPERATORS["immediately"].divided(["a", "b", "c", "d"])["absent"]
        ['c', 'd']
        """
        found: dict[Role, list[T]] = {"part": [], "absent": [], "collected": []}
        for number, argument in enumerate(arguments):
            found[self.roles[min(number, len(self.roles) - 1)]].append(argument)
        return found

    def arguments(
        self, parts: Sequence[T], absent: Sequence[T] = (), collected: Sequence[T] = ()
    ) -> list[T]:
        """The arguments of a call, in the order in which they are written.

        >>> OPERATORS["without"].arguments(["first", "last"], ["unwanted"])
        ['first', 'unwanted', 'last']
        """
        given = {"part": iter(parts), "absent": iter(absent), "collected": iter(collected)}
        ordered = [each for role in self.roles for each in islice(given[role], 1)]
        return [*ordered, *given[self.roles[-1]]]


def _in_order(bound: Callable[[int, int], Constraint]) -> Callable[[int, int], Shape]:
    """Each as the bound says relative to the one before it: at the last."""
    return lambda parts, _: Shape(
        (parts - 1,), tuple(bound(a, b) for a, b in pairwise(range(parts)))
    )


def _at_most(later: int, earlier: int, limit: int = 0) -> Constraint:
    return Constraint(later, earlier, limit)


def _simultaneous(parts: int, _: int) -> Shape:
    pairs = [pair for a, b in pairwise(range(parts)) for pair in ((a, b), (b, a))]
    return Shape((0,), tuple(_at_most(*pair) for pair in pairs))


def _tick(_: int, period: int) -> Shape:
    return Shape((0,), absences=(Stretch(0, 0, 0, period, before=True),), later=period)


PERIODIC = "periodic"
"""SNOOP's P. The shape is that of a tick after an event; each further tick follows from the one
before."""

MOST_TICKS = 100_000
"""How many ticks one event may have."""

TICK = "#tick"
"""One period after an event, or after another tick, if nothing came that ends it."""

RELATIVE = "relative"
"""COMPOSE's relative(E, F): F in the history that begins after E."""

ROW = "relative+"
"""COMPOSE's relative+(E): E, relative(E, E), relative(relative(E, E), E), and so on."""

_PERIODIC = Operator(("part", "absent"), _tick, duration=1)

OPERATORS: Mapping[str, Operator] = {
    # The semantic windows; t1 and t2 are the instants of their arguments.
    # t1 < t2 <= t1 + d, at t2
    "follows": Operator(
        ("part", "part"), lambda _, d: Shape((1,), (less(0, 1), _at_most(1, 0, d))), duration=2
    ),
    # t1 - d <= t2 < t1, at t1
    "precedes": Operator(
        ("part", "part"), lambda _, d: Shape((0,), (less(1, 0), _at_most(0, 1, d))), duration=2
    ),
    # no t2 with t1 < t2 <= t1 + d, at t1 + d
    "notfollows": Operator(
        ("part", "absent"),
        lambda _, d: Shape((0,), absences=(Stretch(0, 0, 0, d, after=True),), later=d),
        duration=2,
    ),
    # no t2 with t1 - d <= t2 < t1, at t1
    "notprecedes": Operator(
        ("part", "absent"),
        lambda _, d: Shape((0,), absences=(Stretch(0, -d, 0, 0, before=True),)),
        duration=2,
    ),
    # |t1 - t2| <= d, at the later one
    "both": Operator(
        ("part", "part"),
        lambda _, d: Shape((0, 1), (_at_most(0, 1, d), _at_most(1, 0, d))),
        duration=2,
    ),
    # SNOOP's sequence, A, A*, P, P* and negation.
    "then": Operator(("part", "part"), _in_order(_at_most), last="more"),
    "aperiodic": Operator(
        ("part", "part", "absent"),
        lambda *_: Shape((1,), (_at_most(0, 1),), (Stretch(0, 0, 1, 0, before=True),)),
    ),
    "aperiodic*": Operator(
        ("part", "collected", "part"),
        lambda *_: Shape((1,), (_at_most(0, 1),), collections=(Stretch(0, 0, 1, 0),)),
    ),
    PERIODIC: _PERIODIC,
    TICK: _PERIODIC,
    "periodic*": Operator(
        ("part", "part"), lambda _, d: Shape((1,), (_at_most(0, 1, -d),)), duration=1
    ),
    "without": Operator(
        ("part", "absent", "part", "absent"),
        lambda *_: Shape(
            (1,), (_at_most(0, 1),), (Stretch(0, 0, 1, 0), Stretch(0, 0, 1, 0, before=True))
        ),
        last="same",
    ),
    # COMPOSE's prior, relative, relative+, conjunction, sequence and negation.
    "prior": Operator(("part", "part"), _in_order(less), last="more"),
    RELATIVE: Operator(("part", "part"), _in_order(less), last="more", history=True),
    # A row of one is a row, and a longer one ends where its last part does.
    ROW: Operator(("part",), lambda *_: Shape((0,))),
    "simultaneous": Operator(("part", "part"), _simultaneous, last="more"),
    "immediately": Operator(
        ("part", "part", "absent"),
        lambda *_: Shape((1,), (less(0, 1),), (Stretch(0, 0, 1, 0, after=True, before=True),)),
        last="among",
    ),
    "other_than": Operator(
        ("absent", "part"),
        lambda *_: Shape((0,), absences=(Stretch(0, 0, 0, 0),)),
        last="among",
    ),
}
