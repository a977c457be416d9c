"""What the columnar functions share: values, conversions, and arguments that vary by row.

A value is an Arrow array, or a scalar where it is the same in every row. Kernels take both, so a
column is compared with a constant without writing the constant out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.rounding import rescaled
from thence.logic.widening import MOST_DIGITS, as_decimal, common_type
from thence.model.types import BOOL, DURATION, FLOAT, INT, NULL, STRING, TIMESTAMP, Type, list_of

Value: TypeAlias = Any  # a pyarrow Array or Scalar; pyarrow has no types of its own
Kernel: TypeAlias = Callable[..., Value]

INT64, FLOAT64, TEXT, BOOLEAN = pa.int64(), pa.float64(), pa.string(), pa.bool_()
INSTANT, LENGTH, NOTHING = pa.timestamp("us", "UTC"), pa.duration("us"), pa.null()

INT_ID, FLOAT_ID, TEXT_ID, BOOL_ID = INT64.id, FLOAT64.id, TEXT.id, BOOLEAN.id
INSTANT_ID, LENGTH_ID, NULL_ID = INSTANT.id, LENGTH.id, NOTHING.id
DECIMAL_ID, LIST_ID = pa.decimal128(1).id, pa.list_(INT64).id

_TYPES: dict[int, Type] = {
    INT_ID: INT,
    FLOAT_ID: FLOAT,
    TEXT_ID: STRING,
    BOOL_ID: BOOL,
    INSTANT_ID: TIMESTAMP,
    LENGTH_ID: DURATION,
    NULL_ID: NULL,
}


class Uncomputable(Exception):
    """Some row has no result; the message says why. Becomes an EvaluationError that shows it."""


def compute(name: str) -> Kernel:
    """An Arrow function without options, called with as little ceremony as possible."""
    function = pc.get_function(name)
    return lambda *args: function.call(list(args))


def is_scalar(value: Value) -> bool:
    return isinstance(value, pa.Scalar)


def type_from_arrow(arrow: Any) -> Type:
    """The type that an Arrow type holds.

    >>> str(type_from_arrow(pa.decimal128(10, 2)))
    'decimal(10, 2)'
    """
    if arrow.id == DECIMAL_ID:
        return Type("decimal", precision=arrow.precision, scale=arrow.scale)
    if arrow.id == LIST_ID:
        return list_of(type_from_arrow(arrow.value_type))
    return _TYPES[arrow.id]


def to_float(value: Value) -> Value:
    """A number as a float, rounded to the nearest one."""
    kind = value.type.id
    if kind == INT_ID:
        return pc.cast(value, FLOAT64, safe=False)
    if kind == DECIMAL_ID:
        return _decimal_to_float(value)
    return value if kind == FLOAT_ID else pc.cast(value, FLOAT64)


def _decimal_to_float(value: Value) -> Value:
    # Arrow's own conversion may be off by one unit in the last place. The quotient of two numbers
    # that floats hold exactly is not, and neither is what is read from text.
    kind = value.type
    if kind.precision <= 18 and not is_scalar(value):
        units = value.view(pa.decimal128(kind.precision, 0)).cast(INT64)
        extremes = pc.min_max(units).as_py()
        if max(-(extremes["min"] or 0), extremes["max"] or 0) <= 2**53:
            return pc.divide(units.cast(FLOAT64), pa.scalar(10.0**kind.scale))
    return pc.cast(pc.cast(value, TEXT), FLOAT64)


def to_decimal(value: Value) -> Value:
    """An int or a decimal as a decimal."""
    if value.type.id == INT_ID:
        return pc.cast(value, pa.decimal128(19, 0))
    return value


def converted(value: Value, target: Any) -> Value:
    """A value in a type that it widens to."""
    if value.type == target:
        return value
    if value.type.id == NULL_ID:
        return pc.cast(value, target)
    if target.id == FLOAT_ID:
        return to_float(value)
    if target.id == DECIMAL_ID:
        return rescaled(to_decimal(value), target)
    return pc.cast(value, target)


def aligned(values: Sequence[Value]) -> list[Value]:
    """Values of different types in the one type that they meet in."""
    common = common_type([type_from_arrow(value.type) for value in values])
    if common is None:
        raise AssertionError(f"no common type for {[str(v.type) for v in values]}")
    target = common.arrow
    return [converted(value, target) for value in values]


def exactly_aligned(values: Sequence[Value]) -> bool:
    """Whether ints and decimals keep all their digits in the type that they meet in."""
    types = [as_decimal(type_from_arrow(value.type)) for value in values]
    if any(found.kind != "decimal" for found in types):
        return True
    scale = max(found.scale for found in types)
    return max(found.precision - found.scale for found in types) + scale <= MOST_DIGITS


def comparable(left: Value, right: Value) -> tuple[Value, Value]:
    """Two values of different types in a type in which they compare exactly."""
    if {left.type.id, right.type.id} <= {INT_ID, DECIMAL_ID}:
        left, right = to_decimal(left), to_decimal(right)
        one, two = as_decimal(type_from_arrow(left.type)), as_decimal(type_from_arrow(right.type))
        scale = max(one.scale, two.scale)
        digits = max(one.precision - one.scale, two.precision - two.scale) + scale
        target = pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
        return pc.cast(left, target), pc.cast(right, target)
    left, right = aligned((left, right))
    return left, right


def as_int64(value: Value) -> Value:
    """The microseconds of a timestamp or a duration; a number stays as it is."""
    if value.type.id not in (INSTANT_ID, LENGTH_ID):
        return value
    return value.cast(INT64) if is_scalar(value) else value.view(INT64)


def from_int64(value: Value, target: Any) -> Value:
    """The opposite of :func:`as_int64`."""
    return value.cast(target) if is_scalar(value) else value.view(target)


def length_of(values: Sequence[Value]) -> int | None:
    """The number of rows, or None where all values are scalars."""
    for value in values:
        if not is_scalar(value):
            return len(value)
    return None


def by_row(kernel: Kernel, gives: Any) -> Kernel:
    """A function over NumPy arrays as one over Arrow values; a row with a null gives null.

    The NumPy arrays that ``kernel`` is given have no nulls: rows with one are left out.
    """

    def run(*values: Value) -> Value:
        rows = length_of(values)
        columns = [broadcast(value, 1 if rows is None else rows) for value in values]
        valid = None
        if any(column.null_count for column in columns):
            masks = [np.asarray(column.is_valid()) for column in columns]
            valid = np.logical_and.reduce(masks)
            columns = [column.filter(pa.array(valid)) for column in columns]
        found = pa.array(kernel(*(column.to_numpy(zero_copy_only=False) for column in columns)))
        found = found.cast(gives) if found.type != gives else found
        result = found if valid is None else spread(found, valid)
        return result[0] if rows is None else result

    return run


def broadcast(value: Value, rows: int) -> Value:
    """A value as an array with one entry per row."""
    return pa.repeat(value, rows) if is_scalar(value) else value


def spread(value: Value, where: Any) -> Value:
    """Put the entries of an array where a NumPy mask is true, and nulls elsewhere."""
    if is_scalar(value):
        return value
    places = np.cumsum(where) - 1
    return value.take(pa.array(places, mask=~where))


def by_option(kernel: Callable[..., Value], gives: Any) -> Kernel:
    """``kernel(column, *options)`` where options are plain Python values, made to take columns.

    Arrow wants such arguments (a pattern, a unit, a number of digits) to be the same in all rows.
    Where they are not, rows are grouped by them. A null in any argument gives null.
    """

    def run(value: Value, *options: Value) -> Value:
        if all(is_scalar(option) for option in options):
            plain = [option.as_py() for option in options]
            if any(option is None for option in plain) or value.type.id == NULL_ID:
                return pa.scalar(None, gives(value) if callable(gives) else gives)
            return kernel(value, *plain)
        rows = length_of((value, *options)) or 0
        column = broadcast(value, rows)
        groups: dict[tuple[Any, ...], list[int]] = {}
        keys = zip(*(broadcast(option, rows).to_pylist() for option in options), strict=True)
        for row, key in enumerate(keys):
            groups.setdefault(key, []).append(row)
        parts: list[Value] = []
        order: list[int] = []
        for key, members in groups.items():
            same = [pa.scalar(k, option.type) for k, option in zip(key, options, strict=True)]
            found = run(column.take(pa.array(members, INT64)), *same)
            parts.append(broadcast(found, len(members)))
            order += members
        if not parts:
            return pa.nulls(0, gives(value) if callable(gives) else gives)
        inverse = np.empty(rows, dtype=np.int64)
        inverse[order] = np.arange(rows)
        return pa.concat_arrays(parts).take(pa.array(inverse))

    return run


def strict(kernel: Kernel, gives: Any) -> Kernel:
    """A function of fixed types, made to take the literal ``null``: then the result is null."""

    def run(*values: Value) -> Value:
        for value in values:
            if value.type.id == NULL_ID:
                return pa.scalar(None, gives)
        return kernel(*values)

    return run
