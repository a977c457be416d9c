"""Decimal arithmetic with the digits that ``logic/widening.py`` promises.

Sums and products are exact in Arrow's 76-digit decimals, and rounded where the result type has less
room. Quotients are computed by long division over int64 where the numbers are small enough, or else
one by one: see ``rounding.py`` for why.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.conversions import (
    Uncomputable,
    Value,
    to_decimal,
    type_from_arrow,
)
from thence.engine.values.functions.division import long_division, small_remainder
from thence.engine.values.functions.rounding import EXACT, HALF_AWAY, by_value, rescaled
from thence.logic.widening import decimal_type, exact_digits

_KERNELS = {"+": "add_checked", "-": "subtract_checked", "*": "multiply_checked"}
_WIDEST = 76


def decimal_arithmetic(operator: str, left: Value, right: Value) -> Value:
    """``left operator right`` where both are int or decimal and one is decimal."""
    left, right = to_decimal(left), to_decimal(right)
    one, two = type_from_arrow(left.type), type_from_arrow(right.type)
    precision, scale = exact_digits(operator, one, two)
    target = decimal_type(precision, scale).arrow
    if operator in ("/", "%"):
        return _divided(operator, left, right, target)
    kernel = pc.get_function(_KERNELS[operator])
    if precision <= 38:
        return kernel.call([left, right])
    if precision > _WIDEST:
        unit = Decimal(1).scaleb(-target.scale)
        return by_value(
            lambda a, b: EXACT.quantize(EXACT.multiply(a, b), unit), target, left, right
        )
    return rescaled(kernel.call([_wide(left), _wide(right)]), target)


def _wide(value: Value) -> Value:
    return pc.cast(value, pa.decimal256(value.type.precision, value.type.scale))


def _divided(operator: str, left: Value, right: Value, target: pa.DataType) -> Value:
    if operator == "/":
        return quotient(left, right, target, HALF_AWAY)
    found = small_remainder(left, right, target)
    if found is not None:
        return found
    return by_value(_by_nonzero(EXACT.remainder, target.scale, HALF_AWAY), target, left, right)


def quotient(left: Value, right: Value, target: pa.DataType, mode: str) -> Value:
    """``left / right`` of two decimals, rounded once to the digits of the target."""
    found = long_division(left, right, target, mode)
    if found is not None:
        return found
    return by_value(_by_nonzero(EXACT.divide, target.scale, mode), target, left, right)


def _by_nonzero(
    compute: Callable[[Decimal, Decimal], Decimal], scale: int, mode: str
) -> Callable[[Decimal, Decimal], Decimal]:
    unit = Decimal(1).scaleb(-scale)

    def each(dividend: Decimal, divisor: Decimal) -> Decimal:
        if not divisor:
            raise Uncomputable("division by zero")
        return compute(dividend, divisor).quantize(unit, mode, EXACT)

    return each


def as_decimal_of(value: Value, target: pa.DataType) -> Value:
    """The cast ``decimal(x)``: from a number, a text or a bool."""
    if pa.types.is_boolean(value.type):
        value = pc.cast(value, pa.int64())
    if pa.types.is_decimal(value.type) or pa.types.is_integer(value.type):
        return rescaled(to_decimal(value), target)
    text = pc.cast(value, pa.string()) if pa.types.is_floating(value.type) else value
    unit = Decimal(1).scaleb(-target.scale)
    return by_value(lambda each: _parsed(each, unit), target, text)


def _parsed(text: str, unit: Decimal) -> Decimal:
    try:
        found = EXACT.create_decimal(text)
        if found.is_finite():
            return EXACT.quantize(found, unit)
    except decimal.InvalidOperation:
        pass
    raise Uncomputable("this is not a decimal number, or not one of that size")
