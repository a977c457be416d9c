"""One Python value into the form of a declared type, or the reason why that cannot be.

This is the exact, one-at-a-time meaning of every conversion that Thence makes on input. Whole
Arrow columns take faster routes (:mod:`thence.io.columns`), which give the same answer or leave the
column to this module, so that a message can always name the row and the value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from thence.model.time import EARLIEST, LATEST, parse_duration, parse_timestamp
from thence.model.types import Type

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
EXACT_FLOAT = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE
)
_FINE_FRACTION = re.compile(r"[.,][0-9]{6}0*[1-9]")
_NANOSECONDS = {
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1000,
    "ns": 1,
}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def is_null(value: Any) -> bool:
    """True for None and for the missing values of pandas (``NaT``, ``NA``); not for NaN."""
    if value is None:
        return True
    return type(value).__name__ in ("NaTType", "NAType")


def to_value(value: Any, declared: Type, text: bool) -> Any:
    """The value as ``pyarrow.array(..., declared.arrow)`` takes it; ValueError says why not.

    ``text`` says that the value comes from a source without types of its own (CSV, JSON lines),
    where a number may be written as text.

    >>> from thence.model.types import FLOAT, INT
    >>> to_value(3.0, INT, text=False)
    3
    >>> to_value("3", INT, text=True)
    3
    >>> to_value("3", INT, text=False)
    Traceback (most recent call last):
    ...
    ValueError: it is text where int is declared
    """
    if isinstance(value, np.generic):
        value = _plain(value)
    if is_null(value):
        return None
    return _CONVERTERS[declared.kind](value, declared, text)


def to_instant(value: Any, text: bool) -> int | None:
    """A point in time as microseconds UTC; None for a missing one.

    >>> to_instant("2026-01-01T02:00:00+02:00", text=False) == to_instant("2026-01-01", text=False)
    True
    """
    if isinstance(value, np.generic):
        value = _plain(value)
    if is_null(value):
        return None
    return _timestamp(value, None, text)


def _plain(value: np.generic) -> Any:
    """The Python value of a NumPy scalar. Dates become microseconds, so that none is lost."""
    if not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    if np.isnat(value):
        return None
    unit, count = np.datetime_data(value.dtype)
    if unit not in _NANOSECONDS:
        raise ValueError(f"it is counted in the unit '{unit}', which is not a fixed time")
    # In Python's integers, because NumPy's wrap around without a word.
    micros, rest = divmod(int(value.astype(np.int64)) * count * _NANOSECONDS[unit], 1000)
    if rest:
        raise ValueError("it is finer than a microsecond; round it first")
    return _Micros(micros)


class _Micros(int):
    """Microseconds that were a NumPy date or duration, so not a number to be used as one."""


def _int(value: Any, declared: Type, text: bool) -> int:
    if isinstance(value, str) and text:
        stripped = value.strip()
        if _INTEGER.fullmatch(stripped):
            value = int(stripped) if len(stripped) < 40 else Decimal(stripped)
        elif _NUMBER.fullmatch(stripped):
            value = Decimal(stripped)
        else:
            raise ValueError("it is not a whole number")
    if isinstance(value, int) and not isinstance(value, bool | _Micros):
        whole = value
    elif isinstance(value, float | Decimal):
        if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > 19:
            raise ValueError("it does not fit into an int of 64 bits")
        if not math.isfinite(value) or value != value.__floor__():
            raise ValueError("it is not a whole number")
        whole = int(value)
    else:
        raise _mismatch(value, declared)
    if not INT_MIN <= whole <= INT_MAX:
        raise ValueError("it does not fit into an int of 64 bits")
    return whole


def _float(value: Any, declared: Type, text: bool) -> float:
    if isinstance(value, str) and text:
        stripped = value.strip()
        if not _NUMBER.fullmatch(stripped):
            raise ValueError("it is not a number")
        return float(stripped)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int) and not isinstance(value, bool | _Micros):
        if value.bit_length() > 1023:
            raise ValueError("it is too large for a float")
        if not text and abs(value) > EXACT_FLOAT and int(float(value)) != value:
            raise ValueError("it has more digits than a float can hold")
        return float(value)
    if isinstance(value, Decimal):
        return float(value)
    raise _mismatch(value, declared)


def _bool(value: Any, declared: Type, text: bool) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and text:
        truth = _TRUTHS.get(value.strip().lower())
        if truth is None:
            raise ValueError("it is neither true nor false")
        return truth
    raise _mismatch(value, declared)


def _string(value: Any, declared: Type, text: bool) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("it is not text in UTF-8") from None
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise ValueError("it holds half of a surrogate pair, which is no text")
        return str(value)
    raise _mismatch(value, declared)


def _timestamp(value: Any, declared: Type | None, text: bool) -> int:
    if isinstance(value, str):
        stripped = value.strip()
        if _INTEGER.fullmatch(stripped):
            if not text:
                raise ValueError("text must be a date and time such as 2026-01-01T06:00:00Z")
            micros = int(stripped) if len(stripped) < 40 else LATEST + 1
        elif _FINE_FRACTION.search(stripped):
            raise ValueError("it is finer than a microsecond; round it first")
        else:
            micros = parse_timestamp(stripped)
    elif isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):
            raise ValueError("it is finer than a microsecond; round it first")
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        micros = (aware - _EPOCH) // _MICROSECOND
    elif isinstance(value, date):
        micros = (value - _EPOCH.date()) // _MICROSECOND
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = int(value)
    else:
        raise ValueError(
            f"it is {_kind(value)} where a time is asked for: "
            "a timestamp, ISO text, or int microseconds"
        )
    if not EARLIEST <= micros <= LATEST:
        raise ValueError("it is outside the years 1 to 9999")
    return micros


def _duration(value: Any, declared: Type, text: bool) -> int:
    if isinstance(value, str):
        stripped = value.strip()
        if _INTEGER.fullmatch(stripped) and text:
            micros = int(stripped) if len(stripped) < 40 else INT_MAX + 1
        else:
            micros = parse_duration(stripped)
    elif isinstance(value, timedelta):
        if getattr(value, "nanoseconds", 0):
            raise ValueError("it is finer than a microsecond; round it first")
        micros = value // _MICROSECOND
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = int(value)
    else:
        raise _mismatch(value, declared)
    if not INT_MIN <= micros <= INT_MAX:
        raise ValueError("it does not fit into 64 bits of microseconds")
    return micros


def _decimal(value: Any, declared: Type, text: bool) -> Decimal:
    if isinstance(value, str) and text:
        try:
            number = Decimal(value.strip())
        except InvalidOperation:
            raise ValueError("it is not a number") from None
    elif isinstance(value, float):
        # The shortest decimal that reads back as this float: 0.1 means 0.1.
        number = Decimal(repr(float(value)))
    elif isinstance(value, int) and not isinstance(value, bool | _Micros):
        number = Decimal(value)
    elif isinstance(value, Decimal):
        number = value
    else:
        raise _mismatch(value, declared)
    if not number.is_finite():
        raise ValueError("it is not a finite number")
    if not number:
        return Decimal(0)
    _sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    trailing = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    if exponent + trailing < -declared.scale:
        raise ValueError(f"it has more than {declared.scale} digits after the point")
    before = declared.precision - declared.scale
    if number.adjusted() >= before:
        raise ValueError(f"it has more than {before} digits before the point")
    return number


def _list(value: Any, declared: Type, text: bool) -> list[Any]:
    assert declared.of is not None
    if isinstance(value, str) and text:
        try:
            value = json.loads(value, parse_float=Decimal)
        except (ValueError, RecursionError):
            raise ValueError("it is not a list in JSON") from None
    if isinstance(value, np.ndarray):
        value = list(value)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _mismatch(value, declared)
    return [to_value(item, declared.of, text) for item in value]


def _mismatch(value: Any, declared: Type) -> ValueError:
    return ValueError(f"it is {_kind(value)} where {declared} is declared")


def _kind(value: Any) -> str:
    for classes, name in _KINDS:
        if isinstance(value, classes):
            return name
    return f"a {value.__class__.__name__}"


_KINDS: tuple[tuple[Any, str], ...] = (
    (str, "text"),
    (bool, "true or false"),
    (_Micros, "a date or a duration"),
    (int, "a whole number"),
    (float, "a float"),
    (datetime, "a timestamp"),
    (list, "a list"),
    (dict, "a record"),
)

_CONVERTERS: dict[str, Any] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "string": _string,
    "timestamp": _timestamp,
    "duration": _duration,
    "decimal": _decimal,
    "list": _list,
}
