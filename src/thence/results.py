"""What a run gives back: a table per derived event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.ranges import stable_order
from thence.engine.arrays.rows import bytes_of
from thence.engine.join.match import as_timestamps
from thence.engine.limits.growth import DEFAULT, Growth, Limits, bounded, expect
from thence.engine.provenance.lineage import LINEAGE, Provenance
from thence.model.arrow import from_numpy
from thence.model.errors import InputError
from thence.model.events import Events

if TYPE_CHECKING:
    from thence.causes import Cause
    from thence.explain import Measured
    from thence.trace import Run

LIMIT = 10
"""How many derivations of an event are shown, unless somebody asks for more or for fewer."""


MANY = 1 << 14
"""A table with fewer rows is made without asking whether there is room for it."""

LINEAGE_ENTRIES = 1 << 10
"""About how many bytes the lineage of a row takes while it is made readable."""


class Results(Mapping[str, Any]):
    """Derived events by name, each a ``pyarrow.Table``: attributes, ``start``, ``end``.

    Rows are sorted by start.
    """

    def __init__(
        self,
        events: Mapping[str, Events],
        run: Run | None = None,
        measured: Measured | None = None,
        limits: Limits = DEFAULT,
        provenance: Mapping[str, Provenance] | None = None,
    ) -> None:
        """``provenance`` is what the lineage of each event is read from, where that was asked
        for."""
        self._events = dict(events)
        self._provenance = dict(provenance or {})
        self._run = run
        self._measured = measured
        self._limits = limits
        self._tables: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._tables:
            events, told = self._events[name], self._provenance.get(name)
            if len(events) >= MANY:
                with bounded(self._limits):
                    width = _copied(events, told is not None)
                    expect(len(events), width, lambda: _tabling(name))
            self._tables[name] = as_table(
                events if told is None else told.with_lineage(name, events)
            )
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

    def derivations(self, event: str) -> Any:
        """In how many ways each result of an event was derived, directly: an Arrow array with a
        number for each row of ``results[event]``. It needs ``lineage=True``.

        Two matches of a rule that bind the same events under the same labels are one derivation; so
        are all matches of a group that an aggregate is over.
        """
        if event not in self._events:
            raise self._unknown(event)
        if event not in self._provenance:
            raise InputError(
                f"how '{event}' events were derived was not kept: pass lineage=True to program.run "
                "or program.session"
            )
        counts = self._provenance[event].derivations(event, self._events[event])
        return from_numpy(counts[self._numbers(event)])

    def trace(
        self,
        event: str,
        row: int | Mapping[str, Any],
        *,
        limit: int | None = LIMIT,
        depth: int | None = None,
    ) -> Cause:
        """The tree of causes of a result: what it was made of, down to the events of the input.

        ``row`` is the number of a row of ``results[event]``, or values of which only one row has
        all: ``{"id": "x"}``. At most ``limit`` derivations of each event are in the tree (None:
        all), and at most ``depth`` levels. The run needs ``trace=True`` or ``lineage=True``.
        """
        from thence.trace import none_found, several_found

        run, count = self._traceable(event), len(self._events[event])
        if isinstance(row, Mapping):
            rows = self._with(event, row)
            if len(rows) != 1:
                wrong = several_found(event, row, rows) if rows else none_found(event, row, count)
                raise wrong
            row = rows[0]
        elif isinstance(row, bool) or not isinstance(row, (int, np.integer)):
            raise InputError(
                f"which result of '{event}'? Give the number of a row, or a dict of values such as "
                f"{{'id': 'x'}}, not {row!r}"
            )
        if not 0 <= row < count:
            raise InputError(
                f"there is no row {row} of '{event}': rows are counted from 0, and there are "
                f"{count:,} of them"
            )
        return run.trees(event, self._numbers(event)[[row]].tolist(), limit, depth)[0]

    def traces(
        self,
        event: str,
        where: Mapping[str, Any] | None = None,
        *,
        first: int | None = None,
        limit: int | None = LIMIT,
        depth: int | None = None,
    ) -> list[Cause]:
        """The trees of causes of all results of an event that have some values, or of the first of
        them; see :meth:`trace`."""
        from thence.trace import none_found

        run = self._traceable(event)
        rows = self._with(event, where or {})[:first]
        if not rows:
            raise none_found(event, where or {}, len(self._events[event]))
        return run.trees(event, self._numbers(event)[rows].tolist(), limit, depth)

    def _traceable(self, event: str) -> Run:
        """What the run has kept, if it has, and has results of an event."""
        if self._run is None:
            raise InputError(
                "these results cannot be traced, since the events behind them were not kept: pass "
                "trace=True (or lineage=True) to program.run; results of a session cannot be traced"
            )
        if event not in self._events:
            raise self._unknown(event)
        return self._run

    def _unknown(self, event: str) -> InputError:
        """The error that there are no results of an event."""
        known = ", ".join(f"'{name}'" for name in self._events) or "nothing"
        return InputError(f"there are no results of '{event}'; there are those of {known}")

    def _with(self, event: str, where: Mapping[str, Any]) -> list[int]:
        """The rows of a table of results that have some values."""
        from thence.trace import matching

        mask = matching(self._events[event], self._traceable(event).part.schemas[event], where)
        return np.flatnonzero(mask[self._numbers(event)]).tolist()

    def _numbers(self, event: str) -> Any:
        """For each row of a table of results, the number that the run gave it."""
        order = start_order(self._events[event])
        return np.arange(len(self._events[event])) if order is None else order

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {len(events)}" for name, events in self._events.items())
        return f"<thence.Results {counts or 'empty'}>"


def as_table(events: Events) -> Any:
    """Events as an Arrow table, sorted by start."""
    order = start_order(events)
    start, end = events.start, events.end
    columns = dict(events.columns)
    if order is not None:
        start = start[order]
        end = events.end[order]
        chosen = from_numpy(order)
        columns = {name: column.take(chosen) for name, column in columns.items()}
    last = {LINEAGE: columns.pop(LINEAGE)} if LINEAGE in columns else {}
    named = {**columns, "start": as_timestamps(start), "end": as_timestamps(end), **last}
    return pa.table(named)


def _copied(events: Events, told: bool) -> int:
    """How many bytes a row takes that has to be copied for a table."""
    lineage = LINEAGE_ENTRIES if told else 0
    if start_order(events) is None:
        return lineage
    return bytes_of(events) // max(len(events), 1) + lineage


def _tabling(name: str) -> Growth:
    advice = "take the results in batches, with run_batches, or fewer of them, with emit"
    return Growth(f"making the table of '{name}'", advice, "rows")


def start_order(events: Events) -> Any:
    """The order of rows by start, or None where they are in it already."""
    start = events.start
    if (start[1:] >= start[:-1]).all():
        return None
    return stable_order(start)
