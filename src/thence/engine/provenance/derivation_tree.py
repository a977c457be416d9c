"""Reading derivations as a tree: of an event its derivations in order, of each what it was made of.

Those of least depth come first: base events have depth 0, and a derivation is one deeper than the
deepest event in it. So whoever follows first derivations comes to base events, whatever the
recursion. All of it is columns until somebody asks for one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import take
from thence.engine.output.absences import Absences
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, USE, atom_of
from thence.engine.provenance.direct_causes import History
from thence.engine.state.derivation_store import Used, numbers, uses_in
from thence.model.events import Events
from thence.model.source import Span

Key = tuple[str, int]
"""An event of a history: its type, and its number among those of the type."""


class Use(NamedTuple):
    """An event that a derivation is made of, under which label, and whether it was collected."""

    event: str
    row: int
    label: str | None
    collected: bool = False

    @property
    def key(self) -> Key:
        return self.event, self.row


class Absent(NamedTuple):
    """One row of what had to be absent."""

    table: Absences
    row: int


class Derived(NamedTuple):
    """One derivation of an event: where its rule stands, what it was made of, what was absent."""

    span: Span
    uses: tuple[Use, ...]
    absent: tuple[Absent, ...]


class Graph:
    """The derivations of some events of a history, and of all behind them."""

    def __init__(self, history: History, event: str, rows: Sequence[int]) -> None:
        self.history = history
        found = history.behind(event, history.ids(event, rows))
        self._types = {name: _Type(history, name, table) for name, table in found.items()}
        self._depths = _depths(list(self._types.values()))
        self._absences = _in_order(history.absences)

    def __contains__(self, key: Key) -> bool:
        return key[0] in self._types and len(self._types[key[0]].of(key[1])) > 0

    def derivations(self, key: Key, limit: int | None) -> tuple[list[Derived], int]:
        """The derivations of an event, so many at most, and how many there are: those of least
        depth first, then by the times of their events, then by names."""
        own = self._types[key[0]]
        rows = own.of(key[1])
        ids, places = np.unique(own.derivations[rows], return_inverse=True)
        depths = np.zeros(len(ids), np.int64)
        np.maximum.at(depths, places, _looked_up(*self._depths, own.bound[rows]))
        order = np.lexsort((*_sequences(places, own.ranks(rows)), depths))[:limit]
        shown = np.isin(places, order)
        made_of: dict[int, list[int]] = {place: [] for place in order.tolist()}
        for row, place in zip(rows[shown].tolist(), places[shown].tolist(), strict=True):
            made_of[place].append(row)
        found = [
            Derived(own.span(held[0]), own.uses(held), self._absent(int(ids[place])))
            for place, held in made_of.items()
        ]
        return found, len(ids)

    def _absent(self, derivation: int) -> tuple[Absent, ...]:
        """What had to be absent for a derivation, each once, match by match."""
        found: dict[int, Absent] = {}
        for match in self._absences:
            places = [(row, each.table) for each in match for row in each.rows(derivation)]
            for row, table in sorted(places, key=lambda place: (place[0], place[1].place)):
                found.setdefault(int(table.hashes[row]), Absent(table, row))
        return tuple(found.values())


class _Type:
    """The derivations of events of one type, in the order of the events' numbers."""

    def __init__(self, history: History, event: str, table: Events) -> None:
        owners = history.numbers(event, numbers(table, EVENT))
        table = take(table, np.argsort(owners, kind="stable"))
        self._history = history
        self._alternatives = history.part.rulebook.alternatives[event]
        self._owners = np.sort(owners)
        self.ids, self.derivations = numbers(table, EVENT), numbers(table, DERIVATION)
        self.bound, self._atoms = numbers(table, BOUND), numbers(table, USE)
        self._uses, self._places = uses_in(self._alternatives, table)
        self._rows = np.zeros(len(table), np.int64)
        for use, own in self._by_use():
            self._rows[own] = history.numbers(use.event, self.bound[own])

    def _by_use(self) -> Iterator[tuple[Used, Index]]:
        for number, use in enumerate(self._uses):
            if use is not None and not use.absent:
                yield use, np.flatnonzero(self._places == number)

    def of(self, row: int) -> Index:
        """The rows of the event that has a number."""
        return np.arange(*(np.searchsorted(self._owners, row, side) for side in ("left", "right")))

    def span(self, row: int) -> Span:
        """Where the rule of a row stands."""
        return self._alternatives[atom_of(int(self._atoms[row]))[0]].conjunct.span

    def uses(self, rows: Sequence[int]) -> tuple[Use, ...]:
        """What some rows of a derivation bind, each once."""
        found: dict[Use, None] = {}
        for row in rows:
            use = self._uses[self._places[row]]
            if use is not None and not use.absent:
                found[Use(use.event, int(self._rows[row]), use.label, use.collected)] = None
        return tuple(found)

    def ranks(self, rows: Index) -> Index:
        """The order of what some rows bind: by time, then by names; -1 where nothing is bound."""
        size = len(self._places)
        start, end, names = (np.zeros(size, np.int64) for _ in range(3))
        bound = np.zeros(size, np.bool_)
        named = sorted({(use.event, use.label or "") for use, _ in self._by_use()})
        for use, own in self._by_use():
            events, at = self._history.events[use.event], self._rows[own]
            start[own], end[own] = events.start[at], events.end[at]
            names[own], bound[own] = named.index((use.event, use.label or "")), True
        keys = [column[rows] for column in (self._rows, names, end, start)]
        order = np.lexsort(keys)
        fresh = np.zeros(len(rows), np.int64)
        for key in keys:
            fresh[1:] |= key[order][1:] != key[order][:-1]
        ranks = np.empty(len(rows), np.int64)
        ranks[order] = np.cumsum(fresh)
        return np.where(bound[rows], ranks, -1)


def _sequences(places: Index, ranks: Index) -> Iterator[Index]:
    """Columns by which sets of ranks are sorted as sequences are, the last that counts first; the
    sets are numbered by ``places``."""
    bound = ranks >= 0
    count = int(places.max()) + 1
    pairs = np.unique(np.stack([places[bound], ranks[bound]], axis=1), axis=0)
    sizes = np.bincount(pairs[:, 0], minlength=count)
    within = np.arange(len(pairs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    for place in range(int(sizes.max(initial=0)) - 1, -1, -1):
        column = np.full(count, -1)
        own = within == place
        column[pairs[own, 0]] = pairs[own, 1]
        yield column


def _depths(types: Sequence[_Type]) -> tuple[Index, Index]:
    """The ids of all derived events, in order, and the least depth of each, found from the input
    upwards: an event has its depth as soon as all that one of its derivations is made of has one;
    0 where it never has."""
    none = np.empty(0, np.int64)
    ids, owners = np.unique(np.concatenate([none, *(t.ids for t in types)]), return_inverse=True)
    made = np.concatenate([none, *(t.derivations for t in types)])
    _, several, made = np.unique(made, return_index=True, return_inverse=True)
    owners = owners[several]
    needed = np.concatenate([none, *(t.bound for t in types)])
    places = _looked_up(ids, np.arange(len(ids)), needed, -1)
    pairs = np.unique(np.stack([made, places], axis=1)[places >= 0], axis=0)
    missing = np.bincount(pairs[:, 0], minlength=len(several))
    depths, ready, level = np.zeros(len(ids), np.int64), missing == 0, 1
    while ready.any():
        settled = np.unique(owners[ready])
        settled = settled[depths[settled] == 0]
        depths[settled] = level
        now = pairs[np.isin(pairs[:, 1], settled), 0]
        missing = missing - np.bincount(now, minlength=len(missing))
        ready = np.zeros(len(missing), np.bool_)
        ready[now] = missing[now] == 0
        level += 1
    return ids, depths


def _looked_up(known: Index, values: Index, ids: Index, other: int = 0) -> Index:
    """The values of ids among those that are known, in order; something other for the rest."""
    if not len(known):
        return np.full(len(ids), other)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, values[places], other)


class _Indexed:
    """A table of what had to be absent, by derivation."""

    def __init__(self, table: Absences) -> None:
        self.table = table
        self._order = np.argsort(table.derivations, kind="stable")
        self._known = table.derivations[self._order]

    def rows(self, derivation: int) -> list[int]:
        """The rows of a derivation."""
        low, high = (np.searchsorted(self._known, derivation, side) for side in ("left", "right"))
        found: list[int] = self._order[low:high].tolist()
        return found


def _in_order(absences: Sequence[Absences]) -> list[list[_Indexed]]:
    """What had to be absent, match by match."""
    found: list[list[_Indexed]] = []
    for table in absences:
        if table.place == 0:
            found.append([])
        found[-1].append(_Indexed(table))
    return found
