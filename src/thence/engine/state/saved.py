"""Whether state that was read fits the program that is to go on from it: nothing is taken on trust.

State that belongs to a program has a fingerprint of it, which says what was meant, not what is
there. So every table is compared with what the program's rules will read: which events, with which
columns, of which types, and times that can be times.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from thence.engine.arrays.rows import LINEAGE
from thence.engine.output.lineage import COLUMN
from thence.engine.state.state import NEVER, PARTS, State
from thence.model.errors import StateError
from thence.model.time import EARLIEST, LATEST

if TYPE_CHECKING:
    from thence.logic.conjunct import Retention
    from thence.model.events import Events
    from thence.model.schema import EventSchema
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
    reads: Mapping[str, frozenset[str]]
    """The columns of each event that some rule reads."""
    kept: frozenset[str]
    """Events that are kept for later steps."""
    consuming: frozenset[str]
    """The rules that use events up."""
    instants: frozenset[str]
    """Events that are instants, or else the state would have no bound."""
    lineage: bool


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
        part.columns,
        frozenset(retention),
        frozenset(part.consuming),
        frozenset(instants),
        lineage,
    )


def check_state(state: State, shape: Shape) -> None:
    """Refuse state that a step over the part could not have left behind."""
    for what, time in (("horizon", state.horizon), ("latest time", state.latest)):
        if time != NEVER and not -FARTHEST <= time <= FARTHEST:
            raise StateError(f"its {what} is {time}")
    for part in PARTS:
        for name, events in getattr(state, part).items():
            try:
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
    _check_columns(events, schema, required, shape.lineage and derived and part != "used")
    _check_times(events, schema, derived, event in shape.instants)
    if LINEAGE in events.columns:
        _check_lineage(events.columns[LINEAGE])


def _check_columns(
    events: Events, schema: EventSchema, required: Collection[str], lineage: bool
) -> None:
    for name in required:
        if name not in events.columns:
            raise StateError(f"the column '{name}' is missing")
    if lineage != (LINEAGE in events.columns):
        raise StateError("there is lineage where none was kept, or none where it was")
    for name, column in events.columns.items():
        if name == LINEAGE:
            expected = COLUMN
        else:
            declared = schema.type_of(name)
            if declared is None:
                raise StateError(f"there is a column '{name}'")
            expected = declared.arrow
        if column.type != expected:
            raise StateError(f"the column '{name}' is {column.type}, not {expected}")


def _check_times(events: Events, schema: EventSchema, derived: bool, instants: bool) -> None:
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


def _check_lineage(column: Any) -> None:
    """Every entry names an event as lineage does: its type, start, end and attributes in JSON."""
    entries = column.flatten()
    parts = [entries.field("label"), entries.field("base")]
    if column.null_count or entries.null_count or any(part.null_count for part in parts):
        raise StateError("its lineage has gaps")
    for text in pc.unique(parts[1]).to_pylist():
        try:
            event, start, end, attributes = json.loads(text)
            json.dumps([event, attributes], ensure_ascii=False).encode()
        except (ValueError, TypeError, RecursionError):
            raise StateError("its lineage is not lineage") from None
        times = all(t is None or (type(t) is int and abs(t) <= FARTHEST) for t in (start, end))
        if not (isinstance(event, str) and isinstance(attributes, dict) and times):
            raise StateError("its lineage is not lineage")
        if (start is None) != (end is None):
            raise StateError("its lineage is not lineage")
