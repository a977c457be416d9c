"""Arrow tables as bytes, and back from bytes that may come from anywhere.

What is read is checked before anything looks into it. Arrow itself trusts what it reads: a wrong
offset in a column of texts makes it read memory that is not its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from thence.model.errors import StateError
from thence.model.events import Events, Times

_DEEPEST = 8
"""How deeply lists may be nested."""

_COLUMN = "c."
"""What the names of attributes begin with, so that none is taken for a time."""

_POSSIBLE = "possible"
"""The column that says which events may not have happened, where there are such."""

_HEADER_FIELD, _COMPRESSION_FIELD = 2, 3
"""Which field of Arrow's message holds its header, and which of that says how it is compressed."""


def events_bytes(events: Events) -> memoryview:
    """Events as an Arrow stream."""
    columns = {"start": pa.array(events.start), "end": pa.array(events.end)}
    columns |= {f"{_COLUMN}{name}": column for name, column in events.columns.items()}
    if events.possible is not None:
        columns[_POSSIBLE] = pa.array(events.possible)
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def read_events_bytes(data: memoryview) -> Events:
    """Events from an Arrow stream, without a copy; trusted in nothing.

    Raises StateError, or an error of Arrow's, where the bytes are not such a stream: where types
    are others than Thence has, a text or a list lies outside its buffer, a text is not UTF-8, or an
    interval has no start, no end, or ends before it starts.
    """
    table = pa.Table.from_batches(*_batches(data))
    start, end = _times(table, "start"), _times(table, "end")
    if np.array_equal(start, end):
        end = start
    elif (start > end).any():
        raise StateError("it holds an event that ends before it starts")
    columns, possible = {}, None
    for name in table.column_names[2:]:
        chunks = table.column(name)
        whole = chunks.chunk(0) if chunks.num_chunks == 1 else pa.concat_arrays(_pieces(chunks))
        if name == _POSSIBLE:
            if whole.null_count or whole.type != pa.bool_():
                raise StateError("it does not say whether events have happened")
            possible = whole.to_numpy(zero_copy_only=False)
        else:
            columns[name.removeprefix(_COLUMN)] = whole
    return Events(start, end, columns, possible)


def _batches(data: memoryview) -> tuple[list[Any], Any]:
    """The batches of a stream, each checked in full, and their schema."""
    messages = _messages(pa.BufferReader(pa.py_buffer(data)))
    first = next(messages, None)
    if first is None or first.type != "schema":
        raise StateError("it holds a table without a schema")
    schema = pa.ipc.read_schema(first)
    _check_schema(schema)
    batches = []
    for message in messages:
        if message.type != "record batch":
            raise StateError(f"it holds a {message.type} where only batches of rows belong")
        if _is_compressed(bytes(message.metadata)):
            # A few bytes could stand for more than there is memory.
            raise StateError("it holds compressed rows, which Thence does not write")
        batch = pa.ipc.read_record_batch(message, schema)
        batch.validate(full=True)
        batches.append(batch)
    return batches, schema


def _messages(reader: Any) -> Iterator[Any]:
    while True:
        try:
            message = pa.ipc.read_message(reader)
        except EOFError:
            return
        yield message


def _check_schema(schema: Any) -> None:
    names = schema.names
    attributes = [name for name in names[2:] if name != _POSSIBLE]
    fit = names[:2] == ["start", "end"] and all(name.startswith(_COLUMN) for name in attributes)
    if not fit or len(set(names)) != len(names):
        raise StateError(f"it holds a table with the columns {names}")
    for field in schema:
        if not _is_known(field.type):
            raise StateError(f"it holds a column of type {field.type}")


def _is_known(kind: Any, depth: int = 0) -> bool:
    """Whether values of Thence's have this type."""
    if pa.types.is_list(kind):
        return depth < _DEEPEST and _is_known(kind.value_type, depth + 1)
    return kind in _PLAIN or pa.types.is_decimal128(kind)


_PLAIN = {
    pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.timestamp("us", "UTC"), pa.duration("us"),
    pa.null(),
}  # fmt: skip


def _times(table: Any, name: str) -> Times:
    column = table.column(name)
    if column.type != pa.int64() or column.null_count:
        raise StateError(f"it holds events of which '{name}' is not a time")
    found: Times = column.to_numpy()
    return found


def _pieces(chunks: Any) -> list[Any]:
    return chunks.chunks or [pa.array([], chunks.type)]


def _is_compressed(message: bytes) -> bool:
    """Whether a batch is compressed: a look into Arrow's own description of it, whose form Arrow
    has verified (a FlatBuffers table with a table in it)."""
    (root,) = struct.unpack_from("<I", message, 0)
    place = _field(message, root, _HEADER_FIELD)
    if place is None:
        return True
    (offset,) = struct.unpack_from("<I", message, place)
    return _field(message, place + offset, _COMPRESSION_FIELD) is not None


def _field(message: bytes, table: int, number: int) -> int | None:
    """Where a table has a field; None if it has none."""
    (back,) = struct.unpack_from("<i", message, table)
    (size,) = struct.unpack_from("<H", message, table - back)
    slot = 4 + 2 * number
    if slot >= size:
        return None
    (offset,) = struct.unpack_from("<H", message, table - back + slot)
    return table + offset if offset else None
