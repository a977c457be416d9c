"""The order of values, as numbers that have it: nulls first, and NaN after every number.

Lists go element by element, and a list comes before those that it is the beginning of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Codes, Index


def order_codes(column: Any) -> Codes:
    """Numbers that are ordered as the values of a column are, equal where these are identical.

    >>> order_codes(pa.array([[2], None, [1, 5], [1], []])).tolist()
    [4, 0, 3, 2, 1]
    """
    kind = column.type
    if pa.types.is_list(kind):
        return _list_codes(column)
    if column.null_count == 0 and len(column):
        if pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            whole = column if pa.types.is_integer(kind) else column.view(pa.int64())
            return whole.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)  # type: ignore[no-any-return]
        if pa.types.is_floating(kind):
            return _float_codes(column)
    return _ranked(column)


def sort_order(columns: Sequence[Any]) -> Index:
    """The order of rows by some columns, the first of which counts most."""
    keys: dict[str, Any] = {}
    for column in columns:
        if pa.types.is_list(column.type):
            column = pa.array(order_codes(column))
        elif pa.types.is_floating(column.type):
            # Arrow would put NaN beside the nulls.
            odd = pc.is_nan(column)
            keys[f"k{len(keys)}"] = odd
            column = pc.if_else(odd, 0.0, column)
        keys[f"k{len(keys)}"] = column
    table = pa.table(keys)
    by = [(name, "ascending", "at_start") for name in table.column_names]
    return pc.sort_indices(table, sort_keys=by).to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _float_codes(column: Any) -> Codes:
    """Floats by their bits, which have the order of numbers once those of negative ones are
    turned. Adding zero turns -0.0 into 0.0."""
    values = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def _ranked(column: Any) -> Codes:
    """Values of any kind that Arrow sorts, numbered in their order."""
    if len(column) == 0:
        return np.empty(0, dtype=np.int64)
    codes = np.empty(len(column), dtype=np.int64)
    order = sort_order([column])
    ordered = column.take(pa.array(order))
    codes[order] = np.concatenate(([0], np.cumsum(_changes(ordered))))
    return codes


def _changes(column: Any) -> Any:
    """Where a sorted column has another value than in the row before."""
    encoded = column.dictionary_encode()
    indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return indices[1:] != indices[:-1]


def _list_codes(column: Any) -> Codes:
    """Lists: by the first element, those that are equal there by the second, and so on."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    elements = order_codes(column.flatten()) if len(column) else np.empty(0, dtype=np.int64)
    # 0 stands for the end of a list, which comes before any element.
    unique, numbers = np.unique(elements, return_inverse=True)
    numbers = numbers.astype(np.int64) + 1
    starts = np.concatenate(([0], np.cumsum(np.where(valid, sizes, 0))))[:-1]
    codes = np.where(valid, 1, 0).astype(np.int64)
    width = len(unique) + 1
    open_rows = np.flatnonzero(valid & (sizes > 0))
    place = 0
    while len(open_rows):
        # Only rows that still share their code with another need to be told apart.
        here = np.zeros(len(codes), dtype=np.int64)
        here[open_rows] = numbers[starts[open_rows] + place]
        _, codes = np.unique(codes * width + here, return_inverse=True)
        codes = codes.astype(np.int64)
        place += 1
        open_rows = open_rows[sizes[open_rows] > place]
        shared = np.bincount(codes, minlength=1)[codes[open_rows]] > 1
        open_rows = open_rows[shared]
    _, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.int64)
