"""What a program wants of its input events: columns, and rows that some rule can use at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thence.model.schema import EventSchema
from thence.plan.pushdown import EVERY_ROW, needed_rows
from thence.plan.tree import Part, Plan
from thence.spark.frames import Requested


def requested(
    plan: Plan, part: Part, whole: bool, instants: Iterable[str] = ()
) -> tuple[Requested, ...]:
    """For each declared event, what the rules of a part need of it. With ``whole``, all columns."""
    columns = part.columns
    rows = needed_rows(part.prepared)
    if "pushdown" in part.off:
        rows = dict.fromkeys(rows, EVERY_ROW)
    strict = frozenset(instants)
    return tuple(
        Requested(
            schema,
            tuple(n for n in schema.names if whole or n in columns.get(schema.name, ()))
            if schema.name in columns
            else (),
            rows.get(schema.name, ()),
            schema.name in strict,
        )
        for schema in plan.checked.program.events
    )


def requested_together(
    declared: Iterable[EventSchema], each: Iterable[Sequence[Requested]]
) -> tuple[Requested, ...]:
    """What several generations of rules want of the events that are declared by now: of each the
    columns and rows that any of them needs."""
    found = {schema.name: Requested(schema, (), ()) for schema in declared}
    for other in (other for requests in each for other in requests if other.alternatives):
        found[other.schema.name] = _both(found[other.schema.name], other)
    return tuple(found.values())


def _both(one: Requested, other: Requested) -> Requested:
    """What two generations want of an event."""
    columns = {*one.columns, *other.columns}
    ways = tuple(dict.fromkeys((*one.alternatives, *other.alternatives)))
    return Requested(
        one.schema,
        tuple(name for name in one.schema.names if name in columns),
        EVERY_ROW if () in ways else ways,
        one.instants or other.instants,
    )
