"""Hashes of columns: where an event goes. The same value gets the same hash on every machine.

Null joins nothing and goes anywhere, but what is identical goes to one place: all nulls have one
hash, and so have all NaNs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_PRIME = np.uint64(0x00000100000001B3)


def hash_columns(columns: Sequence[Any], kinds: Sequence[str], length: int) -> Hashes:
    """One hash per row over all columns.

    >>> ids = pa.array([7, 7, 8])
    >>> a, b, c = hash_columns([ids], ["int"], 3)
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    total = np.zeros(length, np.uint64)
    for column, kind in zip(columns, kinds, strict=True):
        total = _mixed(total * _MULTIPLIER + hash_column(column, kind))
    return total


def hash_column(column: Any, kind: str) -> Hashes:
    """One hash per value."""
    if kind == "string":
        return _mixed(_text_sums(column))
    return _mixed(_bits(column, kind))


def _bits(column: Any, kind: str) -> Hashes:
    """Values as 64 bits, the same for equal values; null as zero."""
    if kind == "float":
        floats: npt.NDArray[np.float64] = _values(column) + 0.0  # -0.0 becomes 0.0
        return np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    if kind == "decimal":
        return _words(column)
    if kind == "bool":
        column = column.cast(pa.int64())
    elif column.type != pa.int64():
        column = column.view(pa.int64())
    numbers: npt.NDArray[np.int64] = _values(column)
    return numbers.view(np.uint64)


def _words(column: Any) -> Hashes:
    """Decimals by the 128 bits in which Arrow holds them; a column has one precision and scale."""
    column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    if column.null_count:
        column = column.fill_null(0)
    content = np.frombuffer(column.buffers()[1], np.uint64)
    words = content[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
    return words[:, 0] * _MULTIPLIER + words[:, 1]


def _values(column: Any) -> Any:
    return (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)


def _text_sums(column: Any) -> Hashes:
    """A polynomial in the bytes of each text, all texts at once."""
    if column.null_count:
        column = column.fill_null("")
    if not len(column):
        return np.empty(0, np.uint64)
    _, offset_buffer, data = column.buffers()
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    offsets = np.frombuffer(offset_buffer, width)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets).astype(np.int64)
    if data is None or not lengths.any():
        return np.zeros(len(column), np.uint64)
    first, last = int(offsets[0]), int(offsets[-1])
    content = np.frombuffer(data, np.uint8)[first:last].astype(np.uint64)
    starts = (offsets[:-1] - first).astype(np.int64)
    places = np.arange(last - first, dtype=np.int64) - np.repeat(starts, lengths)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(lengths.max()), _PRIME, np.uint64))
        terms = (content + np.uint64(1)) * powers[places]
        sums: Hashes = np.concatenate(([np.uint64(0)], np.cumsum(terms)))
        ends = (offsets[1:] - first).astype(np.int64)
        return sums[ends] - sums[starts]


def _mixed(values: Hashes) -> Hashes:
    """Spread every bit over all bits, so that few shards are used evenly."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * _MIX_1
        values = (values ^ (values >> np.uint64(27))) * _MIX_2
        return values ^ (values >> np.uint64(31))
