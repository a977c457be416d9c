"""Blocks: events of one type as bytes, so that many of them cross a shuffle as one row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import concat, is_points
from thence.engine.state.derivation_store import Store
from thence.engine.state.relation import Relation
from thence.model.errors import EvaluationError
from thence.model.events import Events

MEASURE = -1
"""The hop of rows that carry a figure: its name as ``event``, its value as ``rows``."""

LATE = -2
"""The hop of blocks of events that came too late."""

PROGRESS = -3
"""The hop of blocks that tell how far rules have come."""

HORIZONS = "#horizons"
"""In the place of an event's name: the block carries horizons of inputs, as JSON, and as ``rows``
the time of the trigger by the wall clock, in milliseconds, where that is asked for."""

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

_POSSIBLE = "#possible"

_KIND, _EVENT = "kind", "event"
"""What the stream of a table behind the events says of itself."""

MOST = 2**31 - 1
"""Bytes that the blocks of a batch take at most."""


ENOUGH = 1 << 25
"""Bytes of blocks that are sent on together, about."""


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


def encode(events: Events, store: Store | None = None) -> Any:
    """Events as bytes: an Arrow stream. Events that are instants have their times once.

    Behind it come the tables of what is known of how they were derived, where there are any.
    """
    sink = pa.BufferOutputStream()
    _write(sink, events, None)
    for kind, tables in _tables_of(store):
        for event, held in tables.items():
            _write(sink, held.whole(), {_KIND: kind, _EVENT: event})
    return sink.getvalue()


def _tables_of(store: Store | None) -> list[tuple[str, Mapping[str, Relation]]]:
    if store is None:
        return []
    return [("derivations", store.derivations), ("archive", store.archive)]


def _write(sink: Any, events: Events, metadata: dict[str, str] | None) -> None:
    arrays = [pa.array(events.end)]
    names = [_TIMES[1]]
    if not is_points(events):
        arrays.insert(0, pa.array(events.start))
        names.insert(0, _TIMES[0])
    arrays += events.columns.values()
    names += events.columns
    if events.possible is not None:
        arrays.append(pa.array(events.possible))
        names.append(_POSSIBLE)
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    if metadata is not None:
        batch = batch.replace_schema_metadata(metadata)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def decode(data: Any) -> Events:
    """The events of a block.

    >>> times = np.array([1, 2])
    >>> back = decode(encode(Events(times, times, {"id": pa.array(["x", "y"])})))
    >>> back.start is back.end, back.end.tolist(), back.columns["id"].to_pylist()
    (True, [1, 2], ['x', 'y'])
    """
    return _events(pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch())


def decode_store(blocks: Iterable[Block]) -> Store:
    """What is known of how the events of blocks were derived.

    >>> times = np.array([1, 2])
    >>> known = Store({"r": Relation(Events(times, times, {"event": pa.array(times)}))})
    >>> block = Block(0, 0, "r", 2, encode(Events(times, times, {}), known))
    >>> decode_store([block]).derivations["r"].whole().columns["event"].to_pylist()
    [1, 2]
    """
    found: dict[str, dict[str, list[Events]]] = {"derivations": {}, "archive": {}}
    told = (b for b in blocks if b.data is not None and b.event != HORIZONS)
    for data in (block.data for block in told):
        reader = pa.BufferReader(pa.py_buffer(data))
        pa.ipc.open_stream(reader).read_all()  # the events themselves
        while reader.tell() < reader.size():
            (batch,) = pa.ipc.open_stream(reader)
            metadata = batch.schema.metadata
            kind, event = (metadata[key.encode()].decode() for key in (_KIND, _EVENT))
            found[kind].setdefault(event, []).append(_events(batch))
    tables = (
        {event: concat(parts) for event, parts in found[kind].items()}
        for kind in ("derivations", "archive")
    )
    return Store().added(*tables)


def _events(batch: pa.RecordBatch) -> Events:
    names = batch.schema.names
    end = batch.column(_TIMES[1]).to_numpy()
    start = batch.column(_TIMES[0]).to_numpy() if _TIMES[0] in names else end
    columns = {n: batch.column(i) for i, n in enumerate(names) if n not in (*_TIMES, _POSSIBLE)}
    possible = None
    if _POSSIBLE in names:
        possible = batch.column(_POSSIBLE).to_numpy(zero_copy_only=False)
    return Events(start, end, columns, possible)


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


def to_batches(blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    """Blocks as rows, so few at a time that a batch stays far below what Arrow and Spark hold.

    >>> few = [Block(0, 0, "e", 1, bytes(ENOUGH // 2)) for _ in range(5)]
    >>> [batch.num_rows for batch in to_batches(few)]
    [2, 2, 1]
    """
    waiting: list[Block] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += 0 if block.data is None else len(memoryview(block.data))
        if size >= ENOUGH:
            yield to_batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield to_batch(waiting)


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
        if block.data is not None and block.event != HORIZONS:
            found.setdefault(block.event, []).append(decode(block.data))
    # Blocks come in any order. Within one, events mostly are in the order of time; the engine is
    # fastest where all are.
    return {event: concat(sorted(parts, key=_begin)) for event, parts in found.items()}


def horizons_block(place: int, hop: int, horizons: Mapping[str, int]) -> Block:
    """A block that tells a shard up to when inputs have been seen."""
    return Block(place, hop, HORIZONS, 0, json.dumps(dict(horizons)).encode())


def horizons_in(blocks: Iterable[Block]) -> dict[str, int]:
    """The horizons that blocks carry: of each input the furthest.

    >>> horizons_in(horizons_block(0, 0, {"a": time}) for time in (5, 7))
    {'a': 7}
    """
    found: dict[str, int] = {}
    for block in blocks:
        if block.event == HORIZONS:
            for name, time in json.loads(bytes(block.data)).items():
                found[name] = max(found.get(name, time), time)
    return found


def clock_in(blocks: Iterable[Block]) -> int | None:
    """The time of the trigger by the wall clock, where blocks carry it."""
    times = (block.rows for block in blocks if block.event == HORIZONS)
    return max(times, default=0) or None


def _begin(events: Events) -> int:
    return int(events.end[0])
