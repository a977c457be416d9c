"""What is known of the events of a program: how many, how often, how many values they have.

Figures come from three places: a sample of a batch, the running figures of a stream, or the user.
They decide nothing about what a program finds, only how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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


def statistics(given: Any) -> Statistics:
    """Statistics from what a caller gives: for each event, a mapping with ``rows`` and perhaps
    ``seconds``, ``longest``, ``distinct`` and ``selectivity``."""
    if given is None or isinstance(given, Statistics):
        return given or UNKNOWN
    if not isinstance(given, Mapping):
        raise InputError(f"statistics must map events to their figures, not be {given!r}")
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


def sampled(events: Mapping[str, Events], columns: Mapping[str, Iterable[str]]) -> Statistics:
    """The statistics of a batch: exact where that is quick, from a sample of rows where it is not.

    ``columns`` are those of which the number of values is asked.
    """
    return Statistics({n: _sampled(e, columns.get(n, ())) for n, e in events.items()})


def _sampled(events: Events, columns: Iterable[str]) -> EventStatistics:
    rows = len(events)
    if not rows:
        return EventStatistics(0)
    found = size(events)
    values = {name: events.columns[name] for name in columns if name in events.columns}
    if rows > SAMPLE:
        places = np.random.default_rng(0).integers(0, rows, SAMPLE)
        values = {name: column.take(places) for name, column in values.items()}
    return EventStatistics(
        rows,
        (found.last - found.first) / 1e6,
        found.longest / 1e6,
        {name: distinct(column, rows) for name, column in values.items()},
    )


def distinct(sample: Any, rows: int) -> int:
    """How many values a column of so many rows has, told from some of them.

    A value that was seen once in the sample stands for others that the sample left out, by the
    square root (Charikar and others, "Towards estimation error guarantees for distinct values").

    >>> import pyarrow as pa
    >>> distinct(pa.array([1, 2, 2]), 3), distinct(pa.array(list(range(50)) * 20), 10**6)
    (2, 50)
    """
    counts = pc.value_counts(sample).field("counts").to_numpy()
    once = int((counts == 1).sum())
    unseen: float = max(1.0, rows / len(sample)) ** 0.5
    return min(rows, round(unseen * once) + len(counts) - once)


class Running:
    """The figures of a stream, kept step by step at the cost of an addition.

    They are about recent events: those of the last full window of :data:`RECENT` events, so that a
    rate that changes shows.
    """

    __slots__ = ("_columns", "_first", "_last", "_longest", "_rows", "_sample", "current")

    def __init__(self, columns: Mapping[str, Iterable[str]]) -> None:
        self._columns = columns
        self.current = UNKNOWN
        """The figures of the last full window."""
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, int] = {}
        self._longest: dict[str, int] = {}
        self._sample: dict[str, list[Events]] = {}
        self._first: int | None = None
        self._last = 0

    def add(self, events: Mapping[str, Events]) -> bool:
        """Take note of the events of a step; whether there are new figures now."""
        for name, batch in events.items():
            if not len(batch):
                continue
            found = size(batch)
            rows = self._rows.get(name, 0)
            if rows < SAMPLE:
                self._sample.setdefault(name, []).append(batch)
            self._rows[name] = rows + found.rows
            self._longest[name] = max(self._longest.get(name, 0), found.longest)
            self._first = found.first if self._first is None else min(self._first, found.first)
            self._last = max(self._last, found.last)
        if sum(self._rows.values()) < RECENT:
            return False
        self.current = Statistics({name: self._recent(name) for name in self._rows})
        self._clear()
        return True

    def _recent(self, name: str) -> EventStatistics:
        rows, sample = self._rows[name], self._sample[name]
        values = {
            column: pa.concat_arrays([part.columns[column][:SAMPLE] for part in sample])
            for column in self._columns.get(name, ())
        }
        return EventStatistics(
            rows,
            (self._last - (self._first or 0)) / 1e6,
            self._longest[name] / 1e6,
            {column: distinct(each, rows) for column, each in values.items()},
        )
