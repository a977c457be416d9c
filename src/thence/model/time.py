"""Durations and timestamps as text, and as the integer microseconds that Thence computes with.

Everything here is exact: text that names a part of a microsecond is refused, never rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999, which is what a Python datetime and every file format can show."""

LONGEST = LATEST - EARLIEST
"""The longest time between two events."""

_SPELLINGS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (MICROSECOND, ("us", "µs", "μs", "microsecond", "microseconds")),
    (MILLISECOND, ("ms", "millisecond", "milliseconds")),
    (SECOND, ("s", "sec", "secs", "second", "seconds")),
    (MINUTE, ("m", "min", "mins", "minute", "minutes")),
    (HOUR, ("h", "hour", "hours")),
    (DAY, ("d", "day", "days")),
    (WEEK, ("w", "week", "weeks")),
)
UNITS: dict[str, int] = {name: size for size, names in _SPELLINGS for name in names}
UNITS_IN_WORDS = "us, ms, s, min, h, d or w (or the words in full, such as 'hours')"

_LIMIT = 2**63 - 1
_DURATION = re.compile(r"\s*([+-]?)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([^\W\d_]*)\s*", re.UNICODE)
_TIMESTAMP = re.compile(
    r"\s*(\d{4}-\d{2}-\d{2})"
    r"(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d\d:\d\d)[.,](\d+))?"
    r"\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?\s*",
    re.IGNORECASE | re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> int:
    """The microseconds that a text such as ``200 ms``, ``1.5h``, ``2 days`` or ``-6h`` stands for.

    Raises ValueError, with a message for the user, if the text is no duration, has no unit, or is
    not a whole number of microseconds.

    >>> parse_duration("1.5h")
    5400000000
    >>> parse_duration("10")
    Traceback (most recent call last):
    ...
    ValueError: '10' has no unit of time: write for example '10 s'; units are us, ms, s, min, h, d \
or w (or the words in full, such as 'hours')
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{_shown(text)} is not a duration: write for example '10 s' or '1.5 h'")
    sign, number, unit = found.groups()
    if not unit:
        raise ValueError(
            f"{_shown(text)} has no unit of time: write for example '{text.strip()} s'; "
            f"units are {UNITS_IN_WORDS}"
        )
    size = UNITS.get(unit.lower())
    if size is None:
        raise ValueError(f"'{unit}' is not a unit of time: units are {UNITS_IN_WORDS}")
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    if len(whole.lstrip("0")) > 19:
        raise ValueError(f"the duration {_shown(text)} is too long")
    scaled, rest = (0, 0)
    if len(fraction) > 18:
        rest = 1
    elif fraction:
        scaled, rest = divmod(int(fraction) * size, 10 ** len(fraction))
    if rest:
        raise ValueError(f"{_shown(text)} is not a whole number of microseconds")
    total = int(whole or "0") * size + scaled
    if total > _LIMIT:
        raise ValueError(f"the duration {_shown(text)} is too long")
    return -total if sign == "-" else total


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def format_duration(us: int) -> str:
    """A duration in the largest unit that shows it plainly; ``parse_duration`` reads it back.

    >>> [format_duration(n) for n in (21_600_000_000, 1_500_000, 200_000, -7, 0)]
    ['6 h', '1.5 s', '200 ms', '-7 us', '0 s']
    """
    sign, size = ("-", -us) if us < 0 else ("", us)
    if size == 0:
        return "0 s"
    for name, unit in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if size % unit == 0:
            return f"{sign}{size // unit} {name}"
    for name, unit in (("s", SECOND), ("ms", MILLISECOND)):
        if size >= unit:
            return f"{sign}{_plain(Decimal(size) / unit)} {name}"
    return f"{sign}{size} us"


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_timestamp(text: str) -> int:
    """The microseconds UTC since 1970 that an ISO 8601 text stands for; without an offset, UTC.

    Raises ValueError, with a message for the user.

    >>> parse_timestamp("1970-01-01T01:00:00.5+01:00")
    500000
    >>> parse_timestamp("2026-02-30")
    Traceback (most recent call last):
    ...
    ValueError: '2026-02-30' is not a timestamp: day is out of range for month
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{_shown(text)} is not a timestamp: write it as in '2026-01-01T06:00:00Z' (ISO 8601)"
        )
    date, clock, fraction, offset = found.groups()
    digits = (fraction or "").rstrip("0")
    if len(digits) > 6:
        raise ValueError(f"{_shown(text)} is more exact than a microsecond")
    zone = (offset or "Z").upper().replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{date}T{clock or '00:00'}{zone}")
    except ValueError as problem:
        raise ValueError(f"{_shown(text)} is not a timestamp: {problem}") from None
    return (moment - _EPOCH) // timedelta(microseconds=1) + int(digits.ljust(6, "0"))


def format_timestamp(us: int) -> str:
    """An instant as ISO 8601 in UTC, with a fraction only where it has one.

    Works for every int64; years outside 0000 to 9999 are written with a sign.

    >>> format_timestamp(1767247200000000)
    '2026-01-01T06:00:00Z'
    >>> format_timestamp(-1)
    '1969-12-31T23:59:59.999999Z'
    """
    days, rest = divmod(us, DAY)
    year, month, day = _civil(days)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, micros = divmod(rest, SECOND)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    shown_year = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown_year}-{month:02d}-{day:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}{fraction}Z"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.

    Counts in eras of 400 years that begin on a 1 March, so that leap days come last.
    """
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (1 if month <= 2 else 0), month, day
