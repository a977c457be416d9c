"""Quotients of decimals that are small enough for int64, digit by digit for all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.conversions import Uncomputable
from thence.engine.values.functions.rounding import HALF_AWAY, HALF_EVEN

_ROOM = 2**63 - 1
_MOST_DIGITS = 17
"""Of a quotient beyond the whole part, so that 19 digits and these make up a decimal."""

Ints = npt.NDArray[np.int64]


def long_division(left: Any, right: Any, target: pa.DataType, mode: str) -> Any | None:
    """``left / right``, rounded half away from zero or half to even; None where the numbers may be
    too large, or nothing is a column.

    >>> from decimal import Decimal
    >>> cents = pa.array([Decimal("1.00"), Decimal("-2.50")])
    >>> long_division(cents, pa.scalar(Decimal("0.3")), pa.decimal128(8, 4), HALF_AWAY).to_pylist()
    [Decimal('3.3333'), Decimal('-8.3333')]
    """
    if mode not in (HALF_AWAY, HALF_EVEN) or all(isinstance(v, pa.Scalar) for v in (left, right)):
        return None
    dividend, divisor = _units(left), _units(right)
    if dividend is None or divisor is None:
        return None
    (over, over_scale), (under, under_scale) = dividend, divisor
    digits = target.scale - over_scale + under_scale
    if not 0 <= digits <= _MOST_DIGITS:
        return None
    known = _known(left, right, under)
    under = np.where(known, under, 1)
    size = np.abs(under)
    largest = int(size.max()) if size.size else 1
    whole, rest = np.divmod(np.abs(over), size)
    fraction = np.zeros_like(whole)
    missing = digits
    while missing:
        step = min(missing, _steps(largest))
        if step == 0:
            return None
        found, rest = np.divmod(rest * 10**step, size)
        fraction = fraction * 10**step + found
        missing -= step
    last = fraction if digits else whole
    half = rest >= size - rest if mode == HALF_AWAY else _beyond_half(rest, size, last)
    fraction = fraction + half
    carried = fraction // 10**digits
    whole, fraction = whole + carried, fraction - carried * 10**digits
    sign = np.where((over < 0) != (under < 0), -1, 1)
    unknown = ~np.broadcast_to(known, whole.shape)
    high, low = (
        pa.array(part * sign, mask=unknown).cast(pa.decimal256(19, 0)) for part in (whole, fraction)
    )
    found = pc.add(pc.multiply(high, pa.scalar(10**digits, pa.decimal256(digits + 1, 0))), low)
    return found.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, target.scale)).cast(target)


def small_remainder(left: Any, right: Any, target: pa.DataType) -> Any | None:
    """``left % right``, with the sign of ``left``; None where the numbers may be too large, or
    nothing is a column.

    >>> from decimal import Decimal
    >>> column = pa.array([Decimal("1.00"), Decimal("-2.50")])
    >>> small_remainder(column, pa.scalar(Decimal("0.3")), pa.decimal128(3, 2)).to_pylist()
    [Decimal('0.10'), Decimal('-0.10')]
    """
    if all(isinstance(value, pa.Scalar) for value in (left, right)):
        return None
    dividend, divisor = _units(left), _units(right)
    if dividend is None or divisor is None:
        return None
    known = _known(left, right, divisor[0])
    scaled = []
    for units, scale in (dividend, divisor):
        factor = 10 ** (target.scale - scale)
        if int(np.abs(units).max(initial=1)) * factor > _ROOM:
            return None
        scaled.append(units * factor)
    rest = np.fmod(scaled[0], np.where(known, scaled[1], 1))
    unknown = ~np.broadcast_to(known, rest.shape)
    found = pa.array(rest, mask=unknown).cast(pa.decimal128(19, 0))
    return found.view(pa.decimal128(19, target.scale)).cast(target)


def _known(left: Any, right: Any, divisor: Ints) -> npt.NDArray[np.bool_]:
    """The rows in which there is something to divide; by zero, there is no result."""
    valid = [
        np.array([value.is_valid]) if isinstance(value, pa.Scalar) else np.asarray(value.is_valid())
        for value in (left, right)
    ]
    known: npt.NDArray[np.bool_] = valid[0] & valid[1]
    if bool(np.any(known & (divisor == 0))):
        raise Uncomputable("division by zero")
    return known


def _beyond_half(rest: Ints, size: Ints, last: Ints) -> npt.NDArray[np.bool_]:
    other = size - rest
    beyond: npt.NDArray[np.bool_] = (rest > other) | ((rest == other) & (last % 2 == 1))
    return beyond


def _steps(largest: int) -> int:
    """How many digits can be brought down at once."""
    return len(str(_ROOM // largest)) - 1


def _units(value: Any) -> tuple[Ints, int] | None:
    """The digits of a decimal as whole numbers, and how many of them stand after the point."""
    scale = value.type.scale
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        if number is None:
            return np.zeros(1, dtype=np.int64), scale
        digits = int(number.scaleb(scale))
        while scale and digits % 10 == 0:
            digits, scale = digits // 10, scale - 1
        return (np.array([digits]), scale) if abs(digits) < _ROOM else None
    plain = value.view(pa.decimal128(value.type.precision, 0))
    if value.type.precision > 18:
        span = pc.min_max(plain).as_py()
        if max(-(span["min"] or 0), span["max"] or 0) >= _ROOM:
            return None
    return pc.fill_null(plain.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), scale
