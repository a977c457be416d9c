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
from thence.engine.arrays.step_memo import kept_with
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
    """What each match compares a column with, as numbers, and where that is not null; they may be
    rounded, to the side that lets more rows through. ``floats`` says that the column is to be
    taken as floats for that."""

    column: Any
    floats: bool
    probes: Codes
    probing: Mask


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows in the order of a key and a column. Where another one must not be less than something,
    ``highest`` has its greatest value so far, as a number among ``levels``, and ``width`` tells the
    numbers of one key from those of the next."""

    index: TimeIndex
    levels: Codes | None = None
    highest: Codes | None = None
    width: int = 0

    def reached(self, probes: Codes, sought: Codes | None) -> Index:
        """From which position on there are rows that are not below what a match asks for: before
        it, all rows of its key are."""
        assert self.levels is not None and self.highest is not None
        ranks = np.searchsorted(self.levels, probes, "left")
        if sought is not None:
            ranks = sought * self.width + ranks
        return np.searchsorted(self.highest, ranks, "left")


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
    other = least if least is not None and least.column is not by.column else None
    if least is not None and least.floats is not by.floats and other is None:
        return None
    sorted_ = _sorted(by, other, key)
    low = least.probes if least is not None and other is None else None
    sought = None if key is None else key.probes
    high = None if most is None else most.probes
    first, last = sorted_.index.find(sought, low, high, match.length)
    probing = by.probing if least is None else by.probing & least.probing
    if other is not None:
        first = np.maximum(first, sorted_.reached(other.probes, sought))
    last = np.where(probing, np.maximum(last, first), first)
    use = match.prepared.uses[atom]
    return Candidates(sorted_.index, first, last, frozenset((use.start, use.end)))


def _sorted(by: _Compared, other: _Compared | None, key: Key | None) -> _Sorted:
    """The rows in order; without a key, as long as the table is there."""
    sides = (by,) if other is None else (by, other)
    if key is not None:
        return _in_order(sides, key)
    columns, floats = tuple(s.column for s in sides), tuple(s.floats for s in sides)
    return kept_with("values", columns, floats, lambda: _in_order(sides, None))


def _in_order(sides: tuple[_Compared, ...], key: Key | None) -> _Sorted:
    known = np.logical_and.reduce([_valid(side.column) for side in sides])
    rows = None if known.all() else np.flatnonzero(known)
    values = _rows(sides[0])
    codes, groups = (None, 1) if key is None else (key.rows, key.groups)
    if rows is None:
        index = TimeIndex(values, codes, groups)
    else:
        index = TimeIndex(values[rows], None if codes is None else codes[rows], groups, rows)
    if len(sides) == 1:
        return _Sorted(index)
    order = index.rows(0, index.size)
    levels, ranks = np.unique(_rows(sides[1])[order], return_inverse=True)
    width = len(levels) + 1
    if codes is not None:
        # The numbers of one key are all below those of the next: the greatest so far is its own.
        ranks = codes[order] * width + ranks
    return _Sorted(index, levels, np.maximum.accumulate(ranks), width)


def _rows(side: _Compared) -> Codes:
    """The values of a column as numbers in their order."""
    column = side.column.cast(pa.float64(), safe=False) if side.floats else side.column
    return _shorter(_codes(column), column.type)


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
    probing, kind = _valid(other), column.type
    if pa.types.is_floating(other.type) and side < 0:
        # NaN is the greatest number, and what is not below it would be nothing: who knows better
        # are the conditions.
        other = pc.if_else(pc.is_nan(other), -np.inf, other)
    if kind == other.type and _is_ordered(kind):
        probes = _codes(other)
        if not limit.equal:
            last = np.iinfo(np.int64).min if side > 0 else np.iinfo(np.int64).max
            probes = np.where(probes == last, probes, probes - side)
        return _Compared(column, False, _shorter(probes, kind), probing)
    if _is_number(kind) and _is_number(other.type):
        floats = to_numpy(other.cast(pa.float64(), safe=False).fill_null(0.0))
        with np.errstate(invalid="ignore", over="ignore"):
            further = pa.array(floats + side * _ROUNDED * np.abs(floats))
        return _Compared(column, True, _shorter(_codes(further), further.type), probing)
    return None


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
