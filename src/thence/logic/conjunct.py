"""The normal form of a rule: one join over intervals.

A :class:`Conjunct` is a set of event atoms, equalities between their columns, difference bounds
between their end points, residual predicates, and windows in which something must be absent or
is collected. Every pattern of the language becomes one or several of these (``normalise.py``),
and the engine knows nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Literal

from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.expr import Aggregate, Expr
from thence.logic.policy import UNRESTRICTED, Policy
from thence.model.source import NOWHERE, Span
from thence.model.time import format_duration, format_timestamp
from thence.model.types import Type

INNER = "#"
"""How the names begin of what no user wrote: auxiliary events, labels and columns."""

EPOCH = 0
"""The node that stands for time zero, so that instants are bounds like any other."""


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """A leaf: an attribute of the event that an atom of the conjunct is bound to."""

    atom: int
    name: str


@dataclass(frozen=True, slots=True)
class NodeTime(Expr):
    """A leaf: the time of a node, a timestamp."""

    node: int


@dataclass(frozen=True, slots=True)
class Node:
    """A time point of a conjunct."""


@dataclass(frozen=True, slots=True)
class Epoch(Node):
    """Time zero."""


@dataclass(frozen=True, slots=True)
class EndPoint(Node):
    """The start or the end of the event that an atom is bound to."""

    atom: int
    which: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Shifted(Node):
    """Another node, moved by some microseconds."""

    node: int
    by: int


@dataclass(frozen=True, slots=True)
class Extreme(Node):
    """The earliest or the latest of other nodes."""

    which: Literal["earliest", "latest"]
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tick(Node):
    """A whole multiple of a period, at or after another node; every one that the bounds allow.

    ``number`` keeps two of them apart.
    """

    node: int
    period: int
    number: int


@dataclass(frozen=True, slots=True)
class AtomUse:
    """One event atom: its type, the label it has in the rule, and its two nodes.

    A fact, which is a row of a table, has no interval: both its nodes are the epoch.
    """

    event: str
    label: str | None
    start: int
    end: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    silent: bool = False
    """Whether it only stands beside the match, and is no part of what the result is made of."""
    hidden: bool = False
    """Whether its type is an auxiliary one."""

    @property
    def fact(self) -> bool:
        """Whether it is met by a row of a table rather than by an event."""
        return self.start == EPOCH


@dataclass(frozen=True, slots=True)
class Repetition:
    """How the events that a window holds follow one another, where they are repetitions.

    Each starts after the one before it has ended. ``first`` and ``last`` are the atoms of the match
    that the first and the last repetition are, where there are such. ``linked`` must hold of each
    repetition (the window's atom) and the one before (the atom ``previous``), ``conditions`` of
    each by itself. ``leading`` says that nothing comes before in the pattern.
    """

    least: int
    most: int | None
    greedy: bool
    strict: bool
    leading: bool
    place: int
    """How many atoms of the match come before it in the pattern."""
    first: int | None
    last: int | None
    previous: int | None
    conditions: tuple[Expr, ...]
    linked: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class WindowUse:
    """An atom that must be absent from, is collected over, or is repeated in a window of the match.

    ``constraints`` place the atom's nodes relative to the match's; ``bounds`` is their closure
    together with the match's own. ``links`` are columns of the atom that equal expressions over
    the match, ``predicates`` whatever else must hold. A window ``previous`` holds what the one of a
    repetition does: its atom stands for the repetition before. Where ``last`` is a number, so many
    count at most: those that come last by (end, start, attributes).
    """

    atom: int
    mode: Literal["absent", "collect", "repeat", "previous"]
    constraints: tuple[Constraint, ...]
    links: tuple[tuple[str, Expr], ...]
    predicates: tuple[Expr, ...]
    bounds: Bounds = field(repr=False)
    repetition: Repetition | None = None
    optional: bool = False
    """Whether a match needs none of what is collected."""
    last: int | None = None
    carried: tuple[str, ...] = ()
    """The columns of the atom that only come along: they do not tell its events apart."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long after its end an event is still needed; ``partner`` is what it waits for, in words.

    ``ways`` are the alternatives in which rules can use it, each with conditions on the event alone
    that must all hold.
    """

    event: str
    micros: int
    partner: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    ways: tuple[tuple[Expr, ...], ...] = ((),)

    @property
    def bounded(self) -> bool:
        return self.micros < UNBOUNDED


@dataclass(frozen=True, slots=True)
class Head:
    """What a conjunct derives from each match: an event of a type, with values and an interval."""

    event: str
    columns: tuple[str, ...]
    types: tuple[Type | None, ...]
    """The types that the columns must have, where a term may not say (``null`` has none)."""
    terms: tuple[Expr | Aggregate, ...]
    start: int
    """The node that the derived event starts at."""
    end: int
    """The node that it ends at."""
    hidden: bool = False
    """Whether it comes from a pattern inside a rule, and not from a rule that somebody wrote."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A rule, or one alternative of a rule, as a single join."""

    head: Head
    atoms: tuple[AtomUse, ...]
    positive: tuple[int, ...]
    nodes: tuple[Node, ...]
    constraints: tuple[Constraint, ...]
    bounds: Bounds = field(repr=False)
    links: tuple[tuple[Column, ...], ...]
    predicates: tuple[Expr, ...]
    windows: tuple[WindowUse, ...]
    completions: tuple[int, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    policy: Policy = UNRESTRICTED
    having: tuple[Expr, ...] = ()
    """Conditions on aggregates over the repetitions of a match."""
    identical: tuple[tuple[Column, Column], ...] = ()
    """Columns of one type that predicates, also of windows, hold to be the same, null or not."""

    @property
    def event(self) -> str:
        """The type of event that it derives."""
        return self.head.event

    @property
    def events(self) -> tuple[int, ...]:
        """The positive atoms that are met by events, and not by facts."""
        return tuple(atom for atom in self.positive if not self.atoms[atom].fact)

    @property
    def parts(self) -> tuple[int, ...]:
        """The atoms that a match is made of."""
        return tuple(atom for atom in self.positive if not self.atoms[atom].silent)

    @property
    def waits(self) -> bool:
        """Whether matches are finalised all together, once the horizon has passed their end."""
        return self.aggregates or self.policy.chooses or bool(self.repetitions)

    @property
    def repetitions(self) -> tuple[WindowUse, ...]:
        """The windows that hold repetitions."""
        return tuple(window for window in self.windows if window.mode == "repeat")

    @property
    def aggregates(self) -> bool:
        """Whether the head aggregates what windows collect."""
        return any(window.mode == "collect" for window in self.windows)


def name_of_use(use: AtomUse) -> str:
    """An event of a join by its label, or by its type."""
    return use.label or use.event


def quoted_use(use: AtomUse) -> str:
    """An event of a join as a message says it: a type that is hidden has no name there."""
    return "the inner pattern" if use.hidden and not use.label else f"'{name_of_use(use)}'"


def name_of_node(
    conjunct: Conjunct, node: int, naming: Callable[[AtomUse], str] = name_of_use
) -> str:
    """A node in words: ``o.end``, ``o.end + 6h``, an instant."""

    def name_of(node: int) -> str:
        return name_of_node(conjunct, node, naming)

    match conjunct.nodes[node]:
        case EndPoint(atom, which):
            return f"{naming(conjunct.atoms[atom])}.{which}"
        case Shifted(0, by):
            return format_timestamp(by)
        case Shifted(of, by):
            sign = "+" if by >= 0 else "-"
            return f"{name_of(of)} {sign} {format_duration(abs(by))}"
        case Extreme(which, nodes):
            return f"{which}({', '.join(map(name_of, nodes))})"
        case Tick(of, period):
            return f"tick({name_of(of)}, {format_duration(period)})"
    return "epoch"


def close_with_extremes(bounds: Bounds, nodes: Sequence[Node]) -> Bounds:
    """Add what follows from an extreme being one of its parts: the latest of some times is at
    most as far from anything as the farthest of them."""
    extremes = [(i, node) for i, node in enumerate(nodes) if isinstance(node, Extreme)]
    if not extremes:
        return bounds
    # Each round is sound, and the last ones gain little: where a pattern is on the verge of being
    # impossible, rounds could go on microsecond by microsecond.
    for _ in range(len(extremes) + 2):
        implied = []
        for index, node in extremes:
            for other in range(len(nodes)):
                if node.which == "latest":
                    later, earlier = index, other
                    limit = max(bounds[part, other] for part in node.nodes)
                else:
                    later, earlier = other, index
                    limit = max(bounds[other, part] for part in node.nodes)
                if limit < min(bounds[later, earlier], UNBOUNDED):
                    implied.append(Constraint(later, earlier, limit))
        if not implied or not bounds.satisfiable:
            break
        bounds = bounds.with_constraints(implied)
    return bounds


def lengths_of(conjunct: Conjunct, lengths: Mapping[str, int]) -> list[Constraint]:
    """What is known of how long the events of a conjunct's atoms last, as constraints."""
    return [
        Constraint(use.end, use.start, lengths[use.event])
        for use in conjunct.atoms
        if use.event in lengths
    ]


def known_bounds(
    conjunct: Conjunct, lengths: Mapping[str, int]
) -> tuple[Bounds, dict[int, Bounds]]:
    """The closed bounds of a match and those of each window's atom, given how long events last."""
    known = lengths_of(conjunct, lengths)

    def closed(bounds: Bounds) -> Bounds:
        return close_with_extremes(bounds.with_constraints(known), conjunct.nodes)

    windows = {window.atom: closed(window.bounds) for window in conjunct.windows}
    return closed(conjunct.bounds), windows


def longest(conjunct: Conjunct, lengths: Mapping[str, int]) -> int:
    """The longest that a derived event can last, given how long others can."""
    bounds, _ = known_bounds(conjunct, lengths)
    return bounds[conjunct.head.end, conjunct.head.start]


@dataclass(frozen=True, slots=True)
class Partner:
    """What an event of a join may still wait for, and for how long after its end: an event of
    another atom, or (``atom`` is -1) a completion time."""

    micros: int
    name: str
    node: int
    atom: int


def partners(
    conjunct: Conjunct, lengths: Mapping[str, int], again: bool = False
) -> tuple[tuple[Partner, ...], ...]:
    """What each atom's events may wait for, from the closed bounds.

    An event that ended at ``e`` can meet a later one only while that one's end may lie above its
    horizon; so it is kept while ``e + bound(other end - e)`` is above it. Completion times
    count like events: a match is finalised when they pass. ``lengths`` says how long events of a
    type last at most. Facts are there from the beginning: nothing waits for them, nor they for
    anything; and nothing is kept for what can never hold, given how long events last.

    With ``again``, events of a match are also kept while others could take their place in it: what
    they were joined with is then known to have been complete once.
    """
    found = []
    match_bounds, windows = known_bounds(conjunct, lengths)
    later = [(conjunct.atoms[i].end, name_of_use(conjunct.atoms[i]), i) for i in conjunct.events]
    later += [
        (completion, name_of_node(conjunct, completion), -1) for completion in conjunct.completions
    ]
    for index, use in enumerate(conjunct.atoms):
        bounds = windows.get(index, match_bounds)
        there = later if bounds.satisfiable and not use.fact else []
        found.append(
            tuple(
                Partner(
                    _again(conjunct, bounds, index) if atom == index else bounds[node, use.end],
                    name,
                    node,
                    atom,
                )
                for node, name, atom in there
                if atom != index or (again and len(conjunct.events) > 1)
            )
        )
    return tuple(found)


def _again(conjunct: Conjunct, bounds: Bounds, atom: int) -> int:
    """How much later than an event of a match another one may end that goes with the others."""
    end = conjunct.atoms[atom].end
    others = [conjunct.atoms[other] for other in conjunct.events if other != atom]
    nodes = [EPOCH, *(node for use in others for node in (use.start, use.end))]
    ways = [(bounds[end, node], bounds[node, end]) for node in nodes]
    return min([UNBOUNDED, *(sum(way) for way in ways if max(way) < UNBOUNDED)])


def retentions(
    conjunct: Conjunct, lengths: Mapping[str, int], again: bool = False
) -> tuple[Retention, ...]:
    """How long each atom's events are needed, and which of their partners takes longest."""
    found = []
    for use, waits in zip(conjunct.atoms, partners(conjunct, lengths, again), strict=True):
        last = max(waits, key=astuple, default=Partner(-UNBOUNDED, "", EPOCH, -1))
        at_last = last.atom < 0
        name = (
            _quoted_node(conjunct, last.node) if at_last else quoted_use(conjunct.atoms[last.atom])
        )
        found.append(Retention(use.event, last.micros, name, use.span))
    return tuple(found)


def _quoted_node(conjunct: Conjunct, node: int) -> str:
    def naming(use: AtomUse) -> str:
        return use.label or ("the inner pattern" if use.hidden else use.event)

    return f"'{name_of_node(conjunct, node, naming)}'"


def partition_key(conjunct: Conjunct) -> tuple[str, ...]:
    """Names of the columns (of the first atom) whose equality joins every atom.

    Events that differ in them never meet, so work can be split by them. Facts are everywhere.
    """
    events = conjunct.events
    atoms = {atom for atom, use in enumerate(conjunct.atoms) if not use.fact}
    if not events or len(atoms) == 1:
        return ()
    keys = [
        min(column.name for column in group if column.atom == events[0])
        for group in equal_columns(conjunct)
        if {column.atom for column in group} >= atoms
    ]
    return tuple(sorted(keys))


def equal_columns(conjunct: Conjunct) -> list[frozenset[Column]]:
    """Classes of columns that have the same value in a match and in what its windows look for."""
    pairs = [(link[0], other) for link in conjunct.links for other in link[1:]]
    pairs += [
        (expr, Column(window.atom, name))
        for window in conjunct.windows
        for name, expr in window.links
        if isinstance(expr, Column)
    ]
    groups: dict[Column, set[Column]] = {}
    for one, other in (*pairs, *conjunct.identical):
        group = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(group, group)
    return [frozenset(group) for group in {id(group): group for group in groups.values()}.values()]
