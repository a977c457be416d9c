"""What a program wants of its input events: columns, and rows that some rule can use at all."""

from __future__ import annotations

from collections.abc import Iterable

from thence.engine.program import Compiled, Part
from thence.engine.usable import needed_rows
from thence.spark.frames import Wanted


def wanted(
    compiled: Compiled, part: Part, whole: bool, instants: Iterable[str] = ()
) -> tuple[Wanted, ...]:
    """For each declared event, what the rules of a part need of it. With ``whole``, all columns."""
    columns = part.columns
    rows = needed_rows(part.prepared)
    strict = frozenset(instants)
    return tuple(
        Wanted(
            schema,
            tuple(n for n in schema.names if whole or n in columns.get(schema.name, ()))
            if schema.name in columns
            else (),
            rows.get(schema.name, ()),
            schema.name in strict,
        )
        for schema in compiled.checked.program.events
    )
