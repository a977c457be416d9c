"""What a run gives back: a table per derived event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.lineage import LINEAGE, readable
from thence.engine.match import as_timestamps
from thence.model.events import Events


class Results(Mapping[str, Any]):
    """Derived events by name, each a ``pyarrow.Table``: attributes, ``start``, ``end``.

    Rows are sorted by start.
    """

    def __init__(self, events: Mapping[str, Events]) -> None:
        self._events = dict(events)
        self._tables: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = as_table(self._events[name])
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def count(self, name: str) -> int:
        """How many events of a name were found."""
        return len(self._events[name])

    @property
    def total(self) -> int:
        """How many events were found in all."""
        return sum(len(events) for events in self._events.values())

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {len(events)}" for name, events in self._events.items())
        return f"<thence.Results {counts or 'empty'}>"


def as_table(events: Events) -> Any:
    """Events as an Arrow table, sorted by start."""
    order = _order(events)
    start, end = events.start, events.end
    columns = dict(events.columns)
    if order is not None:
        start = start[order]
        end = events.end[order]
        chosen = pa.array(order)
        columns = {name: column.take(chosen) for name, column in columns.items()}
    lineage = columns.pop(LINEAGE, None)
    named = {**columns, "start": as_timestamps(start), "end": as_timestamps(end)}
    if lineage is not None:
        named["lineage"] = readable(lineage)
    return pa.table(named)


def _order(events: Events) -> Any:
    """The order of rows by start, or None where they are in it already."""
    start = events.start
    if (start[1:] >= start[:-1]).all():
        return None
    return np.argsort(start, kind="stable")
