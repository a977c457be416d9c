"""Arrow arrays from Python's and NumPy's, without the help of pandas.

``pa.array`` and ``pa.scalar`` ask whether they were given something of pandas, and where it is
installed they load it for that: a small program has its result in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_NUMBERS = {pa.int64(): np.int64, pa.float64(): np.float64}
_MOST_TEXT = 2**31 - 1
_EXACT = Context(prec=80)


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Whole numbers, without a copy.

    >>> from_numpy(np.array([3, 4])).to_pylist()
    [3, 4]
    """
    buffer = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(values), [None, buffer])


def from_list(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values that are of a type already, or None.

    >>> from_list(["a", None, "ä"], pa.string()).to_pylist()
    ['a', None, 'ä']
    >>> from_list([1.5, None], pa.float64()).to_pylist()
    [1.5, None]
    >>> from decimal import Decimal
    >>> from_list([Decimal("-2.5"), None, Decimal(1)], pa.decimal128(5, 2)).to_pylist()
    [Decimal('-2.50'), None, Decimal('1.00')]
    """
    if kind in _NUMBERS:
        numbers = np.array([0 if value is None else value for value in values], _NUMBERS[kind])
        return pa.Array.from_buffers(kind, len(values), [_valid(values), pa.py_buffer(numbers)])
    if kind == pa.string():
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)])
        if ends[-1] <= _MOST_TEXT:
            parts = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(texts))]
            return pa.Array.from_buffers(kind, len(values), [_valid(values), *parts])
    if pa.types.is_decimal128(kind):
        units = [0 if value is None else int(_EXACT.scaleb(value, kind.scale)) for value in values]
        data = b"".join(unit.to_bytes(16, "little", signed=True) for unit in units)
        return pa.Array.from_buffers(kind, len(values), [_valid(values), pa.py_buffer(data)])
    return pa.array(values, kind)


def _valid(values: Sequence[Any]) -> pa.Buffer | None:
    """Which values are there, as Arrow notes it; nothing where all are."""
    if None not in values:
        return None
    there = np.array([value is not None for value in values])
    return pa.py_buffer(np.packbits(there, bitorder="little"))


def scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """One value of a type.

    >>> scalar(3, pa.int64()), scalar(None, pa.string()).is_valid
    (<pyarrow.Int64Scalar: 3>, False)
    """
    return from_list([value], kind)[0]


def to_numpy(array: pa.Array) -> Any:
    """Numbers, or truth values, as NumPy has them; without a copy where that can be.

    >>> to_numpy(pa.array([True, False, True])[1:]).tolist(), to_numpy(pa.array([2, 3])).tolist()
    ([False, True], [2, 3])
    """
    kind = array.type
    if array.null_count == 0 and pa.types.is_boolean(kind):
        bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
        end = array.offset + len(array)
        return np.unpackbits(bits, count=end, bitorder="little")[array.offset :].view(np.bool_)
    if array.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.from_dlpack(array)
    return array.to_numpy(zero_copy_only=False)
