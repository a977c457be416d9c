"""In which order the events of a match are looked for, and what must hold of them when.

All matches that a search finds from one event must end with it, so each event of the pattern that
can be the last has a variant of its own; where only the first event of a match is used up, each
that can be the first as well. What a variant says in addition is difference bounds like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.join.join import sizes
from thence.engine.join.lookup import narrowed
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.policy.comparisons import Comparison, comparison
from thence.engine.policy.fences import Fence, fence
from thence.engine.policy.layout import EACH, FIRST, LAST
from thence.engine.window.completion import passed
from thence.engine.window.windows import is_asked, satisfied
from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.conjunct import EPOCH, Extreme, Shifted, WindowUse
from thence.logic.expr import Expr
from thence.logic.policy import Policy
from thence.model.events import Events
from thence.plan.order import observed
from thence.plan.prepared import Prepared

CODES = {"all": 0, "first": FIRST, "last": LAST, "cumulative": 2}
"""What a policy says of an event, as numbers."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The horizon before a step and after it."""

    before: int
    now: int


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One atom of a variant; ``slot`` is its place among the events of a match, -1 for a fact."""

    atom: int
    slot: int
    choice: int
    mode: int
    links: tuple[tuple[int, int], ...]
    """The links that are its key: their numbers, and the level of the atom that each is to."""
    constraints: tuple[Constraint, ...]
    """What the variant's bounds do not say, and can be told from here on."""
    predicates: tuple[Expr, ...]
    involved: frozenset[int]
    """The atoms that the conditions above read."""
    comparisons: tuple[Comparison, ...]
    """What is compared between this atom and ones before it."""
    fences: tuple[Fence, ...]
    """How far this atom's events may lie from those of ones before it, or from their own ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The matches of a conjunct that end with one of its atoms, the first of ``levels``.

    They end ``after`` so long a node of that atom's, or it is unknown before they are complete.
    ``windows`` are those that need the whole match, ``finalised`` says that the completions do not.
    """

    prepared: Prepared
    rels: Sequence[Events]
    bounds: Bounds
    levels: tuple[Level, ...]
    after: tuple[int, int] | None
    initiator: int
    finalised: bool
    windows: tuple[WindowUse, ...]

    @property
    def final(self) -> bool:
        """Whether conditions are left that need the whole match."""
        return bool(self.windows) or not self.finalised

    @property
    def sharp(self) -> bool:
        """Whether of matches that are alternatives the search finds only the best."""
        chosen = [depth for depth, level in enumerate(self.levels) if level.mode != EACH]
        before = self.levels[1 : chosen[-1]] if chosen else ()
        return all(
            level.mode != EACH or (level.choice == 0 and level.slot >= 0) for level in before
        )

    def depth(self, atom: int) -> int:
        """The level that an atom is."""
        return [level.atom for level in self.levels].index(atom)

    def conditional(self, depth: int) -> bool:
        """Whether conditions on a level are left that bounds and keys do not say."""
        level = self.levels[depth]
        last = depth == len(self.levels) - 1
        return bool(level.constraints or level.predicates) or (last and self.final)

    def involved(self, depth: int) -> list[int]:
        """The levels whose rows decide the conditions of a level."""
        if depth == len(self.levels) - 1 and self.final:
            return list(range(len(self.levels)))
        atoms = self.levels[depth].involved
        return [k for k, level in enumerate(self.levels) if level.atom in atoms]

    def holding(self, depth: int, rows: dict[int, Index], length: int, moments: Moments) -> Mask:
        """Which rows satisfy the conditions of a level; ``rows`` are by atom."""
        level = self.levels[depth]
        match = Match(self.prepared, self.rels, length, rows)
        mask = holds(match, level.constraints, level.predicates)
        found = np.ones(length, dtype=np.bool_) if mask is None else mask
        if depth < len(self.levels) - 1 or not self.final:
            return found
        kept = np.flatnonzero(found)
        match = match.take(kept)
        if not self.finalised:
            here = passed(match, moments.before, moments.now)
            match, kept = match.where(here), kept[here]
        for window in self.windows:
            if match.length:
                here = satisfied(match, window)
                match, kept = match.where(here), kept[here]
        found = np.zeros(length, dtype=np.bool_)
        found[kept] = True
        return found


def variants(
    policy: Policy,
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    moments: Moments,
) -> list[Variant] | None:
    """The variants of one alternative; None where matches must be had before they can be put in
    order: with repetitions, with ticks, or where what is used up depends on ends yet unknown."""
    conjunct = prepared.conjunct
    if conjunct.repetitions or prepared.ticks or not conjunct.events:
        return None
    if any(len(rels[atom]) == 0 for atom in conjunct.positive):
        return []
    known = observed(prepared, sizes(prepared, rels))
    bounds = conjunct.bounds.with_constraints([*known, *limits])
    rels = narrowed(prepared, rels)
    if not bounds.satisfiable or any(len(rels[atom]) == 0 for atom in conjunct.positive):
        return []
    found = []
    for terminator in conjunct.events:
        for initiator in conjunct.events if policy.consumption == "initiator" else (None,):
            own = bounds.with_constraints([*_extremes(prepared, terminator, initiator)])
            if own.satisfiable:
                own = _resolved(prepared, own)
                variant = _variant(policy, prepared, rels, own, terminator, initiator, moments)
                if policy.consumes and variant.after is None:
                    return None
                found.append(variant)
    return found


def _extremes(prepared: Prepared, terminator: int, initiator: int | None) -> Iterator[Constraint]:
    """That one atom ends last, of several the one named last; and one starts first, of several the
    one named first."""
    events = prepared.conjunct.events
    place = {atom: number for number, atom in enumerate(events)}
    last = prepared.uses[terminator]
    for atom in events:
        use = prepared.uses[atom]
        if atom != terminator:
            earlier = place[atom] < place[terminator]
            yield Constraint(use.end, last.end, 0 if earlier else -1)
        if initiator is not None and atom != initiator:
            later = place[atom] > place[initiator]
            yield Constraint(prepared.uses[initiator].start, use.start, 0 if later else -1)


def _resolved(prepared: Prepared, bounds: Bounds) -> Bounds:
    """Bounds that know which of several times is the earliest or the latest, where they say so."""
    for node, definition in enumerate(prepared.conjunct.nodes):
        if not isinstance(definition, Extreme):
            continue
        for part in definition.nodes:
            if definition.which == "latest" and all(bounds[n, part] <= 0 for n in definition.nodes):
                bounds = bounds.with_constraints([Constraint(node, part, 0)])
                break
            if definition.which != "latest" and all(bounds[part, n] <= 0 for n in definition.nodes):
                bounds = bounds.with_constraints([Constraint(part, node, 0)])
                break
    return bounds


def _implied(prepared: Prepared, bounds: Bounds, later: int, earlier: int, limit: int) -> bool:
    """Whether bounds between the ends of events, which a search keeps, leave no doubt that one node
    is at most so long after another."""
    nodes = prepared.conjunct.nodes
    one, other = nodes[later], nodes[earlier]
    if isinstance(one, Shifted):
        return _implied(prepared, bounds, one.node, earlier, limit - one.by)
    if isinstance(other, Shifted):
        return _implied(prepared, bounds, later, other.node, limit + other.by)
    if isinstance(one, Extreme):
        parts = [_implied(prepared, bounds, part, earlier, limit) for part in one.nodes]
        if all(parts) or (one.which == "earliest" and any(parts)):
            return True
        if not isinstance(other, Extreme):
            return False
    if isinstance(other, Extreme):
        parts = [_implied(prepared, bounds, later, part, limit) for part in other.nodes]
        return all(parts) or (other.which == "latest" and any(parts))
    return bounds[later, earlier] <= limit


def _after(prepared: Prepared, bounds: Bounds, terminator: int) -> tuple[int, int] | None:
    """How long after which node of the terminator a match ends, if that alone tells it."""
    end, offset = prepared.base(prepared.conjunct.head.end)
    use = prepared.uses[terminator]
    for node in (use.end, use.start, EPOCH):
        apart = bounds[end, node]
        if apart < UNBOUNDED and apart + bounds[node, end] == 0:
            return node, apart + offset
    return None


def _variant(
    policy: Policy,
    prepared: Prepared,
    rels: Sequence[Events],
    bounds: Bounds,
    terminator: int,
    initiator: int | None,
    moments: Moments,
) -> Variant:
    conjunct = prepared.conjunct
    after = _after(prepared, bounds, terminator)
    grouping = frozenset() if after is not None else prepared.node_atoms(conjunct.head.end)
    order, modes = _order(policy, prepared, bounds, terminator, grouping)
    finalised = all(
        _implied(prepared, bounds, node, EPOCH, moments.now) for node in conjunct.completions
    ) and any(
        _implied(prepared, bounds, EPOCH, node, -(moments.before + 1))
        for node in conjunct.completions
    )
    windows, fences = _fences(prepared, rels, bounds, order)
    predicates, comparisons = _comparisons(prepared, rels)
    constraints = [
        c
        for c in prepared.constraints
        if not _implied(prepared, bounds, c.later, c.earlier, c.limit)
    ]
    slots = {atom: number for number, atom in enumerate(conjunct.events)}
    levels = []
    for depth, atom in enumerate(order):
        bound = frozenset(order[: depth + 1])
        asked = [c for c in constraints if _atoms(prepared, c) <= bound]
        due = [(predicate, atoms) for predicate, atoms in predicates if atoms <= bound]
        constraints = [c for c in constraints if c not in asked]
        predicates = [pair for pair in predicates if not pair[1] <= bound]
        involved = frozenset(a for c in asked for a in _atoms(prepared, c))
        levels.append(
            Level(
                atom,
                slots.get(atom, -1),
                CODES[policy.choice_of(prepared.uses[atom].label)],
                modes[atom],
                _links(prepared, order, depth),
                tuple(asked),
                tuple(predicate for predicate, _ in due),
                involved.union(*(atoms for _, atoms in due)),
                tuple(c for c in comparisons if c.atom == atom and c.other in bound),
                tuple(f for f in fences if f.target == atom),
            )
        )
    return Variant(
        prepared,
        rels,
        bounds,
        tuple(levels),
        after,
        -1 if initiator is None else order.index(initiator),
        finalised or not conjunct.completions,
        windows,
    )


def _fences(
    prepared: Prepared, rels: Sequence[Events], bounds: Bounds, order: Sequence[int]
) -> tuple[tuple[WindowUse, ...], list[Fence]]:
    """The windows of a conjunct that decide: those that need a whole match, and those that are
    fences."""
    whole, fences = [], []
    for window in filter(is_asked, prepared.conjunct.windows):
        found = None
        if window.mode == "absent":
            if not len(rels[window.atom]):
                continue
            found = fence(prepared, rels, bounds, order, window)
        if found is None:
            whole.append(window)
        else:
            fences.append(found)
    return tuple(whole), fences


def _comparisons(
    prepared: Prepared, rels: Sequence[Events]
) -> tuple[list[tuple[Expr, frozenset[int]]], list[Comparison]]:
    """The conditions on several events: those to evaluate, and those that are comparisons, each
    from either side."""
    whole, comparisons = [], []
    for predicate, atoms in prepared.cross:
        found = comparison(prepared, rels, predicate)
        if found is None:
            whole.append((predicate, atoms))
        else:
            comparisons += [found, found.turned()]
    return whole, comparisons


def _atoms(prepared: Prepared, constraint: Constraint) -> frozenset[int]:
    return prepared.node_atoms(constraint.later) | prepared.node_atoms(constraint.earlier)


def _links(prepared: Prepared, order: Sequence[int], depth: int) -> tuple[tuple[int, int], ...]:
    """The links between an atom and those before it in the order."""
    found = []
    for number, link in enumerate(prepared.conjunct.links):
        atoms = {column.atom for column in link}
        if order[depth] in atoms:
            partners = [k for k in range(depth) if order[k] in atoms]
            found += [(number, partners[0])] if partners else []
    return tuple(found)


def _order(
    policy: Policy, prepared: Prepared, bounds: Bounds, terminator: int, grouping: frozenset[int]
) -> tuple[list[int], dict[int, int]]:
    """The atoms in the order in which they are looked for, and how each goes through its rows.

    First those that tell alternatives from others, then those that the policy chooses, as they
    are named, then those that are taken as one. Facts come with what they are linked to.
    """
    conjunct = prepared.conjunct
    facts = [atom for atom in conjunct.positive if atom not in conjunct.events]
    order = [terminator]
    modes = dict.fromkeys(conjunct.positive, EACH)

    def linked(atom: int) -> bool:
        return bool(_links(prepared, [*order, atom], len(order)))

    def with_facts() -> None:
        for atom in [*facts, *facts]:
            if atom not in order and linked(atom):
                order.append(atom)

    def nearest(atoms: list[int]) -> None:
        while atoms:
            start = prepared.uses[terminator].start
            near = {a: -abs(bounds[prepared.uses[a].start, start]) for a in atoms}
            atom = max(atoms, key=lambda a: (linked(a), near[a]))
            atoms.remove(atom)
            order.append(atom)
            with_facts()

    with_facts()
    others = [atom for atom in conjunct.events if atom != terminator]
    choices = {a: policy.choice_of(prepared.uses[a].label) for a in others}
    nearest([a for a in others if choices[a] == "all" or a in grouping])
    for atom in others:
        if atom not in order and choices[atom] != "cumulative":
            modes[atom] = CODES[choices[atom]]
            order.append(atom)
            with_facts()
    nearest([a for a in others if a not in order])
    order += [atom for atom in facts if atom not in order]
    return order, modes
