"""A sorted run: events in the order in which they end, that never change, and indexes by key.

An index puts rows in the order of a hash of some columns, then of their end, as one 64-bit number
each. A search in it may give a few rows too many: those whose hashes are equal by chance, or that
end a moment too early. Whoever asks joins them anyway, so that only costs a look.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import numpy as np

from thence.engine.arrays.array_types import Codes, Index, Times
from thence.engine.arrays.hashing import Hashes, hash_columns, hash_kind
from thence.engine.arrays.rows import bytes_of, sliced, take
from thence.engine.join.chains import spread
from thence.model.events import Events

_TIME_BITS = 32
"""How many bits of an index number are time; the other 31 are of the hash."""

_LAST = (1 << _TIME_BITS) - 1

_NO_ROWS: Index = np.empty(0, dtype=np.int64)


def key_hashes(events: Events, names: Sequence[str]) -> Hashes:
    """A hash per row over some columns."""
    columns = [events.columns[name] for name in names]
    kinds = [hash_kind(column.type) or "" for column in columns]
    return hash_columns(columns, kinds, len(events))


class Probes:
    """What is looked for: hashes, each once and in order, and from when to when; None for any
    time."""

    __slots__ = ("_common", "hashes", "high", "leading", "low", "reach")

    def __init__(self, hashes: Hashes, low: Times | None, high: Times | None) -> None:
        """Make probes, at least one."""
        self.hashes = hashes
        self.low, self.high = low, high
        self.leading = _leading(hashes)
        self.reach = _least(low), None if high is None else int(high.max())
        """The times within which all of it lies."""
        self._common = None if low is None else int(low.max()), _least(high)

    def cover(self, first: int, last: int) -> bool:
        """Whether each of them asks for all of some time."""
        low, high = self._common
        return (low is None or low <= first) and (high is None or high >= last)


def _least(times: Times | None) -> int | None:
    return None if times is None else int(times.min())


def probes(hashes: Hashes, low: Times | None, high: Times | None) -> Probes:
    """Probes for some rows: of several with one hash, the time from the first to the last.

    >>> found = probes(np.array([7, 3, 7], np.uint64), np.array([5, 1, 2]), None)
    >>> found.hashes.tolist(), found.low.tolist()
    ([3, 7], [1, 2])
    """
    if len(hashes) < 2:
        return Probes(hashes, low, high)
    order = np.argsort(hashes)
    ordered = hashes[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if low is not None:
        low = np.minimum.reduceat(low[order], begins)
    if high is not None:
        high = np.maximum.reduceat(high[order], begins)
    return Probes(ordered[begins], low, high)


class KeyIndex:
    """Rows of a run by (hash of a key, end)."""

    __slots__ = ("_first", "_last", "_numbers", "_order", "_shift")

    def __init__(self, hashes: Hashes, ends: Times) -> None:
        """Index rows whose ends rise."""
        self._first, self._last = int(ends[0]), int(ends[-1])
        self._shift = max(0, (self._last - self._first).bit_length() - _TIME_BITS)
        numbers = _leading(hashes) + ((ends - self._first) >> self._shift)
        order = np.argsort(numbers)
        self._numbers = numbers[order]
        self._order = order.astype(np.int32)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._numbers.nbytes + self._order.nbytes

    def find(self, probes: Probes) -> Index:
        """The rows that probes can meet, in order, and perhaps a few more."""
        base = probes.leading
        if len(base) == 1:
            return self._find_one(probes)
        if probes.cover(self._first, self._last):
            lows, highs = base, base + _LAST
        else:
            lows = base if probes.low is None else base + self._moments(probes.low)
            highs = base + (_LAST if probes.high is None else self._moments(probes.high))
        first = self._numbers.searchsorted(lows, "left")
        there = self._numbers.take(first, mode="clip")
        hits = ((there >= lows) & (there <= highs)).nonzero()[0]
        if not len(hits):
            return _NO_ROWS
        first = first[hits]
        sizes = self._numbers.searchsorted(highs[hits], "right") - first
        rows = self._order[spread(first, sizes)]
        rows.sort()
        # Hashes that have their leading bits in common find the same rows.
        first_of_kind = rows[1:] != rows[:-1]
        if not first_of_kind.all():
            rows = rows[np.concatenate(([True], first_of_kind))]
        return rows.astype(np.int64)

    def _find_one(self, probes: Probes) -> Index:
        """The same for a single probe, with plain numbers."""
        base, (low, high) = int(probes.leading[0]), probes.reach
        begin = base if low is None else base + self._moment(low)
        end = base + (_LAST if high is None else self._moment(high))
        first = int(self._numbers.searchsorted(begin, "left"))
        if first == len(self._numbers) or self._numbers[first] > end:
            return _NO_ROWS
        last = int(self._numbers.searchsorted(end, "right"))
        return np.sort(self._order[first:last]).astype(np.int64)

    def _moment(self, time: int) -> int:
        return min(max((time - self._first) >> self._shift, 0), _LAST)

    def _moments(self, times: Times) -> Times:
        found: Times = np.minimum(np.maximum((times - self._first) >> self._shift, 0), _LAST)
        return found


def _leading(hashes: Hashes) -> Codes:
    """The leading bits of hashes, in the place they have in an index number."""
    return ((hashes >> np.uint64(33)) << np.uint64(_TIME_BITS)).astype(np.int64)


class Run:
    """Events that end in order. ``name`` is never used for another run, on no machine.

    A run that is stored elsewhere (:meth:`elsewhere`) is read when somebody first looks into it;
    how many rows it has, and from when to when they end, is known before.
    """

    __slots__ = ("_events", "_indexes", "_read", "first", "last", "name", "nbytes", "rows")

    def __init__(self, events: Events, name: str | None = None) -> None:
        """Make a run of events, at least one, whose ends rise."""
        self._events: Events | None = events
        self._read: Callable[[], Events] | None = None
        self.rows = len(events)
        self.name = secrets.token_hex(12) if name is None else name
        self.first, self.last = int(events.end[0]), int(events.end[-1])
        self.nbytes = bytes_of(events)
        self._indexes: dict[tuple[str, ...], KeyIndex] = {}

    @classmethod
    def elsewhere(
        cls, name: str, rows: int, span: tuple[int, int], nbytes: int, read: Callable[[], Events]
    ) -> Run:
        """A run that is stored somewhere, of which only this is known before it is read."""
        run = cls.__new__(cls)
        run._events, run._read, run.rows = None, read, rows
        run.name, run.nbytes = name, nbytes
        run.first, run.last = span
        run._indexes = {}
        return run

    def __len__(self) -> int:
        return self.rows

    @property
    def events(self) -> Events:
        """The events; where they are stored elsewhere, this reads them."""
        if self._events is None:
            assert self._read is not None
            self._events, self._read = self._read(), None
        return self._events

    @property
    def is_read(self) -> bool:
        """Whether the events are at hand."""
        return self._events is not None

    @property
    def index_bytes(self) -> int:
        """How much memory its indexes take."""
        return sum(index.nbytes for index in self._indexes.values())

    def position(self, time: int | None) -> int:
        """The first row that ends after a time; with None, the first of all."""
        if time is None or time < self.first:
            return 0
        return int(self.events.end.searchsorted(time, "right"))

    def first_after(self, time: int) -> int:
        """When the first row ends that ends after a time; some row does."""
        return self.first if self.first > time else int(self.events.end[self.position(time)])

    def ending(self, low: int | None, high: int | None) -> Events:
        """The events that end from one time to another."""
        return sliced(self.events, *self._stretch(low, high))

    def count(self, low: int | None, high: int | None) -> int:
        """How many events end from one time to another."""
        first, last = self._stretch(low, high)
        return last - first

    def _stretch(self, low: int | None, high: int | None) -> tuple[int, int]:
        first = self.position(None if low is None else low - 1)
        last = len(self) if high is None or high >= self.last else self.position(high)
        return first, max(first, last)

    def near(self, names: tuple[str, ...], probes: Probes, since: int) -> Events | None:
        """The events from a row on that probes can meet by the named columns; None for none."""
        index = self._indexes.get(names)
        if index is None:
            index = KeyIndex(key_hashes(self.events, names), self.events.end)
            self._indexes[names] = index
        rows = index.find(probes)
        if since and len(rows) and rows[0] < since:
            rows = rows[rows.searchsorted(since) :]
        return take(self.events, rows) if len(rows) else None


def run_of(events: Events) -> Run:
    """A run of some events, at least one, in any order.

    >>> times = np.array([3, 1])
    >>> run_of(Events(times, times, {})).events.end.tolist()
    [1, 3]
    """
    ends = events.end
    if (ends[1:] < ends[:-1]).any():
        events = take(events, np.argsort(ends, kind="stable"))
    return Run(events)
