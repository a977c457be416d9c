"""Events from whatever a caller has, checked against what the program declares."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from thence.io import text_sizes as sizes
from thence.io.columns import Place, as_array, too_much_text
from thence.io.few_records import few_records
from thence.io.frames import (
    Frame,
    PandasFrame,
    Rows,
    arrow_frame,
    columns_frame,
    is_pandas,
    is_record,
    records_frame,
)
from thence.io.intervals import latest_row, read_intervals
from thence.io.reading_progress import file_was_read
from thence.io.split import rows_by_name
from thence.model.errors import InputError, InputWarning
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.suggestions import question
from thence.model.types import Type

_TABLES = (
    "anything that gives an Arrow stream (pyarrow, polars, pandas, DuckDB), a list of records, "
    "one record, a dict of columns, or a path to .parquet, .csv or .jsonl files"
)
_RESERVED = ("type", "time", "start", "end")


def read_events(
    events: Any,
    schemas: Mapping[str, EventSchema],
    needed: Collection[str] | None = None,
    columns: Mapping[str, Collection[str]] | None = None,
    warn: bool = False,
    clock: Collection[str] = (),
    after: int | None = None,
    tables: Mapping[str, EventSchema] | None = None,
) -> dict[str, Events]:
    """The events of each needed type, with the needed attributes, in the types declared.

    ``events`` is a mapping from event name to table, or one table with a column ``type``. Every
    needed name is in the answer; one of which there are no events has no rows. ``columns`` names
    the attributes that are read; an event that it leaves out is read for its times alone. Rows of
    types that are not declared are left out; ``warn`` warns of a table that has no others. Of the
    events in ``clock`` only the latest time matters, so that one row may stand for all of a table
    in which everything ends after ``after``. ``tables`` are those of the program's tables, which
    are not given here.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT
    >>> tick = EventSchema("tick", (Attribute("id", INT),))
    >>> found = read_events({"tick": [{"id": 7, "time": "1970-01-01T00:00:01Z"}]}, {"tick": tick})
    >>> found["tick"].start, found["tick"].columns["id"].to_pylist()
    (array([1000000]), [7])
    """
    return reader_of(schemas, needed, columns, warn, clock, tables).read_all(events, after)


def reader_of(
    schemas: Mapping[str, EventSchema],
    needed: Collection[str] | None = None,
    columns: Mapping[str, Collection[str]] | None = None,
    warn: bool = False,
    clock: Collection[str] = (),
    tables: Mapping[str, EventSchema] | None = None,
) -> Reader:
    """What reads events as :func:`read_events` does, again and again."""
    requested = {
        name: tuple(a for a in schema.names if columns is None or a in columns.get(name, ()))
        for name, schema in schemas.items()
        if needed is None or name in needed
    }
    return Reader(schemas, requested, warn, frozenset(clock), tables or {})


@dataclass(frozen=True, slots=True)
class Reader:
    """What is declared, and which events and attributes are requested of it."""

    schemas: Mapping[str, EventSchema]
    requested: Mapping[str, tuple[str, ...]]
    warn: bool
    clock: frozenset[str]
    tables: Mapping[str, EventSchema]

    def read(self, events: Any, after: int | None = None) -> dict[str, Events]:
        """The events of those types of which there are tables; ``after`` as for
        :func:`read_events`."""
        parts: dict[str, list[Events]] = {}
        for name, part in self._parts(events, after):
            parts.setdefault(name, []).append(part)
        return {
            name: _joined(found, self.schemas[name], self.requested[name])
            for name, found in parts.items()
        }

    def read_one(self, event: Any, record: Mapping[str, Any]) -> dict[str, Events]:
        """One event of a type."""
        if not isinstance(event, str):
            raise InputError(
                f"the name of an event comes first, such as 'order', not {type(event).__name__}: "
                "push_one('order', id=7, time=…)"
            )
        if event not in self.schemas and event not in self.tables:
            raise self._unknown(event)
        return self.read({event: [record]})

    def names_in(self, events: Any) -> tuple[str, ...] | None:
        """The names under which tables of events are given; None where what is given is one table
        of many types, or several such."""
        if isinstance(events, Mapping) and not self.is_table(events):
            return tuple(events)
        return None

    def read_all(self, events: Any, after: int | None = None) -> dict[str, Events]:
        """The events of every type that is requested."""
        found = self.read(events, after)
        return {
            name: found[name] if name in found else _joined([], self.schemas[name], requested)
            for name, requested in self.requested.items()
        }

    def _parts(self, events: Any, after: int | None) -> Iterator[tuple[str, Events]]:
        if isinstance(events, Mapping) and not self.is_table(events):
            for name, table in events.items():
                if name in self.tables:
                    raise misplaced(name)
                if name not in self.schemas:
                    raise self._unknown(name)
                if name in self.requested:
                    few = few_records(table, self.schemas[name], self.requested[name])
                    if few is not None:
                        yield name, few
                        continue
                    for frame, _ in frames_of(table, f"events[{name!r}]", self._columns):
                        yield from self._read_one(frame, name)
            return
        for frame, hint in frames_of(events, "events", self._columns):
            yield from self._read_mixed(frame, hint, after)

    def is_table(self, events: Mapping[Any, Any]) -> bool:
        """Whether a mapping is a table in columns, rather than a table per event."""
        if all(key in self.schemas or key in self.tables for key in events):
            return False
        return any(key in events for key in _RESERVED if key not in self.schemas)

    def _unknown(self, name: Any) -> InputError:
        known = ", ".join(f"'{n}'" for n in self.schemas) or "none"
        return InputError(
            f"events: the program declares no input event {name!r}.{question(name, self.schemas)} "
            f"Declared are: {known}."
        )

    def _columns(self) -> dict[str, set[Type]]:
        """Every column that may be read, and the types it is declared with."""
        columns: dict[str, set[Type]] = {name: set() for name in _RESERVED}
        for event in self.requested:
            for attribute in self.schemas[event].attributes:
                columns.setdefault(attribute.name, set()).add(attribute.type)
        return columns

    def _read_mixed(
        self, frame: Frame, hint: str | None, after: int | None
    ) -> Iterator[tuple[str, Events]]:
        names = frame.names(None)
        if "type" not in names:
            if frame.rows == 0 and not names:
                return
            if hint in self.schemas:
                yield from self._read_one(frame, str(hint))
            elif len(self.schemas) == 1:
                yield from self._read_one(frame, next(iter(self.schemas)))
            else:
                raise self._untyped(frame, names)
            return
        found = self._rows(frame, after)
        if self.warn and frame.rows and not any(len(rows) for rows in found.values()):
            warnings.warn(self._nothing_declared(frame), InputWarning, stacklevel=2)
        for name, rows in found.items():
            if len(rows):
                whole = len(rows) == frame.rows
                yield from self._read_one(frame, name, None if whole else rows)

    def _nothing_declared(self, frame: Frame) -> str:
        column = frame.column("type", None)
        types = column if isinstance(column, list) else column.unique().to_pylist()
        have = list(dict.fromkeys(map(str, types)))
        shown = ", ".join(f"'{name}'" for name in have[:6]) + (", …" if len(have) > 6 else "")
        known = ", ".join(f"'{name}'" for name in self.schemas) or "none"
        close = next((hint for name in have if (hint := question(name, self.schemas))), "")
        return (
            f"{frame.label}: no row is an event that the program declares.{close} Its types are: "
            f"{shown}. Declared events are: {known}."
        )

    def _untyped(self, frame: Frame, names: Collection[str]) -> InputError:
        have = ", ".join(f"'{n}'" for n in names)
        known = ", ".join(f"'{n}'" for n in self.schemas) or "none"
        return InputError(
            f"{frame.label} has no column 'type' that says which event a row is."
            f"{question('type', names)} Add one, or give a table per event: {{name: table}}, or "
            f"NAME=PATH on the command line. Its columns are: {have}. Declared events are: {known}."
        )

    def _rows(self, frame: Frame, after: int | None) -> dict[str, Rows]:
        column = frame.column("type", None)
        if isinstance(column, list):
            return self._rows_in_list(frame, column)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (is_text or pa.types.is_string_view(kind)):
            if len(column) == column.null_count == 0:
                return {}
            raise InputError(
                f"{frame.label}: column 'type' holds {kind}; it must hold the names of events."
            )
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise _no_type(frame, row)
        found = rows_by_name(column, [name for name in self.requested if name not in self.clock])
        return found | self._clock_rows(frame, column, after) if self.clock else found

    def _clock_rows(self, frame: Frame, column: Any, after: int | None) -> dict[str, Rows]:
        """The latest row, if it is of an event that only tells the time; none, if it is of an event
        that is read anyway; all rows of the former, where that cannot be seen at once."""
        row = latest_row(frame, after)
        name = None if row is None else column[row].as_py()
        if name in self.clock:
            return {name: np.array([row], np.int64)}
        return {} if name in self.requested else rows_by_name(column, self.clock)

    def _rows_in_list(self, frame: Frame, column: list[Any]) -> dict[str, Rows]:
        rows: dict[str, list[int]] = {name: [] for name in self.requested}
        for row, name in enumerate(column):
            if not isinstance(name, str):
                raise _no_type(frame, row, name)
            if name in rows:
                rows[name].append(row)
        return {name: np.array(found, np.int64) for name, found in rows.items()}

    def _read_one(
        self, frame: Frame, event: str, rows: Rows | None = None
    ) -> Iterator[tuple[str, Events]]:
        """Some rows of a table as events of one type."""
        if event not in self.requested:
            return
        names = frame.names(rows)
        if frame.rows == 0 and not names:
            return
        for attribute in self.schemas[event].names:
            if attribute not in names:
                raise _missing(frame, event, attribute, names)
        place = Place(frame.label, event, rows)
        start, end = read_intervals(frame, place, self.schemas[event].longest)
        columns = {}
        for name in self.requested[event]:
            declared = self.schemas[event].type_of(name)
            assert declared is not None
            columns[name] = as_array(frame.column(name, rows), declared, name, place, frame.text)
        yield event, Events(start, end, columns)


def frames_of(
    value: Any, label: str, columns: Callable[[], dict[str, set[Type]]]
) -> Iterator[tuple[Frame, str | None]]:
    """The tables that a value stands for, each with the name that a file's own suggests.

    ``columns`` gives the columns that may be read, and the types that they are declared with.
    """
    if isinstance(value, str | Path):
        from thence.io.files import find_files, open_file, stem

        for path in find_files(value):
            yield open_file(path, columns()), stem(path)
            file_was_read(path)
    elif is_pandas(value) and hasattr(value, "columns"):
        yield PandasFrame(label, value), None
    elif hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        yield arrow_frame(label, value), None
    elif isinstance(value, Mapping):
        if is_record(value):
            yield records_frame(label, [value]), None
        else:
            yield columns_frame(label, value), None
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        items = list(value)
        if items and isinstance(items[0], Mapping):
            yield records_frame(label, items), None
        else:
            for index, item in enumerate(items):
                yield from frames_of(item, f"{label}[{index}]", columns)
    else:
        hint = " Call its collect() first." if hasattr(value, "collect") else ""
        raise InputError(
            f"{label}: this {type(value).__name__} is not a table.{hint} A table is {_TABLES}."
        )


def _joined(parts: list[Events], schema: EventSchema, requested: tuple[str, ...]) -> Events:
    if len(parts) == 1:
        return parts[0]
    types = {a.name: a.type.arrow for a in schema.attributes}
    if not parts:
        nothing = np.empty(0, np.int64)
        return Events(nothing, nothing, {name: pa.array([], types[name]) for name in requested})
    start = np.concatenate([part.start for part in parts])
    points = all(part.start is part.end for part in parts)
    end = start if points else np.concatenate([part.end for part in parts])
    columns = {}
    for name in requested:
        pieces = [part.columns[name] for part in parts]
        if sum(map(sizes.text_bytes, pieces)) > sizes.MOST_TEXT:
            raise too_much_text(name, Place("events", schema.name))
        columns[name] = pa.concat_arrays(pieces)
    return Events(start, end, columns)


def _missing(frame: Frame, event: str, attribute: str, names: Collection[str]) -> InputError:
    have = ", ".join(f"'{n}'" for n in names) or "none"
    return InputError(
        f"{frame.label}: event '{event}' has no column '{attribute}'."
        f"{question(attribute, names)} Its columns are: {have}."
    )


def misplaced(name: str) -> InputError:
    """The error that a table stands among the events."""
    return InputError(
        f"events: the program declares '{name}' as a table, whose rows have no time. Give it "
        f"beside the events: tables={{{name!r}: …}}, or --table {name}=PATH on the command line."
    )


def _no_type(frame: Frame, row: int, name: Any = None) -> InputError:
    what = "is null" if name is None else f"is {name!r}"
    return InputError(
        f"{frame.label}: row {row + 1}: 'type' {what}; it must name the event that the row is."
    )
