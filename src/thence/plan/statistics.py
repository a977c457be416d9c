"""What is known of the events of a program: how many, how often, how many values they have.

Figures come from three places: a sample of a batch, the running figures of a stream, or the user.
They decide nothing about what a program finds, only how.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.model.arrow import from_numpy
from thence.model.errors import InputError
from thence.model.events import Events
from thence.plan.order import Size

SAMPLE = 1024
"""So many rows of an event are looked at for a sample."""

DRIFT = 2.0
"""Figures have drifted where one of them is this many times what it was, or a part of it."""

RECENT = 4096
"""The running figures of a stream are about the last so many events, or a few more."""


@dataclass(frozen=True, slots=True)
class EventStatistics:
    """What is known of the events of one type."""

    rows: int
    seconds: float = 0.0
    """The time that they are spread over."""
    longest: float = 0.0
    """How many seconds the longest of them lasts."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """How many values each column has."""
    selectivity: Mapping[str, float] = field(default_factory=dict)
    """Which share of the rows fulfils a condition on this event alone, by its text."""

    @property
    def instants(self) -> bool:
        return self.longest == 0

    @property
    def rate(self) -> float:
        """How many come in a second."""
        return self.rows / self.seconds if self.seconds else float(self.rows)

    @property
    def size(self) -> Size:
        """The same for a join to be ordered by."""
        last, longest = round(self.seconds * 1e6), round(self.longest * 1e6)
        return Size(self.rows, self.instants, 0, last, 0, longest, self.distinct)


NOTHING_KNOWN: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the events of a program, by type.

    >>> given = statistics({"a": {"rows": 1000, "seconds": 10, "distinct": {"k": 50}}})
    >>> given["a"].rate, given.distinct("a")["k"], given.distinct("b")
    (100.0, 50, {})
    """

    events: Mapping[str, EventStatistics]

    def __getitem__(self, event: str) -> EventStatistics:
        return self.events[event]

    def __contains__(self, event: object) -> bool:
        return event in self.events

    def distinct(self, event: str) -> Mapping[str, int]:
        """How many values the columns of an event have, as far as that is known."""
        found = self.events.get(event)
        return NOTHING_KNOWN if found is None else found.distinct

    def drifted(self, since: Statistics) -> tuple[str, ...]:
        """The events whose rate, or number of values, is no longer about what it was."""
        return tuple(
            name
            for name, now in self.events.items()
            if (before := since.events.get(name)) is None or _differ(now, before)
        )


UNKNOWN = Statistics({})


def _differ(now: EventStatistics, before: EventStatistics) -> bool:
    pairs = [(now.rate, before.rate), (now.longest, before.longest)]
    pairs += [(float(n), float(before.distinct.get(c, n))) for c, n in now.distinct.items()]
    return any(max(pair) > DRIFT * min(pair) for pair in pairs)


def statistics(given: Any, declared: Collection[str] | None = None) -> Statistics:
    """Statistics from what a caller gives: for each event, a mapping with ``rows`` and perhaps
    ``seconds``, ``longest``, ``distinct`` and ``selectivity``. ``declared`` are the events that
    there are."""
    if given is None or isinstance(given, Statistics):
        return given or UNKNOWN
    if not isinstance(given, Mapping):
        raise InputError(f"statistics must map events to their figures, not be {given!r}")
    for name in given:
        if declared is not None and name not in declared:
            raise InputError(
                f"statistics are given of '{name}', which the program does not declare: "
                f"it declares {', '.join(declared)}"
            )
    return Statistics({str(name): _event(str(name), each) for name, each in given.items()})


def _event(name: str, given: Any) -> EventStatistics:
    known = tuple(EventStatistics.__dataclass_fields__)
    if not isinstance(given, Mapping):
        raise InputError(f"statistics of '{name}' must map {', '.join(known)} to figures")
    for key, value in given.items():
        if key not in known:
            names = ", ".join(known)
            raise InputError(f"statistics of '{name}' have no '{key}': there are {names}")
        figures = value.values() if isinstance(value, Mapping) else (value,)
        nested = key in ("distinct", "selectivity")
        if nested != isinstance(value, Mapping) or not all(map(_is_figure, figures)):
            what = "a mapping to numbers" if nested else "a number"
            raise InputError(f"'{key}' of '{name}' must be {what}, none below 0, not {value!r}")
    if "rows" not in given:
        raise InputError(f"statistics of '{name}' must say how many rows there are")
    return EventStatistics(**{**given, "rows": int(given["rows"])})


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def size(rel: Events, distinct: Mapping[str, int] = NOTHING_KNOWN) -> Size:
    """The size of a relation that has rows; ``distinct`` is what is known of its columns."""
    if rel.start is rel.end:
        times = rel.start
        return Size(len(rel), True, int(times.min()), int(times.max()), 0, 0, distinct)
    lengths = rel.end - rel.start
    ends = int(rel.start.min()), int(rel.end.max())
    return Size(len(rel), False, *ends, int(lengths.min()), int(lengths.max()), distinct)


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of each event of a batch, and how many there were."""

    rows: Mapping[str, int]
    events: Mapping[str, Events]

    def statistics(self, columns: Mapping[str, Iterable[str]]) -> Statistics:
        """The statistics of the batch. ``columns`` are those of which the number of values is
        asked."""
        return Statistics({n: self._event(n, columns.get(n, ())) for n in self.events})

    def _event(self, name: str, columns: Iterable[str]) -> EventStatistics:
        rows, some = self.rows[name], self.events[name]
        if not rows:
            return EventStatistics(0)
        found = size(some)
        values = {c: distinct(some.columns[c], rows) for c in columns if c in some.columns}
        return EventStatistics(rows, (found.last - found.first) / 1e6, found.longest / 1e6, values)


def sampled(events: Mapping[str, Events]) -> Sample:
    """A sample of a batch, the first and the last row of each event among it."""
    return Sample({n: len(e) for n, e in events.items()}, {n: _some(e) for n, e in events.items()})


def _some(events: Events) -> Events:
    """A copy of some rows, which outlives the tables that they came in."""
    rows = len(events)
    if rows > SAMPLE:
        places = np.random.default_rng(0).integers(0, rows, SAMPLE)
        places[0], places[-1] = 0, rows - 1
    else:
        places = np.arange(rows)
    start = events.start[places]
    end = start if events.start is events.end else events.end[places]
    columns = {name: column.take(from_numpy(places)) for name, column in events.columns.items()}
    return Events(start, end, columns)


def distinct(sample: Any, rows: int) -> int:
    """How many values a column of so many rows has, told from some of them.

    Values that were seen once or twice tell how many were not seen at all (Chao, "Nonparametric
    estimation of the number of classes in a population").

    >>> import pyarrow as pa
    >>> distinct(pa.array([1, 2, 2]), 3), distinct(pa.array(list(range(50)) * 20), 10**6)
    (2, 50)
    """
    counts = pc.value_counts(sample).field("counts").to_numpy()
    if rows <= len(sample):
        return len(counts)
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return min(rows, len(counts) + once * (once - 1) // (2 * (twice + 1)))


class Running:
    """The figures of a stream, kept step by step at the cost of an addition.

    They are about recent events: those of the last full window of :data:`RECENT` events, so that a
    rate that changes shows.
    """

    __slots__ = ("_columns", "_recent", "_whole", "current")

    def __init__(self, columns: Mapping[str, Iterable[str]]) -> None:
        self._columns = columns
        self._recent = _Window()
        self._whole = _Window()
        self.current = UNKNOWN
        """The figures of the last full window."""

    def add(self, events: Mapping[str, Events]) -> bool:
        """Take note of the events of a step; whether there are new figures now."""
        for name, batch in events.items():
            if len(batch):
                found = size(batch)
                self._recent.add(name, found)
                self._whole.add(name, found)
                self._recent.take(name, batch)
        if self._recent.total < RECENT:
            return False
        self.current = self._recent.statistics(self._columns)
        self._recent = _Window()
        return True

    @property
    def whole(self) -> Statistics:
        """The figures of all that has come: how many in all; values, as of late."""
        late = self.current if self.current.events else self._recent.statistics(self._columns)
        found = self._whole.statistics({})
        return Statistics(
            {n: replace(each, distinct=late.distinct(n)) for n, each in found.events.items()}
        )


class _Window:
    """The figures of some time of a stream."""

    __slots__ = ("_first", "_last", "_longest", "_rows", "_some", "_taken", "total")

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._longest: dict[str, int] = {}
        self._some: dict[str, list[Events]] = {}
        self._taken: dict[str, int] = {}
        self._first: int | None = None
        self._last = 0
        self.total = 0

    def add(self, name: str, found: Size) -> None:
        self.total += found.rows
        self._rows[name] = self._rows.get(name, 0) + found.rows
        self._longest[name] = max(self._longest.get(name, 0), found.longest)
        self._first = found.first if self._first is None else min(self._first, found.first)
        self._last = max(self._last, found.last)

    def take(self, name: str, batch: Events) -> None:
        """Keep some events as a sample."""
        taken = self._taken.get(name, 0)
        if taken < SAMPLE:
            self._some.setdefault(name, []).append(batch)
            self._taken[name] = taken + len(batch)

    def statistics(self, columns: Mapping[str, Iterable[str]]) -> Statistics:
        seconds = (self._last - (self._first or 0)) / 1e6
        return Statistics(
            {
                name: EventStatistics(
                    rows,
                    seconds,
                    self._longest[name] / 1e6,
                    dict(self._values(name, rows, columns.get(name, ()))),
                )
                for name, rows in self._rows.items()
            }
        )

    def _values(self, name: str, rows: int, columns: Iterable[str]) -> Iterator[tuple[str, int]]:
        for column in columns:
            some = [part.columns[column][:SAMPLE] for part in self._some[name]]
            yield column, distinct(pa.concat_arrays(some), rows)
