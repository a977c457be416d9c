"""Aggregates over many ranges of one column, without looking at each range anew.

Ranges of a sorted relation overlap: of two neighbours nearly everything is the same. So sums of
whole numbers are differences of running totals, the least and the greatest value come from a queue
of those that can still be it, and distinct values are counted as they enter and leave. Floats are
added one by one, in order, for each range: differences of running totals would round otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.aggregates.grouped import back, floats, means_of, whole
from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import dense, identity_codes
from thence.engine.arrays.value_order import order_codes

_ROOM = 2**62
WORTH = 1 << 16
"""How many values all ranges must hold, so that to load compiled loops is worth while."""


Slide = Callable[["Ranges", Index | None], Any | None]
"""An aggregate for each range; None where there is no way but to look at all that they hold. Ranks
say in which order the values come, where that is not the order of the column."""


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


def _is_worth_while(ranges: Ranges) -> bool:
    return int(ranges.sizes.sum()) >= WORTH


def counts(ranges: Ranges, ranks: Index | None) -> Any:
    return pa.array(ranges.sizes)


def distinct_counts(ranges: Ranges, ranks: Index | None) -> Any | None:
    return pa.array(_distinct(ranges)) if _is_worth_while(ranges) else None


def first(ranges: Ranges, ranks: Index | None) -> Any | None:
    return ranges.picked(ranges.first) if ranks is None else _picked(ranks, ranges, False)


def last(ranges: Ranges, ranks: Index | None) -> Any | None:
    return ranges.picked(ranges.last - 1) if ranks is None else _picked(ranks, ranges, True)


def least(ranges: Ranges, ranks: Index | None) -> Any | None:
    return _picked(None, ranges, False)


def greatest(ranges: Ranges, ranks: Index | None) -> Any | None:
    return _picked(None, ranges, True)


def sums(ranges: Ranges, ranks: Index | None) -> Any | None:
    totals = _totals(ranges, ranks)
    return None if totals is None else back(totals, ranges.values.type)


def means(ranges: Ranges, ranks: Index | None) -> Any | None:
    totals = _totals(ranges, ranks)
    if totals is None:
        return None
    return means_of(totals, np.maximum(ranges.sizes, 1), ranges.values.type)


def deviations(ranges: Ranges, ranks: Index | None) -> Any | None:
    if ranks is not None or not _is_worth_while(ranges):
        return None
    from thence.engine.arrays.kernels import deviations_of_ranges  # noqa: PLC0415 (compiles)

    found = deviations_of_ranges(np.array(floats(ranges.values)), ranges.first, ranges.last)
    return back(pa.array(found, mask=ranges.sizes < 2), ranges.values.type)


def _visits(ranges: Ranges) -> Index:
    """The order in which to visit ranges, so that both ends move on where that is possible."""
    return np.lexsort((ranges.first, ranges.last))


def _picked(ranks: Index | None, ranges: Ranges, greatest: bool) -> Any | None:
    """The value of the least or greatest rank in each range; ranked by themselves where no ranks
    are given."""
    if not _is_worth_while(ranges):
        return None
    from thence.engine.arrays.kernels import extremes_of_ranges  # noqa: PLC0415 (compiles)

    codes = order_codes(ranges.values) if ranks is None else ranks
    # Compiled loops take arrays that could be written to, and Arrow's cannot.
    turned = ~codes if greatest else np.array(codes)
    return ranges.picked(extremes_of_ranges(turned, ranges.first, ranges.last, _visits(ranges)))


def _distinct(ranges: Ranges) -> Index:
    from thence.engine.arrays.kernels import distinct_in_ranges  # noqa: PLC0415 (compiles)

    codes, size = dense(identity_codes(ranges.values))
    return distinct_in_ranges(np.array(codes), size, ranges.first, ranges.last, _visits(ranges))


def _totals(ranges: Ranges, ranks: Index | None) -> Any | None:
    """The sum of each range, of durations as a whole number; None where that takes all it holds."""
    if not pa.types.is_floating(ranges.values.type):
        return _exact_totals(ranges)
    if ranks is not None or not _is_worth_while(ranges):
        return None
    from thence.engine.arrays.kernels import sums_of_ranges  # noqa: PLC0415 (compiles)

    order = np.lexsort((ranges.last, ranges.first))
    found = sums_of_ranges(np.array(floats(ranges.values)), ranges.first, ranges.last, order)
    return pa.array(found, mask=ranges.sizes == 0)


def _exact_totals(ranges: Ranges) -> Any | None:
    """From running totals; None where those might not fit."""
    kind = ranges.values.type
    units = _units(ranges.values)
    if units is None or int(np.abs(units).max(initial=0)) * len(units) >= _ROOM:
        return None
    running = np.concatenate(([0], np.cumsum(units, dtype=np.int64)))
    totals = pa.array(running[ranges.last] - running[ranges.first], mask=ranges.sizes == 0)
    if pa.types.is_decimal(kind):
        totals = totals.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, kind.scale))
    return totals


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
    found = whole(values).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return None if len(found) and int(found.min()) == np.iinfo(np.int64).min else found
