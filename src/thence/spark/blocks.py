"""Blocks: events of one type as bytes, so that many of them cross a shuffle as one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import concat, is_points
from thence.model.errors import EvaluationError
from thence.model.events import Events

MEASURE = -1
"""The hop of rows that carry a figure: its name as ``event``, its value as ``rows``."""

LATE = -2
"""The hop of blocks of events that came too late."""

BLOCKS = pa.schema(
    [
        pa.field("place", pa.int32()),
        pa.field("hop", pa.int32()),
        pa.field("event", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("block", pa.binary()),
    ]
)
BLOCKS_DDL = "place int, hop int, event string, rows bigint, block binary"

_TIMES = ("#start", "#end")

MOST = 2**31 - 1
"""Bytes that the blocks of a batch take at most."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some events on their way: where to, and their bytes.

    One without bytes carries no events; it only sees to it that its place is looked at.
    """

    place: int
    hop: int
    event: str
    rows: int
    data: Any


def encode(events: Events) -> Any:
    """Events as bytes: an Arrow stream. Events that are instants have their times once."""
    arrays = [pa.array(events.end)]
    names = [_TIMES[1]]
    if not is_points(events):
        arrays.insert(0, pa.array(events.start))
        names.insert(0, _TIMES[0])
    arrays += events.columns.values()
    names += events.columns
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def decode(data: Any) -> Events:
    """The events of a block.

    >>> times = np.array([1, 2])
    >>> back = decode(encode(Events(times, times, {"id": pa.array(["x", "y"])})))
    >>> back.start is back.end, back.end.tolist(), back.columns["id"].to_pylist()
    (True, [1, 2], ['x', 'y'])
    """
    batch = pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    names = batch.schema.names
    end = batch.column(_TIMES[1]).to_numpy()
    start = batch.column(_TIMES[0]).to_numpy() if _TIMES[0] in names else end
    columns = {n: batch.column(i) for i, n in enumerate(names) if n not in _TIMES}
    return Events(start, end, columns)


def to_batch(blocks: Sequence[Block]) -> pa.RecordBatch:
    """Blocks as rows."""
    columns = [
        pa.array([b.place for b in blocks], pa.int32()),
        pa.array([b.hop for b in blocks], pa.int32()),
        pa.array([b.event for b in blocks], pa.string()),
        pa.array([b.rows for b in blocks], pa.int64()),
        _binary([block.data for block in blocks]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BLOCKS)


def _binary(values: Sequence[Any]) -> Any:
    """Buffers one after another as a column; nothing is an empty value."""
    parts = [b"" if value is None else memoryview(value) for value in values]
    if sum(map(len, parts)) > MOST:
        raise EvaluationError(
            "a shard sends more than 2 GiB of events at once, which is as much as Arrow holds in "
            "one array: use more shards (shards=…, --shards), or let a batch have fewer events"
        )
    offsets = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def from_batch(batch: pa.RecordBatch) -> Iterator[Block]:
    """Rows as blocks. The bytes are not copied."""
    place, hop, event, rows, data = (batch.column(i) for i in range(5))
    for i in range(batch.num_rows):
        content = data[i].as_buffer()
        yield Block(
            place[i].as_py(),
            hop[i].as_py(),
            event[i].as_py(),
            rows[i].as_py(),
            content if content is not None and content.size else None,
        )


def events_in(blocks: Iterable[Block]) -> dict[str, Events]:
    """The events of blocks, by type."""
    found: dict[str, list[Events]] = {}
    for block in blocks:
        if block.data is not None:
            found.setdefault(block.event, []).append(decode(block.data))
    # Blocks come in any order. Within one, events mostly are in the order of time; the engine is
    # fastest where all are.
    return {event: concat(sorted(parts, key=_begin)) for event, parts in found.items()}


def _begin(events: Events) -> int:
    return int(events.end[0])
