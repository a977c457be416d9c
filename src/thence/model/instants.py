"""Instants and durations as callers give them: text, datetime, timedelta or microseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from operator import index
from typing import Any

from thence.model.errors import InputError
from thence.model.time import EARLIEST, LATEST, LONGEST, parse_duration, parse_timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def instant(value: Any, what: str) -> int:
    """A point in time as microseconds UTC.

    >>> instant("1970-01-01T00:00:01Z", "until"), instant(5, "until")
    (1000000, 5)
    """
    if isinstance(value, bool):
        raise InputError(f"{what} must be a time, not {value!r}")
    if isinstance(value, str):
        try:
            return parse_timestamp(value)
        except ValueError as error:
            raise InputError(f"{what}: {error}") from None
    if hasattr(value, "__index__"):  # an int, or one of NumPy's
        return _in_calendar(index(value), what)
    if isinstance(value, datetime):
        if value != value:  # what pandas has for no time at all
            raise InputError(f"{what} must be a time, and this one is missing ({value})")
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _MICROSECOND
    raise InputError(
        f"{what} must be a time: ISO text, a datetime, or int microseconds, not "
        f"{type(value).__name__}"
    )


def _in_calendar(micros: int, what: str) -> int:
    """Refuse what no calendar shows: most often nanoseconds that were taken for microseconds."""
    if EARLIEST <= micros <= LATEST:
        return micros
    said = f"{what}: {micros} microseconds since 1970 is outside the years 1 to 9999"
    if abs(micros) <= LATEST * 1000:
        said += "; if these are nanoseconds, as time.time_ns() gives, divide them by 1000"
    raise InputError(said)


def length(value: Any, what: str) -> int:
    """A span of time as microseconds, not negative; at most as much as there is time.

    >>> length("2s", "max_delay"), length(0, "max_delay")
    (2000000, 0)
    """
    if isinstance(value, bool) or not isinstance(value, (int, str, timedelta)):
        raise InputError(
            f"{what} must be a duration such as '2 s', a timedelta, or int microseconds, not "
            f"{value!r}"
        )
    if isinstance(value, str):
        try:
            micros = parse_duration(value)
        except ValueError as error:
            raise InputError(f"{what}: {error}") from None
    else:
        micros = value // _MICROSECOND if isinstance(value, timedelta) else value
    if micros < 0:
        raise InputError(f"{what} must not be negative")
    return min(micros, LONGEST)
