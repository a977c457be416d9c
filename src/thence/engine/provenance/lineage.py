"""Lineage: the base events behind each result, read from the derivations that were recorded.

What lies behind all results together is found first, set at a time. From below, every derived event
then gets the base events that its derivations bind, and those of the derived events that they bind,
until nothing is added: so a recursion is no matter, nor how many results rest on one event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.ranges import stable_order
from thence.engine.join.chains import spread
from thence.engine.output.event_ids import event_ids
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, ID
from thence.engine.provenance.json_texts import json_objects
from thence.engine.state.derivation_store import (
    Behind,
    Store,
    by_type,
    closed,
    each_once,
    looked_up,
    numbers,
    uses_in,
)
from thence.model.arrow import from_numpy
from thence.model.errors import EvaluationError, StateError
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.tree import Rulebook

LINEAGE = "lineage"
"""The column of results that holds their lineage."""

_TIME = pa.timestamp("us", "UTC")
ENTRY = pa.struct(
    [
        ("label", pa.string()),
        ("event", pa.string()),
        ("start", _TIME),
        ("end", _TIME),
        ("attributes", pa.string()),
    ]
)
TYPE = pa.list_(ENTRY)


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is known of how events were derived: the store, and the rules it tells of."""

    store: Store
    rulebook: Rulebook

    def of(self, events: Mapping[str, Events]) -> Provenance:
        """What is known of some derived events, by type, and of all that they rest on."""
        ids = {
            name: event_ids(self.rulebook.schemas[name], found) for name, found in events.items()
        }
        return Provenance(self.store.kept(self.rulebook.alternatives, ids), self.rulebook)

    def derivations(self, event: str, events: Events) -> Index:
        """How many derivations each of some derived events of a type has."""
        ids = event_ids(self.rulebook.schemas[event], events)
        held = self.store.derivations.get(event)
        if held is None:
            return np.zeros(len(ids), np.int64)
        rows = looked_up(held, EVENT, each_once(ids))
        owners = from_numpy(numbers(rows, EVENT)).dictionary_encode()
        _, first = np.unique(numbers(rows, DERIVATION), return_index=True)
        counts = np.bincount(owners.indices.to_numpy()[first], minlength=1)
        places = _as_numbers(pc.fill_null(pc.index_in(from_numpy(ids), owners.dictionary), -1))
        return np.where(places < 0, 0, counts[places])

    def lineage(self, event: str, events: Events) -> Any:
        """The lineage of events of a type: a list for each, of the base events behind it, with the
        label under which a rule reads each; by start, end, label, type."""
        ids = event_ids(self.rulebook.schemas[event], events)
        return _Reading(self, self._behind(event, ids)).lists(ids)

    def _behind(self, event: str, ids: Index) -> Behind:
        return self.store.behind(self.rulebook.alternatives, {event: ids})

    def with_lineage(self, event: str, events: Events) -> Events:
        """The same events with their lineage as a column."""
        columns = {**events.columns, LINEAGE: self.lineage(event, events)}
        return replace(events, columns=columns)


class _Reading:
    """The lineage of all derived events in a part of the graph of derivations.

    An entry is a base event under a label. Entries have numbers in the order in which lists have
    them, and derived events have numbers too, so that "this event rests on that entry" is one
    number: ``event * entries + entry``.
    """

    def __init__(self, provenance: Provenance, behind: Behind) -> None:
        self._bases = _Bases(provenance, behind)
        edges = [
            _edges(provenance.rulebook.alternatives[event], rows, self._bases)
            for event, rows in behind.derivations.items()
        ]
        owners, bound, labels, bases = (
            np.concatenate([np.empty(0, np.int64), *(each[place] for each in edges)])
            for place in range(4)
        )
        encoded = from_numpy(owners).dictionary_encode()
        self._nodes, owners = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
        direct = bases >= 0
        entries, self._labels, self._entry_bases = self._entries(labels[direct], bases[direct])
        pairs = each_once(owners[direct] * self._size + entries)
        between = (bases == _DERIVED).nonzero()[0]
        if len(between):
            bound = self._numbers(bound[between])
            pairs = closed(pairs, self._size, owners[between], bound)
        self._pairs = pairs

    @property
    def _size(self) -> int:
        return max(len(self._entry_bases), 1)

    def _numbers(self, ids: Index) -> Index:
        """The numbers of derived events."""
        found = pc.index_in(from_numpy(ids), value_set=self._nodes)
        if found.null_count:
            raise StateError("a derivation binds an event of which no derivation is known")
        return _as_numbers(found)

    def _entries(self, labels: Index, bases: Index) -> tuple[Index, Index, Index]:
        """The number of the entry of each label and base event; and what the entries are."""
        size = max(len(self._bases), 1)
        encoded = from_numpy(labels * size + bases).dictionary_encode()
        labels, bases = np.divmod(encoded.dictionary.to_numpy(), size)
        order = self._bases.order(bases, labels)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return rank[encoded.indices.to_numpy()], labels[order], bases[order]

    def lists(self, ids: Index) -> Any:
        """The lineage of some events."""
        events = self._numbers(ids)
        first = np.searchsorted(self._pairs, events * self._size)
        sizes = np.searchsorted(self._pairs, (events + 1) * self._size) - first
        entries = self._pairs[spread(first, sizes)] % self._size
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        if offsets[-1] > _MOST:
            raise EvaluationError(
                f"the results have {offsets[-1]:,} events in their lineage, which is more than "
                "Arrow holds in one array: give fewer events at a time, or ask for lineage of "
                "fewer results"
            )
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), self._shown(entries))

    def _shown(self, entries: Index) -> Any:
        """Entries as users see them."""
        columns = self._bases.shown(self._entry_bases[entries])
        labels = pa.array([label or None for label in self._bases.labels], pa.string())
        return pa.StructArray.from_arrays(
            [labels.take(from_numpy(self._labels[entries])), *columns], fields=list(ENTRY)
        )


_DERIVED, _NOTHING = -1, -2
"""In the place of the number of a base event: it is none, or nothing is bound."""

_MOST = 2**31 - 1


class _Bases:
    """Base events of all types, numbered one type after another; and the labels that they may be
    read under. Both in an order that says which comes first, were they equal in all else."""

    def __init__(self, provenance: Provenance, behind: Behind) -> None:
        found = provenance.store.base_events(behind)
        self._types = sorted(found)
        self._events = [found[event] for event in self._types]
        sizes = list(map(len, self._events))
        self._begins = dict(zip(self._types, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._type = np.repeat(np.arange(len(sizes)), sizes)
        self._schemas = [provenance.rulebook.schemas[event] for event in self._types]
        tables = np.array([schema.table for schema in self._schemas], dtype=np.bool_)
        self._fact = tables[self._type] if len(tables) else np.empty(0, np.bool_)
        none = np.empty(0, np.int64)
        self._start = np.concatenate([none, *(events.start for events in self._events)])
        self._end = np.concatenate([none, *(events.end for events in self._events)])
        self._id = np.concatenate([none, *(numbers(events, ID) for events in self._events)])
        uses = (
            use
            for event in behind.derivations
            for alternative in provenance.rulebook.alternatives[event]
            for use in alternative.uses
        )
        self.labels = sorted({use.label or "" for use in uses})

    def __len__(self) -> int:
        return len(self._type)

    def has(self, event: str) -> bool:
        """Whether events of a type are among them."""
        return event in self._begins

    def of(self, event: str, ids: Index) -> Index:
        """The numbers of some base events of a type."""
        events = self._events[self._types.index(event)]
        found = _as_numbers(pc.index_in(from_numpy(ids), value_set=events.columns[ID]))
        return found + int(self._begins[event])

    def order(self, rows: Index, labels: Index) -> Index:
        """The order of events that are read under labels: facts come last, and what else is equal
        has an order that is the same wherever the program runs."""
        start = self._start[rows]
        order = stable_order(start)
        if not self._fact.any() and (start[order][1:] > start[order][:-1]).all():
            return order
        keys = self._id[rows], self._type[rows], labels, self._end[rows], start, self._fact[rows]
        return np.lexsort(keys)

    def shown(self, rows: Index) -> list[Any]:
        """Types, starts, ends and attributes of some events."""
        texts = [
            json_objects({name: events.columns[name] for name in schema.names}, len(events))
            for schema, events in zip(self._schemas, self._events, strict=True)
        ]
        chosen, fact = from_numpy(rows), self._fact[rows]
        return [
            pa.array(self._types, pa.string()).take(from_numpy(self._type[rows])),
            pa.array(self._start[rows], pa.int64(), mask=fact).view(_TIME),
            pa.array(self._end[rows], pa.int64(), mask=fact).view(_TIME),
            pa.concat_arrays([pa.array([], pa.string()), *texts]).take(chosen),
        ]


def _as_numbers(found: Any) -> Index:
    """Places that were found, as an array."""
    numbers: Index = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _edges(
    alternatives: Sequence[Prepared], rows: Events, bases: _Bases
) -> tuple[Index, Index, Index, Index]:
    """For each row of derivations, the ids of what was derived and of what is bound, the label, and
    the number of the base event that it is."""
    named, places = uses_in(alternatives, rows)
    labels = np.array([0 if use is None else bases.labels.index(use.label or "") for use in named])
    bound = numbers(rows, BOUND)
    found = np.full(len(rows), _DERIVED)
    for event, own in by_type(alternatives, rows):
        if bases.has(event):
            found[own] = bases.of(event, bound[own])
    # What had to be absent is no part of a result.
    found[np.array([use is None or use.absent for use in named])[places]] = _NOTHING
    return numbers(rows, EVENT), bound, labels[places], found
