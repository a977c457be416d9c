"""Parts of timestamps, in UTC."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.conversions import (
    INSTANT,
    INT64,
    Kernel,
    Uncomputable,
    Value,
    as_int64,
    by_option,
    from_int64,
    is_scalar,
    strict,
)
from thence.logic.functions import TRUNCATION_UNITS

_WITHOUT_ZONE = pa.timestamp("us")


def _plain(value: Value) -> Value:
    """The same instants without the zone, so that no time zone database is asked about UTC."""
    return from_int64(as_int64(value), _WITHOUT_ZONE)


def _part(name: str, **options: Any) -> Kernel:
    kernel = getattr(pc, name)
    return strict(lambda value: pc.cast(kernel(_plain(value), **options), INT64), INT64)


def _truncated(value: Value, unit: str) -> Value:
    if unit not in TRUNCATION_UNITS:
        raise Uncomputable(f"units are {', '.join(TRUNCATION_UNITS)}")
    found = pc.floor_temporal(_plain(value), unit=unit)
    return from_int64(found.cast(INT64) if is_scalar(found) else found.view(INT64), INSTANT)


_truncate = by_option(_truncated, INSTANT)

TIMES: dict[str, Kernel] = {
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "weekday": _part("day_of_week", count_from_zero=False, week_start=1),
    "date_trunc": lambda unit, value: _truncate(value, unit),
}
