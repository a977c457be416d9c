"""What a shard remembers for each generation of rules, in one entry of Spark's state store.

A query that still has the program it began with has one generation, and its header is the entry as
it is (``shard_state.py``). Where another program took that one's place, the entry has the header of
every generation behind one that tells them apart: by the time at which each began.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from thence.engine.state.apart import Place, RunNote, read_apart
from thence.engine.state.sorted_run import Run
from thence.engine.state.state import damaged, read_header
from thence.model.errors import StateError
from thence.model.time import format_timestamp
from thence.plan.horizons import NEVER
from thence.spark.shard_state import SEVERAL, VERSION, check_size

Headers = Mapping[int | None, bytes]
"""For each generation its header, by when its rules began: None is the beginning of the query."""


def joined_headers(headers: Headers, rows: int = 0) -> bytes:
    """The headers of a shard's generations, which remember so many rows, as one entry.

    >>> joined_headers({None: b"header"})
    b'header'
    """
    if headers.keys() == {None}:
        return headers[None]
    parts = [{"begin": begin, "bytes": len(data)} for begin, data in headers.items()]
    text = json.dumps({"version": SEVERAL, "generations": parts}).encode()
    entry = b"".join([struct.pack(">I", len(text)), text, *headers.values()])
    check_size(len(entry), rows)
    return entry


def split_headers(stored: Any) -> Headers:
    """The headers in the entry of a shard; none where there is no entry.

    >>> split_headers((joined_headers({None: b"one", 5: b"two"}),))
    {None: b'one', 5: b'two'}
    """
    if stored is None:
        return {}
    body = bytes(stored[0])
    header = read_header(body)
    if header.get("version") != SEVERAL:
        return {None: body}
    (length,) = struct.unpack(">I", body[:4])
    place, found = 4 + length, {}
    told = header.get("generations")
    for one in told if isinstance(told, list) and told else [None]:
        begin, size = (one.get("begin"), one.get("bytes")) if isinstance(one, dict) else (None, -1)
        known = begin is None or type(begin) is int
        if not known or begin in found or type(size) is not int:
            raise damaged("it does not say when its rules began")
        if not 0 <= size <= len(body) - place:
            raise damaged("it is shorter than what it tells of")
        found[begin] = body[place : place + size]
        place += size
    if place != len(body):
        raise damaged("it is longer than what it tells of")
    return found


def latest_in(headers: Headers) -> int:
    """When the latest event ended that a shard has taken, for whatever generation."""
    found = [read_header(data).get("latest") for data in headers.values()]
    return max([NEVER, *(time for time in found if type(time) is int)])


def heard_in(headers: Headers) -> Sequence[Any]:
    """What a shard has noted of inputs that may be idle (``idle.py``), which is the same for all
    generations."""
    return next((read_header(data).get("heard", ()) for data in headers.values()), ())


def taken_by(watermark_ms: int, behind_ms: int) -> int:
    """Up to when a query may have taken events whose watermark is so far behind the latest of them.
    Spark counts in milliseconds, and begins at zero, which says nothing.

    >>> taken_by(5, 2)
    7999
    """
    return (watermark_ms + behind_ms) * 1000 + 999 if watermark_ms > 0 else NEVER


def refuse_early(begin: int, taken: int) -> None:
    """Refuse to let rules begin at a time after which events may have been taken already."""
    if taken > begin:
        raise StateError(
            f"new rules cannot begin at {format_timestamp(begin)}: events up to "
            f"{format_timestamp(taken)} may have been taken already, and are no longer all there. "
            "Start the query with the program as it was, or give ts.replaced a later time to begin "
            "at."
        )


def runs_in(data: bytes) -> dict[str, int]:
    """The runs that a header tells of, with their sizes in bytes."""
    header = read_header(data)
    sizes: dict[str, int] = {}
    if header.get("version") != VERSION:
        return sizes  # there were none apart

    def run_for(place: Place, note: RunNote) -> Run:
        sizes[note.name] = note.bytes
        return Run.elsewhere(note.name, note.rows, (note.first, note.last), note.bytes, _unread)

    read_apart(data, header, run_for)
    return sizes


def _unread() -> Any:
    raise StateError("a run of rules that are gone is not read")
