"""Semi-join reduction of what is remembered: only the rows that a term can meet are looked up.

A term of a step joins what is new, or what has just been finalised, with all that is remembered. By
equal columns and by the closed bounds, only few remembered rows can be in its matches: those are
taken from the sorted runs, and the join, its windows and its policy see nothing of the others. It
is a superset of what is needed; for each key it has all that lies in one stretch of time, so that
nothing is missing between two rows that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from thence.engine.arrays.array_types import Times
from thence.engine.arrays.hashing import Hashes, hash_kind
from thence.engine.arrays.rows import concat
from thence.engine.state.relation import Relation
from thence.engine.state.sorted_run import key_hashes, probes
from thence.logic.bounds import UNBOUNDED, Bounds, Constraint
from thence.logic.conjunct import EPOCH
from thence.model.events import Events
from thence.plan.equalities import Link, equal_columns
from thence.plan.prepared import Prepared

FULL = 2
"""Where rows at hand are at least one in so many of those remembered, all of these are taken."""

FEW = 64
"""So few remembered rows are all taken."""


Near = Callable[[Relation], Events]
"""What gives the rows of a relation that a term can meet."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a term asks for: by atom, whether "new", "old" or "all" events; limits on the times of
    nodes, and further ones of which one set at least holds."""

    which: Mapping[int, str]
    limits: Sequence[Constraint] = ()
    some: Sequence[Sequence[Constraint]] = ()


def is_worthwhile(prepared: Prepared, old: Callable[[int], Relation]) -> bool:
    """Whether a join has more to look for than can be taken at once. Facts that are in no run are
    there for one step only, and would have to be sorted for it."""
    return any(
        held.runs or (len(held.recent) > FEW and not use.fact)
        for held, use in ((old(atom), use) for atom, use in enumerate(prepared.uses))
    )


class Narrowed(Sequence[Events]):
    """The relations of a term, one per atom: those of the match found together, each window's only
    when it is asked for."""

    def __init__(
        self,
        prepared: Prepared,
        term: Term,
        old: Callable[[int], Relation],
        filtered: Callable[[int, Events], Events],
        given: Callable[[str, int], Events],
    ) -> None:
        """``old`` gives the relation of an atom, ``filtered`` those of its rows that fulfil what
        is asked of it alone, and ``given`` all its "old" or "new" rows that do."""
        self._prepared = prepared
        self._term = term
        self._old = old
        self._filtered = filtered
        self._given = given
        self._found: dict[int, Events] = {}
        self._bounds: dict[int, list[Bounds]] = {}
        self._ranged: dict[tuple[int, int], tuple[Times | None, Times | None]] = {}
        self._hashed: dict[tuple[int, tuple[str, ...]], Hashes] = {}
        self._matched = prepared.conjunct.events
        for atom, which in term.which.items():
            if which == "new":
                self._found[atom] = given("new", atom)
        self._match()

    def __len__(self) -> int:
        return len(self._prepared.uses)

    @overload
    def __getitem__(self, atom: int) -> Events: ...
    @overload
    def __getitem__(self, atom: slice) -> Sequence[Events]: ...
    def __getitem__(self, atom: int | slice) -> Events | Sequence[Events]:
        if isinstance(atom, slice):
            return [self[each] for each in range(*atom.indices(len(self)))]
        if atom not in self._found:
            if not 0 <= atom < len(self):
                raise IndexError(atom)
            self._find(self._group(atom))
        return self._found[atom]

    def _match(self) -> None:
        """Find the positive atoms, each by those that are found already; none at all where one has
        nothing, since there is no match then."""
        left = [atom for atom in self._prepared.conjunct.positive if atom not in self._found]
        while left and all(len(events) for events in self._found.values()):
            atom = left[0] if len(left) == 1 else min(left, key=self._breadth)
            self._find(self._group(atom))
            left = [each for each in left if each not in self._found]
        for atom in left:
            self._found[atom] = self._old(atom).none

    def _breadth(self, atom: int) -> tuple[int, int]:
        """How widely an atom would have to be looked for by what is found so far: by how many known
        columns, and among how many rows. By a column few are found, whenever they end."""
        ties = max((len(self._links(atom, other)) for other in self._events()), default=0)
        held = self._old(atom)
        return -ties, held.most if ties else held.count(*self._hull(self._group(atom), None))

    def _group(self, atom: int) -> list[int]:
        """The atoms that share the relation of an atom, which comes first."""
        aliases = self._prepared.aliases
        shared = aliases.get(atom, atom)
        return [shared, *(each for each, of in aliases.items() if of == shared)]

    def _find(self, group: list[int]) -> None:
        """Find the rows of some atoms that share a relation."""
        relation = self._old(group[0])
        held = max((len(self._found[atom]) for atom in self._events()), default=0)
        fact = self._prepared.uses[group[0]].fact
        # Of a table, all rows where no key tells which: what is found out about them is kept.
        unsorted = fact and (not relation.runs or self._partner(group)[0] is None)
        near: Near | None = None
        if unsorted or relation.most <= max(FULL * held, FEW):
            rows = self._given("old", group[0])
        else:
            near = self._near(group)
            rows = self._filtered(group[0], near(relation))
        together: Events | None = None
        for atom in group:
            which = self._term.which.get(atom, "all")
            if which == "old":
                self._found[atom] = rows
            elif which == "all":
                if together is None:
                    new = self._given("new", atom)
                    if near is not None and len(new) > FEW:
                        new = near(Relation(new))
                    together = concat([rows, new])
                self._found[atom] = together

    def _near(self, group: Sequence[int]) -> Near:
        """What gives the rows of a relation that what is found can meet as any of some atoms."""
        by, links = self._partner(group)
        low, high = self._hull(group, by)
        if by is None:
            return lambda relation: relation.ending(low, high)
        partner = self._found[by]
        if not len(partner):
            return lambda relation: relation.none
        lows, highs = self._ranges(group, by)
        lows = _tighter(lows, low, len(partner), np.maximum)
        highs = _tighter(highs, high, len(partner), np.minimum)
        names = tuple(theirs for _, theirs in links)
        hashes = self._hashed.get((by, names))
        if hashes is None:
            hashes = self._hashed[by, names] = key_hashes(partner, names)
        own, sought = tuple(own for own, _ in links), probes(hashes, lows, highs)
        return lambda relation: relation.near(own, sought)

    def _partner(self, group: Sequence[int]) -> tuple[int | None, tuple[Link, ...]]:
        """The atom among those found by which to look for others: the one with which they have
        most columns in common, and of those the one with fewest rows; None where all have none."""
        best: tuple[int, int, int | None, tuple[Link, ...]] = 0, 0, None, ()
        for other in self._events():
            links = self._links(group[0], other)
            found = len(links), -len(self._found[other]), other, links
            if links and (best[2] is None or found[:2] > best[:2]):
                best = found
        return best[2:]

    def _events(self) -> Iterator[int]:
        """The events of the match that are found. Facts are none: a table may be large, and says
        nothing of time."""
        return (atom for atom in self._found if atom in self._matched)

    def _links(self, atom: int, other: int) -> tuple[Link, ...]:
        """Columns of an atom that equal one of another, as far as hashes can tell."""
        known = self._prepared.lookups.get((atom, other))
        if known is None:
            pairs = dict(equal_columns(self._prepared, atom, other))
            mine, theirs = self._old(atom).recent.columns, self._found[other].columns
            known = tuple(
                (own, name)
                for own, name in pairs.items()
                if mine[own].type == theirs[name].type and hash_kind(mine[own].type) is not None
            )
            self._prepared.lookups[atom, other] = known
        return known

    def _limited(self, atom: int) -> list[Bounds]:
        """The closed bounds that hold of an atom in this term: one of several, if several."""
        window = self._prepared.window(atom)
        place = -1 if window is None else atom
        found = self._bounds.get(place)
        if found is None:
            bounds = self._prepared.conjunct.bounds if window is None else window.bounds
            term = self._term
            limits = [[*term.limits, *more] for more in (term.some or [()])]
            found = [bounds.with_constraints(each) if each else bounds for each in limits]
            self._bounds[place] = found
        return found

    def _hull(self, group: Sequence[int], keyed: int | None) -> tuple[int | None, int | None]:
        """From when to when all rows end that some atoms can be bound to, by limits and by what is
        found for all atoms but one, which is searched by each of its rows."""
        ways = [(self._prepared.uses[atom].end, b) for atom in group for b in self._limited(atom)]
        low = _hull_of([-bounds[EPOCH, end] for end, bounds in ways], min)
        high = _hull_of([bounds[end, EPOCH] for end, bounds in ways], max)
        for other in self._events():
            if other != keyed and other not in group and len(self._found[other]):
                lows, highs = self._ranges(group, other)
                if lows is not None:
                    low = int(lows.min()) if low is None else max(low, int(lows.min()))
                if highs is not None:
                    high = int(highs.max()) if high is None else min(high, int(highs.max()))
        return low, high

    def _ranges(self, group: Sequence[int], other: int) -> tuple[Times | None, Times | None]:
        """For each row found of an atom, from when to when others may end; None for any time."""
        known = self._ranged.get((group[0], other))
        if known is None:
            known = self._ranged[group[0], other] = self._ranges_of(group, other)
        return known

    def _ranges_of(self, group: Sequence[int], other: int) -> tuple[Times | None, Times | None]:
        events, use = self._found[other], self._prepared.uses[other]
        ends = ((use.start, events.start), (use.end, events.end))
        found: list[tuple[Times | None, Times | None]] = []
        for atom in group:
            end = self._prepared.uses[atom].end
            for bounds in self._limited(atom):
                low, high = None, None
                for node, times in ends:
                    if (limit := bounds[end, node]) < UNBOUNDED:
                        high = times + limit if high is None else np.minimum(high, times + limit)
                    if (limit := bounds[node, end]) < UNBOUNDED:
                        low = times - limit if low is None else np.maximum(low, times - limit)
                found.append((low, high))
        lows, highs = found[0]
        for low, high in found[1:]:
            lows = None if low is None or lows is None else np.minimum(lows, low)
            highs = None if high is None or highs is None else np.maximum(highs, high)
        return lows, highs


def _hull_of(limits: Sequence[int], furthest: Callable[[Sequence[int]], int]) -> int | None:
    """The furthest of some limits; None where one of them says nothing."""
    return None if any(abs(limit) >= UNBOUNDED for limit in limits) else furthest(limits)


def _tighter(times: Times | None, limit: int | None, count: int, pick: Any) -> Times | None:
    """Times that are no further out than a limit."""
    if limit is None:
        return times
    return np.full(count, limit) if times is None else pick(times, limit)
