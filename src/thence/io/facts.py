"""Rows of static tables from whatever a caller has, checked against what the program declares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from thence.io.columns import Place, as_array
from thence.io.frames import Frame
from thence.io.ingest import frames_of
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.suggestions import question
from thence.model.types import Type


def read_tables(
    tables: Any,
    schemas: Mapping[str, EventSchema],
    needed: Collection[str],
    stated: Collection[str] = (),
) -> dict[str, Events]:
    """The rows of each needed table, with all its columns in the types declared. A table of which
    the program itself says rows may be left out.

    ``tables`` maps names to tables, or is None. Rows have no time: theirs is the epoch, which
    nothing compares.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT
    >>> seat = EventSchema("seat", (Attribute("n", INT),), table=True)
    >>> found = read_tables({"seat": [{"n": 7}, {"n": 8}]}, {"seat": seat}, ["seat"])
    >>> found["seat"].columns["n"].to_pylist(), found["seat"].start
    ([7, 8], array([0, 0]))
    """
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
    missing = [name for name in needed if name not in given and name not in stated]
    if missing:
        shown = ", ".join(str(schemas[name]) for name in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"tables: the program looks into {shown}, which {verb} not given. Pass "
            f"tables={{{missing[0]!r}: …}}, or --table {missing[0]}=PATH on the command line."
        )
    return {name: _read(given.get(name, []), schemas[name]) for name in needed}


def _read(table: Any, schema: EventSchema) -> Events:
    label = f"tables[{schema.name!r}]"
    parts: list[dict[str, Any]] = []
    rows = 0
    for frame, _ in frames_of(table, label, lambda: _columns(schema)):
        if frame.rows == 0 and not frame.names(None):
            continue
        parts.append(_columns_of(frame, schema))
        rows += frame.rows
    columns = {
        a.name: pa.concat_arrays([part[a.name] for part in parts])
        if parts
        else pa.array([], a.type.arrow)
        for a in schema.attributes
    }
    times = np.zeros(rows, dtype=np.int64)
    return Events(times, times, columns)


def _columns(schema: EventSchema) -> dict[str, set[Type]]:
    return {attribute.name: {attribute.type} for attribute in schema.attributes}


def _columns_of(frame: Frame, schema: EventSchema) -> dict[str, Any]:
    names = frame.names(None)
    place = Place(frame.label, schema.name, None, "table")
    found = {}
    for attribute in schema.attributes:
        if attribute.name not in names:
            have = ", ".join(f"'{name}'" for name in names) or "none"
            raise InputError(
                f"{frame.label}: {place.what} has no column '{attribute.name}'."
                f"{question(attribute.name, names)} Its columns are: {have}. It is declared as "
                f"{schema}."
            )
        column = frame.column(attribute.name, None)
        found[attribute.name] = as_array(column, attribute.type, attribute.name, place, frame.text)
    return found
