"""What a running program remembers between steps: events it may still need, and nothing else.

State is Arrow tables. It can be saved to bytes and restored on another machine: a JSON header with
a format version and the program's fingerprint, then one Arrow IPC stream per table.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.lineage import COLUMN
from thence.engine.rows import LINEAGE
from thence.model.errors import StateError
from thence.model.events import Events
from thence.model.schema import EventSchema

VERSION = 1
_MAGIC = b"THENCE-STATE\n"
PARTS = ("events", "emitted", "waiting", "used")
"""The tables of state, as its fields are called."""

NEVER = -(2**62)
"""A horizon before all time: nothing has been seen."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that outlives a step.

    ``events`` are events that later ones may join; ``emitted`` are results that could still be
    derived in another way and must not be reported again; ``waiting`` are results whose lineage
    may still grow. ``used`` are events that the policy of a rule has used up, by rule and type.
    """

    horizon: int = NEVER
    latest: int = NEVER
    events: Mapping[str, Events] = field(default_factory=dict)
    emitted: Mapping[str, Events] = field(default_factory=dict)
    waiting: Mapping[str, Events] = field(default_factory=dict)
    used: Mapping[str, Events] = field(default_factory=dict)

    @property
    def tables(self) -> Iterator[Events]:
        """Everything that the state holds."""
        return (table for part in PARTS for table in getattr(self, part).values())

    @property
    def rows(self) -> int:
        """How many rows the state holds."""
        return sum(len(table) for table in self.tables)

    @property
    def nbytes(self) -> int:
        """About how much memory the state takes."""
        return sum(
            t.start.nbytes + t.end.nbytes + sum(c.nbytes for c in t.columns.values())
            for t in self.tables
        )


def fingerprint(text: str) -> str:
    """A short name for a program, to tell whether saved state belongs to it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def save(state: State, program: str, extra: Mapping[str, Any]) -> bytes:
    """State as bytes. ``extra`` is whatever the caller wants back, as JSON."""
    body = encode(state, {"version": VERSION, "program": program, "extra": dict(extra)})
    return _MAGIC + body + hashlib.sha256(body).digest()


def restore(data: bytes, program: str) -> tuple[State, dict[str, Any]]:
    """State from bytes, checked to be whole and to belong to the program."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateError(f"saved state must be bytes, not {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 36:
        raise StateError("this is not saved state of a Thence session")
    body, digest = data[len(_MAGIC) : -32], data[-32:]
    if hashlib.sha256(body).digest() != digest:
        raise StateError("the saved state is damaged or cut short: it fails its checksum")
    try:
        return _checked(body, program)
    except (KeyError, TypeError, ValueError, OSError, struct.error, pa.ArrowException) as problem:
        raise StateError(f"the saved state is damaged: {problem!r}") from None


def _checked(body: bytes, program: str) -> tuple[State, dict[str, Any]]:
    header = read_header(body)
    if header["version"] != VERSION:
        raise StateError(
            f"the saved state has format version {header['version']}; this version of Thence "
            f"reads version {VERSION}"
        )
    if header["program"] != program:
        raise StateError(
            "the saved state belongs to another program, or to a session with another lineage or "
            "allow_unbounded: restore it as it was saved, or begin a new session"
        )
    return decode(body), dict(header["extra"])


def encode(state: State, header: Mapping[str, Any]) -> bytes:
    """State as bytes behind a header: JSON with what the caller puts into it."""
    tables = []
    payloads = []
    for part in PARTS:
        for name, events in getattr(state, part).items():
            data = _table_bytes(events)
            tables.append({"part": part, "event": name, "bytes": len(data)})
            payloads.append(data)
    times = {"horizon": state.horizon, "latest": state.latest}
    text = json.dumps({**header, **times, "tables": tables}).encode()
    return b"".join([struct.pack(">I", len(text)), text, *payloads])


def read_header(body: bytes) -> dict[str, Any]:
    """The header of encoded state."""
    (length,) = struct.unpack(">I", body[:4])
    header: dict[str, Any] = json.loads(body[4 : 4 + length])
    return header


def decode(body: bytes) -> State:
    """Encoded state, without a copy of its tables."""
    header = read_header(body)
    (length,) = struct.unpack(">I", body[:4])
    parts: dict[str, dict[str, Events]] = {part: {} for part in PARTS}
    offset = 4 + length
    whole = memoryview(body)
    for table in header["tables"]:
        chunk = whole[offset : offset + table["bytes"]]
        offset += table["bytes"]
        parts[table["part"]][table["event"]] = _from_bytes(chunk)
    return State(int(header["horizon"]), int(header["latest"]), **parts)


def _table_bytes(events: Events) -> Any:
    columns = {"start": pa.array(events.start), "end": pa.array(events.end)}
    columns |= {f"c.{name}": column for name, column in events.columns.items()}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _from_bytes(data: memoryview) -> Events:
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    start = table.column("start").to_numpy()
    end = table.column("end").to_numpy()
    if np.array_equal(start, end):
        end = start
    columns = {}
    for name in table.column_names[2:]:
        chunks = table.column(name)
        columns[name[2:]] = chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)
    return Events(start, end, columns)


@lru_cache(maxsize=1 << 12)
def empty_events(schema: EventSchema, lineage: bool) -> Events:
    """No events of a type, with a lineage column where one is kept."""
    none = np.empty(0, dtype=np.int64)
    columns: dict[str, Any] = {a.name: pa.array([], a.type.arrow) for a in schema.attributes}
    if lineage:
        columns[LINEAGE] = pa.array([], COLUMN)
    return Events(none, none, columns)
