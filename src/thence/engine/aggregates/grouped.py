"""Aggregates of groups: rows with the number of their group each, in the order that counts.

Every function takes these numbers, values that are not null, and how many groups there are. A group
without values has null, and an empty list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.values.functions.conversions import to_float
from thence.model.errors import EvaluationError


def counts(groups: Index, values: Any, count: int) -> Any:
    return pa.array(np.bincount(groups, minlength=count).astype(np.int64))


def sums(groups: Index, values: Any, count: int) -> Any:
    found, totals = _totals(groups, values)
    if pa.types.is_integer(whole(values).type):
        totals = _as_int(totals)
    return _at(found, back(totals, values.type), count)


def means(groups: Index, values: Any, count: int) -> Any:
    found, totals = _totals(groups, values)
    sizes = np.bincount(groups, minlength=count)[found]
    return _at(found, means_of(totals, sizes, values.type), count)


def means_of(totals: Any, sizes: Index, kind: pa.DataType) -> Any:
    """Sums of values of a type, divided by how many these were."""
    return back(pc.divide(to_float(totals), pa.array(sizes.astype(np.float64))), kind)


def deviations(groups: Index, values: Any, count: int) -> Any:
    """Standard deviations of samples: of one value there is none."""
    numbers, sizes = floats(values), np.bincount(groups, minlength=count)
    with np.errstate(all="ignore"):  # infinities are infinitely far from their mean
        apart = numbers - (np.bincount(groups, numbers, count) / sizes)[groups]
        found = np.sqrt(np.bincount(groups, apart * apart, count) / (sizes - 1))
    return back(pa.array(found, mask=sizes < 2), values.type)


def medians(groups: Index, values: Any, count: int) -> Any:
    """The values in the middle; of two there, their mean."""
    numbers, sizes = floats(values), np.bincount(groups, minlength=count)
    filled = np.flatnonzero(sizes)
    ordered = numbers[np.lexsort((numbers, groups))]
    begins = (np.cumsum(sizes) - sizes)[filled]
    low = ordered[begins + (sizes[filled] - 1) // 2]
    high = ordered[begins + sizes[filled] // 2]
    with np.errstate(all="ignore"):
        middle = np.where(low == high, low, (low + high) / 2)
    return _at(filled, back(pa.array(middle), values.type), count)


def least(groups: Index, values: Any, count: int) -> Any:
    return _extremes(groups, values, count, "min")


def greatest(groups: Index, values: Any, count: int) -> Any:
    return _extremes(groups, values, count, "max")


def first(groups: Index, values: Any, count: int) -> Any:
    return _at(groups[::-1], values, count, np.arange(len(groups))[::-1])


def last(groups: Index, values: Any, count: int) -> Any:
    return _at(groups, values, count)


def lists(groups: Index, values: Any, count: int) -> Any:
    sizes = np.bincount(groups, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def whole(values: Any) -> Any:
    """Durations as whole numbers, which Arrow can aggregate; other values as they are."""
    return values.view(pa.int64()) if pa.types.is_duration(values.type) else values


def back(values: Any, kind: pa.DataType) -> Any:
    """Numbers as durations, to the nearest microsecond, where these were durations."""
    if not pa.types.is_duration(kind):
        return values
    rounded = pc.round(values) if pa.types.is_floating(values.type) else values
    return rounded.cast(pa.int64()).view(kind)


def floats(values: Any) -> Any:
    """Numbers, and durations in microseconds, as floats."""
    return to_float(whole(values)).to_numpy(zero_copy_only=False)


def _extremes(groups: Index, values: Any, count: int, which: str) -> Any:
    if _needs_sorting(values):
        order = np.lexsort((values.to_numpy(zero_copy_only=False), groups))
        choose = first if which == "min" else last
        return choose(groups[order], values.take(pa.array(order)), count)
    found, result = _grouped(groups, whole(values), which)
    return _at(found, back(result, values.type), count)


def _totals(groups: Index, values: Any) -> tuple[Index, Any]:
    """The groups that occur, and the sum of each."""
    return _grouped(groups, _summable(whole(values)), "sum")


def _grouped(groups: Index, values: Any, function: str) -> tuple[Index, Any]:
    """The groups that occur, and Arrow's aggregate for each."""
    table = pa.table({"g": groups, "v": values})
    done = table.group_by("g", use_threads=False).aggregate([("v", function)])
    return done.column("g").to_numpy(), done.column(f"v_{function}").combine_chunks()


def _summable(values: Any) -> Any:
    """Values in a type in which their sum is exact: ints that may overflow as decimals."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return values.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_integer(kind) and _may_overflow(values):
        return values.cast(pa.decimal128(38, 0))
    return values


def _as_int(totals: Any) -> Any:
    try:
        return totals.cast(pa.int64())
    except pa.ArrowInvalid:
        raise EvaluationError("sum overflows the range of int (64 bits)") from None


def _may_overflow(values: Any) -> bool:
    if len(values) == 0:
        return False
    extremes = pc.min_max(values)
    most = max(abs(extremes["min"].as_py()), abs(extremes["max"].as_py()))
    return bool(most * len(values) >= 2**63)


def _at(groups: Index, values: Any, count: int, rows: Index | None = None) -> Any:
    """Values, or those in some rows, at their groups' positions, the last of several; null
    elsewhere."""
    positions = np.full(count, -1, dtype=np.int64)
    positions[groups] = np.arange(len(groups)) if rows is None else rows
    return values.take(pa.array(positions, mask=positions < 0))


def _needs_sorting(values: Any) -> bool:
    """Whether least and greatest follow an order of our own: NaN is the greatest number."""
    kind = values.type
    return pa.types.is_boolean(kind) or (
        pa.types.is_floating(kind) and bool(np.isnan(values.to_numpy(zero_copy_only=False)).any())
    )
