"""When events happened: the columns ``time``, or ``start`` and ``end``, as intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.io.columns import Place, as_times
from thence.io.frames import Frame
from thence.model.errors import InputError
from thence.model.events import Times
from thence.model.time import format_duration, format_timestamp

_PER_MICROSECOND = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def latest_row(frame: Frame, after: int | None) -> int | None:
    """The row that ends last, where a column of timestamps shows it, all of them after a time;
    otherwise None."""
    names = frozenset(frame.names(None))
    name = "end" if names & {"start", "end"} else "time"
    if name not in names or (name == "end" and "time" in names):
        return None
    column = frame.column(name, None)
    if not (hasattr(column, "type") and pa.types.is_timestamp(column.type)):
        return None
    reached = pc.min_max(column)
    if not reached["max"].is_valid:
        return None
    times, parts = _PER_MICROSECOND[column.type.unit]
    if after is not None and reached["min"].value * times // parts <= after:
        return None
    return int(pc.index(column, reached["max"]).as_py())


def read_intervals(frame: Frame, place: Place, longest: int | None = None) -> tuple[Times, Times]:
    """Start and end of every row, none longer than ``longest`` microseconds.

    For points both are the very same array.
    """
    names = frozenset(frame.names(place.rows))
    has_time, bounds = "time" in names, names & {"start", "end"}
    if len(bounds) == 1 and (has_time or bounds):
        given = " and ".join(f"'{name}'" for name in sorted(bounds | (names & {"time"})))
        raise InputError(
            f"{place.source}: event '{place.event}' has {given} for its time. "
            "Give 'time' alone, or both 'start' and 'end'."
        )
    if has_time and not bounds:
        times, missing = _read(frame, "time", place)
        if missing is not None:
            raise _no_time(place, missing, "'time' is")
        return times, times
    if not bounds:
        have = ", ".join(f"'{name}'" for name in sorted(names)) or "none"
        raise InputError(
            f"{place.source}: event '{place.event}' has no column 'time', nor 'start' and 'end'. "
            f"Its columns are: {have}."
        )
    start, start_missing = _read(frame, "start", place)
    end, end_missing = _read(frame, "end", place)
    if has_time:
        start, end = _merge(frame, place, (start, start_missing), (end, end_missing))
    else:
        for missing, name in ((start_missing, "start"), (end_missing, "end")):
            if missing is not None:
                raise _no_time(place, missing, f"'{name}' is")
    _check_order(start, end, place)
    if longest is not None:
        _check_length(start, end, longest, place)
    return (start, start) if np.array_equal(start, end) else (start, end)


def _read(frame: Frame, name: str, place: Place) -> tuple[Times, Any]:
    return as_times(frame.column(name, place.rows), name, place, frame.text)


def _merge(
    frame: Frame, place: Place, start: tuple[Times, Any], end: tuple[Times, Any]
) -> tuple[Times, Times]:
    """Some rows have ``time``, the others ``start`` and ``end``; no row may have both."""
    time, time_missing = _read(frame, "time", place)
    nothing = np.zeros(len(time), bool)
    no_time, no_start, no_end = (
        nothing if missing is None else missing for missing in (time_missing, start[1], end[1])
    )
    both = ~no_time & ~(no_start & no_end)
    if both.any():
        raise InputError(
            f"{place.source}: event '{place.event}', row {place.row(int(np.argmax(both)))} has "
            "'time' and also 'start' or 'end'. Give one or the other."
        )
    neither = no_time & (no_start | no_end)
    if neither.any():
        raise _no_time(place, neither, "'time', or 'start' or 'end', is")
    return np.where(no_time, start[0], time), np.where(no_time, end[0], time)


def _check_order(start: Times, end: Times, place: Place) -> None:
    wrong = start > end
    if wrong.any():
        position = int(np.argmax(wrong))
        raise InputError(
            f"{place.source}: event '{place.event}', row {place.row(position)}: it starts at "
            f"{format_timestamp(int(start[position]))}, after it ends at "
            f"{format_timestamp(int(end[position]))}."
        )


def _check_length(start: Times, end: Times, longest: int, place: Place) -> None:
    """An event that lasts longer than the program says would make it forget others too early."""
    wrong = end - start > longest
    if wrong.any():
        position = int(np.argmax(wrong))
        lasts = format_duration(int(end[position] - start[position]))
        raise InputError(
            f"{place.source}: event '{place.event}', row {place.row(position)} lasts {lasts}, and "
            f"the program declares at most {format_duration(longest)}."
        )


def _no_time(place: Place, missing: Any, what: str) -> InputError:
    return InputError(
        f"{place.source}: event '{place.event}', row {place.row(int(np.argmax(missing)))}: "
        f"{what} null, and every event needs a time."
    )
