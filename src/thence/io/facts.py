"""Rows of static tables from whatever a caller has, checked against what the program declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from thence.io.columns import Place, as_array, as_times
from thence.io.frames import Frame
from thence.io.ingest import frames_of
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema, RowsFrom
from thence.model.suggestions import question
from thence.model.types import TIMESTAMP, Type
from thence.model.validity import validity_columns


def read_tables(
    tables: Any,
    schemas: Mapping[str, EventSchema],
    needed: Collection[str],
    folder: Path | None = None,
    in_program: Collection[str] = (),
) -> dict[str, Events]:
    """The rows of each needed table, with all its columns in the types declared. A table of which
    rows are ``in_program``, as facts, may be left out.

    ``tables`` maps names to tables, or is None; of a table that is not among them, the rows are
    where its declaration says, with paths that begin at ``folder``. Rows have no time: theirs is
    the epoch, which nothing compares.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT
    >>> seat = EventSchema("seat", (Attribute("n", INT),), table=True)
    >>> found = read_tables({"seat": [{"n": 7}, {"n": 8}]}, {"seat": seat}, ["seat"])
    >>> found["seat"].columns["n"].to_pylist(), found["seat"].start
    ([7, 8], array([0, 0]))
    """
    given = checked_tables(tables, schemas)
    nowhere = [name for name in needed if name not in given and schemas[name].rows_from is None]
    missing = [name for name in nowhere if name not in in_program]
    if missing:
        shown = ", ".join(str(schemas[name]) for name in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"tables: the program looks into {shown}, which {verb} not given. Pass "
            f"tables={{{missing[0]!r}: …}}, or --table {missing[0]}=PATH on the command line; or "
            f"say in the program where its rows are: table {missing[0]}(…) from 'PATH';"
        )
    found = {}
    for name in needed:
        schema = schemas[name]
        if name in given or name in nowhere:
            frames = _given(given.get(name, []), schema)
        else:
            frames = _stated(schema, folder)
        found[name] = _read(frames, schema)
    return found


def checked_tables(tables: Any, schemas: Mapping[str, EventSchema]) -> Mapping[str, Any]:
    """The tables that a caller gives, by name; each is one that the program declares."""
    given = {} if tables is None else tables
    if not isinstance(given, Mapping):
        raise InputError(
            f"tables: this {type(given).__name__} does not say which table is which. Give a "
            "mapping of names to tables: tables={'catalogue': …}."
        )
    for name in given:
        if name not in schemas:
            known = ", ".join(f"'{n}'" for n in schemas) or "none"
            raise InputError(
                f"tables: the program declares no table {name!r}.{question(name, schemas)} "
                f"Declared are: {known}."
            )
    return given


def table_path(rows_from: RowsFrom, folder: Path | None) -> str:
    """The path of a table's files; one that is relative begins at the program's folder."""
    from thence.io.files import is_address  # noqa: PLC0415 (most programs read no files)

    if is_address(rows_from.name):
        raise InputError(
            f"'{rows_from.name}' is not in this file system: let Spark read it, and give the "
            "DataFrame as one of tables={…}, or say from spark 'db.name'."
        )
    given = Path(rows_from.name).expanduser()
    return str(given if folder is None else folder / given)


def _given(table: Any, schema: EventSchema) -> Iterator[Frame]:
    """The frames of a table that a caller gives."""
    for frame, _ in frames_of(table, f"tables[{schema.name!r}]", lambda: _columns(schema)):
        yield frame


def _stated(schema: EventSchema, folder: Path | None) -> Iterator[Frame]:
    """The frames of a table whose declaration says where its rows are."""
    rows_from = schema.rows_from
    assert rows_from is not None
    if rows_from.kind == "file":
        return _given(table_path(rows_from, folder), schema)
    if rows_from.kind == "postgres":
        from thence.io.postgres import open_postgres  # noqa: PLC0415 (few programs need it)

        return iter([open_postgres(rows_from.name, schema.read_names)])
    raise InputError(
        f"the rows of the table '{schema.name}' are in Spark's '{rows_from.name}', and this does "
        f"not run on Spark: give them as tables={{{schema.name!r}: …}}, or --table "
        f"{schema.name}=PATH on the command line."
    )


def _read(frames: Iterable[Frame], schema: EventSchema) -> Events:
    parts: list[dict[str, Any]] = []
    rows = 0
    for frame in frames:
        if frame.rows == 0 and not frame.names(None):
            continue
        parts.append(_columns_of(frame, schema))
        rows += frame.rows
    columns = {
        a.name: pa.concat_arrays([part[a.name] for part in parts])
        if parts
        else pa.array([], a.type.arrow)
        for a in schema.stored
    }
    times = np.zeros(rows, dtype=np.int64)
    return Events(times, times, columns)


def _columns(schema: EventSchema) -> dict[str, set[Type]]:
    return {name: {schema.type_of(name) or TIMESTAMP} for name in schema.read_names}


def _columns_of(frame: Frame, schema: EventSchema) -> dict[str, Any]:
    names = frame.names(None)
    place = Place(frame.label, schema.name, None, "table")
    for name in schema.read_names:
        if name not in names:
            have = ", ".join(f"'{name}'" for name in names) or "none"
            valid = "" if schema.valid is None else f" {schema.valid}"
            raise InputError(
                f"{frame.label}: {place.what} has no column '{name}'.{question(name, names)} Its "
                f"columns are: {have}. It is declared as {schema}{valid}."
            )
    found = {}
    for attribute in schema.attributes:
        column = frame.column(attribute.name, None)
        found[attribute.name] = as_array(column, attribute.type, attribute.name, place, frame.text)
    if schema.valid is not None:

        def instants(name: str) -> Any:
            times, missing = as_times(frame.column(name, None), name, place, frame.text)
            return pa.array(times, mask=missing).view(TIMESTAMP.arrow)

        what = f"{frame.label}: {place.what}"
        found |= validity_columns(schema.valid, frame.rows, instants, what)
    return found
