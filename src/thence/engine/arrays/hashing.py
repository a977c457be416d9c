"""Hashes of columns: to which shard an event goes, and where it stands in an index. The same value
gets the same hash on every machine.

Null joins nothing and goes anywhere, but what is identical goes to one place: all nulls have one
hash, and so have all NaNs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_PRIME = np.uint64(0x00000100000001B3)
_NULL = np.uint64(0xD6E8FEB86659FD93)


def hash_columns(columns: Sequence[Any], kinds: Sequence[str], length: int) -> Hashes:
    """One hash per row over all columns.

    >>> ids = pa.array([7, 7, 8])
    >>> a, b, c = hash_columns([ids], ["int"], 3)
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    total: Hashes | None = None
    for column, kind in zip(columns, kinds, strict=True):
        own = hash_column(column, kind)
        total = _mixed(own if total is None else total * _MULTIPLIER + own)
    return np.zeros(length, np.uint64) if total is None else total


@lru_cache(maxsize=1 << 10)
def hash_kind(kind: pa.DataType) -> str | None:
    """How values of an Arrow type are hashed; None where they cannot be.

    >>> hash_kind(pa.timestamp("us", "UTC")), hash_kind(pa.list_(pa.int64()))
    ('int', None)
    """
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_boolean(kind):
        return "bool"
    return "int" if pa.types.is_int64(kind) or pa.types.is_temporal(kind) else None


def hash_column(column: Any, kind: str) -> Hashes:
    """One hash per value."""
    if kind == "string":
        return _mixed(_text_sums(column))
    return _mixed(_bits(column, kind))


@lru_cache(maxsize=1 << 12)
def hash_of(what: tuple[object, ...]) -> Hashes:
    """A hash of a few names, the same everywhere, as an array of one."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8).digest()
    return np.array([int.from_bytes(digest, "little")], np.uint64)


def identity_hashes(column: Any) -> Hashes:
    """One hash per value of any type, by which null is itself alone: values have one hash just when
    they have one code of :func:`identity_codes`, but for chance.

    >>> zero, null, same = identity_hashes(pa.array([0, None, 0]))
    >>> bool(zero == same), bool(zero == null)
    (True, False)
    >>> one, other, nothing = identity_hashes(pa.array([[1, 2], [2, 1], []]))
    >>> len({one, other, nothing})
    3
    """
    if pa.types.is_null(column.type):
        return np.full(len(column), _NULL)
    if pa.types.is_list(column.type):
        found = _list_hashes(column)
    else:
        kind = hash_kind(column.type)
        if kind is None:
            raise AssertionError(f"values of type {column.type} have no hash")
        found = hash_column(column, kind)
    if column.null_count:
        found[~column.is_valid().to_numpy(zero_copy_only=False)] = _NULL
    return found


def combined(hashes: Hashes, more: Hashes) -> Hashes:
    """One hash for two, in which their order counts."""
    return _mixed(hashes * _MULTIPLIER + more)


def _list_hashes(column: Any) -> Hashes:
    """Lists by how long they are, and what is where in them."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    hashes = identity_hashes(column.flatten())
    ends = np.cumsum(lengths)
    starts = ends - lengths
    places = np.arange(len(hashes), dtype=np.int64) - np.repeat(starts, lengths)
    with np.errstate(over="ignore"):
        terms = _mixed(hashes + places.view(np.uint64) * _MULTIPLIER)
        sums: Hashes = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms)))
        return combined(_mixed(lengths.view(np.uint64)), sums[ends] - sums[starts])


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
    """Spread every bit over all bits, so that few shards are used evenly. (Products of arrays wrap
    around without a word.)"""
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _MIX_1
    mixed ^= mixed >> np.uint64(27)
    mixed *= _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return mixed
