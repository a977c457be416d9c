"""State whose sorted runs are stored apart: a header, and each run as bytes under its name.

A run never changes, so it is written once. The header is what changes with every step: it says up
to which time the state goes and, of each relation, which runs it has; the rows that are in no run
yet come with it. A run is one Arrow stream.

Bytes that are read may come from anywhere: whatever is wrong with them is a StateError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from thence.engine.state.arrow_bytes import events_bytes, read_events_bytes
from thence.engine.state.relation import ALWAYS, Relation
from thence.engine.state.saved import FARTHEST
from thence.engine.state.sorted_run import Run
from thence.engine.state.state import PARTS, Bytes, State, decode, encode, reading
from thence.model.errors import StateError
from thence.model.events import Events

LARGEST = 2**36
"""Bytes that no run has."""

_NAME = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the state a run belongs: the table (``events``, ``emitted``, …) and the relation."""

    part: str
    event: str


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a header says of a run: its name, how many rows and bytes it has, and when the first and
    the last of its rows end."""

    name: str
    rows: int
    bytes: int
    first: int
    last: int


def runs_of(state: State) -> Iterator[tuple[Place, Run]]:
    """All runs of some state, and where each belongs."""
    for part in PARTS:
        for event, held in getattr(state, part).items():
            for run in held.runs:
                yield Place(part, event), run


def run_bytes(run: Run) -> memoryview:
    """A run as bytes."""
    return events_bytes(run.events)


def read_run(data: Bytes, note: RunNote) -> Events:
    """The events of a run from its bytes, without a copy; a StateError where they are not what the
    header says."""
    with reading():
        events = read_events_bytes(memoryview(data))
        ends = events.end
        if len(ends) != note.rows or (int(ends[0]), int(ends[-1])) != (note.first, note.last):
            raise StateError(f"the run '{note.name}' is not the one that is meant")
        if (ends[1:] < ends[:-1]).any():
            raise StateError(f"the run '{note.name}' is not in order")
        return events


def header_bytes(state: State, header: Mapping[str, Any], sizes: Mapping[str, int]) -> bytes:
    """State without its runs: what the caller puts into the header, and what the state is.
    ``sizes`` says by name how many bytes each run has."""

    def content(held: Relation) -> tuple[Events, Mapping[str, Any]]:
        notes = [RunNote(r.name, len(r), sizes[r.name], r.first, r.last) for r in held.runs]
        return held.recent, {"after": held.after, "runs": [astuple(note) for note in notes]}

    return encode(state, header, content)


def read_apart(
    body: Bytes, header: Mapping[str, Any], run_for: Callable[[Place, RunNote], Run]
) -> State:
    """State without its runs from bytes and the header that they begin with; ``run_for`` gives
    each run."""
    known: set[str] = set()

    def restored(table: Mapping[str, Any], recent: Events) -> Relation:
        after = table.get("after")
        if type(after) is not int or not ALWAYS <= after <= FARTHEST:
            raise StateError("it does not say what has expired")
        notes = [_note(said) for said in _listed(table.get("runs"))]
        if any(note.last <= after for note in notes) or (recent.end <= after).any():
            raise StateError("it holds what has expired")
        names = {note.name for note in notes}
        if len(names) < len(notes) or names & known:
            raise StateError("it has one run in two places")
        known.update(names)
        place = Place(table["part"], table["event"])
        return Relation(recent, [run_for(place, note) for note in notes], after)

    return decode(body, header, restored)


def _listed(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise StateError("it does not say which runs it has")
    return said


def _note(said: Any) -> RunNote:
    """What is said of a run, if it can be meant."""
    if isinstance(said, list) and len(said) == len(RunNote.__slots__):
        name, *numbers = said
        if isinstance(name, str) and _NAME.fullmatch(name) and all(type(n) is int for n in numbers):
            note = RunNote(name, *numbers)
            span = -FARTHEST <= note.first <= note.last <= FARTHEST
            if 0 < note.rows <= note.bytes <= LARGEST and span:
                return note
    raise StateError("it does not say what its runs are")
