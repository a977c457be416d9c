"""The derivations that are remembered, and an archive of events in them, by id: of base events
where lineage is asked for, of effects and causes where a rule asks for those.

Together they are a graph: from the id of an event to what was bound in each of its derivations, and
on from there. A step adds to it; what nothing refers to any more goes once there is as much of it
as of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, take
from thence.engine.join.chains import spread
from thence.engine.limits.growth import Growth, expect
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, ID, USE, atom_of
from thence.engine.state.relation import Relation
from thence.engine.state.sorted_run import key_hashes, probes
from thence.model.arrow import from_numpy
from thence.model.errors import StateError
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.recording import Alternatives

Tables = Mapping[str, Events]
"""A table for each of some types of events."""

TypedIds = dict[str, Index]
"""Ids of events, by type."""

READING = Growth(
    "reading what events rest on", "let events be made of less, or ask for fewer of them", "pairs"
)

FEW = 4
"""Rows are looked up by an index where the table has so many times as many."""


@dataclass(frozen=True, slots=True)
class Store:
    """Derivations by the type of what was derived, and archived events by type, with their ids."""

    derivations: Mapping[str, Relation] = field(default_factory=dict)
    archive: Mapping[str, Relation] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(map(len, (*self.derivations.values(), *self.archive.values())))

    def added(self, derivations: Tables, archive: Tables) -> Store:
        """The same with more."""
        return Store(_added(self.derivations, derivations), _added(self.archive, archive))

    def joined(self, other: Store) -> Store:
        """What two stores hold."""
        return self.added(
            {event: held.whole() for event, held in other.derivations.items()},
            {event: held.whole() for event, held in other.archive.items()},
        )

    def indexed(self) -> Store:
        """The same, made ready for many questions."""
        return Store(
            {event: held.settled() for event, held in self.derivations.items()},
            {event: held.settled() for event, held in self.archive.items()},
        )

    def behind(self, alternatives: Alternatives, roots: Mapping[str, Index]) -> Behind:
        """All that some events rest on, which are given by type and id."""
        known: dict[str, Ids] = {}
        found: dict[str, list[Events]] = {}
        bases: dict[str, list[Index]] = {}
        indexed: dict[str, Relation] = {}
        waiting = [(event, each_once(ids)) for event, ids in roots.items() if len(ids)]
        while waiting:
            event, ids = waiting.pop()
            if event not in alternatives:
                bases.setdefault(event, []).append(ids)
                continue
            fresh = known.setdefault(event, Ids()).fresh(ids)
            if not len(fresh) or event not in self.derivations:
                continue
            held = self.derivations[event]
            if FEW * len(fresh) < len(held):
                held = indexed.setdefault(event, held.settled())
            rows = looked_up(held, EVENT, fresh)
            found.setdefault(event, []).append(rows)
            for other, bound in by_type(alternatives[event], rows):
                waiting.append((other, each_once(numbers(rows, BOUND)[bound])))
        return Behind(
            {event: concat(parts) for event, parts in found.items()},
            {
                event: parts[0] if len(parts) == 1 else each_once(np.concatenate(parts))
                for event, parts in bases.items()
            },
            {event: ids.all() for event, ids in known.items()},
        )

    def above(self, bound_by: Mapping[str, Sequence[str]], roots: Mapping[str, Index]) -> TypedIds:
        """Some events, given by type and id, and all that rest on them; ``bound_by`` says which
        types of events bind those of a type."""
        known: dict[str, Ids] = {}
        waiting = [(event, each_once(ids)) for event, ids in roots.items() if len(ids)]
        while waiting:
            event, ids = waiting.pop()
            fresh = known.setdefault(event, Ids()).fresh(ids)
            for other in bound_by.get(event, ()) if len(fresh) else ():
                if other in self.derivations:
                    rows = looked_up(self.derivations[other], BOUND, fresh)
                    waiting.append((other, each_once(numbers(rows, EVENT))))
        return {event: ids.all() for event, ids in known.items()}

    def archived(self, event: str, ids: Index) -> Events:
        """The archived events of a type that have some ids, each once."""
        held = self.archive.get(event)
        rows = None if held is None else _first_of_each(looked_up(held, ID, ids))
        if rows is None or len(rows) < len(ids):
            raise StateError(f"a derivation binds a '{event}' event that is not there")
        return rows

    def base_events(self, behind: Behind) -> dict[str, Events]:
        """The base events that others rest on, each once."""
        return {event: self.archived(event, ids) for event, ids in behind.bases.items()}

    def kept(self, alternatives: Alternatives, roots: Mapping[str, Index]) -> Store:
        """What some events rest on, and nothing else."""
        behind = self.behind(alternatives, roots)
        archive = self.base_events(behind)
        for event, ids in behind.derived.items():
            if event in self.archive:
                archive[event] = _first_of_each(looked_up(self.archive[event], ID, ids))
        return Store().added(behind.derivations, archive)

    def unknown(self, derivations: Tables) -> Tables:
        """Those rows of some tables that are of derivations that are not among these."""
        found = dict(derivations)
        for event, held in self.derivations.items():
            rows = found.get(event)
            if rows is not None and len(rows):
                known = looked_up(held, DERIVATION, each_once(numbers(rows, DERIVATION)))
                here = pc.is_in(rows.columns[DERIVATION], value_set=known.columns[DERIVATION])
                found[event] = take(rows, ~here.to_numpy(zero_copy_only=False))
        return found


@dataclass(frozen=True, slots=True)
class Behind:
    """What some events rest on: rows of derivations by type, the ids of base events, and those of
    derived ones."""

    derivations: dict[str, Events]
    bases: dict[str, Index]
    derived: dict[str, Index]


class Ids:
    """Ids in a few sorted runs, each at least twice as long as the next."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[Index] = []

    def fresh(self, ids: Index) -> Index:
        """Those of some ids, each there once and in order, that are not among these; they are from
        now on."""
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, ids), len(run) - 1)
            ids = ids[run[places] != ids]
        if len(ids):
            parts = [ids]
            while self._runs and len(self._runs[-1]) < 2 * sum(map(len, parts)):
                parts.append(self._runs.pop())
            self._runs.append(np.sort(np.concatenate(parts)))
        return ids

    def all(self) -> Index:
        """All of them, in order."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *self._runs]))


def closed(
    pairs: Index,
    size: int,
    owners: Index,
    bound: Index,
    growing: Callable[[], Growth] = lambda: READING,
) -> Index:
    """What events rest on, through one another, until there is nothing more.

    Events have numbers, and so have the ``size`` things that they may rest on: "this event rests on
    that" is one number, ``event * size + thing``. ``pairs`` are those that are known, in order; and
    each of the events ``owners`` is made of that in the same place of ``bound``. ``growing`` says
    what it is that may grow beyond what a step may take.

    >>> closed(np.array([2, 3]), 2, np.array([0, 2]), np.array([1, 0])).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    order = np.argsort(bound, kind="stable")
    owners, bound = owners[order], bound[order]
    known, fresh, total = Ids(), pairs, len(pairs)
    known.fresh(pairs)
    while len(fresh):
        events, things = np.divmod(fresh, size)
        first = np.searchsorted(bound, events, "left")
        sizes = np.searchsorted(bound, events, "right") - first
        total += int(sizes.sum())
        expect(total, 24, growing)
        found = owners[spread(first, sizes)] * size + np.repeat(things, sizes)
        fresh = known.fresh(each_once(found))
    return known.all()


def by_type(alternatives: Sequence[Prepared], rows: Events) -> list[tuple[str, Mask]]:
    """The types of what is bound in rows of derivations, and which rows bind one."""
    uses, places = uses_in(alternatives, rows)
    types = [None if use is None else use.event for use in uses]
    named = [event for event in dict.fromkeys(types) if event is not None]
    return [(event, np.array([each == event for each in types])[places]) for event in named]


class Used(NamedTuple):
    """What a derivation does with an event: under which type and label it reads it, and whether the
    event had to be absent, or was collected."""

    event: str
    label: str | None
    absent: bool
    collected: bool


def uses_in(alternatives: Sequence[Prepared], rows: Events) -> tuple[list[Used | None], Index]:
    """The uses in rows of derivations, None where nothing is bound; and for each row which of them
    it is."""
    encoded = rows.columns[USE].dictionary_encode()
    atoms = map(atom_of, encoded.dictionary.to_pylist())
    uses = [None if atom is None else _used(alternatives[number], atom) for number, atom in atoms]
    return uses, encoded.indices.to_numpy(zero_copy_only=False)


def _used(alternative: Prepared, atom: int) -> Used:
    window, use = alternative.window(atom), alternative.uses[atom]
    mode = None if window is None else window.mode
    return Used(use.event, use.label, mode == "absent", mode == "collect")


def numbers(rows: Events, column: str) -> Index:
    """A column of a table of derivations, or the ids of an archive."""
    found: Index = rows.columns[column].to_numpy(zero_copy_only=False)
    return found


def looked_up(held: Relation, column: str, ids: Index) -> Events:
    """The rows in which a column has one of some ids."""
    if FEW * len(ids) >= len(held):
        rows = held.whole()
    else:
        key = Events(ids, ids, {column: pa.array(ids)})
        rows = held.near((column,), probes(key_hashes(key, (column,)), None, None))
    found = pc.is_in(rows.columns[column], value_set=from_numpy(ids))
    return take(rows, found.to_numpy(zero_copy_only=False))


def each_once(ids: Index) -> Index:
    """Ids in order, each once."""
    ids = np.sort(ids)
    if len(ids) < 2:
        return ids
    return ids[np.concatenate(([True], ids[1:] != ids[:-1]))]


def _first_of_each(rows: Events) -> Events:
    """The rows of an archive, of those with one id the first."""
    encoded = rows.columns[ID].dictionary_encode()
    if len(encoded.dictionary) == len(rows):
        return rows
    _, first = np.unique(encoded.indices.to_numpy(), return_index=True)
    return take(rows, first)


def _added(held: Mapping[str, Relation], more: Tables) -> dict[str, Relation]:
    found = dict(held)
    for name, rows in more.items():
        found[name] = found[name].added(rows) if name in found else Relation(rows)
    return found
