"""Rows of a table of PostgreSQL, as Arrow.

The server, the user and the password are the environment's: a connection string in
``THENCE_POSTGRES``, or the variables of libpq (``PGHOST``, ``PGUSER``, ``PGPASSWORD`` …). No
message repeats the connection string, nor what a server says that might hold a part of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import pyarrow as pa

from thence.io.frames import ArrowFrame, Frame
from thence.io.reading_progress import about_to_read
from thence.model.errors import InputError
from thence.model.table_names import in_quotes, parts_of

CONNECTION = "THENCE_POSTGRES"
_FROM_VARIABLES = "postgresql://"
"""The connection string that leaves everything to the variables of libpq."""
_FAILED = re.compile(r'connection to server (?:at|on socket) "[^"]*".* failed: .*')
_REASON = b"PG_DIAG_MESSAGE_PRIMARY"


def open_postgres(name: str, columns: Collection[str]) -> Frame:
    """The rows of a table, with those of ``columns`` that it has."""
    label = f"PostgreSQL's {name}"
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 (an optional dependency)
    except ModuleNotFoundError as problem:
        raise InputError(
            f"{label} needs a driver: there is no '{problem.name}'. Run: pip install "
            "'thence[postgres]'."
        ) from None
    table = ".".join(map(in_quotes, parts_of(name)))
    try:
        with dbapi.connect(os.environ.get(CONNECTION) or _FROM_VARIABLES) as connection:
            known = _asked(connection, f"SELECT * FROM {table} LIMIT 0", label).schema
            chosen = [column for column in known.names if column in columns]
            if not chosen:
                return ArrowFrame(label, pa.table({}), known=known.names)
            selected = ", ".join(_selected(known.field(column)) for column in chosen)
            rows = _asked(connection, f"SELECT {selected} FROM {table}", label)
    except dbapi.OperationalError as problem:
        raise _not_reached(label, problem) from None
    except dbapi.Error as problem:
        raise InputError(f"{label} cannot be read: {_reason(problem)}.") from None
    found = {column: _plain(rows.column(column), column, label) for column in chosen}
    return ArrowFrame(label, pa.table(found), known=known.names)


def _asked(connection: Any, query: str, label: str) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        batches = []
        for batch in reader:
            about_to_read(label, batch.nbytes)
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def _selected(field: pa.Field) -> str:
    """A column as it is asked for: what has no type here, such as a UUID, comes as text."""
    column = in_quotes(field.name)
    special = isinstance(field.type, pa.BaseExtensionType) and not _is_numeric(field.type)
    return f"{column}::text AS {column}" if special else column


def _is_numeric(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.OpaqueType) and kind.type_name == "numeric"


def _plain(column: pa.ChunkedArray, name: str, label: str) -> Any:
    """A column; numbers of any number of digits, which the driver gives as text, as decimals."""
    if not _is_numeric(column.type):
        return column
    numbers = [v if v is None else Decimal(v) for c in column.chunks for v in c.storage.to_pylist()]
    for position, number in enumerate(numbers):
        if number is not None and not number.is_finite():
            raise InputError(
                f"{label}, column '{name}', row {position + 1}: {number} is no decimal number."
            )
    return pa.array(numbers) if any(n is not None for n in numbers) else pa.nulls(len(numbers))


def _not_reached(label: str, problem: Exception) -> InputError:
    """Why there is no connection, in words that cannot hold a part of a connection string."""
    said = _FAILED.search(str(problem))
    if said is not None:
        return InputError(f"{label} cannot be read: {said.group().rstrip('.')}.")
    if not os.environ.get(CONNECTION):
        return InputError(
            f"{label} cannot be read: there is no connection. Say where the server is in "
            f"{CONNECTION}=postgresql://USER@HOST/DATABASE, or in PGHOST, PGUSER and PGDATABASE."
        )
    return InputError(
        f"{label} cannot be read: there is no connection by what {CONNECTION} says. Write it like "
        "postgresql://USER@HOST:5432/DATABASE, with characters such as @ and % in a password "
        "as %40 and %25."
    )


def _reason(problem: Any) -> str:
    told = dict(getattr(problem, "details", ()))
    return str(told.get(_REASON, b"").decode(errors="replace")) or type(problem).__name__
