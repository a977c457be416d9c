"""Whether state that was read fits the program that is to go on from it: nothing is taken on trust.

State that belongs to a program has a fingerprint of it, which says what was meant, not what is
there. So every table is compared with what the program's rules will read: which events, with which
columns, of which types, and times that can be times.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from thence.engine.state.saved_derivations import check_archive, check_derivations, check_references
from thence.engine.state.state import PARTS, State
from thence.engine.window.coverage import EVER
from thence.model.errors import StateError
from thence.model.time import EARLIEST, LATEST
from thence.plan.horizons import CLOCK, NEVER

if TYPE_CHECKING:
    from thence.logic.conjunct import Retention
    from thence.model.events import Events
    from thence.model.schema import EventSchema
    from thence.plan.recording import Recording
    from thence.plan.tree import Part

FARTHEST = 2**60
"""Microseconds from 1970 beyond which nothing that a rule derives can lie."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the state of a part of a program looks like."""

    schemas: Mapping[str, EventSchema]
    base: frozenset[str]
    """Events that no rule derives."""
    inputs: frozenset[str]
    """Events that come from outside the part; of these only what is read is kept."""
    origins: frozenset[str]
    """The inputs of the program, by whose horizons the part goes."""
    reads: Mapping[str, frozenset[str]]
    """The columns of each event that some rule reads."""
    kept: frozenset[str]
    """Events that are kept for later steps."""
    consuming: frozenset[str]
    """The rules that use events up."""
    instants: frozenset[str]
    """Events that are instants, or else the state would have no bound."""
    lineage: bool
    recording: Recording
    """What there may be of derivations."""
    told: Mapping[str, EventSchema]
    """The schemas of all events that derivations may tell of."""


def shape_of(
    part: Part,
    retention: Mapping[str, Retention],
    lineage: bool,
    instants: Collection[str] = (),
) -> Shape:
    """What the state of a part looks like that is run with these options."""
    return Shape(
        {name: schema for name, schema in part.schemas.items() if not schema.table},
        part.base,
        frozenset(part.inputs),
        part.origins,
        part.columns,
        frozenset(retention),
        frozenset(part.consuming),
        frozenset(instants),
        lineage,
        part.rulebook.recording(lineage),
        part.rulebook.schemas,
    )


def check_state(state: State, shape: Shape, runs: bool = True) -> None:
    """Refuse state that a step over the part could not have left behind. Without ``runs``, those
    are for whoever reads them: :func:`check_table`."""
    known = {*shape.origins, CLOCK}
    for name in {*state.horizons, *state.gaps} - known:
        raise StateError(f"it says up to when '{name}' has been seen, which is no input")
    times = [("horizon", time) for time in state.horizons.values()]
    for what, time in (*times, ("latest time", state.latest)):
        if time != NEVER and not -FARTHEST <= time <= FARTHEST:
            raise StateError(f"its {what} is {time}")
    for first, last in (gap for gaps in state.gaps.values() for gap in gaps):
        if not -EVER <= first <= last <= EVER:
            raise StateError(f"it has not seen what ended from {first} to {last}")
    if not shape.recording and (state.derivations or state.archive):
        raise StateError("there are derivations where none were kept")
    for part in PARTS:
        for name, held in getattr(state, part).items():
            for events in (held.recent, *(run.events for run in held.runs if runs)):
                check_table(part, name, events, shape)
    if runs and shape.recording:
        check_references(state, shape.recording, shape.told, shape.lineage)


def check_table(part: str, name: str, events: Events, shape: Shape) -> None:
    """Refuse rows that the relation ``name`` of a part of the state cannot hold."""
    try:
        if part == "derivations":
            check_derivations(name, events, shape.recording)
        elif part == "archive":
            check_archive(name, events, shape.recording, shape.told)
        else:
            _check_table(part, name, events, shape)
    except StateError as problem:
        raise StateError(f"{problem}, among the {part} of '{name}'") from None


def _check_table(part: str, name: str, events: Events, shape: Shape) -> None:
    event, rule = name, None
    if part == "used":
        rule, _, event = name.partition("|")
        if rule not in shape.consuming:
            raise StateError("it holds events that a rule has used up which uses none up")
    schema = shape.schemas.get(event)
    if schema is None:
        raise StateError("it holds events that the program does not know")
    if part in ("events", "used") and event not in shape.kept:
        raise StateError("it holds events that nothing needs")
    whole = part != "events" or shape.lineage or event not in shape.inputs
    required = set(schema.names) if whole else shape.reads.get(event, frozenset())
    derived = event not in shape.base
    _check_columns(events, schema, required)
    _check_times(events, schema, derived and part != "waiting", event in shape.instants)


def _check_columns(events: Events, schema: EventSchema, required: Collection[str]) -> None:
    for name in required:
        if name not in events.columns:
            raise StateError(f"the column '{name}' is missing")
    for name, column in events.columns.items():
        declared = schema.type_of(name)
        if declared is None:
            was = "; it may be lineage as an earlier version wrote it" if name == "#lineage" else ""
            raise StateError(f"there is a column '{name}'{was}")
        if column.type != declared.arrow:
            raise StateError(f"the column '{name}' is {column.type}, not {declared.arrow}")


def _check_times(events: Events, schema: EventSchema, derived: bool, instants: bool) -> None:
    """Refuse times that cannot be: those of events that come from outside or go there as they are
    are times of the years 1 to 9999."""
    if not len(events):
        return
    first, last = (-FARTHEST, FARTHEST) if derived else (EARLIEST, LATEST)
    if int(events.start.min()) < first or int(events.end.max()) > last:
        raise StateError("an event lies outside all time")
    if derived or events.start is events.end:
        pass
    elif instants:
        raise StateError("an event lasts that must be an instant")
    elif schema.longest is not None and int((events.end - events.start).max()) > schema.longest:
        raise StateError("an event lasts longer than its declaration allows")
    for attribute in () if derived else schema.attributes:
        if attribute.type.kind == "timestamp" and attribute.name in events.columns:
            span = pc.min_max(events.columns[attribute.name].view("int64")).as_py()
            if span["min"] is not None and not (EARLIEST <= span["min"] <= span["max"] <= LATEST):
                raise StateError(f"'{attribute.name}' lies outside all time")
