"""Rows of events as columns: taking, joining end to end, and telling equal rows apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.ranges import stable_order
from thence.engine.arrays.step_memo import remembered
from thence.model.arrow import from_numpy
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.model.schema import EventSchema


def empty(schema: EventSchema) -> Events:
    """No events of a type."""
    none = np.empty(0, dtype=np.int64)
    return Events(none, none, {a.name: pa.nulls(0, a.type.arrow) for a in schema.stored})


def is_points(events: Events) -> bool:
    """Whether the events share one array for start and end, and so are all simple events."""
    return events.start is events.end


def take(events: Events, rows: Index | Mask) -> Events:
    """Some of the rows: by position, or by a mask."""
    if rows.dtype == np.bool_:
        if rows.all():
            return events
        rows = np.flatnonzero(rows)
    if not len(rows):
        return none_of(events)
    start = events.start[rows]
    end = start if is_points(events) else events.end[rows]
    indices = from_numpy(rows)
    possible = None if events.possible is None else events.possible[rows]
    return Events(start, end, {n: c.take(indices) for n, c in events.columns.items()}, possible)


def sliced(events: Events, start: int, end: int) -> Events:
    """Consecutive events, without a copy."""
    times = events.end[start:end]
    starts = times if is_points(events) else events.start[start:end]
    columns = {n: c.slice(start, end - start) for n, c in events.columns.items()}
    possible = None if events.possible is None else events.possible[start:end]
    return Events(starts, times, columns, possible)


def none_of(events: Events) -> Events:
    """No events of the same type, which hold on to nothing of the others."""
    return Events(_NO_TIMES, _NO_TIMES, {n: _no_values(c.type) for n, c in events.columns.items()})


_NO_TIMES: Index = np.empty(0, dtype=np.int64)


@lru_cache(maxsize=1 << 10)
def _no_values(kind: pa.DataType) -> Any:
    return pa.nulls(0, kind)


def bytes_of(events: Events) -> int:
    """How many bytes events take: instants have their times once."""
    times = 1 if is_points(events) else 2
    return times * events.end.nbytes + sum(int(c.nbytes) for c in events.columns.values())


def concat(parts: Sequence[Events]) -> Events:
    """Rows of several parts of one event type, one after another."""
    filled = [part for part in parts if len(part)] or list(parts[:1])
    if len(filled) == 1:
        return filled[0]
    start = np.concatenate([part.start for part in filled])
    points = all(is_points(part) for part in filled)
    end = start if points else np.concatenate([part.end for part in filled])
    names = [n for n in filled[0].columns if all(n in part.columns for part in filled)]
    columns = {n: joined([part.columns[n] for part in filled], n) for n in names}
    return Events(start, end, columns, _possible(filled))


def _possible(parts: Sequence[Events]) -> Mask | None:
    """Which rows of several parts are only possible."""
    if all(part.possible is None for part in parts):
        return None
    masks = [
        np.zeros(len(part), dtype=np.bool_) if part.possible is None else part.possible
        for part in parts
    ]
    return np.concatenate(masks)


def joined(parts: Sequence[Any], name: str) -> Any:
    """Arrays one after another as one, if Arrow has room for it."""
    with texts_fit(f"the column '{name}'"):
        return pa.concat_arrays(parts)


@contextmanager
def texts_fit(what: str = "a column") -> Iterator[None]:
    """Turn Arrow's complaint about too much text, wherever it comes up, into an error of ours."""
    try:
        yield
    except (pa.ArrowCapacityError, pa.ArrowInvalid) as problem:
        if not any(sign in str(problem) for sign in _OVERFLOW):
            raise
        raise EvaluationError(
            f"{what} would hold more than 2 GiB of text, which is as much as Arrow holds in one "
            "array: give fewer events at a time, or leave long texts out of what rules read and "
            "derive"
        ) from problem


_OVERFLOW = ("cannot contain more than", "offset overflow", "overflowed binary array capacity")
"""What Arrow says where texts do not fit into an array."""


def select(events: Events, names: Iterable[str]) -> Events:
    """The same rows with only the named columns."""
    columns = {n: events.columns[n] for n in names}
    return Events(events.start, events.end, columns, events.possible)


def row_ids(events: Events, columns: Mapping[str, Any] | None = None) -> Index:
    """A number per row; two rows have the same number just when they are the same event."""
    codes = [identity_codes(events.start)]
    if not is_points(events):
        codes.append(identity_codes(events.end))
    codes += [identity_codes(c) for c in (columns or events.columns).values()]
    return combine(codes)[0]


def distinct(events: Events, known: Events | None = None) -> Events:
    """Each event once, in order of first appearance, without those that are known already."""
    if len(events) == 0:
        return events
    offset = 0 if known is None else len(known)
    everything = events
    if offset and known is not None:
        everything = concat([known, events])
        if len(everything.columns) != len(events.columns):
            raise AssertionError("known rows lack columns of the new ones")
    doubtful = _with_equal_times(everything)
    if len(doubtful) == 0:
        return events
    _, first = np.unique(row_ids(take(everything, doubtful)), return_index=True)
    fresh = np.ones(len(everything), dtype=np.bool_)
    fresh[doubtful] = False
    fresh[doubtful[first]] = True
    return take(events, fresh[offset:])


def _with_equal_times(events: Events) -> Index:
    """The rows whose interval another row may have as well; all others are told apart by it."""
    if not is_points(events) and len(events) >= _MANY and _differ(events.start * _ODD ^ events.end):
        return np.empty(0, dtype=np.int64)
    rows = _repeated(events.start)
    if len(rows) and not is_points(events):
        rows = rows[_repeated(events.end[rows])]
    return rows


def _repeated(values: Index) -> Index:
    """The positions of values that occur more than once, in order."""
    if _strictly_increasing(values):
        return np.empty(0, dtype=np.int64)
    order = stable_order(values)
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[order[1:][same]] = True
    mask[order[:-1][same]] = True
    return np.flatnonzero(mask)


def _strictly_increasing(values: Index) -> bool:
    return remembered("increasing", (values,), (), lambda: bool((values[1:] > values[:-1]).all()))


def unique_by(events: Events, columns: Iterable[str], start: bool, end: bool) -> bool:
    """Whether the named columns, and start or end where asked, tell all rows apart."""
    times = [events.start] if start else []
    if end and not (start and is_points(events)):
        times.append(events.end)
    found: Index | None = None
    for ends in times:  # only rows that have their times in common can be the same
        found = _repeated(ends) if found is None else found[_repeated(ends[found])]
    rows = np.arange(len(events)) if found is None else found
    if len(rows) < 2:
        return True
    chosen = pa.array(rows)
    codes = [identity_codes(ends[rows]) for ends in times]
    codes += [identity_codes(events.columns[name].take(chosen)) for name in columns]
    if not codes:
        return False
    ids, size = combine(codes)
    return size >= len(ids) and _all_differ(ids, size)


def _all_differ(numbers: Index, size: int) -> bool:
    """Whether numbers below a size are all different.

    >>> _all_differ(np.array([3, 1, 2]), 4), _all_differ(np.array([3, 1, 3]), 4)
    (True, False)
    """
    if (numbers[1:] > numbers[:-1]).all():
        return True
    if size <= 8 * len(numbers):
        there = np.zeros(size, dtype=np.bool_)
        there[numbers] = True
        return int(np.count_nonzero(there)) == len(numbers)
    return _differ(numbers)


def _differ(numbers: Index) -> bool:
    """Whether numbers are all different."""
    ordered = np.sort(numbers)
    return bool((ordered[1:] != ordered[:-1]).all())


_ODD = np.int64(-0x61C8864680B583EB)
"""It spreads starts, so that with ends they are one number; seldom two intervals have the same."""

_MANY = 1 << 12
"""Of so many rows it is worth asking first whether two intervals are equal at all."""
