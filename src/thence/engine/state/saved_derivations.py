"""Whether derivations that were read fit the program and the events beside them.

Ids follow from events, so nothing about them has to be trusted: every event of the archive has its
own id, and whatever a derivation names, or somebody may ask for, is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index
from thence.engine.output.event_ids import event_ids
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, ID, USE, atom_of
from thence.engine.state.derivation_store import by_type, numbers
from thence.engine.state.state import State
from thence.model.errors import StateError
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.tree import Rulebook


def check_derivations(event: str, rows: Events, rulebook: Rulebook) -> None:
    """Refuse rows that derivations of an event cannot be."""
    alternatives: Sequence[Prepared] = rulebook.alternatives.get(event, ())
    _check_columns(rows, dict.fromkeys((EVENT, DERIVATION, USE, BOUND), pa.int64()))
    if any(column.null_count for column in rows.columns.values()):
        raise StateError("its derivations have gaps")
    for use in np.unique(numbers(rows, USE)).tolist():
        number, atom = atom_of(use)
        made = alternatives[number] if 0 <= number < len(alternatives) else None
        if made is None or (atom is not None and atom >= len(made.uses)):
            raise StateError(f"it has derivations of '{event}' by a rule that there is not")


def check_archive(event: str, events: Events, rulebook: Rulebook) -> None:
    """Refuse rows that base events with their ids cannot be."""
    schema = rulebook.schemas.get(event)
    if schema is None or event in rulebook.alternatives:
        raise StateError(f"it has '{event}' events in its archive, which are no input")
    _check_columns(events, {a.name: a.type.arrow for a in schema.attributes} | {ID: pa.int64()})
    if events.columns[ID].null_count or (numbers(events, ID) != event_ids(schema, events)).any():
        raise StateError(f"a '{event}' event has the id of another one")


def check_references(state: State, base: Collection[str], rulebook: Rulebook) -> None:
    """Refuse derivations, and derived events, that rest on what is not there."""
    known = {event: numbers(held.whole(), ID) for event, held in state.archive.items()}
    derived = {event: held.whole() for event, held in state.derivations.items()}
    known |= {event: numbers(rows, EVENT) for event, rows in derived.items()}
    for event, rows in derived.items():
        for other, own in by_type(rulebook.alternatives[event], rows):
            _check_known(other, numbers(rows, BOUND)[own], known)
    for name, held in (*state.events.items(), *state.waiting.items()):
        if name not in base:
            _check_known(name, event_ids(rulebook.schemas[name], held.whole()), known)


def _check_columns(events: Events, expected: dict[str, pa.DataType]) -> None:
    if {name: column.type for name, column in events.columns.items()} != expected:
        raise StateError("its derivations, or what they name, have other columns")


def _check_known(event: str, ids: Index, known: dict[str, Index]) -> None:
    if not np.isin(ids, known.get(event, ids[:0])).all():
        raise StateError(f"it does not say what a '{event}' event was made of, or what it was")
