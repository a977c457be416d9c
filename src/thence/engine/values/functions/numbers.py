"""Arithmetic over columns: ints are checked, floats follow IEEE 754, times go through int64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.conversions import (
    DECIMAL_ID,
    FLOAT64,
    FLOAT_ID,
    INSTANT,
    INSTANT_ID,
    INT64,
    INT_ID,
    LENGTH,
    LENGTH_ID,
    NOTHING,
    NULL_ID,
    Kernel,
    Uncomputable,
    Value,
    aligned,
    as_int64,
    by_option,
    by_row,
    compute,
    from_int64,
    strict,
    to_decimal,
    to_float,
    type_from_arrow,
)
from thence.engine.values.functions.decimals import decimal_arithmetic, quotient
from thence.engine.values.functions.rounding import CEILING, FLOOR, HALF_AWAY, HALF_EVEN, rounded
from thence.logic.widening import rounded_decimal

_NULL = pa.nulls(1, NOTHING)[0]


def _same_value(value: Value) -> Value:
    return value


def _arithmetic(operator: str, ints: Kernel, floats: Kernel, times: dict[Any, Kernel]) -> Kernel:
    """An operator over numbers, with a table of what it does with timestamps and durations."""

    def run(left: Value, right: Value) -> Value:
        one, two = left.type.id, right.type.id
        if one == FLOAT_ID and two == FLOAT_ID:
            return floats(left, right)
        if one == INT_ID and two == INT_ID:
            return ints(left, right)
        if one == NULL_ID or two == NULL_ID:
            return _NULL
        special = times.get((one, two))
        if special is not None:
            return special(left, right)
        if one == FLOAT_ID or two == FLOAT_ID:
            return floats(to_float(left), to_float(right))
        return decimal_arithmetic(operator, left, right)

    return run


_add, _subtract = compute("add_checked"), compute("subtract_checked")
_multiply, _divide = compute("multiply_checked"), compute("divide")
_add_floats, _subtract_floats, _multiply_floats = (
    compute("add"),
    compute("subtract"),
    compute("multiply"),
)


def _in_microseconds(kernel: Kernel, gives: Any) -> Kernel:
    return lambda left, right: from_int64(kernel(as_int64(left), as_int64(right)), gives)


def _true_division(left: Value, right: Value) -> Value:
    return _divide(to_float(as_int64(left)), to_float(as_int64(right)))


def _whole_microseconds(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    rounded = np.rint(numbers)
    if not bool(np.all((rounded >= -(2.0**63)) & (rounded < 2.0**63))):
        raise Uncomputable("the result is not a duration of 64 bits")
    return rounded.astype(np.int64)


_round_to_microseconds = by_row(_whole_microseconds, INT64)


def _scaled(kernel: Kernel) -> Kernel:
    def run(left: Value, right: Value) -> Value:
        found = kernel(to_float(as_int64(left)), to_float(as_int64(right)))
        return from_int64(_round_to_microseconds(found), LENGTH)

    return run


def _scaled_exactly(operator: str) -> Kernel:
    """A duration times or by a decimal: exact, and then rounded to whole microseconds."""

    def run(left: Value, right: Value) -> Value:
        one, two = (to_decimal(as_int64(value)) for value in (left, right))
        if operator == "/":
            whole = quotient(one, two, pa.decimal128(38, 0), HALF_EVEN)
        else:
            whole = rounded(decimal_arithmetic("*", one, two), 0, HALF_EVEN, pa.decimal128(38, 0))
        return from_int64(pc.cast(whole, INT64), LENGTH)

    return run


def _whole_multiple(left: Value, right: Value) -> Value:
    return from_int64(_multiply(as_int64(left), as_int64(right)), LENGTH)


def _int_remainder(
    left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    if not bool(np.all(right)):
        raise Uncomputable("division by zero")
    with np.errstate(all="ignore"):
        return np.fmod(left, right)


def _float_remainder(
    left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.fmod(left, right)


def _shift(kernel: Kernel) -> dict[Any, Kernel]:
    moved = _in_microseconds(kernel, INSTANT)
    return {
        (INSTANT_ID, LENGTH_ID): moved,
        (LENGTH_ID, LENGTH_ID): _in_microseconds(kernel, LENGTH),
    }


def _by_kind(kernels: dict[int, Kernel]) -> Kernel:
    """A function of one number, with a kernel for each kind of number."""

    def run(value: Value, *options: Value) -> Value:
        kind = value.type.id
        return value if kind == NULL_ID else kernels[kind](value, *options)

    return run


def _through_int64(kernel: Kernel) -> Kernel:
    return lambda value: from_int64(kernel(as_int64(value)), LENGTH)


def _round(value: Value, digits: int = 0) -> Value:
    kind = value.type.id
    if kind == INT_ID:
        if digits >= 0:
            return value
        if digits < -18:
            raise Uncomputable("that is more digits than a number of 64 bits has")
    elif kind == FLOAT_ID:
        return _round_float(value, digits)
    else:
        if digits < -38:
            raise Uncomputable("that is more digits than a decimal has")
        return rounded(value, digits, HALF_AWAY, _rounded_type(value))
    return _half_away(value, digits)


def _half_away(value: Value, digits: int) -> Value:
    return pc.round(value, ndigits=digits, round_mode="half_towards_infinity")


def _round_float(value: Value, digits: int) -> Value:
    if digits > 308:
        return value
    if digits < -308:
        raise Uncomputable("that is more digits than a float has")
    # From 2^53 upwards (in units of the last digit kept) a float has nothing left to round.
    rounds = pc.less(pc.abs(value), pa.scalar(2.0**53 / 10.0**digits))
    small = pc.if_else(rounds, value, pa.scalar(0.0))
    return pc.if_else(rounds, _half_away(small, digits), value)


def _rounded_type(value: Value) -> Any:
    kind = value.type
    return rounded_decimal(type_from_arrow(kind)).arrow if kind.id == DECIMAL_ID else kind


_round_by = by_option(_round, _rounded_type)


def _rounding(value: Value, *digits: Value) -> Value:
    if value.type.id == NULL_ID:
        return value
    return _round_by(value, *digits) if digits else _round(value)


def _float_function(name: str) -> Kernel:
    kernel = compute(name)
    return strict(lambda *values: kernel(*map(to_float, values)), FLOAT64)


def _to_int(kernel: Kernel) -> Kernel:
    return lambda value: pc.cast(kernel(value), INT64)


def _extreme(name: str) -> Kernel:
    kernel: Callable[..., Value] = getattr(pc, name)

    def run(*values: Value) -> Value:
        if any(value.type != values[0].type for value in values):
            values = tuple(aligned(values))
        gives = values[0].type
        if gives.id == NULL_ID or len(values) == 1:
            return values[0]
        if gives.id == INSTANT_ID:
            return from_int64(kernel(*map(as_int64, values)), INSTANT)
        return kernel(*values)

    return run


_negate, _abs = compute("negate_checked"), compute("abs_checked")

NUMBERS: dict[str, Kernel] = {
    "+": _arithmetic(
        "+",
        _add,
        _add_floats,
        _shift(_add) | {(LENGTH_ID, INSTANT_ID): _in_microseconds(_add, INSTANT)},
    ),
    "-": _arithmetic(
        "-",
        _subtract,
        _subtract_floats,
        _shift(_subtract) | {(INSTANT_ID, INSTANT_ID): _in_microseconds(_subtract, LENGTH)},
    ),
    "*": _arithmetic(
        "*",
        _multiply,
        _multiply_floats,
        {
            (LENGTH_ID, INT_ID): _whole_multiple,
            (INT_ID, LENGTH_ID): _whole_multiple,
            (LENGTH_ID, FLOAT_ID): _scaled(_multiply_floats),
            (FLOAT_ID, LENGTH_ID): _scaled(_multiply_floats),
            (LENGTH_ID, DECIMAL_ID): _scaled_exactly("*"),
            (DECIMAL_ID, LENGTH_ID): _scaled_exactly("*"),
        },
    ),
    "/": _arithmetic(
        "/",
        _true_division,
        _divide,
        {
            (LENGTH_ID, LENGTH_ID): _true_division,
            (LENGTH_ID, INT_ID): _scaled(_divide),
            (LENGTH_ID, FLOAT_ID): _scaled(_divide),
            (LENGTH_ID, DECIMAL_ID): _scaled_exactly("/"),
        },
    ),
    "%": _arithmetic("%", by_row(_int_remainder, INT64), by_row(_float_remainder, FLOAT64), {}),
    "neg": _by_kind(
        {
            INT_ID: _negate,
            FLOAT_ID: compute("negate"),
            DECIMAL_ID: compute("negate"),
            LENGTH_ID: _through_int64(_negate),
        }
    ),
    "abs": _by_kind(
        {
            INT_ID: _abs,
            FLOAT_ID: compute("abs"),
            DECIMAL_ID: compute("abs"),
            LENGTH_ID: _through_int64(_abs),
        }
    ),
    "round": _rounding,
    "floor": _by_kind(
        {
            INT_ID: _same_value,
            FLOAT_ID: compute("floor"),
            DECIMAL_ID: lambda value: rounded(value, 0, FLOOR, _rounded_type(value)),
        }
    ),
    "ceil": _by_kind(
        {
            INT_ID: _same_value,
            FLOAT_ID: compute("ceil"),
            DECIMAL_ID: lambda value: rounded(value, 0, CEILING, _rounded_type(value)),
        }
    ),
    "sqrt": _float_function("sqrt"),
    "exp": _float_function("exp"),
    "ln": _float_function("ln"),
    "log10": _float_function("log10"),
    "power": _float_function("power"),
    "sign": _by_kind(
        {
            INT_ID: _to_int(compute("sign")),
            FLOAT_ID: compute("sign"),
            DECIMAL_ID: _to_int(compute("sign")),
            LENGTH_ID: lambda value: pc.cast(pc.sign(as_int64(value)), INT64),
        }
    ),
    "greatest": _extreme("max_element_wise"),
    "least": _extreme("min_element_wise"),
}
