"""Rows of events as columns: taking, joining end to end, and telling equal rows apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.step_memo import remembered
from thence.model.arrow import from_numpy
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.model.schema import EventSchema

LINEAGE = "#lineage"
"""The column for the base events behind each row, where somebody asked for them."""

ROW = "#.row"
"""The column for the numbers of events, where it is asked which ones are in a match."""


def empty(schema: EventSchema) -> Events:
    """No events of a type."""
    none = np.empty(0, dtype=np.int64)
    return Events(none, none, {a.name: pa.nulls(0, a.type.arrow) for a in schema.attributes})


def is_points(events: Events) -> bool:
    """Whether the events share one array for start and end, and so are all simple events."""
    return events.start is events.end


def take(events: Events, rows: Index | Mask) -> Events:
    """Some of the rows: by position, or by a mask."""
    if rows.dtype == np.bool_:
        if rows.all():
            return events
        rows = np.flatnonzero(rows)
    start = events.start[rows]
    end = start if is_points(events) else events.end[rows]
    indices = from_numpy(rows)
    return Events(start, end, {n: c.take(indices) for n, c in events.columns.items()})


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
    return Events(start, end, columns)


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
    return Events(events.start, events.end, {n: events.columns[n] for n in names})


def without_lineage(events: Events) -> Events:
    """The same events without what stands beside them: their lineage, and their numbers."""
    if LINEAGE not in events.columns and ROW not in events.columns:
        return events
    return select(events, (name for name in events.columns if name not in (LINEAGE, ROW)))


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
    rows = _repeated(events.start)
    if len(rows) and not is_points(events):
        rows = rows[_repeated(events.end[rows])]
    return rows


def _repeated(values: Index) -> Index:
    """The positions of values that occur more than once, in order."""
    if _strictly_increasing(values):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(values, kind="stable")
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
    rows = np.arange(len(events))
    for ends in times:  # only rows that have their times in common can be the same
        rows = rows[_repeated(ends[rows])]
    if len(rows) < 2:
        return True
    chosen = pa.array(rows)
    codes = [identity_codes(ends[rows]) for ends in times]
    codes += [identity_codes(events.columns[name].take(chosen)) for name in columns]
    if not codes:
        return False
    ids, size = combine(codes)
    return size >= len(ids) and len(np.unique(ids)) == len(ids)
