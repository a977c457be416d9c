"""The state of a shard without Spark: entries of a state store that counts what is asked of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import thence
from thence.engine.state.apart import runs_of
from thence.engine.state.saved import Shape
from thence.engine.state.state import State
from thence.spark.chain import Chain, Hop
from thence.spark.generations import stream_chain, stream_needs
from thence.spark.run_cache import RunCache
from thence.spark.run_files import RunFiles
from thence.spark.run_store import RunStore
from thence.spark.shard_state import Stored, Written, read_state, state_shape, write_state

Key = tuple[str, int]
"""The name of a run, and the number of a piece of it."""


@dataclass
class Entries:
    """In the place of Spark's map, for one shard."""

    held: dict[Key, tuple[bytes]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def getValue(self, key: Key) -> tuple[bytes] | None:
        self.asked["read"] += 1
        return self.held.get(key)

    def updateValue(self, key: Key, value: tuple[bytes]) -> None:
        assert key not in self.held, "a name was used again"
        self.asked["written"] += 1
        self.held[key] = value

    def removeKey(self, key: Key) -> None:
        self.asked["removed"] += 1
        del self.held[key]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.held}


def worker(most: int = 1 << 30) -> RunCache:
    """What a Python worker keeps."""
    return RunCache(most)


@dataclass
class Shard:
    """The entries of one shard, and what it needs to be read."""

    chain: Chain
    entries: Entries = field(default_factory=Entries)
    header: tuple[bytes] | None = None
    files: RunFiles | None = None

    @property
    def hop(self) -> Hop:
        return self.chain.hops[0]

    @property
    def shape(self) -> Shape:
        return state_shape(self.chain, self.hop)

    def _store(self, by: RunCache | None) -> RunStore:
        return RunStore(self.entries, worker() if by is None else by, self.files)

    def read(self, by: RunCache | None = None) -> Stored:
        """What is stored, for a worker; for a new one where none is named."""
        store = self._store(by)
        return read_state(self.chain, self.hop, self.header, store, self.shape)

    def write(self, state: State, before: Stored, by: RunCache | None = None) -> Written:
        """Store what is not stored yet."""
        store = self._store(by)
        written = write_state(self.chain, self.hop, state, before, store, self.shape)
        self.header = (written.header,)
        return written

    def looked_into(self, by: RunCache | None = None) -> State:
        """The state, every run of it read, and kept by the worker."""
        store = self._store(by)
        found = read_state(self.chain, self.hop, self.header, store, self.shape)
        for _, run in runs_of(found.state):
            assert len(run.events) == len(run)
        store.keep(runs_of(found.state), self.shape)
        return found.state


def shard(text: str, emit: tuple[str, ...], **stored: Any) -> Shard:
    """A shard of the first stage of a program, with nothing stored."""
    plan = thence.compile(text).plan
    chain = stream_chain(plan, stream_needs(plan, False), emit, 2, False, False)
    return Shard(chain, **stored)
