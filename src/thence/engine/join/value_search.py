"""Rows of a table by a range of their values: a binary search in the order of one column.

Rows are sorted by the column that must not be greater than something, so those that are not lie in
front. Where another column must not be less than something, the greatest that it has been up to
each row tells from where on there can be such rows at all: with ranges that do not overlap, that is
the one row. What is found is a superset of the rows that fit, for the conditions to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Codes, Index, Mask
from thence.engine.arrays.ranges import TimeIndex
from thence.engine.arrays.step_memo import remembered
from thence.engine.arrays.value_order import order_codes
from thence.engine.join.match import Match
from thence.engine.join.search import Candidates, Key
from thence.engine.values.evaluate import evaluate
from thence.model.arrow import to_numpy
from thence.model.errors import EvaluationError
from thence.plan.value_ranges import Limit, ValueRange

_LARGEST = 2**61
_ROUNDED = 1e-9
"""By how much, relatively, numbers of different types may differ from the floats they become."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """A column, and what each match compares it with, as numbers of one order; and where they are
    not null. Those of matches may be rounded, to the side that lets more rows through."""

    rows: Codes
    known: Mask
    probes: Codes
    probing: Mask


def value_search(match: Match, atom: int, values: ValueRange, key: Key | None) -> Candidates | None:
    """For each row of a match, the rows of a table that lie in a range and have its key; None where
    values cannot be put in an order that way."""
    columns = match.rels[atom].columns
    most = None if values.most is None else _compared(match, columns, values.most, 1)
    least = None if values.least is None else _compared(match, columns, values.least, -1)
    if (most is None) is not (values.most is None) or (least is None) is not (values.least is None):
        return None
    by = most if most is not None else least
    assert by is not None
    known, probing = by.known, by.probing
    if least is not None:
        known, probing = known & least.known, probing & least.probing
    rows = None if known.all() else np.flatnonzero(known)
    codes, groups = (None, 1) if key is None else (key.rows, key.groups)
    index = _index(by.rows, codes, groups, rows)
    high = most.probes if most is not None else None
    same = values.most is None or (
        values.least is not None and values.least.column == values.most.column
    )
    low = least.probes if least is not None and same else None
    sought = None if key is None else key.probes
    first, last = index.find(sought, low, high, match.length)
    if least is not None and not same:
        first = np.maximum(first, _reached(index, least, codes, sought))
    last = np.where(probing, np.maximum(last, first), first)
    use = match.prepared.uses[atom]
    return Candidates(index, first, last, frozenset((use.start, use.end)))


def _index(values: Codes, codes: Codes | None, groups: int, rows: Index | None) -> TimeIndex:
    if rows is not None:
        values, codes = values[rows], None if codes is None else codes[rows]
        return TimeIndex(values, codes, groups, rows)
    arrays = (values,) if codes is None else (values, codes)
    return remembered("values", arrays, (groups,), lambda: TimeIndex(values, codes, groups))


def _reached(
    index: TimeIndex, least: _Compared, codes: Codes | None, sought: Codes | None
) -> Index:
    """From which position on there are rows that are not below what a match asks for: before it,
    all rows of its key are."""
    order = index.rows(0, index.size)
    values = least.rows[order]
    levels, ranks = np.unique(values, return_inverse=True)
    probes = np.searchsorted(levels, least.probes, "left")
    if codes is None or sought is None:
        return np.searchsorted(np.maximum.accumulate(ranks), probes, "left")
    # The numbers of one key are all below those of the next, so the greatest so far is one of its.
    width = len(levels) + 1
    highest = np.maximum.accumulate(codes[order] * width + ranks)
    return np.searchsorted(highest, sought * width + probes, "left")


def _compared(match: Match, columns: Any, limit: Limit, side: int) -> _Compared | None:
    """The two sides of a comparison as numbers; ``side`` is 1 where rows must not be above what a
    match has, and -1 where not below."""
    column = columns[limit.column]
    try:
        other = evaluate(limit.other, match.leaf, match.length)
    except EvaluationError:
        return None  # the conditions are looked at in their order, and say so if it is one
    if isinstance(other, pa.ChunkedArray):
        other = other.combine_chunks()
    known, probing = _valid(column), _valid(other)
    if column.type == other.type and _is_ordered(column.type):
        rows, probes = _codes(column), _codes(other)
        if not limit.equal:
            last = np.iinfo(np.int64).min if side > 0 else np.iinfo(np.int64).max
            probes = np.where(probes == last, probes, probes - side)
        rows, probes = _shorter(rows, column.type), _shorter(probes, column.type)
    elif _is_number(column.type) and _is_number(other.type):
        float_ = pa.float64()
        rows = _shorter(_codes(column.cast(float_, safe=False)), float_)
        floats = to_numpy(other.cast(float_, safe=False).fill_null(0.0))
        probes = _shorter(_codes(pa.array(floats + side * _ROUNDED * np.abs(floats))), float_)
    else:
        return None
    return _Compared(rows, known, probes, probing)


def _codes(column: Any) -> Codes:
    """Values as numbers that are ordered as they are, whatever is in the place of nulls."""
    whole = column
    if column.null_count:
        whole = pc.fill_null(column, pa.scalar(0, pa.int64()).cast(column.type))
    return order_codes(whole) if len(whole) else np.empty(0, dtype=np.int64)


def _shorter(codes: Codes, kind: pa.DataType) -> Codes:
    """Numbers in the same order, with room for an index to count with them: those of floats lose
    their last bits, and the largest whole ones become one."""
    if pa.types.is_floating(kind):
        return codes >> 2
    return np.clip(codes, -_LARGEST, _LARGEST)


def _valid(column: Any) -> Mask:
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    return to_numpy(column.is_valid())  # type: ignore[no-any-return]


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether single values have numbers that are ordered as they are."""
    types = pa.types
    return bool(
        types.is_int64(kind)
        or types.is_float64(kind)
        or types.is_timestamp(kind)
        or types.is_duration(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
