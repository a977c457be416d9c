"""Sizes in bytes: as people write them, and as they read them."""

from __future__ import annotations

import re
from typing import Any

from thence.model.errors import InputError

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_POWERS = {unit.lower(): 1000**power for power, unit in enumerate(_UNITS)}
_POWERS |= {f"{unit[0].lower()}ib": 1024**power for power, unit in enumerate(_UNITS) if power}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def size(value: Any, what: str) -> int:
    """A number of bytes: a whole number, or a text with a unit.

    >>> size("1.5 GB", "memory_limit"), size("2MiB", "memory_limit"), size(4096, "memory_limit")
    (1500000000, 2097152, 4096)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and (found := _WRITTEN.fullmatch(value)):
        power = _POWERS.get(found[2].lower())
        if power is not None and (bytes_ := int(float(found[1]) * power)) > 0:
            return bytes_
    raise InputError(
        f"{what}: {value!r} is no size; write a number of bytes, or a text with a unit such as "
        "'500 MB' or '4 GiB'"
    )


def format_size(count: int) -> str:
    """A number of bytes, roughly.

    >>> format_size(960_000_000_000), format_size(12_300), format_size(7)
    ('960 GB', '12 kB', '7 B')
    """
    amount = float(count)
    for unit in _UNITS[:-1]:
        if amount < 999.5:
            return (
                f"{amount:.0f} {unit}" if amount >= 9.95 or unit == "B" else f"{amount:.1f} {unit}"
            )
        amount /= 1000
    return f"{amount:,.0f} {_UNITS[-1]}"
