"""Sorted runs that this process has read, by name: each is read once, and indexed once.

Spark hands a shard now to one Python worker, now to another. So what is here may be missing in any
trigger, or be of a trigger that was never finished; but a name stands for the same rows for ever,
and which runs count is in the state store alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from thence.engine.limits.memory import available, cores
from thence.engine.state.apart import Place
from thence.engine.state.saved import Shape
from thence.engine.state.sorted_run import Run

SHARE = 4
"""One part in so many of the memory that is free, divided by the cores, is for runs."""

UNKNOWN = 1 << 28
"""So many bytes are for runs where nobody says how much memory is free."""

_MOST_SHAPES = 64


@dataclass(frozen=True, slots=True)
class Cached:
    """A run, what it was checked to be, and whether its rows are in memory of this process: those
    of a file that is mapped are not."""

    run: Run
    place: Place
    shape: int
    own: bool

    @property
    def nbytes(self) -> int:
        """How much memory of this process it takes."""
        return self.run.index_bytes + (self.run.nbytes if self.own else 0)


class RunCache:
    """Runs that take at most so many bytes; those that were used longest ago go first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: OrderedDict[str, Cached] = OrderedDict()
        self._shapes: list[Shape] = []

    def number(self, shape: Shape) -> int:
        """A number for what state looks like: a run is checked once for each."""
        if shape not in self._shapes:
            if len(self._shapes) == _MOST_SHAPES:
                self._shapes.clear()
                self._held.clear()
            self._shapes.append(shape)
        return self._shapes.index(shape)

    def get(self, name: str, place: Place, shape: int) -> Cached | None:
        """A run that was checked to be of a place in state that looks so; None if there is none."""
        found = self._held.get(name)
        if found is None or (found.place, found.shape) != (place, shape):
            return None
        return found

    def keep(self, used: Iterable[Cached]) -> None:
        """Take runs that have just been used, and let go what there is no room for."""
        for cached in used:
            self._held[cached.run.name] = cached
            self._held.move_to_end(cached.run.name)
        # Indexes are made when a run is searched, so sizes are not the same as last time.
        total = self.nbytes
        while total > self.most:
            total -= self._held.popitem(last=False)[1].nbytes

    def drop(self, names: Iterable[str]) -> None:
        """Let go runs that nobody will ask for again."""
        for name in names:
            self._held.pop(name, None)

    @property
    def nbytes(self) -> int:
        """How much memory of this process all of them take."""
        return sum(cached.nbytes for cached in self._held.values())

    def __len__(self) -> int:
        return len(self._held)


@lru_cache(maxsize=1)
def shared_cache() -> RunCache:
    """The runs of this process."""
    free = available()
    return RunCache(UNKNOWN if free is None else free // SHARE // cores())
