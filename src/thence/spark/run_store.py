"""The sorted runs of a shard as entries of Spark's state store, read as seldom as can be.

A run is an entry under its name, which is never used again; one that is large is several, since
each crosses to Java as a whole, and is copied there a few times. What is read is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thence.engine.state.apart import Place, RunNote, read_run, run_bytes
from thence.engine.state.saved import Shape, check_table
from thence.engine.state.sorted_run import Run
from thence.engine.state.state import damaged
from thence.model.errors import StateError
from thence.model.events import Events
from thence.spark.run_cache import Cached, RunCache, shared_cache
from thence.spark.run_files import RunFiles, executor_files

PIECE = 1 << 19
"""So many bytes an entry has at most: Java takes larger ones much more slowly."""


@dataclass
class RunStore:
    """The runs of the shard whose turn it is. ``entries`` is Spark's map: a name and the number of
    a piece to bytes."""

    entries: Any = field(repr=False)
    cache: RunCache = field(default_factory=shared_cache, repr=False)
    files: RunFiles | None = field(default_factory=executor_files, repr=False)
    _mapped: set[str] = field(default_factory=set, repr=False)
    """The runs that were read from files in this task."""
    _left: set[str] = field(default_factory=set, repr=False)
    """The runs that were made in this task and left in files: the next one reads them there."""

    def run(self, place: Place, note: RunNote, shape: Shape | None) -> Run:
        """A run that is stored: the one that this process has, or else one that is read when
        somebody looks into it, and then checked to be what is to be there. Without a ``shape``
        only its form is checked, and the process does not keep it."""
        if shape is not None:
            cached = self.cache.get(note.name, place, self.cache.number(shape))
            if cached is not None:
                return _agreed(cached.run, note)
        return Run.elsewhere(
            note.name,
            note.rows,
            (note.first, note.last),
            note.bytes,
            lambda: self._read(place, note, shape),
        )

    def add(self, run: Run) -> int:
        """Store a new run; how many bytes it has."""
        data = run_bytes(run)
        for piece, start in enumerate(range(0, data.nbytes, PIECE)):
            self.entries.updateValue((run.name, piece), (bytes(data[start : start + PIECE]),))
        if self.files is not None and self.files.write(run.name, data):
            self._left.add(run.name)
        return data.nbytes

    def remove(self, sizes: Mapping[str, int]) -> None:
        """Delete runs of so many bytes each."""
        for name, size in sizes.items():
            for piece in range(_pieces(size)):
                self.entries.removeKey((name, piece))
        self.cache.drop(sizes)
        if self.files is not None:
            self.files.remove(sizes)

    def keep(self, runs: Iterable[tuple[Place, Run]], shape: Shape) -> None:
        """Keep what has been read of some runs for the next time."""
        number = self.cache.number(shape)
        used = []
        for place, run in runs:
            if run.is_read and run.name not in self._left:
                known = self.cache.get(run.name, place, number)
                own = run.name not in self._mapped if known is None else known.own
                used.append(Cached(run, place, number, own))
        self.cache.keep(used)
        if self.files is not None:
            self.files.touch(cached.run.name for cached in used)

    def _read(self, place: Place, note: RunNote, shape: Shape | None) -> Events:
        data = None if self.files is None else self.files.read(note.name, note.bytes)
        if data is None:
            data = self._fetched(note)
        else:
            self._mapped.add(note.name)
        events = read_run(data, note)
        if shape is not None:
            try:
                check_table(place.part, place.event, events, shape)
            except StateError as problem:
                raise damaged(problem) from None
        return events

    def _fetched(self, note: RunNote) -> memoryview:
        """The bytes of a run from the state store; from a file, once they are there."""
        pieces = []
        for piece in range(_pieces(note.bytes)):
            found = self.entries.getValue((note.name, piece))
            if found is None:
                raise damaged(f"the run '{note.name}' is missing")
            pieces.append(bytes(found[0]))
        data = memoryview(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if data.nbytes != note.bytes:
            raise damaged(f"the run '{note.name}' has {data.nbytes} bytes, not {note.bytes}")
        if self.files is not None and self.files.write(note.name, data):
            mapped = self.files.read(note.name, note.bytes)
            if mapped is not None:
                self._mapped.add(note.name)
                return mapped
        return data


def _pieces(size: int) -> int:
    """How many entries so many bytes are.

    >>> _pieces(1), _pieces(PIECE), _pieces(PIECE + 1)
    (1, 1, 2)
    """
    return -(-size // PIECE)


def _agreed(run: Run, note: RunNote) -> Run:
    if (len(run), run.first, run.last) != (note.rows, note.first, note.last):
        raise damaged(f"the run '{note.name}' is not the one that is meant")
    return run
