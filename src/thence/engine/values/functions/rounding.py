"""Decimals with fewer digits: rounding, and the division that it needs.

Arrow's own division of decimals is off by one in rare cases (20971519999999999999999999999999 by
10^14, for one), which spoils its rounding, too. Up to 18 digits, int64 arithmetic is exact and
fast; beyond that, Python's decimals are exact.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HALF_AWAY, TOWARDS_ZERO = decimal.ROUND_HALF_UP, decimal.ROUND_DOWN
FLOOR, CEILING = decimal.ROUND_FLOOR, decimal.ROUND_CEILING
HALF_EVEN = decimal.ROUND_HALF_EVEN

EXACT = decimal.Context(prec=200, rounding=HALF_AWAY)
_SMALL = 18


def rescaled(value: Any, target: Any) -> Any:
    """A decimal in another decimal type: rounded half away from zero, checked for fit."""
    if value.type == target:
        return value
    if value.type.scale > target.scale:
        return rounded(value, target.scale, HALF_AWAY, target)
    return pc.cast(value, target)


def rounded(value: Any, digits: int, mode: str, target: Any) -> Any:
    """Decimals with zeros beyond ``digits`` digits after the point, in the type ``target``.

    >>> cents = pa.array([Decimal("2.345"), None, Decimal("-2.345")])
    >>> rounded(cents, 2, HALF_AWAY, pa.decimal128(5, 2)).to_pylist()
    [Decimal('2.35'), None, Decimal('-2.35')]
    """
    if digits >= value.type.scale:
        return pc.cast(value, target)
    if value.type.precision <= _SMALL and digits >= 0 and not isinstance(value, pa.Scalar):
        return _round_small(value, digits, mode, target)
    unit = Decimal(1).scaleb(-digits)
    return by_value(lambda each: each.quantize(unit, mode, EXACT), target, value)


def _round_small(value: Any, digits: int, mode: str, target: Any) -> Any:
    kind = value.type
    given_up = kind.scale - digits
    units = value.view(pa.decimal128(kind.precision, 0)).cast(pa.int64())
    plain = pc.fill_null(units, 0).to_numpy()
    size = 10**given_up
    rest = np.fmod(plain, size)
    whole = (plain - rest) // size
    if mode == HALF_AWAY:
        whole = whole + np.sign(rest) * (np.abs(rest) >= size // 2)
    elif mode == FLOOR:
        whole = whole - (rest < 0)
    elif mode == CEILING:
        whole = whole + (rest > 0)
    found = pa.array(whole, mask=np.asarray(value.is_null())).cast(pa.decimal128(38, 0))
    return found.view(pa.decimal128(38, digits)).cast(target)


def by_value(compute: Callable[..., Decimal], target: Any, *values: Any) -> Any:
    """Compute decimals one by one, in Python; a null in any argument gives null."""
    rows = next((len(value) for value in values if not isinstance(value, pa.Scalar)), None)
    columns = [
        [value.as_py()] * (1 if rows is None else rows)
        if isinstance(value, pa.Scalar)
        else value.to_pylist()
        for value in values
    ]
    found = [
        None if any(each is None for each in row) else compute(*row)
        for row in zip(*columns, strict=True)
    ]
    result = pa.array(found, pa.decimal256(76, target.scale)).cast(target)
    return result[0] if rows is None else result
