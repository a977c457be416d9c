"""Instants and durations as callers give them: text, datetime, timedelta or microseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from thence.model.errors import InputError
from thence.model.time import parse_duration, parse_timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def instant(value: Any, what: str) -> int:
    """A point in time as microseconds UTC.

    >>> instant("1970-01-01T00:00:01Z", "until"), instant(5, "until")
    (1000000, 5)
    """
    if isinstance(value, bool):
        raise InputError(f"{what} must be a time, not {value!r}")
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            return parse_timestamp(value)
        except ValueError as error:
            raise InputError(f"{what}: {error}") from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _MICROSECOND
    raise InputError(
        f"{what} must be a time: ISO text, a datetime, or int microseconds, not "
        f"{type(value).__name__}"
    )


def length(value: Any, what: str) -> int:
    """A span of time as microseconds, not negative.

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
    return micros
