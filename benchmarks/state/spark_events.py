"""Q2 of W1 with a window that retains a given number of bytes a shard, and the files of its stream.

The first files hold nothing but the ``a`` that the window retains, many in each, so that the state
is full soon; the files after them are W1, as many events in each as a trigger is to have. There are
twice as many ids as ``a`` in the window, so that a ``b`` meets as many of them as in W1 itself,
however long the window is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.generate import BEGIN, SEED, STEP, TYPES, w1
from benchmarks.parquet import FOLDER, cut, written_tables
from benchmarks.queries import DECLARATIONS

SHARDS = 2
ROW_BYTES = 32
"""Of an ``a`` in the state store: its start and end, its id and its price."""
EVERY = STEP * len(TYPES)
"""Microseconds from one ``a`` to the next, on average."""
FILLING = 1_000_000
"""Events of a file that fills the state."""


@dataclass(frozen=True, slots=True)
class Retained:
    """A size of state, and how many triggers of how many events come once it is reached."""

    megabytes: int
    per_trigger: int
    triggers: int

    @property
    def kept(self) -> int:
        """How many ``a`` the window retains, on all shards together."""
        return self.megabytes * 1_000_000 * SHARDS // ROW_BYTES

    @property
    def filling(self) -> int:
        """How many files fill the state."""
        return -(-self.kept // FILLING)

    @property
    def window(self) -> int:
        """Microseconds that Q2 looks back."""
        return self.kept * EVERY

    @property
    def text(self) -> str:
        """Q2 with that window."""
        return (
            f"{DECLARATIONS}q2(id, x.price as p1, y.price as p2) <- (x: a(id=id) seq y: b(id=id)) "
            f"within {self.window // 1000} ms where y.price > x.price;"
        )

    def folder(self, within: Path = FOLDER) -> Path:
        """The files of the stream, one for each trigger."""
        name = f"state-{self.megabytes}mb-{self.triggers}x{self.per_trigger}-seed{SEED}"
        return written_tables(within / name, self._tables)

    def _tables(self) -> Iterator[Any]:
        yield from cut(self.before(), FILLING)
        yield from cut(self.measured(), self.per_trigger)

    def before(self) -> Any:
        """The events that fill the state."""
        random = np.random.default_rng(SEED + 1)
        times = BEGIN - EVERY * np.arange(self.kept, 0, -1, dtype=np.int64)
        return pa.table(
            {
                "type": pa.repeat(pa.scalar("a"), self.kept),
                "time": pa.array(times, type=pa.timestamp("us", "UTC")),
                "id": random.integers(0, 2 * self.kept, self.kept, dtype=np.int64),
                "price": random.uniform(0, 1000, self.kept),
            }
        )

    def measured(self) -> Any:
        """The events of the triggers that are measured."""
        return w1(self.per_trigger * self.triggers, ids=2 * self.kept)

    def expected(self, triggers: int) -> int:
        """How many results the first so many triggers that are measured give, found by sorting."""
        events = self.measured().slice(0, triggers * self.per_trigger)
        given = pa.concat_tables([self.before(), events]).combine_chunks()
        a, b = (given.filter(pc.equal(given["type"], name)) for name in ("a", "b"))
        a = a.sort_by("id")
        ids, times, prices = (_numbers(a, name) for name in ("id", "time", "price"))
        theirs, at, worth = (_numbers(b, name) for name in ("id", "time", "price"))
        first = np.searchsorted(ids, theirs, "left")
        sizes = np.searchsorted(ids, theirs, "right") - first
        right = np.repeat(np.arange(len(theirs)), sizes)
        left = np.arange(len(right)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
        earlier = (times[left] < at[right]) & (at[right] - times[left] <= self.window)
        return int(np.count_nonzero(earlier & (prices[left] < worth[right])))


def _numbers(table: Any, name: str) -> Any:
    column = table[name].combine_chunks()
    return column.cast(pa.int64()).to_numpy() if name == "time" else column.to_numpy()
