"""Which type two numbers meet in, and how many digits decimal arithmetic keeps.

With ``a`` of type ``decimal(p1, s1)`` and ``b`` of type ``decimal(p2, s2)``:

=========== ===================================== ===========================
operation   precision                             scale
=========== ===================================== ===========================
``a + b``   max(p1-s1, p2-s2) + scale + 1         max(s1, s2)
``a - b``   the same                              max(s1, s2)
``a * b``   p1 + p2 + 1                           s1 + s2
``a / b``   p1 - s1 + s2 + scale                  max(16, s1 + p2 - s2 + 1)
``a % b``   min(p1-s1, p2-s2) + scale             max(s1, s2)
a or b      max(p1-s1, p2-s2) + scale             max(s1, s2)
=========== ===================================== ===========================

A precision above 38 is capped: the result is ``decimal(38, s)``, where digits after the point are
given up first, down to 6 of them (or the scale, where that is less). Digits that are given up are
rounded, half away from zero; a value that still does not fit is an error when it occurs. An int
counts as ``decimal(19, 0)``, a literal with a point as many digits as are written; with a float,
everything is a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from thence.model.types import FLOAT, NULL, Type

MOST_DIGITS = 38
_KEPT_AFTER_POINT = 6
_LEAST_OF_QUOTIENT = 16
"""Digits after the point of a quotient: no fewer than a float would have."""


def decimal_type(precision: int, scale: int) -> Type:
    """A decimal type, capped at 38 digits as the table above says.

    >>> str(decimal_type(20, 4)), str(decimal_type(56, 18))
    ('decimal(20, 4)', 'decimal(38, 6)')
    """
    if precision > MOST_DIGITS:
        before_point = precision - scale
        scale = max(MOST_DIGITS - before_point, min(scale, _KEPT_AFTER_POINT))
        precision = MOST_DIGITS
    return Type("decimal", precision=precision, scale=scale)


def literal_type(value: Decimal) -> Type | None:
    """The type of a decimal literal, which has the digits that are written; None for too many.

    >>> str(literal_type(Decimal("1.10"))), str(literal_type(Decimal("-0.05")))
    ('decimal(3, 2)', 'decimal(2, 2)')
    """
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    scale = len(fraction)
    precision = max(len(whole.lstrip("0")) + scale, 1)
    return Type("decimal", precision=precision, scale=scale) if precision <= MOST_DIGITS else None


def rounded_decimal(number: Type) -> Type:
    """The type of a rounded decimal: 9.99 becomes 10.00, so it may need one digit more."""
    return Type("decimal", precision=min(MOST_DIGITS, number.precision + 1), scale=number.scale)


def as_decimal(number: Type) -> Type:
    """The decimal type in which an int or a decimal is exact."""
    return Type("decimal", precision=19) if number.kind == "int" else number


def exact_digits(operator: str, left: Type, right: Type) -> tuple[int, int]:
    """Precision and scale of ``left operator right`` before capping."""
    before1, before2 = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if operator == "*":
        return left.precision + right.precision + 1, left.scale + right.scale
    if operator == "/":
        scale = max(_LEAST_OF_QUOTIENT, left.scale + right.precision - right.scale + 1)
        return before1 + right.scale + scale, scale
    if operator == "%":
        return max(1, min(before1, before2) + scale), scale
    return max(before1, before2) + scale + 1, scale


def arithmetic_decimal(operator: str, left: Type, right: Type) -> Type:
    """The type of ``left operator right`` for two decimals.

    >>> price = Type("decimal", precision=18, scale=6)
    >>> str(arithmetic_decimal("*", price, price))
    'decimal(37, 12)'
    """
    return decimal_type(*exact_digits(operator, left, right))


def _meet(left: Type, right: Type) -> Type | None:
    if left == right or right.kind == "null":
        return left
    if left.kind == "null":
        return right
    if left.numeric and right.numeric:
        if "float" in (left.kind, right.kind):
            return FLOAT
        one, two = as_decimal(left), as_decimal(right)
        scale = max(one.scale, two.scale)
        before_point = max(one.precision - one.scale, two.precision - two.scale)
        return decimal_type(before_point + scale, scale)
    return None


def united(left: Type, right: Type) -> Type | None:
    """The type of a column or variable to which different rules or branches give values of two
    types, if there is one: decimals of any digits are one kind of number, and become floats beside
    floats. An int is another kind.

    >>> str(united(Type("decimal", precision=1, scale=1), Type("decimal", precision=4, scale=2)))
    'decimal(4, 2)'
    """
    if left == right:
        return left
    if {left.kind, right.kind} <= {"decimal", "float"}:
        return _meet(left, right)
    return None


def common_type(types: Sequence[Type]) -> Type | None:
    """The type in which values of several types can be compared or chosen from, if there is one.

    >>> from thence.model.types import INT, STRING
    >>> str(common_type([INT, NULL, FLOAT])), common_type([INT, STRING])
    ('float', None)
    """
    found: Type | None = NULL
    for each in types:
        found = None if found is None else _meet(found, each)
    return found
