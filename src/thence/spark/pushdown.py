"""What a program wants of its input events: columns, and rows that some rule can use at all."""

from __future__ import annotations

from collections.abc import Iterable

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
