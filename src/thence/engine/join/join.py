"""Matching a conjunct's positive atoms: a left-deep join of range searches, set at a time.

Each step narrows the next atom by key and by the time range that the closed bounds allow, checks
what a range cannot express, and drops at once what cannot change the answer: an atom of which only
"there was one, early enough" is still asked needs one witness per partial match, not all of them.
That keeps the work near events plus results, whatever the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from thence.engine.arrays.codes import combine, join_codes, own_codes
from thence.engine.arrays.ranges import CACHED, key_order
from thence.engine.arrays.rows import is_points
from thence.engine.arrays.types import Codes, Index
from thence.engine.join.lookup import narrowed
from thence.engine.join.match import Match, concat_matches
from thence.engine.join.neighbours import Neighbours, Reached
from thence.engine.join.search import (
    FEW,
    Candidates,
    Key,
    holds,
    length_classes,
    search,
    time_range,
    unsettled,
)
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect, named
from thence.logic.bounds import Bounds, Constraint
from thence.logic.conjunct import EPOCH
from thence.logic.expr import Expr
from thence.model.events import Events
from thence.plan.ends import unread
from thence.plan.prepared import Prepared

MANY = 1 << 18
"""So many candidates are looked through sooner than another way is found."""

Witness = Literal["all", "any", "earliest", "latest"]
"""Which of the rows that continue a partial match must be kept."""


def joins(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    keep_all: bool = False,
    most: int | None = None,
) -> Iterator[Match]:
    """The same as :func:`join`, in parts if that takes less: where many combinations of events have
    their first and their last one in common, and nothing else is asked of them."""
    try:
        parts = [join(prepared, rels, limits, keep_all, not keep_all, most)]
    except _Many:
        parts = [join(split, rels, limits) for split in prepared.by_ends]
    yield from (part for part in parts if part is not None)


class _Many(Exception):
    """That a join has many combinations, and can be split by its ends instead."""


class TooManyCandidates(Exception):
    """A join would have to look at more candidates than it was allowed to."""


def join(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    keep_all: bool = False,
    many: bool = False,
    most: int | None = None,
) -> Match | None:
    """All matches of the positive atoms over the given relations, or None where there are none.

    ``rels`` has a relation per atom of the conjunct. ``limits`` are more constraints, such as the
    horizon. With ``keep_all`` every combination is kept, as lineage needs it. ``many`` asks for a
    signal where there are many of them, and another way. Where a step has more than ``most``
    candidates, :class:`TooManyCandidates` is raised.
    """
    positive = prepared.conjunct.positive
    if any(len(rels[atom]) == 0 for atom in positive):
        return None
    if not positive:
        return Match(prepared, rels, 1, {})
    bounds = prepared.conjunct.bounds.with_constraints([*observed(prepared, rels), *limits])
    if not bounds.satisfiable:
        return None
    rels = narrowed(prepared, rels)
    if any(len(rels[atom]) == 0 for atom in positive):
        return None
    return _Join(prepared, rels, bounds, keep_all, many, most).run()


def observed(prepared: Prepared, rels: Sequence[Events]) -> list[Constraint]:
    """Bounds that hold of the events at hand: their lengths, and when they happen."""
    found = []
    for atom in prepared.conjunct.positive:
        use, rel = prepared.uses[atom], rels[atom]
        if is_points(rel):
            longest = shortest = 0
            first, last = int(rel.start.min()), int(rel.start.max())
        else:
            lengths = rel.end - rel.start
            longest, shortest = int(lengths.max()), int(lengths.min())
            first, last = int(rel.start.min()), int(rel.end.max())
        found += [
            Constraint(use.end, use.start, longest),
            Constraint(use.start, use.end, -shortest),
            Constraint(EPOCH, use.start, -first),
            Constraint(use.end, EPOCH, last),
        ]
    return found


class _Join:
    """One run of a join; holds what its steps share."""

    def __init__(
        self,
        prepared: Prepared,
        rels: Sequence[Events],
        bounds: Bounds,
        keep_all: bool,
        many: bool,
        most: int | None,
    ) -> None:
        self.prepared = prepared
        self.most = most
        self.rels = rels
        self.bounds = bounds
        self.keep_all = keep_all
        self.many = many
        self.constraints = list(prepared.constraints)
        self.predicates = list(prepared.cross)
        self.codes: dict[int, tuple[dict[int, Codes], int]] = {}
        self.bound: list[int] = []
        self.nodes: list[int] = []
        self.neighbours = Neighbours(prepared, rels)

    def run(self) -> Match | None:
        positive = list(self.prepared.conjunct.positive)
        first = self.first(self.sooner(positive))
        match = self.begin(first)
        positive.remove(first)
        while positive and match.length:
            atom = min(self.sooner(positive), key=self.cost)
            positive.remove(atom)
            match = self.step(match, atom)
        return match if match.length else None

    def first(self, positive: Sequence[int]) -> int:
        """The atom to begin with: the rarest, or one that is nearly so and starts the match, since
        then results come in the order of their start."""
        if self.prepared.decided:
            # Of the others only one witness is needed, which is seen from those that are read.
            idle = unread(self.prepared)
            positive = [atom for atom in positive if atom not in idle] or positive
        rarest = min(positive, key=lambda atom: len(self.rels[atom]))
        for near in self.prepared.nearest:
            # Only from its partner can be seen which one of the rarest is meant.
            others, few = len(self.rels[near.partner]), len(self.rels[rarest])
            if near.atom == rarest and near.partner != rarest:
                tried = few * self.grown(near.partner, self.ends(rarest), [rarest])
                if others <= max(FEW * few, tried):
                    return near.partner
        most = 1.25 * len(self.rels[rarest])
        starts = self.prepared.node_atoms(self.prepared.conjunct.start)
        early = [atom for atom in positive if atom in starts and len(self.rels[atom]) <= most]
        return early[0] if len(early) == 1 else rarest

    def sooner(self, positive: Sequence[int]) -> Sequence[int]:
        """The atoms to be bound before others: of what can be the first of a greedy repetition that
        leads the pattern, few are left once all else is known."""
        return [a for a in positive if not self.neighbours.leads_alone(a)] or positive

    def begin(self, atom: int) -> Match:
        """The first atom: all its rows that can be in a match at all."""
        use, rel = self.prepared.uses[atom], self.rels[atom]
        keep = np.ones(len(rel), dtype=np.bool_)
        for node, times in ((use.start, rel.start), (use.end, rel.end)):
            latest, earliest = self.bounds[node, EPOCH], -self.bounds[EPOCH, node]
            if latest < times.max():
                keep &= times <= latest
            if earliest > times.min():
                keep &= times >= earliest
        rows = self.by_key(atom, np.flatnonzero(keep))
        self.take_atom(atom)
        match = Match(self.prepared, self.rels, len(rows), {atom: rows})
        mask = holds(match, self.due_constraints(), self.due_predicates())
        return match if mask is None else match.where(mask)

    def by_key(self, atom: int, rows: Index) -> Index:
        """Many rows in the order of a key they will be joined on: the searches that follow then
        walk through their indexes instead of jumping about in them."""
        for number, link in enumerate(self.prepared.conjunct.links):
            if len(rows) > CACHED and any(column.atom == atom for column in link):
                codes, groups = self.link_codes(number)
                known = np.flatnonzero(codes[atom][rows] >= 0)
                rows = rows[known]
                return rows[key_order(codes[atom][rows], groups, self.rels[atom].start[rows])]
        return rows

    def take_atom(self, atom: int) -> None:
        """Mark an atom as bound, and the nodes that now have times."""
        self.bound.append(atom)
        bound = frozenset(self.bound)
        nodes = self.prepared.conjunct.nodes
        self.nodes = [
            node
            for node in range(1, len(nodes))
            if self.prepared.base(node) == (node, 0)
            and self.prepared.node_atoms(node) <= bound
            and not self.same_as_start(node)
        ]

    def same_as_start(self, node: int) -> bool:
        """Whether a node is the end of a simple event, whose start says the same."""
        uses = self.prepared.uses
        return any(uses[atom].end == node and is_points(self.rels[atom]) for atom in self.bound)

    def cost(self, atom: int) -> tuple[bool, float]:
        """A guess at how many rows each partial match grows into, for choosing what is next."""
        if self.is_chained(atom) or self.is_next_to_bound(atom):
            return self.witness(atom) == "all", 1.0
        return self.witness(atom) == "all", self.grown(atom, self.nodes, self.bound)

    def grown(self, atom: int, nodes: Sequence[int], bound: Sequence[int]) -> float:
        """A guess at how many rows of an atom go with some bound ones, whose times are nodes."""
        rel, use = self.rels[atom], self.prepared.uses[atom]
        width = min(self.bounds.width(node, nodes) for node in (use.start, use.end))
        span = max(int(rel.end.max()) - int(rel.start.min()), 1)
        rows = len(rel) * min(1.0, (width + 1) / span)
        if self.shared_links(atom, bound):
            rows /= max(len(rel) ** 0.5, 1.0)
        return rows

    def points(self, atom: int) -> frozenset[int]:
        """The nodes of an atom, if its events are instants."""
        return frozenset(self.ends(atom)) if is_points(self.rels[atom]) else frozenset()

    def is_chained(self, atom: int) -> bool:
        """Whether an atom is one end of a strict repetition of which the other end is bound."""
        return self.neighbours.partner(atom) in self.bound

    def is_next_to_bound(self, atom: int) -> bool:
        """Whether only the event next to a bound one can be meant."""
        return any(
            near.atom == atom
            and near.partner in self.bound
            and (not near.points or is_points(self.rels[atom]))
            for near in self.prepared.nearest
        )

    def shared_links(self, atom: int, bound: Sequence[int]) -> list[int]:
        """The classes of equal columns that tie an atom to the bound ones."""
        return [
            number
            for number, link in enumerate(self.prepared.conjunct.links)
            if any(c.atom == atom for c in link) and any(c.atom in bound for c in link)
        ]

    def step(self, match: Match, atom: int) -> Match:
        """Bind one more atom."""
        searches = list(self.searches(match, atom))
        ranges = [found for found in searches if isinstance(found, Candidates)]
        if self.most is not None and sum(found.count for found in ranges) > self.most:
            raise TooManyCandidates
        witness = self.witness(atom)
        bound_before = list(self.bound)
        settled = self.available()
        self.take_atom(atom)
        due = self.due_constraints()
        predicates = self.due_predicates()
        is_last = len(self.bound) == len(self.prepared.conjunct.positive)
        alone = is_last and not predicates and self.neighbours.leads_alone(atom)
        parts = []
        held, width = 0, 8 * (len(self.bound) + 2)
        for candidates in searches:
            candidates = self.next_to(atom, bound_before, candidates, len(searches))
            if alone and len(searches) == 1 and not unsettled(due, self.points(atom), settled):
                candidates = candidates.outermost("first")
            constraints = unsettled(due, candidates.exact, settled)
            if witness == "all" and isinstance(candidates, Candidates):
                self.look_out(match, candidates)
            if isinstance(candidates, Candidates) and not constraints and not predicates:
                # The ranges say it all, so there is no need to have them to know how many rows they
                # hold, or which of them is the first.
                candidates = self.witnessed(atom, candidates, witness)
                expect(held + candidates.count, width, lambda: self.growth(bound_before, atom))
            for probes, rows in candidates.pairs():
                longer = match.extend(probes, atom, rows)
                mask = holds(longer, constraints, predicates)
                if mask is not None:
                    kept = np.flatnonzero(mask)
                    longer = match.extend(probes[kept], atom, rows[kept])
                    probes = probes[kept]
                if longer.length:
                    parts.append(self.witnesses(longer, atom, probes, witness))
                    held += parts[-1].length
                    expect(held, width, lambda: self.growth(bound_before, atom))
        if not parts:
            return Match(self.prepared, self.rels, 0, {})
        return concat_matches(parts, [*bound_before, atom])

    def look_out(self, match: Match, candidates: Candidates) -> None:
        """Signal that there are many candidates for each partial match, if there is another way."""
        if self.many and candidates.count > max(MANY, FEW * match.length) and self.prepared.by_ends:
            raise _Many

    def witnessed(self, atom: int, candidates: Candidates, witness: Witness) -> Candidates:
        """Ranges that say it all, less the rows that cannot be the witness."""
        use = self.prepared.uses[atom]
        asked = use.end if self.asked_of_end(atom) else use.start
        if witness == "any" or (witness == "earliest" and asked in candidates.exact):
            return replace(candidates, last=np.minimum(candidates.first + 1, candidates.last))
        if witness == "latest" and asked in candidates.exact:
            return replace(candidates, first=np.maximum(candidates.first, candidates.last - 1))
        return candidates

    def growth(self, bound: Sequence[int], atom: int) -> Growth:
        """What a step makes grow, for a message."""
        ours, other = named(self.prepared, bound), named(self.prepared, [atom])
        return Growth(f"joining {ours} with {other}", JOIN_ADVICE)

    def next_to(
        self, atom: int, bound: Sequence[int], candidates: Candidates | Reached, searches: int
    ) -> Candidates | Reached:
        """Candidates less those that have another of their kind between them and a bound event,
        which must not be. That is told by their ends, where one search finds all of them."""
        for near in self.prepared.nearest:
            if isinstance(candidates, Reached):
                break
            told = self.prepared.uses[atom].end in candidates.exact and searches == 1
            if near.atom == atom and near.partner in bound and told:
                if not near.points or is_points(self.rels[atom]):
                    candidates = candidates.outermost(near.side)
        return candidates

    def searches(self, match: Match, atom: int) -> Iterator[Candidates | Reached]:
        """The searches for an atom's rows: one, or one for each class of lengths."""
        if self.is_chained(atom):
            start = self.prepared.uses[atom].start
            least, most = time_range(match, atom, start, self.nodes, self.bounds)
            ahead = self.neighbours.is_last(atom)
            yield self.neighbours.reached(match, atom, most if ahead else least)
            return
        key = self.key(match, atom)
        rel, use = self.rels[atom], self.prepared.uses[atom]
        classes = length_classes(rel)
        if not classes:
            yield search(match, atom, self.nodes, self.bounds, self.constraints, key)
        for rows in classes:
            lengths = rel.end[rows] - rel.start[rows]
            bounds = self.bounds.with_constraints(
                [
                    Constraint(use.end, use.start, int(lengths.max())),
                    Constraint(use.start, use.end, -int(lengths.min())),
                ]
            )
            yield search(match, atom, self.nodes, bounds, self.constraints, key, rows)

    def key(self, match: Match, atom: int) -> Key | None:
        """Codes of the columns that must be equal, for the match and for the atom's rows."""
        numbers = self.shared_links(atom, self.bound)
        if not numbers:
            return None
        probes, rows, sizes = [], [], []
        for number in numbers:
            codes, size = self.link_codes(number)
            partner = next(a for a in self.bound if a in codes)
            probes.append(codes[partner][match.rows(partner)])
            rows.append(codes[atom])
            sizes.append(size)
        if len(numbers) == 1:
            return Key(probes[0], rows[0], sizes[0])
        together = [
            (np.concatenate([p, r]), size) for p, r, size in zip(probes, rows, sizes, strict=True)
        ]
        codes_, groups = combine(together)
        return Key(codes_[: match.length], codes_[match.length :], groups)

    def link_codes(self, number: int) -> tuple[dict[int, Codes], int]:
        found = self.codes.get(number)
        if found is None:
            link = self.prepared.conjunct.links[number]
            columns = [self.rels[c.atom].columns[c.name] for c in link]
            codes, size = join_codes(columns)
            if len({self.prepared.repeated.get(c.atom, -1 - c.atom) for c in link}) == 1:
                # One repetition alone has nothing to agree with, whatever its value is.
                codes = [own_codes(each, size, np.arange(len(each))) for each in codes]
                size += max(map(len, columns))
            by_atom = {c.atom: code for c, code in zip(link, codes, strict=True)}
            found = self.codes[number] = (by_atom, size)
        return found

    def available(self) -> frozenset[int]:
        """The nodes that have times, and the epoch."""
        ends = (node for atom in self.bound for node in self.ends(atom))
        return frozenset((EPOCH, *self.nodes, *ends))

    def due_constraints(self) -> list[Constraint]:
        """Constraints whose nodes now all have times; the others stay open."""
        available = self.available()
        due: list[Constraint] = []
        open_: list[Constraint] = []
        for constraint in self.constraints:
            known = constraint.later in available and constraint.earlier in available
            (due if known else open_).append(constraint)
        self.constraints = open_
        return due

    def ends(self, atom: int) -> tuple[int, int]:
        use = self.prepared.uses[atom]
        return use.start, use.end

    def due_predicates(self) -> list[Expr]:
        """Predicates whose atoms are now all bound."""
        bound = frozenset(self.bound)
        due = [predicate for predicate, atoms in self.predicates if atoms <= bound]
        self.predicates = [(p, atoms) for p, atoms in self.predicates if not atoms <= bound]
        return due

    def witness(self, atom: int) -> Witness:
        """Which rows of an atom matter, given what is still to be asked of it once it is bound."""
        if self.keep_all:
            return "all"
        prepared = self.prepared
        after = frozenset((*self.bound, atom))
        reads = prepared.after_join
        for predicate, atoms in self.predicates:
            if not atoms <= after:
                reads |= prepared.reads(predicate)
        ends = self.ends(atom)
        if any(column.atom == atom for column in reads.columns) or self.opens_link(atom):
            return "all"
        if any(node in reads.nodes for node in ends):
            return "all"
        directions: set[tuple[str, int]] = set()
        for constraint in self.constraints:
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
        if len(sides) == 1 and (len(nodes) == 1 or is_points(self.rels[atom])):
            return "earliest" if sides == {"earliest"} else "latest"
        return "all"

    def opens_link(self, atom: int) -> bool:
        """Whether an atom brings in a value that atoms not bound yet must equal."""
        return any(
            any(column.atom == atom for column in link)
            and not any(column.atom in self.bound for column in link)
            and any(column.atom not in (*self.bound, atom) for column in link)
            for link in self.prepared.conjunct.links
        )

    def witnesses(self, match: Match, atom: int, probes: Index, witness: Witness) -> Match:
        """One row per partial match where one is enough; ``probes`` is sorted."""
        if witness == "all" or match.length < 2:
            return match
        begins = np.flatnonzero(np.concatenate(([True], probes[1:] != probes[:-1])))
        if len(begins) == match.length:
            return match
        if witness == "any":
            return match.take(begins)
        use = self.prepared.uses[atom]
        node = use.end if self.asked_of_end(atom) else use.start
        times = match.time(node)
        reduce = np.minimum if witness == "earliest" else np.maximum
        best = np.repeat(reduce.reduceat(times, begins), np.diff(np.append(begins, match.length)))
        hits = np.flatnonzero(times == best)
        groups = np.searchsorted(begins, hits, "right")
        return match.take(hits[np.concatenate(([True], groups[1:] != groups[:-1]))])

    def asked_of_end(self, atom: int) -> bool:
        """Whether the constraints still open ask for an atom's end rather than its start."""
        end = self.prepared.uses[atom].end
        return any(end in (c.later, c.earlier) for c in self.constraints)
