"""Looking up few events in a large table: only rows that some event can meet are worth a look.

A join numbers the values of all its rows. For a table that is many times as large as a step's
events that would be most of the work, and the same work in every step, so the rows with other keys
are left out before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.rows import take
from thence.model.arrow import to_numpy
from thence.model.events import Events
from thence.plan.prepared import Prepared

FEW = 16
"""Events are few where the rows of a table are this many times as many."""


def narrowed(prepared: Prepared, rels: Sequence[Events]) -> Sequence[Events]:
    """Relations in which a large table has only the rows that few events of a join can meet."""
    if not any(use.fact for use in prepared.uses):
        return rels
    found = list(rels)
    for link in prepared.conjunct.links:
        events = [column for column in link if not prepared.uses[column.atom].fact]
        if not events:
            continue
        fewest = min(events, key=lambda column: len(found[column.atom]))
        values = found[fewest.atom].columns[fewest.name]
        for column in link:
            if prepared.uses[column.atom].fact:
                found[column.atom] = having(found[column.atom], column.name, values)
    return found


def having(rows: Events, name: str, values: Any) -> Events:
    """The rows of a table with one of some values in a column, where that is worth looking for;
    otherwise all of them."""
    column = rows.columns[name]
    if len(values) * FEW > len(rows) or values.type != column.type or not _is_plain(column.type):
        return rows
    mask = pc.is_in(column, value_set=values.drop_null())
    return take(rows, to_numpy(mask))


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of a type are equal just where their bytes are."""
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind))
