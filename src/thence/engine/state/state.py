"""What a running program remembers between steps: events it may still need, and nothing else.

State is Arrow tables. It can be saved to bytes and restored on another machine: a JSON header with
a format version and the program's fingerprint, then one Arrow IPC stream per table. Bytes that are
read may come from anywhere: whatever is wrong with them is a StateError.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from thence.engine.arrays.rows import empty
from thence.engine.state.arrow_bytes import events_bytes, read_events_bytes
from thence.engine.state.derivation_store import Store
from thence.engine.state.relation import Relation, relation
from thence.engine.window.coverage import Gap
from thence.model.errors import StateError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.plan.horizons import NEVER

VERSION = 2
_MAGIC = b"THENCE-STATE\n"
PARTS = ("events", "emitted", "waiting", "used", "derivations", "archive")
"""The tables of state, as its fields are called."""

Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class State:
    """Everything that outlives a step.

    ``events`` are events that later ones may join; ``emitted`` are results that could still be
    derived in another way and must not be reported again; ``waiting`` are results whose lineage
    may still grow. ``used`` are events that the policy of a rule has used up, by rule and type.
    ``horizons`` are those of the inputs, and of the furthest of them (``plan/horizons.py``);
    ``gaps`` the times of which it is not known what ended then, by input.
    ``derivations`` say what derived events were made of, and ``archive`` are the base events that
    they name; ``swept`` is how many rows of these two were left when they were last looked through.
    """

    horizons: Mapping[str, int] = field(default_factory=dict)
    latest: int = NEVER
    events: Mapping[str, Relation] = field(default_factory=dict)
    emitted: Mapping[str, Relation] = field(default_factory=dict)
    waiting: Mapping[str, Relation] = field(default_factory=dict)
    used: Mapping[str, Relation] = field(default_factory=dict)
    gaps: Mapping[str, Sequence[Gap]] = field(default_factory=dict)
    derivations: Mapping[str, Relation] = field(default_factory=dict)
    archive: Mapping[str, Relation] = field(default_factory=dict)
    swept: int = 0

    @property
    def store(self) -> Store:
        """What is known of how events were derived."""
        return Store(self.derivations, self.archive)

    @property
    def tables(self) -> Iterator[Relation]:
        """Everything that the state holds."""
        return (table for part in PARTS for table in getattr(self, part).values())

    @property
    def rows(self) -> int:
        """How many rows the state holds."""
        return sum(len(table) for table in self.tables)

    @property
    def nbytes(self) -> int:
        """About how much memory the state takes."""
        return sum(table.nbytes for table in self.tables)


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
            f"reads version {VERSION}: go on with the version that wrote it, or begin a new session"
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


def _everything(held: Relation) -> tuple[Events, Mapping[str, Any]]:
    return held.whole(), {}


def encode(
    state: State,
    header: Mapping[str, Any],
    content: Callable[[Relation], tuple[Events, Mapping[str, Any]]] = _everything,
) -> bytes:
    """State as bytes behind a header: JSON with what the caller puts into it. ``content`` gives
    the rows to be written of each relation, and what the header is to say of it besides."""
    tables = []
    payloads = []
    for part in PARTS:
        for name, held in getattr(state, part).items():
            rows, more = content(held)
            data = events_bytes(rows)
            tables.append({"part": part, "event": name, "bytes": len(data), **more})
            payloads.append(data)
    times = {"horizons": dict(state.horizons), "latest": state.latest}
    if state.gaps:
        times["gaps"] = {name: list(map(list, gaps)) for name, gaps in state.gaps.items()}
    if state.swept:
        times["swept"] = state.swept
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


Restored = Callable[[Mapping[str, Any], Events], Relation]
"""How a relation is made of what the header says of it and of its rows."""


def _of_rows(_: Mapping[str, Any], events: Events) -> Relation:
    return relation(events)


def decode(
    body: Bytes, header: Mapping[str, Any] | None = None, restored: Restored = _of_rows
) -> State:
    """Encoded state, without a copy of its tables; a StateError where it is none."""
    with reading():
        return _decoded(body, read_header(body) if header is None else header, restored)


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever is wrong with bytes that are read into a StateError that says so."""
    try:
        yield
    except (StateError, pa.ArrowException, OSError, ValueError, struct.error) as problem:
        if isinstance(problem, StateError) and str(problem).startswith("the saved state"):
            raise
        raise damaged(problem) from None


def _decoded(body: Bytes, header: Mapping[str, Any], restored: Restored) -> State:
    whole = memoryview(body)
    (length,) = struct.unpack(">I", whole[:4])
    parts: dict[str, dict[str, Relation]] = {part: {} for part in PARTS}
    offset = 4 + length
    said = header.get("tables")
    tables: list[Any] = said if isinstance(said, list) else [None]
    for table in tables:
        part, event, size = _described(table)
        if event in parts[part]:
            raise StateError(f"it holds '{event}' twice")
        if size > len(whole) - offset:
            raise StateError("it is shorter than its tables")
        parts[part][event] = restored(table, read_events_bytes(whole[offset : offset + size]))
        offset += size
    if offset != len(whole):
        raise StateError("it is longer than its tables")
    horizons, latest, swept = header.get("horizons"), header.get("latest"), header.get("swept", 0)
    if type(latest) is not int or not isinstance(horizons, dict):
        raise StateError("it does not say up to which time it goes")
    if any(type(horizon) is not int for horizon in horizons.values()):
        raise StateError("it does not say up to which time it goes")
    if type(swept) is not int or swept < 0:
        raise StateError("it does not say how many derivations were needed")
    return State(horizons, latest, **parts, gaps=_gaps_in(header), swept=swept)


def _gaps_in(header: Mapping[str, Any]) -> dict[str, list[Gap]]:
    """The gaps that a header tells of."""
    told = header.get("gaps", {})
    found: dict[str, list[Gap]] = {}
    for name, gaps in told.items() if isinstance(told, dict) else [("", None)]:
        found[name] = []
        for pair in gaps if isinstance(gaps, list) else [None]:
            if not isinstance(pair, list) or [type(time) for time in pair] != [int, int]:
                raise StateError("it does not say what has not been seen")
            found[name].append((pair[0], pair[1]))
    return found


def _described(table: Any) -> tuple[str, str, int]:
    """What the header says of a table: its part, its event, its size in bytes."""
    if isinstance(table, dict):
        part, event, size = (table.get(key) for key in ("part", "event", "bytes"))
        if part in PARTS and isinstance(event, str) and type(size) is int and size >= 0:
            return part, event, size
    raise StateError("it does not say what its tables are")


@lru_cache(maxsize=1 << 12)
def empty_relation(schema: EventSchema) -> Relation:
    """Nothing remembered of a type."""
    return Relation(empty(schema))
