"""What an expression is worth: the values half of the oracle, in plain Python values.

Numbers, strings and booleans are Python's own, a timestamp is an aware ``datetime``, a duration a
``timedelta``, a decimal a ``Decimal``, a list a ``tuple`` and null is ``None``. Python's operators
on these are, type for type, the operators of the language, so nothing here needs to know types.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import oracle_geometry

from thence.logic.expr import Call, Const, Expr

NAN = float("nan")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def instant(microseconds: int) -> datetime:
    """Microseconds since 1970 as a timestamp."""
    return EPOCH + timedelta(microseconds=microseconds)


def canonical(value: Any) -> Any:
    """The one representative of all values that are *identical* to this one.

    Identity is what set semantics goes by: null is null, NaN is NaN, and -0.0 is 0.0. (Equality,
    which joins and conditions go by, is another matter: null and NaN equal nothing.)
    """
    if isinstance(value, float):
        return NAN if math.isnan(value) else value + 0.0
    if isinstance(value, (list, tuple)):
        return tuple(canonical(item) for item in value)
    return value


def order(value: Any) -> tuple[Any, ...]:
    """A sort key for any value: null first, then by value, and NaN after every number."""
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return (1, tuple(order(item) for item in value))
    return (2,) if value is NAN else (1, value)


def evaluate(expr: Expr, leaf: Callable[[Expr], Any]) -> Any:
    """The value of an expression, given the value of each leaf that is not a constant."""
    if isinstance(expr, Const):
        return constant(expr)
    if not isinstance(expr, Call):
        return leaf(expr)
    args = [evaluate(arg, leaf) for arg in expr.args]
    if expr.function in WITH_NULLS:
        return canonical(WITH_NULLS[expr.function](*args))
    if any(arg is None for arg in args):
        return None
    return canonical(STRICT[expr.function](*args))


def constant(const: Const) -> Any:
    if const.value is None:
        return None
    if const.type.kind == "timestamp":
        return instant(const.value)
    if const.type.kind == "duration":
        return timedelta(microseconds=const.value)
    return canonical(const.value)


# --- three-valued logic ---------------------------------------------------------------------------


def both(*args: bool | None) -> bool | None:
    return False if False in args else None if None in args else True


def either(*args: bool | None) -> bool | None:
    return True if True in args else None if None in args else False


def equal(a: Any, b: Any) -> bool | None:
    """``a = b`` as a condition: null if either is null; NaN equals nothing."""
    if a is None or b is None:
        return None
    a, b = together(a, b)
    return bool(a == b) and a is not NAN


def identical(a: Any, b: Any) -> bool:
    """Whether two values are one and the same; never null."""
    if a is None or b is None:
        return a is b
    a, b = together(a, b)
    return a is b or bool(a == b)


def member(x: Any, *items: Any) -> bool | None:
    return either(*(equal(x, item) for item in items))


# --- arithmetic -----------------------------------------------------------------------------------


def fits(value: Any) -> Any:
    """An int result must fit 64 bits; there is no silent wrap-around."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(value)
    return value


def arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        with localcontext(prec=100):
            return fits(function(*together(a, b)))

    return run


def times(a: Any, b: Any) -> Any:
    """A product; that of a duration and a decimal is rounded to a microsecond, halves to even."""
    if isinstance(a, timedelta) and isinstance(b, Decimal):
        return timedelta(microseconds=round(Decimal(a // MICROSECOND) * b))
    return times(b, a) if isinstance(b, timedelta) and isinstance(a, Decimal) else a * b


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """A decimal meets a float as a float; every other mixture Python knows how to handle."""
    if isinstance(a, float) and isinstance(b, Decimal):
        return a, float(b)
    if isinstance(a, Decimal) and isinstance(b, float):
        return float(a), b
    return a, b


def divide(a: Any, b: Any) -> Any:
    """True division; a float divided by zero is what IEEE 754 says."""
    a, b = together(a, b)
    if isinstance(a, timedelta) and isinstance(b, Decimal):
        return timedelta(microseconds=round(Decimal(a // MICROSECOND) / b))
    if isinstance(a, (timedelta, Decimal)) or isinstance(b, Decimal):
        return a / b
    a, b = float(a), float(b)
    if b:
        return a / b
    return NAN if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def remainder(a: Any, b: Any) -> Any:
    """The remainder takes the sign of the dividend, as in SQL."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = together(a, b)
        return NAN if b == 0 or math.isinf(a) else math.fmod(a, b)
    return a - b * int(a / b) if isinstance(a, Decimal) else int(math.copysign(abs(a) % abs(b), a))


def compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: test(*together(a, b))


# --- functions ------------------------------------------------------------------------------------


def like(text: str, pattern: str) -> bool:
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def nearest(x: Any) -> Any:
    """The whole number that is nearest; from halves, the one away from zero."""
    return x if isinstance(x, int) else Decimal(x).quantize(Decimal(1), ROUND_HALF_UP)


def choose(condition: bool | None, then: Any, otherwise: Any) -> Any:
    return then if condition is True else otherwise


def substring(text: str, start: int, length: int | None = None) -> str:
    """Characters from ``start``, counted from 1; what lies outside the text is not there."""
    end = len(text) if length is None else max(start - 1 + length, 0)
    return text[max(start - 1, 0) : end]


def known(*args: Any) -> list[Any]:
    return [arg for arg in args if arg is not None]


WITH_NULLS: dict[str, Callable[..., Any]] = {
    "and": both,
    "or": either,
    "in": member,
    "=": equal,
    "is_null": lambda x: x is None,
    "is distinct from": lambda a, b: not identical(a, b),
    "greatest": lambda *args: max(known(*args), key=order, default=None),
    "least": lambda *args: min(known(*args), key=order, default=None),
    "coalesce": lambda *args: next(iter(known(*args)), None),
    "nullif": lambda a, b: None if equal(a, b) is True else a,
    "if": choose,
}

STRICT: dict[str, Callable[..., Any]] = {
    "not": operator.not_,
    "!=": compare(lambda a, b: a is NAN or a != b),
    "<": compare(operator.lt),
    "<=": compare(operator.le),
    ">": compare(operator.gt),
    ">=": compare(operator.ge),
    "+": arithmetic(operator.add),
    "-": arithmetic(operator.sub),
    "*": arithmetic(times),
    "/": divide,
    "%": remainder,
    "neg": lambda x: fits(-x),
    "abs": lambda x: fits(abs(x)),
    "sign": lambda x: (x > 0) - (x < 0),
    "||": operator.add,
    "like": like,
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda s: s.strip(" "),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "matches": lambda s, pattern: re.search(pattern, s) is not None,
    "replace": str.replace,
    "substring": substring,
    "round": nearest,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else NAN,
    "power": lambda a, b: float(a) ** float(b),
    "distance": oracle_geometry.distance,
    "inside": oracle_geometry.inside,
    "floor": math.floor,
    "ceil": math.ceil,
    "year": lambda t: t.year,
    "month": lambda t: t.month,
    "day": lambda t: t.day,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "weekday": lambda t: t.isoweekday(),
    "size": len,
    "element": lambda items, i: items[i - 1] if 1 <= i <= len(items) else None,
}
