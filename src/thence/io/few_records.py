"""A few records as they come from a queue, read one value at a time.

What reads tables asks of a whole table what it is, which columns it has and what they hold. For one
record that would be nearly all of the work. Here the common case has its own way: dicts that have
all attributes and a time, each value in the type declared. It gives what the other way gives, or
nothing, and then the other way is taken: whatever is unusual or wrong is its business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thence.io import text_sizes as sizes
from thence.io.python_values import to_instant, to_value
from thence.model.arrow import from_list
from thence.model.events import Events, Times
from thence.model.schema import EventSchema
from thence.model.time import EARLIEST, LATEST

FEW = 64
"""So many records are few."""

_AS_THEY_ARE = {"float": float, "bool": bool}
"""Types whose values need no look where they have the type of Python's that Arrow takes."""


def few_records(table: Any, schema: EventSchema, requested: tuple[str, ...]) -> Events | None:
    """The requested columns of some records, if they are few and plain.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT
    >>> tick = EventSchema("tick", (Attribute("id", INT),))
    >>> few_records([{"id": 7, "time": 3}], tick, ("id",)).columns["id"].to_pylist()
    [7]
    >>> few_records([{"id": 7}], tick, ("id",)) is None
    True
    """
    if type(table) is not list or not 0 < len(table) <= FEW:
        return None
    for record in table:
        if type(record) is not dict:
            return None
        for attribute in schema.attributes:
            if attribute.name not in record:
                return None
    try:
        times = _times(table, schema.longest)
        if times is None:
            return None
        columns = {}
        for attribute in schema.attributes:
            if attribute.name in requested:
                kind, plain = attribute.type, _AS_THEY_ARE.get(attribute.type.kind)
                values = [
                    value if type(value) is plain else to_value(value, kind, False)
                    for value in [record[attribute.name] for record in table]
                ]
                if kind.kind == "list" or (kind.kind == "string" and not _fits(values)):
                    return None
                columns[attribute.name] = from_list(values, kind.arrow)
    except ValueError:
        return None
    return Events(*times, columns)


def _fits(texts: Sequence[Any]) -> bool:
    """Whether texts are certain to fit into one array, whatever their characters are."""
    return 4 * sum(len(text) for text in texts if text is not None) <= sizes.MOST_TEXT


def _times(records: list[dict[str, Any]], longest: int | None) -> tuple[Times, Times] | None:
    """When events start and end; None where that is not said in one and the same plain way."""
    first = records[0]
    if "time" in first:
        start = _column(records, "time", ("start", "end"))
        return None if start is None else (start, start)
    start, end = _column(records, "start", ("time",)), _column(records, "end", ("time",))
    if start is None or end is None:
        return None
    lengths = end - start
    if lengths.min() < 0 or (longest is not None and lengths.max() > longest):
        return None
    return (start, end) if lengths.any() else (start, start)


def _column(records: list[dict[str, Any]], name: str, besides: tuple[str, ...]) -> Times | None:
    """The times under a name, if every record has one there and none under others."""
    found = []
    for record in records:
        if name not in record or any(other in record for other in besides):
            return None
        value = record[name]
        if type(value) is not int:
            value = to_instant(value, False)
        if value is None or not EARLIEST <= value <= LATEST:
            return None
        found.append(value)
    return np.array(found, np.int64)
