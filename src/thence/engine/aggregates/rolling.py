"""Aggregates over many ranges of one column, without looking at each range anew.

Ranges of a sorted relation overlap: of two neighbours nearly everything is the same. So sums of
whole numbers are differences of running totals, the least and the greatest value come from a queue
of those that can still be it, and distinct values are counted as they enter and leave. Floats are
added one by one, in order, for each range: differences of running totals would round otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.codes import dense, identity_codes
from thence.engine.arrays.order import order_codes
from thence.engine.arrays.types import Index
from thence.engine.values.functions.values import to_float
from thence.logic.expr import Aggregate

_ROOM = 2**62
WORTH = 1 << 16
"""How many values all ranges must hold, so that to load compiled loops is worth while."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges ``first[i] .. last[i]`` of the values of a column that are not null."""

    values: Any
    first: Index
    last: Index

    @property
    def sizes(self) -> Index:
        return self.last - self.first

    def picked(self, positions: Index) -> Any:
        """The values at some positions, and null for an empty range."""
        return self.values.take(pa.array(positions, mask=self.sizes == 0))


def over_values(values: Any, first: Index, last: Index) -> Ranges:
    """Ranges of a column as ranges of those of its values that are not null."""
    if values.null_count == 0:
        return Ranges(values, first, last)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    moved = np.concatenate(([0], np.cumsum(valid)))
    return Ranges(values.take(pa.array(np.flatnonzero(valid))), moved[first], moved[last])


def depends_on_order(call: Aggregate, kind: pa.DataType) -> bool:
    """Whether an aggregate of values of a type depends on the order in which it takes them."""
    if call.function in ("first", "last", "list"):
        return True
    return call.function in ("sum", "avg") and pa.types.is_floating(kind)


def rolled(call: Aggregate, ranges: Ranges, ranks: Index | None = None) -> Any | None:
    """An aggregate for each range; None where there is no way but to look at all of them.

    ``ranks`` say in which order the values come, where that is not the order of the column.
    """
    if call.function == "count" and not call.distinct:
        return pa.array(ranges.sizes)
    if call.function in ("first", "last") and ranks is None:
        return ranges.picked(ranges.first if call.function == "first" else ranges.last - 1)
    if not depends_on_order(call, ranges.values.type) and call.function in ("sum", "avg"):
        return None if call.distinct else _exact_sums(call, ranges)
    if call.function == "list" or int(ranges.sizes.sum()) < WORTH:
        return None
    if call.function == "count":
        return pa.array(_distinct(ranges))
    if call.function in ("first", "last"):
        assert ranks is not None
        return ranges.picked(_extremes(ranks, ranges, call.function == "last"))
    if call.function in ("min", "max"):
        codes = order_codes(ranges.values)
        return ranges.picked(_extremes(codes, ranges, call.function == "max"))
    return None if call.distinct or ranks is not None else _float_sums(call, ranges)


def _visits(ranges: Ranges) -> Index:
    """The order in which to visit ranges, so that both ends move on where that is possible."""
    return np.lexsort((ranges.first, ranges.last))


def _extremes(codes: Index, ranges: Ranges, greatest: bool) -> Index:
    """The position of the least or greatest code in each range."""
    from thence.engine.arrays.kernels import extremes_of_ranges  # noqa: PLC0415 (compiles)

    # Compiled loops take arrays that could be written to, and Arrow's cannot.
    turned = ~codes if greatest else np.array(codes)
    return extremes_of_ranges(turned, ranges.first, ranges.last, _visits(ranges))


def _distinct(ranges: Ranges) -> Index:
    from thence.engine.arrays.kernels import distinct_in_ranges  # noqa: PLC0415 (compiles)

    codes, size = dense(identity_codes(ranges.values))
    return distinct_in_ranges(np.array(codes), size, ranges.first, ranges.last, _visits(ranges))


def _float_sums(call: Aggregate, ranges: Ranges) -> Any:
    from thence.engine.arrays.kernels import sums_of_ranges  # noqa: PLC0415 (compiles)

    numbers = np.array(ranges.values.to_numpy(zero_copy_only=False), dtype=np.float64)
    order = np.lexsort((ranges.last, ranges.first))
    sums = sums_of_ranges(numbers, ranges.first, ranges.last, order)
    empty = ranges.sizes == 0
    if call.function == "avg":
        sums = sums / np.where(empty, 1, ranges.sizes)
    return pa.array(sums, mask=empty)


def _exact_sums(call: Aggregate, ranges: Ranges) -> Any | None:
    """From running totals; None where those might not fit."""
    kind = ranges.values.type
    units = _units(ranges.values)
    if units is None or int(np.abs(units).max(initial=0)) * len(units) >= _ROOM:
        return None
    running = np.concatenate(([0], np.cumsum(units, dtype=np.int64)))
    sums = running[ranges.last] - running[ranges.first]
    empty = ranges.sizes == 0
    totals = pa.array(sums, mask=empty)
    if pa.types.is_decimal(kind):
        wide = pa.decimal128(38, kind.scale)
        totals = totals.cast(pa.decimal128(38, 0)).view(wide)
    if call.function == "sum":
        return totals.view(kind) if pa.types.is_duration(kind) else totals
    counts = pa.array(np.where(empty, 1, ranges.sizes).astype(np.float64))
    means = pc.divide(to_float(totals), counts)
    return pc.round(means).cast(pa.int64()).view(kind) if pa.types.is_duration(kind) else means


def _units(values: Any) -> Index | None:
    """Numbers as whole numbers of their smallest unit, where these are small."""
    kind = values.type
    if pa.types.is_decimal(kind):
        plain = values.view(pa.decimal128(kind.precision, 0))
        if kind.precision > 18:
            span = pc.min_max(plain).as_py()
            if max(-(span["min"] or 0), span["max"] or 0) >= _ROOM:
                return None
        return plain.cast(pa.int64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    whole = values.view(pa.int64()) if pa.types.is_duration(kind) else values
    found = whole.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return None if len(found) and int(found.min()) == np.iinfo(np.int64).min else found
