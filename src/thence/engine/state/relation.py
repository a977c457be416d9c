"""What is remembered of one event type: a few sorted runs, and the newest rows beside them.

A step searches the runs and adds to what is recent; once that is enough for a run it becomes one,
and runs of a kind become a longer one. So a step costs what is new and what it meets, times a
logarithm of what is kept. What has expired goes with its run, whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thence.engine.arrays.hashing import Hashes, hash_kind
from thence.engine.arrays.rows import bytes_of, concat, none_of, take
from thence.engine.state.sorted_run import Probes, Run, key_hashes, probes, run_of
from thence.model.events import Events

ALWAYS = -(2**62)
"""Before all time: nothing has expired."""

NEVER = 2**62
"""After all time."""

RECENT = 256
"""So many rows are enough for a run."""

FAN = 4
"""So many runs of about one size become one."""

MOST = 1 << 21
"""So many rows a run has at most, if it was made of others."""

MOST_BYTES = 1 << 26
"""So many bytes a run has at most, if it was made of others."""


Span = tuple[int, int]
"""When the first and the last of some events end; the other way round where there are none."""

NO_TIME: Span = NEVER, ALWAYS


def span_of(events: Events) -> Span:
    """From when to when events end."""
    ends = events.end
    if len(ends) < 2:  # as most pushes have it
        return (int(ends[0]),) * 2 if len(ends) else NO_TIME
    return int(ends.min()), int(ends.max())


class Relation:
    """Events of one type. Immutable; what is added to it makes another one, which shares its runs.

    ``recent`` are rows that are in no run yet. Rows that end at ``after`` or before have expired:
    they are no part of it, though a run may hold them still.
    """

    __slots__ = (
        "__weakref__", "_ends", "_hashes", "_length", "_nbytes", "_whole",
        "after", "recent", "runs",
    )  # fmt: skip

    def __init__(self, recent: Events, runs: Sequence[Run] = (), after: int = ALWAYS) -> None:
        """Make a relation; none of the recent rows and no run as a whole has expired."""
        self.recent = recent
        self.runs = tuple(runs)
        self.after = after
        self._whole: Events | None = None
        self._length = self._nbytes = -1
        self._ends: Span | None = None
        self._hashes: dict[tuple[str, ...], Hashes] = {}

    def __len__(self) -> int:
        if self._length < 0:
            live = (run.rows - run.position(self.after) for run in self.runs)
            self._length = len(self.recent) + sum(live)
        return self._length

    @property
    def most(self) -> int:
        """How many events there are at most: with those of runs that have expired."""
        return len(self.recent.end) + sum([run.rows for run in self.runs])

    def __bool__(self) -> bool:
        """Whether there is any event: a run that has expired as a whole is gone."""
        return bool(self.runs) or len(self.recent.end) > 0

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        if self._nbytes < 0:
            self._nbytes = bytes_of(self.recent) + sum(run.nbytes for run in self.runs)
        return self._nbytes

    @property
    def only_possible(self) -> bool:
        """Whether some of its events may not have happened."""
        said = [held.possible for held in (self.recent, *(run.events for run in self.runs))]
        return any(each is not None and bool(each.any()) for each in said)

    @property
    def none(self) -> Events:
        """No events, of the same type."""
        return none_of(self.recent)

    @property
    def oldest(self) -> int | None:
        """When the first of its events ended; None where it has none."""
        ends = [run.first_after(self.after) for run in self.runs]
        if len(self.recent):
            ends.append(int(self.recent.end.min()))
        return min(ends, default=None)

    @property
    def _recently(self) -> Span:
        """From when to when those end that are recent."""
        if self._ends is None:
            self._ends = span_of(self.recent)
        return self._ends

    @property
    def span(self) -> Span:
        """A time within which all events end."""
        first, last = self._recently
        for run in self.runs:
            first, last = min(first, run.first), max(last, run.last)
        return max(first, self.after + 1), last

    def whole(self) -> Events:
        """All events."""
        if self._whole is None:
            live = [run.ending(self.after + 1, None) for run in self.runs]
            self._whole = concat([*live, self.recent]) if live else self.recent
        return self._whole

    def ending(self, low: int | None, high: int | None) -> Events:
        """The events that end from one time to another; None leaves a side open."""
        low = self.after + 1 if low is None else max(low, self.after + 1)
        parts = [
            run.ending(low, high)
            for run in self.runs
            if run.last >= low and (high is None or run.first <= high)
        ]
        return concat([*parts, _between(self.recent, low, high)])

    def count(self, low: int | None, high: int | None) -> int:
        """How many events end from one time to another, and all that are recent."""
        low = self.after + 1 if low is None else max(low, self.after + 1)
        return len(self.recent) + sum(run.count(low, high) for run in self.runs)

    def near(self, names: tuple[str, ...], probes: Probes) -> Events:
        """The events that probes can meet by the named columns and by time, and perhaps some
        more."""
        low, high = probes.reach
        low = self.after if low is None else max(low - 1, self.after)
        parts = []
        for run in self.runs:
            if run.last > low and (high is None or run.first <= high):
                found = run.near(names, probes, run.position(self.after))
                if found is not None:
                    parts.append(found)
        return concat([*parts, self._recently_near(names, probes)])

    def alike(self, events: Events) -> Events:
        """The events that could be among some others, by when they end and by their columns, and
        perhaps some more."""
        if not len(events) or not self:
            return self.none
        low, high = int(events.end.min()), int(events.end.max())
        if self.count(low, high) > max(RECENT, len(events)):
            mine, theirs = self.recent.columns, events.columns
            names = tuple(
                name
                for name, column in mine.items()
                if hash_kind(column.type) is not None
                and name in theirs
                and theirs[name].type == column.type
            )
            if names:
                return self.near(names, probes(key_hashes(events, names), events.end, events.end))
        return self.ending(low, high)

    def _recently_near(self, names: tuple[str, ...], probes: Probes) -> Events:
        if not len(self.recent):
            return self.recent
        hashes = self._hashes.get(names)
        if hashes is None:
            hashes = self._hashes[names] = key_hashes(self.recent, names)
        asked = probes.hashes
        if len(asked) > 1:
            asked = asked[np.minimum(asked.searchsorted(hashes), len(asked) - 1)]
        rows = np.flatnonzero(hashes == asked)
        return take(self.recent, rows) if len(rows) else self.none

    def expired(self, after: int) -> Relation:
        """The same without what ends at a time or before."""
        if after <= self.after:
            return self
        runs = tuple(run for run in self.runs if run.last > after)
        if self._recently[0] <= after:
            return Relation(_between(self.recent, after + 1, None), runs, after)
        found = Relation(self.recent, runs, after)
        found._ends, found._hashes = self._ends, self._hashes
        if len(runs) == len(self.runs):
            found._nbytes = self._nbytes
        return found

    def replaced(self, recent: Events) -> Relation:
        """The same with other recent rows."""
        return self if recent is self.recent else Relation(recent, self.runs, self.after)

    def added(self, events: Events) -> Relation:
        """The same with more events."""
        if not len(events):
            return self
        return self.replaced(concat([self.recent, events])).settled()

    def settled(self, up_to: int | None = None) -> Relation:
        """The same, in which what is recent has become a run if that is worth it: all of it, or
        what ends up to a time."""
        if len(self.recent) < RECENT:
            return self
        done, left = self.recent, self.none
        if up_to is not None and len(self.recent) < MOST:
            ended = self.recent.end <= up_to
            if np.count_nonzero(ended) < RECENT:
                return self
            if not ended.all():
                done, left = take(self.recent, ended), take(self.recent, ~ended)
        return Relation(left, _merged([*self.runs, run_of(done)], self.after), self.after)


def relation(events: Events) -> Relation:
    """A relation of some events.

    >>> times = np.arange(1000)
    >>> rows = relation(Events(times, times, {})).added(Events(times + 500, times + 500, {}))
    >>> len(rows), len(rows.expired(1000)), len(rows.ending(400, 600)), len(rows.runs)
    (2000, 499, 302, 2)
    """
    return Relation(events).settled()


def _between(events: Events, low: int, high: int | None) -> Events:
    """The events that end from one time to another."""
    if not len(events):
        return events
    mask = events.end >= low
    if high is not None:
        mask &= events.end <= high
    return take(events, mask)


def _merged(runs: list[Run], after: int) -> list[Run]:
    """Runs, of which the last ones have become one where there are enough of about their size."""
    while len(runs) >= FAN:
        level = _level(runs[-1])
        count = next((n for n, r in enumerate(reversed(runs)) if _level(r) > level), len(runs))
        last = runs[len(runs) - count :]
        if count < FAN or sum(map(len, last)) > MOST or sum(r.nbytes for r in last) > MOST_BYTES:
            break
        live = concat([run.ending(after + 1, None) for run in last])
        runs = runs[: len(runs) - count]
        if len(live):
            runs.append(run_of(live))
    return runs


def _level(run: Run) -> int:
    """How large a run is, as runs are told apart by size."""
    return (len(run) // RECENT).bit_length() // (FAN.bit_length() - 1)
