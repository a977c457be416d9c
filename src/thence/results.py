"""What a run gives back: a table per derived event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thence.engine.lineage import LINEAGE, readable
from thence.engine.match import as_timestamps
from thence.model.errors import InputError
from thence.model.events import Events
from thence.trace import Run, matching, only

if TYPE_CHECKING:
    from thence.causes import Cause


class Results(Mapping[str, Any]):
    """Derived events by name, each a ``pyarrow.Table``: attributes, ``start``, ``end``.

    Rows are sorted by start.
    """

    def __init__(self, events: Mapping[str, Events], run: Run | None = None) -> None:
        self._events = dict(events)
        self._run = run
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

    def trace(
        self,
        event: str,
        row: int | Mapping[str, Any],
        *,
        limit: int | None = 10,
        depth: int | None = None,
    ) -> Cause:
        """The tree of causes of a result: what it was made of, down to the events of the input.

        ``row`` is the number of a row of ``results[event]``, or values of which one row has all:
        ``{"id": "x"}``. At most ``limit`` derivations of each event are in the tree (None: all),
        and at most ``depth`` levels. Needs a run with ``trace=True`` or ``lineage=True``.
        """
        rows = self._rows(event, row)
        assert self._run is not None
        return self._run.trees(event, rows, limit, depth)[0]

    def _rows(self, event: str, row: int | Mapping[str, Any]) -> list[int]:
        """The row that is asked for, as the run numbers it."""
        if self._run is None:
            raise InputError(
                "these results cannot be traced, since the events behind them were not kept: pass "
                "trace=True (or lineage=True) to program.run; results of a session cannot be traced"
            )
        if event not in self._events:
            known = ", ".join(f"'{name}'" for name in self._events) or "nothing"
            raise InputError(f"there are no results of '{event}'; there are those of {known}")
        events = self._events[event]
        order = _order(events)
        numbers = np.arange(len(events)) if order is None else order
        if isinstance(row, Mapping):
            mask = matching(events, self._run.part.schemas[event], row)
            row = only(event, np.flatnonzero(mask[numbers]).tolist(), row, len(events))
        elif isinstance(row, bool) or not isinstance(row, (int, np.integer)):
            raise InputError(
                f"which result of '{event}'? Give the number of a row, or a dict of values such as "
                f"{{'id': 'x'}}, not {row!r}"
            )
        if not 0 <= row < len(events):
            raise InputError(
                f"there is no row {row} of '{event}': rows are counted from 0, and there are "
                f"{len(events):,} of them"
            )
        return [int(numbers[row])]

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
