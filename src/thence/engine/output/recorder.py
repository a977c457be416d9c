"""Recording derivations: of which events each event was made, as columns of ids.

A derivation is a few rows of a table, one for each event that was bound: the id of the event that
was derived, the id of the derivation, the use (which alternative of which rule, and which atom of
it, as :attr:`Rulebook.alternatives` numbers them), and the id of what was bound. What was bound may
be derived itself; nothing is expanded. A derivation of no event at all is one row, for no atom.

The id of a derivation follows from what it says: from the rule, and from the set of what it binds
under which name. So one that is found twice is known to be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.hashing import Hashes, combined, hash_of
from thence.engine.arrays.rows import concat, take
from thence.engine.join.match import Match
from thence.engine.output.absences import Absences, absences_of
from thence.engine.output.event_ids import event_ids
from thence.engine.window.windows import blockers
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.plan.prepared import Prepared
from thence.plan.recording import Recording
from thence.plan.tree import Part, alternatives_in

EVENT, DERIVATION, USE, BOUND = "event", "derivation", "use", "bound"
"""The columns of a table of derivations."""

ID = "#id"
"""The column of an archive of base events with the id of each."""

_ATOMS = 1 << 20
"""More atoms than an alternative has."""


def use_of(alternative: int, atom: int | None) -> int:
    """The number of a use: of an atom of an alternative, or of no atom."""
    return alternative * _ATOMS + (0 if atom is None else atom + 1)


def atom_of(use: int) -> tuple[int, int | None]:
    """The alternative and the atom of a use.

    >>> atom_of(use_of(3, 0)), atom_of(use_of(3, None))
    ((3, 0), (3, None))
    """
    alternative, place = divmod(use, _ATOMS)
    return alternative, place - 1 if place else None


@dataclass(frozen=True, slots=True)
class Bound:
    """Events that some derivations bind to one atom: the derivation's number, and the row."""

    match: Match
    atom: int
    owners: Index
    rows: Index
    how: Literal["bound", "collected", "absent"] = "bound"
    """Whether it was met by an atom, collected, or had to be absent, where it is only possible."""


class Recorder:
    """Takes note of the derivations of a step, and of the events that are to be archived: of all
    that a :class:`Recording` says. Into ``absences``, if there is such a list, goes what had to be
    absent; derivations that differ in nothing else are then told apart."""

    def __init__(
        self, part: Part, recording: Recording, absences: list[Absences] | None = None
    ) -> None:
        self._absences = absences
        self._schemas = part.schemas
        self._recording = recording
        self._numbers = {
            id(alternative): number
            for alternatives in alternatives_in(part.stages).values()
            for number, alternative in enumerate(alternatives)
        }
        self._rules = {
            id(alternative): number
            for stage in part.stages
            for number, rule in enumerate(stage.rules)
            for alternative in rule
        }
        self._others: list[Prepared] = []
        """Joins that stand for others, which are known by their identity as long as they exist."""
        self._seen: dict[int, _Relation] = {}
        self._derivations: dict[str, list[Events]] = {}
        self._archive: dict[str, list[Events]] = {}

    def of(self, event: str) -> Recorder | None:
        """Who takes note of the derivations of a type of events: this one, or nobody."""
        return self if event in self._recording.alternatives else None

    def taken(self) -> tuple[dict[str, Events], dict[str, Events]]:
        """What was recorded since this was last asked, by type: derivations, and the events to be
        archived, with their ids."""
        for held in self._seen.values():
            rows = held.used & ~held.archived
            held.archived[rows] = True
            self._archive_some(held.schema, take(held.events, rows), held.ids[rows])
        found = self._derivations, self._archive
        self._derivations, self._archive = {}, {}
        derivations, archive = ({e: concat(parts) for e, parts in t.items()} for t in found)
        return derivations, archive

    def matches(self, match: Match, heads: Events) -> Events:
        """Each row of a match is a derivation of the event in the same row of ``heads``; which is
        given back as only possible where something is in that."""
        conjunct, parts = match.prepared.conjunct, self._parts(match)
        every = np.arange(match.length)
        absent = [part for part in _blockers(match) if len(part.rows)]
        names = [name_of_use(part) for part in parts]
        if conjunct.repetitions or absent or len(set(names)) < len(names) or not parts:
            self.groups(match.prepared, heads, [*parts, *absent], [(match, every)])
            return _annotated(heads, [*parts, *absent])
        # Every row binds as many events, each under a name of its own: nothing can be there twice.
        columns = [self._bound(part) for part in parts]
        terms = [
            combined(hash_of(n), c.view(np.uint64)) for n, c in zip(names, columns, strict=True)
        ]
        uses = np.array([self._use(part) for part in parts])
        self._add(
            match.prepared,
            heads,
            np.tile(every, len(parts)),
            np.repeat(uses, match.length),
            np.concatenate(columns),
            np.sum(terms, axis=0, dtype=np.uint64),
            [(match, every)],
        )
        return _annotated(heads, parts)

    def identities(self, match: Match) -> Hashes:
        """For each row of a match a hash of the set of what it binds under which name."""
        owners, _, _, terms = self._once(self._parts(match))
        total = np.zeros(match.length, np.uint64)
        np.add.at(total, owners, terms)
        return total

    def stands_for(self, join: Prepared, alternative: Prepared) -> None:
        """Take the matches of a join for those of an alternative of a rule."""
        self._numbers[id(join)] = self._numbers[id(alternative)]
        self._rules[id(join)] = self._rules[id(alternative)]
        self._others.append(join)

    def _parts(self, match: Match) -> list[Bound]:
        """What each row of a match is made of."""
        conjunct = match.prepared.conjunct
        every = np.arange(match.length)
        told = [atom for atom in conjunct.parts if self._is_named(match.prepared, atom)]
        parts = [Bound(match, atom, every, match.rows(atom)) for atom in told]
        for window in conjunct.repetitions:
            if self._is_named(match.prepared, window.atom):
                chains = match.chains(window.atom)
                parts.append(Bound(match, window.atom, chains.owners, chains.members))
        return parts

    def groups(
        self,
        prepared: Prepared,
        heads: Events,
        parts: Sequence[Bound],
        matches: Sequence[tuple[Match, Index]],
    ) -> None:
        """All that is bound for one number is a derivation of the event in that row of ``heads``,
        by a rule of which ``prepared`` is an alternative. ``matches`` are all that are part of it,
        each row with the number of the derivation."""
        named = [part for part in parts if self._is_named(part.match.prepared, part.atom)]
        if parts and not named:
            return
        owners, uses, bound, terms = self._once(named)
        total = np.zeros(len(heads), np.uint64)
        np.add.at(total, owners, terms)
        bare = np.flatnonzero(np.bincount(owners, minlength=len(heads)) == 0)
        self._add(
            prepared,
            heads,
            np.concatenate([owners, bare]),
            np.concatenate([uses, np.full(len(bare), self._no_atom(prepared))]),
            np.concatenate([bound, np.zeros(len(bare), np.int64)]),
            total,
            matches,
        )

    def _once(self, parts: Sequence[Bound]) -> tuple[Index, Index, Index, Hashes]:
        """What is bound, for each number and name once: numbers, uses, ids, and hashes of these."""
        none = np.empty(0, np.int64)
        owners = np.concatenate([none, *(part.owners for part in parts)])
        bound = np.concatenate([none, *map(self._bound, parts)])
        sizes = [len(part.owners) for part in parts]
        uses = np.repeat(np.array([self._use(p) for p in parts], np.int64), sizes)
        hashes = np.concatenate([none.view(np.uint64), *(hash_of(name_of_use(p)) for p in parts)])
        terms = combined(np.repeat(hashes, sizes), bound.view(np.uint64))
        order = np.lexsort((terms, owners))
        owners, terms = owners[order], terms[order]
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = (owners[1:] != owners[:-1]) | (terms[1:] != terms[:-1])
        chosen = order[fresh]
        return owners[fresh], uses[chosen], bound[chosen], terms[fresh]

    def _is_named(self, prepared: Prepared, atom: int) -> bool:
        """Whether derivations tell of the events of an atom."""
        return prepared.uses[atom].event in self._recording.named

    def _add(
        self,
        prepared: Prepared,
        heads: Events,
        owners: Index,
        uses: Index,
        bound: Index,
        terms: Hashes,
        matches: Sequence[tuple[Match, Index]],
    ) -> None:
        absent = []
        if self._absences is not None:
            absent = [(each, own) for match, own in matches for each in absences_of(match)]
            for each, own in absent:
                np.add.at(terms, own, each.hashes)
        event = prepared.conjunct.event
        ids = event_ids(self._schemas[event], heads)
        rule = hash_of((event, self._rules[id(prepared)]))
        derivations = combined(combined(rule, ids.view(np.uint64)), terms).view(np.int64)
        if self._absences is not None:
            self._absences += [replace(e, derivations=derivations[own]) for e, own in absent]
        ends = heads.end[owners]
        columns = {
            EVENT: pa.array(ids[owners]),
            DERIVATION: pa.array(derivations[owners]),
            USE: pa.array(uses),
            BOUND: pa.array(bound),
        }
        self._derivations.setdefault(event, []).append(Events(ends, ends, columns))
        if event in self._recording.archive:
            _, first = np.unique(ids, return_index=True)
            self._archive_some(self._schemas[event], take(heads, first), ids[first])

    def _use(self, part: Bound) -> int:
        return use_of(self._numbers[id(part.match.prepared)], part.atom)

    def _no_atom(self, prepared: Prepared) -> int:
        return use_of(self._numbers[id(prepared)], None)

    def _bound(self, part: Bound) -> Index:
        """The ids of what is bound to an atom; what is to be archived is."""
        event, rel = part.match.prepared.uses[part.atom].event, part.match.rels[part.atom]
        schema, held = self._schemas[event], self._seen.get(id(rel))
        if held is None and len(rel) > len(part.rows):
            rows, places = np.unique(part.rows, return_inverse=True)
            events = take(rel, rows)
            ids = event_ids(schema, events)
            self._archive_some(schema, events, ids)
            return ids[places]
        if held is None:
            used, archived = np.zeros((2, len(rel)), dtype=np.bool_)
            ids = event_ids(schema, rel)
            held = self._seen[id(rel)] = _Relation(schema, rel, ids, used, archived)
        held.used[part.rows] = True
        return held.ids[part.rows]

    def _archive_some(self, schema: EventSchema, events: Events, ids: Index) -> None:
        if schema.name in self._recording.archive and len(events):
            columns = {name: events.columns[name] for name in schema.names} | {ID: pa.array(ids)}
            kept = Events(events.start, events.end, columns)
            self._archive.setdefault(schema.name, []).append(kept)


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation of which many rows are bound: the ids of all, and which of them are bound, and
    have been archived."""

    schema: EventSchema
    events: Events
    ids: Index
    used: Mask
    archived: Mask


def name_of_use(part: Bound) -> tuple[object, ...]:
    """What a derivation knows of how it binds an event: its type, its label in the rule, and
    whether it was collected, or had to be absent."""
    use = part.match.prepared.uses[part.atom]
    return use.event, use.label, part.how


def _blockers(match: Match) -> Iterator[Bound]:
    """What may have happened where nothing may."""
    for window in match.prepared.conjunct.windows:
        if window.mode == "absent" and match.rels[window.atom].possible is not None:
            probing, rows, members = blockers(match, window)
            yield Bound(probing, window.atom, rows, members, "absent")


def _annotated(heads: Events, parts: Sequence[Bound]) -> Events:
    """Events, of which those are only possible that something only possible is a part of, or could
    prevent. One that has another derivation may be certain all the same."""
    possible = np.zeros(len(heads), dtype=np.bool_)
    for part in parts:
        said = part.match.rels[part.atom].possible
        if said is not None:
            possible[part.owners[said[part.rows]]] = True
    return replace(heads, possible=possible) if possible.any() else heads
