"""Decimal arithmetic with the digits that ``logic/widening.py`` promises.

Arrow computes exactly what fits into its 76-digit decimals; beyond that Python's do. Digits that
the result type has no room for are rounded half away from zero.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.functions.values import (
    Uncomputable,
    Value,
    broadcast,
    is_scalar,
    length_of,
    rescaled,
    to_decimal,
    type_from_arrow,
)
from thence.logic.widening import decimal_type, exact_digits

_KERNELS = {"+": "add_checked", "-": "subtract_checked", "*": "multiply_checked"}
_EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)
_PYTHON: dict[str, Callable[[decimal.Decimal, decimal.Decimal], decimal.Decimal]] = {
    "*": _EXACT.multiply,
    "/": _EXACT.divide,
    "%": _EXACT.remainder,
}
_WIDEST = 76


def decimal_arithmetic(operator: str, left: Value, right: Value) -> Value:
    """``left operator right`` where both are int or decimal and one is decimal."""
    left, right = to_decimal(left), to_decimal(right)
    one, two = type_from_arrow(left.type), type_from_arrow(right.type)
    precision, scale = exact_digits(operator, one, two)
    target = decimal_type(precision, scale).arrow
    if operator == "%":
        return _row_by_row(operator, left, right, target)
    if operator == "/":
        return _divided(left, right, target)
    kernel = pc.get_function(_KERNELS[operator])
    if precision <= 38:
        return kernel.call([left, right])
    if precision > _WIDEST:
        return _row_by_row(operator, left, right, target)
    return rescaled(kernel.call([_wide(left), _wide(right)]), target)


def _wide(value: Value) -> Value:
    return pc.cast(value, pa.decimal256(value.type.precision, value.type.scale))


def _divided(left: Value, right: Value, target: pa.DataType) -> Value:
    # Arrow truncates at the scale max(4, s1 + p2 - s2 + 1). The dividend's scale s1 is raised until
    # that is a digit more than asked for, which is enough to round half away from zero.
    after_point = right.type.scale - right.type.precision
    scale = max(left.type.scale, target.scale + after_point)
    before_point = left.type.precision - left.type.scale
    given = max(4, scale - after_point + 1)
    if max(before_point + scale, before_point + right.type.scale + given) > _WIDEST:
        return _row_by_row("/", left, right, target)
    digits = before_point + scale
    dividend = pc.cast(left, pa.decimal256(digits, scale))
    return rescaled(pc.divide_checked(dividend, _wide(right)), target)


def _row_by_row(operator: str, left: Value, right: Value, target: pa.DataType) -> Value:
    rows = length_of((left, right))
    count = 1 if rows is None else rows
    compute = _PYTHON[operator]
    unit = decimal.Decimal(1).scaleb(-target.scale)
    found: list[decimal.Decimal | None] = []
    lefts, rights = broadcast(left, count).to_pylist(), broadcast(right, count).to_pylist()
    for one, two in zip(lefts, rights, strict=True):
        if one is None or two is None:
            found.append(None)
        elif two == 0 and operator != "*":
            raise Uncomputable("division by zero")
        else:
            found.append(_EXACT.quantize(compute(one, two), unit))
    result = pa.array(found, pa.decimal256(_WIDEST, target.scale)).cast(target)
    return result[0] if rows is None else result


def as_decimal_of(value: Value, target: pa.DataType) -> Value:
    """The cast ``decimal(x)``: from a number, a text or a bool."""
    if pa.types.is_boolean(value.type):
        value = pc.cast(value, pa.int64())
    if pa.types.is_decimal(value.type) or pa.types.is_integer(value.type):
        return rescaled(to_decimal(value), target)
    text = pc.cast(value, pa.string()) if pa.types.is_floating(value.type) else value
    rows = None if is_scalar(text) else len(text)
    unit = decimal.Decimal(1).scaleb(-target.scale)
    texts = broadcast(text, 1 if rows is None else rows).to_pylist()
    found = [None if each is None else _parsed(each, unit) for each in texts]
    result = pa.array(found, pa.decimal256(_WIDEST, target.scale)).cast(target)
    return result[0] if rows is None else result


def _parsed(text: str, unit: decimal.Decimal) -> decimal.Decimal:
    try:
        found = _EXACT.create_decimal(text)
        if found.is_finite():
            return _EXACT.quantize(found, unit)
    except decimal.InvalidOperation:
        pass
    raise Uncomputable("this is not a decimal number, or not one of that size")
