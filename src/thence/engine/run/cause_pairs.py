"""Reading causes from derivations: which events of a type others were made of, at any depth.

A step keeps what it knows of derivations at hand: what is remembered, what has arrived, and what it
has recorded by now. An event that is known already may get a further derivation, and so may
something that it rests on; so the causes are read of all effects above what is new. Which of them
are known already is told when they are given out, as for all results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.limits.growth import Growth, expect, working_on
from thence.engine.output.recorder import BOUND, EVENT, ID, Recorder
from thence.engine.state.derivation_store import (
    Store,
    Tables,
    TypedIds,
    closed,
    each_once,
    numbers,
    uses_in,
)
from thence.model.arrow import from_numpy
from thence.model.events import Events
from thence.model.types import TIMESTAMP
from thence.plan.prepared import Prepared
from thence.plan.recording import Between, Recording


class Told:
    """What is known of derivations while a step runs."""

    def __init__(
        self, recording: Recording, recorder: Recorder | None, store: Store, arriving: Store
    ) -> None:
        self._recording, self._recorder = recording, recorder
        self._all_new = not store.rows
        """Whether nothing was known before the step."""
        self._new: list[Tables] = []
        self._read: dict[str, int] = {}
        """How many of the new tables have been read for an event that tells causes."""
        self._store = store
        if arriving.rows:
            came = {event: held.whole() for event, held in arriving.derivations.items()}
            self._new.append(store.unknown(came))
            self._store = store.joined(arriving)

    @property
    def store(self) -> Store:
        """All that is known by now."""
        if self._recorder is not None:
            derivations, archive = self._recorder.taken()
            if derivations:
                self._new.append(derivations)
                self._store = self._store.added(derivations, archive)
        return self._store

    def recorder_of(self, event: str) -> Recorder | None:
        """Who takes note of the derivations of a type of events, if somebody does."""
        return None if self._recorder is None else self._recorder.of(event)

    def causes(self, rule: Prepared) -> list[Events]:
        """The causes of one type of the effects of another, as far as they may be new: the effect,
        with the attributes and times of a cause."""
        name = rule.conjunct.event
        asked, store = self._recording.pairs[name], self.store
        roots = self._since(self._read.get(name, 0), asked.alternatives)
        if not self._all_new or name in self._read:
            roots = store.above(asked.bound_by, roots)
        self._read[name] = len(self._new)
        effects = roots.get(asked.effect)
        if effects is None or not len(effects):
            return []
        working_on(rule)
        pairs = _pairs(store, asked, each_once(effects))
        return [_paired(rule, store, asked, *pairs)] if len(pairs[0]) else []

    def above_new(self) -> TypedIds:
        """All that rests on what is new, by type."""
        roots = self._since(0, self._recording.alternatives)
        return self.store.above(self._recording.bound_by, roots)

    def _since(self, read: int, events: Iterable[str]) -> TypedIds:
        """The events of some types of which there are new derivations, but for so many tables."""
        found = {event: [t[event] for t in self._new[read:] if event in t] for event in events}
        return {
            event: np.concatenate([numbers(rows, EVENT) for rows in tables])
            for event, tables in found.items()
            if tables
        }


def _pairs(store: Store, asked: Between, effects: Index) -> tuple[Index, Index]:
    """The ids of effects, and beside each that of a cause; for each effect all its causes."""
    behind = store.behind(asked.alternatives, {asked.effect: effects})
    owners, causes, tops, bound = ([np.empty(0, np.int64)] for _ in range(4))
    for event, rows in behind.derivations.items():
        uses, places = uses_in(asked.alternatives[event], rows)
        parts = [None if use is None or use.absent else use.event for use in uses]
        direct = np.array([part == asked.cause for part in parts])[places]
        inner = np.array([part in asked.alternatives for part in parts])[places]
        made, of = numbers(rows, EVENT), numbers(rows, BOUND)
        owners.append(made[direct])
        causes.append(of[direct])
        tops.append(made[inner])
        bound.append(of[inner])
    events = from_numpy(np.concatenate([*owners, *tops])).dictionary_encode()
    known = events.dictionary
    things = from_numpy(np.concatenate(causes)).dictionary_encode()
    size = max(len(things.dictionary), 1)
    numbered = events.indices.to_numpy().astype(np.int64)
    count = len(things)
    pairs = each_once(numbered[:count] * size + things.indices.to_numpy())
    below = pc.index_in(from_numpy(np.concatenate(bound)), value_set=known)
    # What has no derivation from such a cause leads to none.
    leads = below.is_valid().to_numpy(zero_copy_only=False)
    if leads.any():
        inner = below.drop_null().to_numpy().astype(np.int64)
        pairs = closed(pairs, size, numbered[count:][leads], inner, lambda: _growing(asked))
    top, thing = np.divmod(pairs, size)
    shown = pc.is_in(known, value_set=from_numpy(effects)).to_numpy(zero_copy_only=False)[top]
    return known.to_numpy()[top[shown]], things.dictionary.to_numpy()[thing[shown]]


def _paired(rule: Prepared, store: Store, asked: Between, effects: Index, causes: Index) -> Events:
    """Effects with their causes as events."""
    expect(len(effects), 16 * len(rule.conjunct.head.columns), lambda: _growing(asked))
    of_effect, rows = _archived(store, asked.effect, effects)
    of_cause, others = _archived(store, asked.cause, causes)
    chosen = from_numpy(rows)
    values = {f"x.{name}": column.take(chosen) for name, column in of_effect.columns.items()}
    times = {"start": of_cause.start, "end": of_cause.end}
    shown: dict[str, Any] = dict(of_cause.columns)
    shown |= {which: pa.array(time).view(TIMESTAMP.arrow) for which, time in times.items()}
    values |= {f"y.{name}": column.take(from_numpy(others)) for name, column in shown.items()}
    columns = {name: values[name] for name in rule.conjunct.head.columns}
    return Events(of_effect.start[rows], of_effect.end[rows], columns)


def _archived(store: Store, event: str, ids: Index) -> tuple[Events, Index]:
    """Archived events, and which of them each id is that of."""
    events = store.archived(event, each_once(ids))
    places = pc.index_in(from_numpy(ids), value_set=events.columns[ID])
    return events, places.to_numpy().astype(np.int64)


def _growing(asked: Between) -> Growth:
    return Growth(
        f"telling of which '{asked.cause}' events '{asked.effect}' events were made",
        "ask for the causes of fewer events, or of such that are made of less",
        "causes",
    )
