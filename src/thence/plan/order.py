"""The order of a join: which atom is bound when, how its rows are found, which of them are kept.

That depends on how many rows there are, so it is decided for each join anew, by a pure function of
what is known of their sizes. The engine does what an :class:`Order` says, ``explain`` shows it.

A join goes from the rarest atom inwards, always to the one of which fewest rows go with what is
bound, and takes first those of which one witness is enough: an atom of which only "there was one,
early enough" is still asked needs one row per partial match, not all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Literal

from thence.logic.bounds import Bounds, Constraint
from thence.logic.conjunct import EPOCH
from thence.logic.expr import Expr
from thence.plan.ends import unread
from thence.plan.nearest import Side
from thence.plan.repetitions import leads_alone, other_end
from thence.plan.value_ranges import Place, ValueRange, ways_into

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

FEW = 16
"""Rows are few where others are this many times as many."""

NEARLY = 1.25
"""An atom is nearly the rarest where it has at most this many times as many rows."""

Witness = Literal["all", "any", "earliest", "latest"]
"""Which of the rows that continue a partial match must be kept."""

Strategy = Literal["scan", "range", "lookup", "values", "shapes", "neighbour", "chain"]
"""How the rows of an atom are found: all of them; by key and range of time; in a table by key; in a
table by a range of values, and by key; in a table by where shapes are, and by key; only those next
to a bound event; from the other end of a strict repetition."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of the rows that an atom may be bound to."""

    rows: int
    instants: bool = True
    first: int = 0
    """The earliest start."""
    last: int = 0
    """The latest end."""
    shortest: int = 0
    longest: int = 0
    distinct: Mapping[str, int] = field(default_factory=dict)
    """How many values columns have, as far as that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Binding one atom, given those that are bound already: all but how many rows that gives."""

    atom: int
    strategy: Strategy
    links: tuple[int, ...]
    """The classes of equal columns that tie it to the bound atoms, by their numbers."""
    witness: Witness
    asked: int
    """The node whose time a witness is chosen by."""
    nearest: tuple[Side, ...]
    """Of the rows in range only the outermost count, at these sides."""
    foremost: bool
    """Only what nothing can be put before counts: it leads a greedy repetition, and all else is
    known."""
    times: tuple[int, ...]
    """The nodes that have a time before."""
    settled: frozenset[int]
    """The same and those that have the time of another, and the epoch."""
    open: tuple[Constraint, ...]
    """The constraints that have not been told before."""
    constraints: tuple[Constraint, ...]
    """Those of them that can be told now."""
    predicates: tuple[Expr, ...]
    """The predicates that can be told now."""
    values: ValueRange | None
    """The range of values in which the rows of a table lie, where some of those say so."""
    place: Place | None
    """The point around which shapes of the rows of a table are, where some of those say so."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a join does: the bounds that hold of its rows, and how its atoms are bound one by one.

    ``grown`` says how many rows are expected to continue each partial match, for each step; for the
    first, how many there are to begin with.
    """

    bounds: Bounds
    steps: tuple[Step, ...]
    grown: tuple[float, ...]


def order(
    prepared: Prepared,
    sizes: Mapping[int, Size],
    limits: Sequence[Constraint] = (),
    keep_all: bool = False,
) -> Order | None:
    """How to join rows of some sizes, by atom; None where they cannot meet.

    ``limits`` are more constraints, such as the horizon. With ``keep_all`` every combination is
    kept, as provenance needs it.
    """
    bounds = prepared.conjunct.bounds.with_constraints([*observed(prepared, sizes), *limits])
    if not bounds.satisfiable:
        return None
    return _Choice(prepared, sizes, bounds, keep_all).order()


def semi_join(prepared: Prepared, sizes: Mapping[int, Size], asker: int, atom: int) -> Order | None:
    """How to find the rows of an atom that an asker may meet; None where they cannot."""
    bounds = prepared.conjunct.bounds.with_constraints(observed(prepared, sizes))
    if not bounds.satisfiable:
        return None
    choice = _Choice(prepared, sizes, bounds, keep_all=False)
    return Order(bounds, (choice.step((), asker), choice.step((asker,), atom)), ())


def observed(prepared: Prepared, sizes: Mapping[int, Size]) -> list[Constraint]:
    """Bounds that hold of the rows at hand: their lengths, and when they happen."""
    found = []
    for atom in prepared.conjunct.positive:
        use, size = prepared.uses[atom], sizes[atom]
        found += [
            Constraint(use.end, use.start, size.longest),
            Constraint(use.start, use.end, -size.shortest),
            Constraint(EPOCH, use.start, -size.first),
            Constraint(use.end, EPOCH, size.last),
        ]
    return found


class _Choice:
    """Choosing an order; holds what its steps share."""

    def __init__(
        self, prepared: Prepared, sizes: Mapping[int, Size], bounds: Bounds, keep_all: bool
    ) -> None:
        self.prepared = prepared
        self.sizes = sizes
        self.bounds = bounds
        self.keep_all = keep_all
        self.instants = frozenset(atom for atom, size in sizes.items() if size.instants)

    def order(self) -> Order:
        left = list(self.prepared.conjunct.positive)
        steps: list[Step] = []
        grown: list[float] = []
        while left:
            bound = tuple(step.atom for step in steps)
            ways = [self.step(bound, atom) for atom in self.ways(bound, left)]
            found = [(step.witness == "all", self.growth(step), step) for step in ways]
            _, rows, step = min(found, key=lambda way: way[:2])
            steps.append(step)
            grown.append(rows)
            left.remove(step.atom)
        return Order(self.bounds, tuple(steps), tuple(grown))

    def ways(self, bound: tuple[int, ...], left: Sequence[int]) -> Sequence[int]:
        """The atoms that may be bound next."""
        if self.prepared.as_written:
            return left[:1]
        sooner = self.sooner(left)
        return sooner if bound else [self.first(sooner)]

    def step(self, bound: tuple[int, ...], atom: int) -> Step:
        """The same for the same atoms, whatever their sizes; so it is remembered."""
        key = (bound, atom, self.instants, self.keep_all)
        found = self.prepared.steps.get(key)
        if found is None:
            found = _step(self.prepared, bound, atom, self.instants, self.keep_all)
            self.prepared.steps[key] = found
        return found

    def first(self, positive: Sequence[int]) -> int:
        """The atom to begin with: the rarest, or one that is nearly so and starts the match, since
        then results come in the order of their start."""
        if self.prepared.decided:
            # Of the others only one witness is needed, which is seen from those that are read.
            idle = unread(self.prepared)
            positive = [atom for atom in positive if atom not in idle] or positive
        # Rows that lie in a range, or around a point, are seen from what says where that is.
        positive = [a for a in positive if not self.is_ranged(a)] or positive
        rarest = min(positive, key=lambda atom: self.sizes[atom].rows)
        few = self.sizes[rarest].rows
        for near in self.prepared.nearest:
            # Only from its partner can be seen which one of the rarest is meant.
            if near.atom == rarest and near.partner != rarest:
                step = self.step((rarest,), near.partner)
                tried = few * expected_rows(self.prepared, step, self.sizes, self.bounds)
                if self.sizes[near.partner].rows <= max(FEW * few, tried):
                    return near.partner
        starts = self.prepared.node_atoms(self.prepared.conjunct.head.start)
        most = NEARLY * few
        early = [atom for atom in positive if atom in starts and self.sizes[atom].rows <= most]
        return early[0] if len(early) == 1 else rarest

    def is_ranged(self, atom: int) -> bool:
        """Whether the rows of an atom are found by their values once all others are bound."""
        if not self.prepared.uses[atom].fact:
            return False
        others = tuple(each for each in self.prepared.conjunct.positive if each != atom)
        return bool(others) and self.step(others, atom).strategy in ("values", "shapes")

    def sooner(self, left: Sequence[int]) -> Sequence[int]:
        """The atoms to be bound before others: of what can be the first of a greedy repetition that
        leads the pattern, few are left once all else is known. Of what asks for results one is
        enough, and what it cannot meet is gone already."""
        demand = self.prepared.demand
        if demand is not None and len(left) > 1:
            left = [atom for atom in left if atom != demand.atom]
        if not self.prepared.conjunct.repetitions:
            return left
        return [a for a in left if not leads_alone(self.prepared, a)] or left

    def growth(self, step: Step) -> float:
        """A guess at how many rows each partial match grows into."""
        if step.strategy == "scan":
            return float(self.sizes[step.atom].rows)
        if step.strategy in ("chain", "neighbour", "shapes"):
            return 1.0
        if step.values is not None and step.values.is_closed:
            return 1.0  # what values are sorted into is mostly disjoint
        return expected_rows(self.prepared, step, self.sizes, self.bounds)


def expected_rows(
    prepared: Prepared, step: Step, sizes: Mapping[int, Size], bounds: Bounds
) -> float:
    """A guess at how many rows of an atom have the key and a time that go with bound ones."""
    size, use = sizes[step.atom], prepared.uses[step.atom]
    width = min(bounds.width(node, step.times) for node in (use.start, use.end))
    span = max(size.last - size.first, 1)
    return size.rows * min(1.0, (width + 1) / span) / keys(prepared, step, size)


def keys(prepared: Prepared, step: Step, size: Size) -> float:
    """How many keys the rows of an atom have: known, or guessed at where nothing is known."""
    if not step.links:
        return 1.0
    known = [
        size.distinct[column.name]
        for number in step.links
        for column in prepared.conjunct.links[number]
        if column.atom == step.atom and column.name in size.distinct
    ]
    return max(1.0, min(float(prod(known)), size.rows) if known else float(size.rows) ** 0.5)


def _step(
    prepared: Prepared,
    bound: tuple[int, ...],
    atom: int,
    instants: frozenset[int],
    keep_all: bool,
) -> Step:
    """How an atom is bound once others are, of which some are instants."""
    conjunct = prepared.conjunct
    links = tuple(
        number
        for number, link in enumerate(conjunct.links)
        if any(c.atom == atom for c in link) and any(c.atom in bound for c in link)
    )
    nearest = tuple(
        near.side
        for near in prepared.nearest
        if near.atom == atom and near.partner in bound and (not near.points or atom in instants)
    )
    times = _times(prepared, bound, instants)
    after = (*bound, atom)
    settled = _settled(prepared, bound, times)
    known = _settled(prepared, after, _times(prepared, after, instants))
    open_, later = prepared.constraints, prepared.cross
    if bound:
        open_ = tuple(c for c in open_ if not {c.later, c.earlier} <= settled)
        later = [(p, atoms) for p, atoms in later if not atoms <= set(bound)]
    due = tuple(c for c in open_ if {c.later, c.earlier} <= known)
    left = [c for c in open_ if c not in due]
    predicates = tuple(p for p, atoms in later if atoms <= set(after))
    use = prepared.uses[atom]
    witness: Witness = "all"
    if not keep_all:
        unmet = [p for p, atoms in later if not atoms <= set(after)]
        witness = _witness(prepared, bound, atom, open_, unmet, atom in instants)
    is_last = len(after) == len(conjunct.positive)
    values, around = ways_into(prepared, bound, atom, predicates) if bound else (None, None)
    strategy = _strategy(prepared, bound, atom, bool(nearest))
    if strategy == "lookup" and (values is not None or around is not None):
        strategy = "values" if around is None else "shapes"
    return Step(
        atom,
        strategy,
        links,
        witness,
        use.end if any(use.end in (c.later, c.earlier) for c in left) else use.start,
        nearest,
        is_last and not predicates and leads_alone(prepared, atom),
        times,
        settled,
        open_,
        due,
        predicates,
        values,
        around,
    )


def _strategy(prepared: Prepared, bound: tuple[int, ...], atom: int, near: bool) -> Strategy:
    if not bound:
        return "scan"
    if other_end(prepared, atom) in bound:
        return "chain"
    if near:
        return "neighbour"
    return "lookup" if prepared.uses[atom].fact else "range"


def _times(prepared: Prepared, bound: tuple[int, ...], instants: frozenset[int]) -> tuple[int, ...]:
    """The nodes that have times of their own; not the end of a simple event, whose start says the
    same."""
    if not bound:
        return ()
    same = {prepared.uses[atom].end for atom in bound if atom in instants}
    known = frozenset(bound)
    return tuple(
        node
        for node in range(1, len(prepared.conjunct.nodes))
        if prepared.base(node) == (node, 0)
        and prepared.node_atoms(node) <= known
        and node not in same
    )


def _settled(prepared: Prepared, bound: tuple[int, ...], times: tuple[int, ...]) -> frozenset[int]:
    """All nodes that have times, and the epoch."""
    uses = (prepared.uses[atom] for atom in bound)
    return frozenset((EPOCH, *times, *(node for use in uses for node in (use.start, use.end))))


def _witness(
    prepared: Prepared,
    bound: tuple[int, ...],
    atom: int,
    open_: Sequence[Constraint],
    unmet: Sequence[Expr],
    instants: bool,
) -> Witness:
    """Which rows of an atom matter, given what is still to be asked of it once it is bound."""
    after = frozenset((*bound, atom))
    reads = prepared.after_join
    for predicate in unmet:
        reads |= prepared.reads(predicate)
    ends = (prepared.uses[atom].start, prepared.uses[atom].end)
    if any(column.atom == atom for column in reads.columns) or _opens_link(prepared, bound, atom):
        return "all"
    if any(node in reads.nodes for node in ends):
        return "all"
    directions: set[tuple[str, int]] = set()
    for constraint in open_:
        pair = (constraint.later, constraint.earlier)
        one, other = prepared.node_atoms(pair[0]), prepared.node_atoms(pair[1])
        if atom not in one and atom not in other:
            continue
        if one <= after and other <= after:
            continue
        if any(atom in prepared.node_atoms(node) for node in pair if node not in ends):
            return "all"  # It takes part in an extreme of several times.
        side = "earliest" if constraint.later in ends else "latest"
        directions.add((side, constraint.later if side == "earliest" else constraint.earlier))
    if not directions:
        return "any"
    sides = {side for side, _ in directions}
    nodes = {node for _, node in directions}
    if len(sides) == 1 and (len(nodes) == 1 or instants):
        return "earliest" if sides == {"earliest"} else "latest"
    return "all"


def _opens_link(prepared: Prepared, bound: tuple[int, ...], atom: int) -> bool:
    """Whether an atom brings in a value that atoms not bound yet must equal."""
    return any(
        any(column.atom == atom for column in link)
        and not any(column.atom in bound for column in link)
        and any(column.atom not in (*bound, atom) for column in link)
        for link in prepared.conjunct.links
    )
