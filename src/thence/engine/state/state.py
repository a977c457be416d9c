"""What a running program remembers between steps: events it may still need, and nothing else.

State is Arrow tables. It can be saved to bytes and restored on another machine: a JSON header with
a format version and the program's fingerprint, then one Arrow IPC stream per table. Bytes that are
read may come from anywhere: whatever is wrong with them is a StateError.
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

from thence.engine.arrays.rows import LINEAGE
from thence.engine.output.lineage import COLUMN
from thence.engine.state.arrow_bytes import events_bytes, read_events_bytes
from thence.model.errors import StateError
from thence.model.events import Events
from thence.model.schema import EventSchema

VERSION = 1
_MAGIC = b"THENCE-STATE\n"
PARTS = ("events", "emitted", "waiting", "used")
"""The tables of state, as its fields are called."""

Bytes = bytes | memoryview

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
    """State from bytes, checked to be whole and to belong to the program.

    The checksum tells damage, not intent. What is in the state is checked as well, as far as that
    can be without the program; :func:`thence.engine.state.saved.check_state` does the rest.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateError(f"saved state must be bytes, not {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 36:
        raise StateError("this is not saved state of a Thence session")
    body, digest = memoryview(data)[len(_MAGIC) : -32], data[-32:]
    if hashlib.sha256(body).digest() != digest:
        raise StateError("the saved state is damaged or cut short: it fails its checksum")
    header = read_header(body)
    if header.get("version") != VERSION:
        raise StateError(
            f"the saved state has format version {header.get('version')}; this version of Thence "
            f"reads version {VERSION}"
        )
    if header.get("program") != program:
        raise StateError(
            "the saved state belongs to another program, or to a session with another lineage or "
            "allow_unbounded: restore it as it was saved, or begin a new session"
        )
    extra = header.get("extra")
    if not isinstance(extra, dict):
        raise damaged("it does not say how the session was run")
    return decode(body, header), extra


def damaged(why: object) -> StateError:
    """The error that state is not what it should be."""
    return StateError(f"the saved state is damaged: {why}")


def encode(state: State, header: Mapping[str, Any]) -> bytes:
    """State as bytes behind a header: JSON with what the caller puts into it."""
    tables = []
    payloads = []
    for part in PARTS:
        for name, events in getattr(state, part).items():
            data = events_bytes(events)
            tables.append({"part": part, "event": name, "bytes": len(data)})
            payloads.append(data)
    times = {"horizon": state.horizon, "latest": state.latest}
    text = json.dumps({**header, **times, "tables": tables}).encode()
    return b"".join([struct.pack(">I", len(text)), text, *payloads])


def read_header(body: Bytes) -> dict[str, Any]:
    """The header of encoded state; a StateError where there is none."""
    try:
        (length,) = struct.unpack(">I", body[:4])
        if length > len(body) - 4:
            raise damaged("it is shorter than its header")
        header = json.loads(bytes(body[4 : 4 + length]))
    except (ValueError, struct.error, RecursionError) as problem:
        raise damaged(f"its header cannot be read ({type(problem).__name__})") from None
    if not isinstance(header, dict):
        raise damaged("its header is none")
    return header


def decode(body: Bytes, header: Mapping[str, Any] | None = None) -> State:
    """Encoded state, without a copy of its tables; a StateError where it is none."""
    try:
        return _decoded(body, read_header(body) if header is None else header)
    except (StateError, pa.ArrowException, OSError, ValueError, struct.error) as problem:
        if isinstance(problem, StateError) and str(problem).startswith("the saved state"):
            raise
        raise damaged(problem) from None


def _decoded(body: Bytes, header: Mapping[str, Any]) -> State:
    whole = memoryview(body)
    (length,) = struct.unpack(">I", whole[:4])
    parts: dict[str, dict[str, Events]] = {part: {} for part in PARTS}
    offset = 4 + length
    tables = header.get("tables")
    for table in tables if isinstance(tables, list) else [None]:
        part, event, size = _described(table)
        if event in parts[part]:
            raise StateError(f"it holds '{event}' twice")
        if size > len(whole) - offset:
            raise StateError("it is shorter than its tables")
        parts[part][event] = read_events_bytes(whole[offset : offset + size])
        offset += size
    if offset != len(whole):
        raise StateError("it is longer than its tables")
    horizon, latest = header.get("horizon"), header.get("latest")
    if type(horizon) is not int or type(latest) is not int:
        raise StateError("it does not say up to which time it goes")
    return State(horizon, latest, **parts)


def _described(table: Any) -> tuple[str, str, int]:
    """What the header says of a table: its part, its event, its size in bytes."""
    if isinstance(table, dict):
        part, event, size = (table.get(key) for key in ("part", "event", "bytes"))
        if part in PARTS and isinstance(event, str) and type(size) is int and size >= 0:
            return part, event, size
    raise StateError("it does not say what its tables are")


@lru_cache(maxsize=1 << 12)
def empty_events(schema: EventSchema, lineage: bool) -> Events:
    """No events of a type, with a lineage column where one is kept."""
    none = np.empty(0, dtype=np.int64)
    columns: dict[str, Any] = {a.name: pa.nulls(0, a.type.arrow) for a in schema.attributes}
    if lineage:
        columns[LINEAGE] = pa.nulls(0, COLUMN)
    return Events(none, none, columns)
