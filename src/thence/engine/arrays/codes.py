"""Values as small integers, so that joins and comparisons of rows run on int64 arrays.

Two ways to number values: for joins, where null and NaN equal nothing (code -1), and for
identity, where null is null and NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Codes
from thence.engine.arrays.step_memo import remembered
from thence.model.arrow import to_numpy

Numbered = tuple[Codes, int]
"""Codes in ``0 .. size-1`` (or -1), and that size."""

_LARGEST = 2**62
_JOINABLE = 2**30
"""How wide join codes may be: with it, (code, rank of time) fits one int64."""


def join_codes(columns: Sequence[Any]) -> tuple[list[Codes], int]:
    """Number the values of several columns of one type together, for an equality join.

    >>> codes, size = join_codes([pa.array(["x", None, "y"]), pa.array(["y", "z"])])
    >>> [c.tolist() for c in codes], size
    ([[0, -1, 1], [1, 2]], 3)
    """
    if all(map(_is_whole, columns)) and all(map(len, columns)):
        lows, highs = zip(*map(_extent, columns), strict=True)
        low, size = min(lows), max(highs) - min(lows) + 1
        if size <= _JOINABLE:
            return [_shifted(column, low) for column in columns], size
    lengths = [len(column) for column in columns]
    whole = columns[0] if len(columns) == 1 else pa.concat_arrays(list(columns))
    codes, size = _numbers(whole, join=True)
    cuts = np.cumsum(lengths)[:-1]
    return np.split(codes, cuts), size


def _is_whole(column: Any) -> bool:
    """Whether the values of a column are whole numbers, or counted so, and none is missing."""
    kind = column.type
    counted = pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return bool(counted and column.null_count == 0)


def _extent(column: Any) -> tuple[int, int]:
    """The least and the greatest of whole numbers."""

    def find() -> tuple[int, int]:
        values = _view(column)
        return int(values.min()), int(values.max())

    return remembered("extent", (column,), (), find)


def _shifted(column: Any, low: int) -> Codes:
    """Whole numbers, counted from a given one."""
    return remembered(
        "shifted", (column,), (low,), lambda: _view(column) - low if low else _view(column)
    )


def own_codes(codes: Codes, size: int, rows: Codes) -> Codes:
    """Join codes in which what equals nothing (-1) is equal to itself alone: to the same row. The
    codes of another column that holds the same ``rows`` of a relation are told apart alike.

    >>> own_codes(np.array([0, -1, -1]), 5, np.array([7, 8, 9])).tolist()
    [0, 13, 14]
    """
    return np.where(codes < 0, size + rows, codes)


def identity_codes(column: Any) -> Numbered:
    """Number the values of one column so that equal codes mean the same value, null included.

    >>> identity_codes(pa.array([1.0, None, float("nan"), None, float("nan")]))[0].tolist()
    [0, 2, 1, 2, 1]
    """
    if isinstance(column, np.ndarray):
        return _dense(column, _LARGEST >> 8)
    return _numbers(column, join=False)


def combine(parts: Sequence[Numbered]) -> Numbered:
    """One code for the codes of several columns; -1 in any of them gives -1."""
    codes, size = parts[0]
    for more, count in parts[1:]:
        if size * max(count, 1) >= _LARGEST:
            codes, size = _renumber(codes)
        if size * max(count, 1) >= _LARGEST:
            more, count = _renumber(more)
        missing = (codes < 0) | (more < 0)
        codes = codes * max(count, 1) + more
        if missing.any():
            codes[missing] = -1
        size = size * max(count, 1)
    return codes, size


def dense(numbered: Numbered) -> Numbered:
    """The same codes, packed closely where they are not: for arrays with an entry for each."""
    codes, size = numbered
    return numbered if size <= 2 * len(codes) else _renumber(codes)


def _numbers(column: Any, join: bool) -> Numbered:
    kind = column.type
    if pa.types.is_floating(kind):
        return _float_numbers(column, join)
    if column.null_count == 0 and (
        pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    ):
        return _dense(_view(column), _JOINABLE if join else _LARGEST >> 8)
    if pa.types.is_nested(kind):
        return _nested_numbers(column, join)
    return _from_dictionary(column.dictionary_encode(), join)


def _from_dictionary(encoded: Any, join: bool) -> Numbered:
    size = len(encoded.dictionary)
    if encoded.null_count == 0:
        return to_numpy(encoded.indices).astype(np.int64), size
    missing = -1 if join else size
    codes = to_numpy(pc.fill_null(encoded.indices, missing))
    return codes.astype(np.int64), size + (0 if join else 1)


def _float_numbers(column: Any, join: bool) -> Numbered:
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    # Adding zero turns -0.0 into 0.0.
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    odd = np.isnan(values)
    codes, size = _from_dictionary(pa.array(np.where(odd, 0.0, values)).dictionary_encode(), join)
    if join:
        codes[odd | ~valid] = -1
        return codes, size
    codes[odd] = size
    codes[~valid] = size + 1
    # Numbered again, so that codes stay small and first come first.
    return _renumber(codes)


def _nested_numbers(column: Any, join: bool) -> Numbered:
    seen: dict[str, int] = {}
    codes = np.empty(len(column), dtype=np.int64)
    for position, value in enumerate(column.to_pylist()):
        if value is None and join:
            codes[position] = -1
        else:
            codes[position] = seen.setdefault(repr(_plain(value)), len(seen))
    return codes, len(seen)


def _plain(value: Any) -> Any:
    """A nested value in which -0.0 is 0.0."""
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return value + 0.0 if isinstance(value, float) else value


def _view(column: Any) -> Codes:
    values = column.view(pa.int64()) if not pa.types.is_integer(column.type) else column
    return to_numpy(values).astype(np.int64, copy=False)  # type: ignore[no-any-return]


def _dense(values: Codes, most: int) -> Numbered:
    """Integers as codes: shifted to start at zero where the range is not too wide."""
    if len(values) == 0:
        return values.astype(np.int64, copy=False), 0
    low, high = int(values.min()), int(values.max())
    size = high - low + 1
    if size <= most:
        return (values - low if low else values), size
    unique, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), len(unique)


def _renumber(codes: Codes) -> Numbered:
    """The same codes, packed closely; what is missing (-1) stays so."""
    unique, inverse = np.unique(codes, return_inverse=True)
    if len(unique) and unique[0] < 0:
        return inverse.astype(np.int64) - 1, len(unique) - 1
    return inverse.astype(np.int64), len(unique)
