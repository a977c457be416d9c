"""Partial matches of a rule, as joins of their own: which parts are there, and what may still come.

The engine stores no partial matches. Somebody who asks how far a rule has come gets them by the
same joins: for each set of parts that may be there while the others are still to come, one join
over these parts alone. Its bounds are the closed bounds of the rule, together with what the
horizons say of what is missing (it ends after them), projected to the parts that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.conjunct import (
    EPOCH,
    Column,
    Conjunct,
    Head,
    NodeTime,
    WindowUse,
    equal_columns,
)
from thence.logic.expr import Call, Expr, read_by
from thence.logic.policy import UNRESTRICTED
from thence.plan.prepared import Prepared

Spans = Mapping[int, tuple[int, int]]
"""For each atom, the earliest start and the latest end of the events that it may be bound to."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Some parts of a rule as a join, and the bounds of the whole match if the others come yet."""

    whole: Prepared
    parts: tuple[int, ...]
    missing: tuple[int, ...]
    bounds: Bounds

    @property
    def atoms(self) -> frozenset[int]:
        """The atoms that are bound: the parts, and the facts that can be looked up by them."""
        conjunct = self.whole.conjunct
        if not self.missing:
            return frozenset(conjunct.positive)
        found = set(self.parts)
        facts = [atom for atom in conjunct.positive if conjunct.atoms[atom].fact]
        for _ in facts:
            for link in conjunct.links:
                atoms = {column.atom for column in link}
                if atoms & found:
                    found |= atoms.intersection(facts)
        return frozenset(found)

    @property
    def nodes(self) -> tuple[int, ...]:
        """The start and the end of each part, and the epoch."""
        uses = (self.whole.uses[part] for part in self.parts)
        return (EPOCH, *(node for use in uses for node in (use.start, use.end)))

    def known(self, expr: Expr) -> Expr | None:
        """An expression over what is bound; None where it reads something that is missing, and
        nothing that is bound equals it."""
        atoms = self.atoms
        swaps: dict[Expr, Expr] = {}
        for leaf in read_by(expr):
            if isinstance(leaf, NodeTime):
                if not self.whole.node_atoms(leaf.node) <= atoms:
                    return None
            elif isinstance(leaf, Column) and leaf.atom not in atoms:
                same = [column for column in self._equal_to(leaf) if column.atom in atoms]
                if not same:
                    return None
                swaps[leaf] = min(same, key=lambda column: (column.atom, column.name))
        return _swapped(expr, swaps)

    def _equal_to(self, column: Column) -> frozenset[Column]:
        groups = equal_columns(self.whole.conjunct)
        return next((group for group in groups if column in group), frozenset())

    def join(self) -> Prepared:
        """The join of the parts that are there, without the ``implied`` predicates."""
        return Prepared(self._over(self.atoms, self.bounds, self.whole.conjunct.links))

    @property
    def implied(self) -> tuple[Expr, ...]:
        """What must hold of the parts that are there so that predicates on missing ones can, whose
        values are known by now: they equal those of parts that are there."""
        whole, atoms = self.whole, self.atoms
        later = (
            p for p in whole.conjunct.predicates if not whole.atoms_of(whole.reads(p)) <= atoms
        )
        return tuple(known for known in map(self.known, later) if known is not None)

    def ruled_out(
        self, window: WindowUse, alike: Callable[[Column, Column], bool]
    ) -> tuple[Prepared, tuple[Expr, ...]] | None:
        """The join with what may lie in a window in which nothing may, and predicates that must
        hold besides; None where that cannot be told yet, since it reads something of a part that is
        missing. ``alike`` says whether columns have one type."""
        conjunct = self.whole.conjunct
        values = [(name, self.known(expr)) for name, expr in window.links]
        predicates = [_apart(self, window, expr) for expr in window.predicates]
        if any(expr is None for expr in (*(value for _, value in values), *predicates)):
            return None
        asked = [expr for expr in predicates if expr is not None]
        links = list(conjunct.links)
        for name, expr in values:
            own = Column(window.atom, name)
            if isinstance(expr, Column) and alike(expr, own):
                links.append((expr, own))
            elif expr is not None:
                asked.append(Call("=", (own, expr)))
        use = conjunct.atoms[window.atom]
        length = Constraint(use.start, use.end, 0)
        bounds = window.bounds.with_constraints([*_tight(self.bounds, self.nodes), length])
        joined = self._over(self.atoms | {window.atom}, bounds, links, (use.start, use.end))
        return Prepared(joined), tuple(asked)

    def _over(
        self,
        atoms: frozenset[int],
        bounds: Bounds,
        links: Sequence[tuple[Column, ...]],
        nodes: tuple[int, ...] = (),
    ) -> Conjunct:
        """The rule over some of its atoms; ``nodes`` are bounded as well as those of the parts."""
        conjunct, whole = self.whole.conjunct, self.whole
        kept = [tuple(column for column in link if column.atom in atoms) for link in links]
        own = [
            constraint
            for constraint in conjunct.constraints
            if whole.node_atoms(constraint.later) | whole.node_atoms(constraint.earlier) <= atoms
        ]
        predicates = [p for p in conjunct.predicates if whole.atoms_of(whole.reads(p)) <= atoms]
        return replace(
            conjunct,
            head=Head(conjunct.event, (), (), (), EPOCH, EPOCH),
            positive=tuple(sorted(atoms)),
            constraints=(*own, *_tight(bounds, (*self.nodes, *nodes))),
            bounds=bounds,
            links=tuple(link for link in kept if len(link) > 1),
            predicates=tuple(predicates),
            windows=(),
            completions=(),
            policy=UNRESTRICTED,
            having=(),
            identical=(),
        )


def _swapped(expr: Expr, swaps: Mapping[Expr, Expr]) -> Expr:
    """An expression with other leaves."""
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_swapped(arg, swaps) for arg in expr.args))
    return swaps.get(expr, expr)


def _apart(partial: Partial, window: WindowUse, expr: Expr) -> Expr | None:
    """A predicate of a window over what is bound and the window's own atom."""
    whole = partial.whole
    if whole.atoms_of(whole.reads(expr)) <= partial.atoms | {window.atom}:
        return expr
    return None


def _tight(bounds: Bounds, nodes: Sequence[int]) -> list[Constraint]:
    """What closed bounds say of some nodes."""
    return [
        Constraint(later, earlier, bounds[later, earlier])
        for later in nodes
        for earlier in nodes
        if later != earlier and bounds[later, earlier] < UNBOUNDED
    ]


def partials(
    whole: Prepared, spans: Spans, after: Mapping[int, int], lengths: Mapping[str, int]
) -> Iterator[Partial]:
    """The sets of parts of a rule that may be there while the others may come yet; the whole set
    among them, the empty one not.

    ``spans`` says when the events lie that each atom may be bound to (none where there are none),
    ``after`` after which time those end that are to come, and ``lengths`` how long these last at
    most. A set is left out where one of its parts has no events at a time that the bounds allow.
    In a sequence, what comes first cannot be missing where what comes later is there, so there are
    few of them; parts in no order have many.
    """
    conjunct = whole.conjunct

    def chosen(place: int, there: tuple[int, ...], bounds: Bounds) -> Iterator[Partial]:
        if not bounds.satisfiable or not all(_fits(whole, bounds, spans, atom) for atom in there):
            return
        if place == len(conjunct.events):
            if there:
                missing = tuple(atom for atom in conjunct.events if atom not in there)
                yield Partial(whole, there, missing, bounds)
            return
        atom = conjunct.events[place]
        if atom in spans:
            yield from chosen(place + 1, (*there, atom), bounds)
        use = whole.uses[atom]
        later = [Constraint(EPOCH, use.end, -(after[atom] + 1))]
        if use.event in lengths:
            later.append(Constraint(use.end, use.start, lengths[use.event]))
        yield from chosen(place + 1, there, bounds.with_constraints(later))

    yield from chosen(0, (), conjunct.bounds)


def _fits(whole: Prepared, bounds: Bounds, spans: Spans, atom: int) -> bool:
    """Whether an atom has events at a time that bounds allow, as far as their times tell."""
    use, (first, last) = whole.uses[atom], spans[atom]
    return -bounds[EPOCH, use.end] <= last and bounds[use.start, EPOCH] >= first
