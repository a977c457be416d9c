"""The pieces that a rule's body is taken apart into: intervals, windows and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from thence.logic.bounds import Constraint
from thence.logic.ops import Pattern, Repeat
from thence.model.errors import CheckError
from thence.model.source import Span

Nodes = tuple[int, ...]
Interval = tuple[Nodes, Nodes]
"""The nodes whose earliest is where an occurrence starts, and whose latest is where it ends."""


def union(groups: Iterable[Nodes]) -> Nodes:
    """The nodes of some groups, each once.

    >>> union([(1, 2), (2, 3)])
    (1, 2, 3)
    """
    return tuple(dict.fromkeys(node for group in groups for node in group))


Place = Callable[[int, int], list[Constraint]]
"""Given the start and end node of an event, the constraints that put it inside a window."""


class Refuse(Protocol):
    """Makes the error that refuses a rule: where, why, and what to write instead."""

    def __call__(
        self, span: Span, message: str, hint: str | None = None, never: bool = False
    ) -> CheckError: ...


@dataclass(frozen=True, slots=True)
class Context:
    """A history that begins after something has ended: after the latest of some nodes. ``first`` is
    the pattern that these are the ends of."""

    ends: Nodes
    first: Pattern


@dataclass(frozen=True, slots=True)
class Made:
    """What a pattern has made of the body: atoms and windows, by their numbers, and instants of
    clocks, by theirs."""

    atoms: frozenset[int] = frozenset()
    windows: frozenset[int] = frozenset()
    instants: frozenset[int] = frozenset()

    def __or__(self, other: Made) -> Made:
        return Made(
            self.atoms | other.atoms,
            self.windows | other.windows,
            self.instants | other.instants,
        )

    def __sub__(self, other: Made) -> Made:
        return Made(
            self.atoms - other.atoms,
            self.windows - other.windows,
            self.instants - other.instants,
        )


@dataclass(frozen=True, slots=True)
class Window:
    """A window of the match, and the pattern that must be absent from it or is collected in it."""

    mode: Literal["absent", "collect"]
    pattern: Pattern
    place: Place
    width: tuple[int, int] | None
    """Nodes (later, earlier) between which all of the event lies, where that is so."""
    optional: bool = False
    """Whether what is collected may be nothing."""
    silent: bool = False
    """Whether the window only stands beside the match."""
    last: int | None = None
    """How many count at most, where not all do."""
    until: int | None = None
    """The node that nothing in the window ends after."""
    context: Context | None = None
    """The history that is looked at, where that is not the whole one."""
    valid_at: int | None = None
    """The node at which a row of a versioned table must be valid to be looked at."""


@dataclass(frozen=True, slots=True)
class Undated:
    """A row of a versioned table that is looked up, by the number of its atom, or one that must not
    be there, by the number of its window."""

    atom: int | None = None
    window: int | None = None


@dataclass(slots=True)
class Repeated:
    """A repetition in the match: what lies before and after it, and the atoms that its first and
    last one are. ``place`` is how many atoms come before it."""

    pattern: Repeat
    left: Nodes
    right: Nodes
    first: int | None
    last: int | None
    leading: bool
    place: int
