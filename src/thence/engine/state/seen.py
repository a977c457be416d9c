"""What a recursion has found so far, asked in every round whether it holds what the round found.

Hashes of events stand in a table with several places for each, so that a round costs what it finds,
whatever is known. Equal hashes only raise a suspicion: the rows themselves are compared then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.hashing import Hashes, identity_hashes
from thence.engine.arrays.rows import concat, distinct, row_ids, take
from thence.engine.state.known import Known
from thence.engine.state.relation import Relation
from thence.model.events import Events

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

_ROOM = 2
"""So many places there are at least for each hash; twice as many where they are made anew."""

_SMALLEST = 1 << 10
"""So many places there are at least."""

_FREE = -1

_LOW = np.uint64(0xFFFF)


class _Table:
    """Hashes in the order in which they come, and the places in which they are found.

    A hash stands in the first of its places that was free when it came. So whoever looks for it
    goes from place to place, up to one that is free.
    """

    __slots__ = ("_hashes", "_places", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._hashes: Hashes = np.empty(_SMALLEST // _ROOM, np.uint64)
        self._places = np.full(_SMALLEST, _FREE, np.int32)

    def find(self, hashes: Hashes) -> tuple[Index, Index]:
        """Which of some hashes are equal to which row: all such pairs."""
        asked, rows = [], []
        probes, places, strides = np.arange(len(hashes)), *self._ways(hashes)
        while len(probes):
            held = self._places[places]
            taken = (held != _FREE).nonzero()[0]
            if not len(taken):
                break
            probes, places, held = probes[taken], places[taken], held[taken]
            equal = (self._hashes[held] == hashes[probes]).nonzero()[0]
            asked.append(probes[equal])
            rows.append(held[equal].astype(np.int64))
            strides = strides[taken]
            places = (places + strides) & (len(self._places) - 1)
        return (np.concatenate(asked), np.concatenate(rows)) if asked else (_NONE, _NONE)

    def add(self, hashes: Hashes) -> None:
        """Take more rows."""
        first, self.rows = self.rows, self.rows + len(hashes)
        if self.rows > len(self._hashes):
            self._hashes = np.concatenate((self._hashes[:first], np.empty(self.rows, np.uint64)))
        self._hashes[first : self.rows] = hashes
        if self.rows * _ROOM > len(self._places):
            size = 1 << (2 * _ROOM * self.rows - 1).bit_length()
            self._places = np.full(size, _FREE, np.int32)
            first, hashes = 0, self._hashes[: self.rows]
        self._put(np.arange(first, self.rows, dtype=np.int32), hashes)

    def _put(self, rows: Any, hashes: Hashes) -> None:
        places, strides = self._ways(hashes)
        while len(rows):
            free = self._places[places] == _FREE
            self._places[places[free]] = rows[free]
            # Of several that want one place, the last has it.
            left = (self._places[places] != rows).nonzero()[0]
            rows, strides = rows[left], strides[left]
            places = (places[left] + strides) & (len(self._places) - 1)

    def _ways(self, hashes: Hashes) -> tuple[Index, Index]:
        """The first place of each hash, and how far it is to the next."""
        bits = len(self._places).bit_length() - 1
        places = (hashes >> np.uint64(64 - bits)).view(np.int64)
        return places, (hashes & _LOW).view(np.int64) | 1


_NONE: Index = np.empty(0, dtype=np.int64)


class _Rows:
    """Events in the order in which they come."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[Events] = []

    def add(self, events: Events) -> None:
        """Take more events."""
        self._parts.append(events)

    def take(self, rows: Index) -> Events:
        """Some events by their numbers, in any order."""
        self._join()
        found, first = [], 0
        for part in self._parts:
            own = rows[(rows >= first) & (rows < first + len(part))]
            if len(own):
                found.append(take(part, own - first))
            first += len(part)
        return concat(found)

    def _join(self) -> None:
        """Join parts, such that each is at least twice as long as the next."""
        joined: list[list[Events]] = []
        sizes: list[int] = []
        for part in self._parts:
            joined.append([part])
            sizes.append(len(part))
            while len(sizes) > 1 and sizes[-2] < 2 * sizes[-1]:
                sizes[-2:] = [sizes[-2] + sizes[-1]]
                joined[-2:] = [joined[-2] + joined[-1]]
        self._parts = [concat(parts) for parts in joined]


class Seen:
    """Events of one type, each once: those that a relation holds, and those that are added."""

    __slots__ = ("_before", "_hashed", "_rows", "_table")

    def __init__(self, before: Relation) -> None:
        self._before = Known(before) if before else None
        self._table = _Table()
        self._rows = _Rows()
        self._hashed: tuple[Events | None, Any] = (None, None)

    def add(self, events: Events) -> None:
        """Take events that are not there yet."""
        if len(events) == 0:
            return
        given, hashes = self._hashed
        self._table.add(hashes if given is events else row_hashes(events))
        self._rows.add(events)

    def fresh(self, events: Events, once: bool) -> Events:
        """Those of some events that are not there, each once; ``once`` says that they are."""
        if self._before is not None:
            events = self._before.fresh(events, once)
        elif not once:
            events = distinct(events)
        if not len(events):
            return events
        hashes = row_hashes(events)
        asked, rows = self._table.find(hashes)
        if len(asked):
            suspects = np.unique(asked)
            new = np.ones(len(events), dtype=np.bool_)
            known = self._rows.take(np.unique(rows))
            new[suspects] = ~_among(take(events, suspects), known)
            events, hashes = take(events, new), hashes[new]
        self._hashed = events, hashes
        return events


def _among(events: Events, known: Events) -> Mask:
    """Which events are among others."""
    ids = row_ids(concat([known, events]))
    return np.isin(ids[len(known) :], ids[: len(known)])


def row_hashes(events: Events) -> Hashes:
    """A hash of each event; equal events have equal ones.

    >>> events = Events(np.array([1, 2, 1]), np.array([1, 2, 1]), {"n": pa.array(["x", None, "x"])})
    >>> hashes = row_hashes(events)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    found = _mixed(np.zeros(len(events), dtype=np.uint64), events.start.view(np.uint64))
    found = _mixed(found, events.end.view(np.uint64))
    for column in events.columns.values():
        found = _mixed(found, _numbers(column))
    return found


def _mixed(hashes: Hashes, values: Hashes) -> Hashes:
    mixed: Hashes = (hashes ^ values) * _ODD
    mixed ^= mixed >> _SHIFT
    return mixed


def _numbers(column: Any) -> Hashes:
    """A number for each value, the same for equal ones."""
    kind = column.type
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        whole = column.view(pa.int64())
        whole = whole.fill_null(0) if whole.null_count else whole
        return whole.to_numpy().view(np.uint64)  # type: ignore[no-any-return]
    return identity_hashes(column)
