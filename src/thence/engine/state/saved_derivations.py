"""Whether derivations that were read fit the program and the events beside them.

Ids follow from events, so nothing about them has to be trusted: every event of the archive has its
own id, and whatever a derivation names, or somebody may ask for, is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index
from thence.engine.output.event_ids import event_ids
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, ID, USE, atom_of
from thence.engine.state.derivation_store import by_type, numbers
from thence.engine.state.state import State
from thence.model.errors import StateError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.plan.prepared import Prepared
from thence.plan.recording import Recording


def check_derivations(event: str, rows: Events, recording: Recording) -> None:
    """Refuse rows that derivations of an event cannot be."""
    alternatives: Sequence[Prepared] = recording.alternatives.get(event, ())
    _check_columns(rows, dict.fromkeys((EVENT, DERIVATION, USE, BOUND), pa.int64()))
    if any(column.null_count for column in rows.columns.values()):
        raise StateError("its derivations have gaps")
    for use in np.unique(numbers(rows, USE)).tolist():
        number, atom = atom_of(use)
        made = alternatives[number] if 0 <= number < len(alternatives) else None
        if made is None or (atom is not None and atom >= len(made.uses)):
            raise StateError(f"it has derivations of '{event}' by a rule that there is not")


def check_archive(
    event: str, events: Events, recording: Recording, schemas: Mapping[str, EventSchema]
) -> None:
    """Refuse rows that archived events with their ids cannot be."""
    if event not in recording.archive:
        raise StateError(f"it has '{event}' events in its archive, where none belong")
    schema = schemas[event]
    _check_columns(events, {a.name: a.type.arrow for a in schema.attributes} | {ID: pa.int64()})
    if events.columns[ID].null_count or (numbers(events, ID) != event_ids(schema, events)).any():
        raise StateError(f"a '{event}' event has the id of another one")


def check_references(
    state: State, recording: Recording, schemas: Mapping[str, EventSchema], lineage: bool
) -> None:
    """Refuse derivations that rest on what is not there; and with ``lineage``, where all of them
    are recorded, derived events that have none."""
    derived = {event: held.whole() for event, held in state.derivations.items()}
    known = {event: numbers(rows, EVENT) for event, rows in derived.items()} if lineage else {}
    for name, held in (*state.events.items(), *state.waiting.items()):
        if lineage and name in recording.alternatives:
            _check_known(name, event_ids(schemas[name], held.whole()), known)
    known |= dict.fromkeys(recording.archive, np.empty(0, np.int64))
    known |= {event: numbers(held.whole(), ID) for event, held in state.archive.items()}
    for event, rows in derived.items():
        if event in recording.archive:
            _check_known(event, numbers(rows, EVENT), known)
        for other, own in by_type(recording.alternatives[event], rows):
            if lineage or other in recording.archive:
                _check_known(other, numbers(rows, BOUND)[own], known)


def _check_columns(events: Events, expected: dict[str, pa.DataType]) -> None:
    if {name: column.type for name, column in events.columns.items()} != expected:
        raise StateError("its derivations, or what they name, have other columns")


def _check_known(event: str, ids: Index, known: dict[str, Index]) -> None:
    if not np.isin(ids, known.get(event, ids[:0])).all():
        raise StateError(f"it does not say what a '{event}' event was made of, or what it was")
