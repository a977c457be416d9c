"""What a recursion has found so far, asked in every round whether it holds what the round found.

Events are kept in a few sorted runs of their hashes, each at least twice as long as the next, so
that a round costs what it finds, times a logarithm of what is known. Equal hashes only raise a
suspicion: the rows themselves are compared then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, distinct, is_points, row_ids, take
from thence.engine.join.chains import spread
from thence.engine.state.known import Known
from thence.engine.state.relation import Relation
from thence.model.events import Events

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, slots=True)
class _Run:
    """Events, their hashes in order, which event each hash is of, and when the events end."""

    events: Events
    hashes: Any
    order: Index
    first: int
    last: int


class Seen:
    """Events of one type, each once: those that a relation holds, and those that are added."""

    __slots__ = ("_before", "_hashed", "_runs")

    def __init__(self, before: Relation) -> None:
        self._before = Known(before) if before else None
        self._runs: list[_Run] = []
        self._hashed: tuple[Events | None, Any] = (None, None)

    def add(self, events: Events) -> None:
        """Take events that are not there yet."""
        if len(events) == 0:
            return
        given, hashes = self._hashed
        parts, found = [events], [hashes if given is events else row_hashes(events)]
        while self._runs and len(self._runs[-1].events) < 2 * sum(map(len, parts)):
            run = self._runs.pop()
            back = np.empty_like(run.hashes)
            back[run.order] = run.hashes
            parts.append(run.events)
            found.append(back)
        whole = np.concatenate(found)
        order = np.argsort(whole)
        events = concat(parts)
        ends = int(events.end.min()), int(events.end.max())
        self._runs.append(_Run(events, whole[order], order, *ends))

    def fresh(self, events: Events, once: bool) -> Events:
        """Those of some events that are not there, each once; ``once`` says that they are."""
        if self._before is not None:
            events = self._before.fresh(events, once)
        elif not once:
            events = distinct(events)
        if not len(events):
            return events
        whole = row_hashes(events)
        # Probes in order walk through a run instead of jumping about in it.
        order = np.argsort(whole)
        hashes = whole[order]
        new = np.ones(len(events), dtype=np.bool_)
        low, high = int(events.end.min()), int(events.end.max())
        for run in self._runs:
            if run.last < low or run.first > high:
                continue
            first = np.searchsorted(run.hashes, hashes, "left")
            near = np.minimum(first, len(run.hashes) - 1)
            suspects = np.flatnonzero(run.hashes[near] == hashes)
            if len(suspects):
                last = np.searchsorted(run.hashes, hashes[suspects], "right")
                alike = run.order[spread(first[suspects], last - first[suspects])]
                known = take(run.events, np.unique(alike))
                new[order[suspects]] &= ~_among(take(events, order[suspects]), known)
        found = take(events, new)
        self._hashed = found, whole[new]
        return found


def _among(events: Events, known: Events) -> Mask:
    """Which events are among others."""
    ids = row_ids(concat([known, events]))
    return np.isin(ids[len(known) :], ids[: len(known)])


def row_hashes(events: Events) -> Any:
    """A hash of each event; equal events have equal ones, in this process.

    >>> events = Events(np.array([1, 2, 1]), np.array([1, 2, 1]), {"n": pa.array(["x", None, "x"])})
    >>> hashes = row_hashes(events)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    found = _mixed(np.zeros(len(events), dtype=np.uint64), events.start)
    found = _mixed(found, events.start if is_points(events) else events.end)
    for column in events.columns.values():
        found = _mixed(found, _numbers(column))
    return found


def _mixed(hashes: Any, values: Index) -> Any:
    mixed = (hashes ^ values.view(np.uint64)) * _ODD
    return mixed ^ (mixed >> _SHIFT)


def _numbers(column: Any) -> Index:
    """A number for each value, the same for equal ones."""
    kind = column.type
    if pa.types.is_nested(kind):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        whole = column.view(pa.int64())
        whole = whole.fill_null(0) if whole.null_count else whole
        return whole.to_numpy()  # type: ignore[no-any-return]
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    # What is not equal to itself is one value here, as null is.
    numbers = np.array([*(hash(v) if v == v else 1 for v in values), 0], dtype=np.int64)
    places = encoded.indices
    if places.null_count:
        places = places.fill_null(len(values))
    return numbers[places.to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]
