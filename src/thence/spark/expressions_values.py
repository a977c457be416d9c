"""Values of expressions as Spark columns, where the two are equal in every row.

Only what is sure is translated: a column here has the very value that the engine computes, null
included, in every row in which the engine computes one. Nothing here can make a query fail. In rows
in which the engine refuses to compute (an int that does not fit into 64 bits), the column is null,
and :attr:`Value.fails` is true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from thence.logic.conjunct import Column as Leaf
from thence.logic.expr import Call, Const, Expr, TimeOf
from thence.logic.widening import MOST_DIGITS, as_decimal, decimal_type, exact_digits
from thence.model.types import DURATION, FLOAT, INT, STRING, TIMESTAMP, Type
from thence.spark.types import nothing, spark_type

_LONGEST_LITERAL = 2**62
_LONGEST_TEXT = 2**31 - 1
_SIGNED_DIGITS = 34


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an expression.

    ``column`` has the Spark type that belongs to ``type``; ``micros`` are the microseconds of a
    time or duration. An attribute that is a duration has no ``micros``, and a computed duration has
    no ``column``, since Spark has no cheap way from one to the other. ``constant`` is what a
    literal holds.
    """

    type: Type
    column: Column | None = None
    micros: Column | None = None
    fails: Column | None = None
    constant: Any = None


@dataclass(frozen=True, slots=True)
class Row:
    """What an event's expressions read: attributes, and start and end in microseconds."""

    attributes: Mapping[str, Column]
    types: Mapping[str, Type]
    start: Column
    end: Column

    def value(self, expr: Expr) -> Value | None:
        """The value of an expression; None where Spark may see it differently than the engine."""
        if isinstance(expr, Const):
            return _literal(expr)
        if isinstance(expr, Leaf):
            column, kind = self.attributes.get(expr.name), self.types[expr.name]
            if column is None:
                return None
            return Value(kind, column, F.unix_micros(column) if kind == TIMESTAMP else None)
        if isinstance(expr, TimeOf):
            return _instant(self.start if expr.which == "start" else self.end)
        if not isinstance(expr, Call) or expr.function not in _FUNCTIONS:
            return None
        found = []
        for arg in expr.args:
            value = self.value(arg)
            if value is None or value.type.kind == "null":
                return None
            found.append(value)
        result = _FUNCTIONS[expr.function](*found)
        return None if result is None else replace(result, fails=any_of(result, *found))

    def type_of(self, leaf: Expr) -> Type:
        return self.types[leaf.name] if isinstance(leaf, Leaf) else TIMESTAMP


def any_of(*values: Value) -> Column | None:
    """Where one of some values fails; None where none ever does."""
    fails = [value.fails for value in values if value.fails is not None]
    return reduce(operator.or_, fails) if fails else None


def _literal(const: Const) -> Value:
    kind, value = const.type, const.value
    if value is None:
        return Value(kind, None if kind.kind == "null" else nothing(kind))
    if kind == TIMESTAMP:
        micros = F.lit(value).cast("bigint")
        return Value(kind, F.timestamp_micros(micros), micros, constant=value)
    if kind == DURATION:
        short = abs(value) <= _LONGEST_LITERAL
        interval = F.lit(timedelta(microseconds=value)) if short else None
        return Value(kind, interval, F.lit(value).cast("bigint"), constant=value)
    if kind.kind == "decimal":
        # As text, because a Python decimal with an exponent is a literal of another type.
        return Value(kind, F.lit(f"{value:f}").cast(spark_type(kind)), constant=value)
    if kind == INT:
        return Value(kind, F.lit(value).cast("bigint"), constant=value)
    if kind == FLOAT:
        return Value(kind, F.lit(float(value)), constant=float(value))
    return Value(kind, F.lit(value), constant=value)


def _instant(micros: Column) -> Value:
    return Value(TIMESTAMP, F.timestamp_micros(micros), micros)


def as_float(value: Value) -> Column | None:
    """A number as the float that is nearest to it."""
    if value.column is None or not value.type.numeric:
        return None
    if value.constant is not None:
        return F.lit(float(value.constant))
    return value.column if value.type == FLOAT else value.column.cast("double")


# -- arithmetic


Operator = Callable[[Column, Column], Column]


def _arithmetic(
    name: str, floats: Operator | None, whole: Operator, times: Mapping[Any, Type]
) -> Any:
    """An operator on numbers; ``times`` says which times and durations it takes, and gives."""

    def run(left: Value, right: Value) -> Value | None:
        kinds = (left.type, right.type)
        if kinds == (INT, INT):
            assert left.column is not None and right.column is not None
            return _checked(INT, whole, left.column, right.column)
        if kinds in times:
            if left.micros is None or right.micros is None:
                return None
            return _checked(times[kinds], whole, left.micros, right.micros)
        if floats is None:
            return None
        if FLOAT not in kinds:
            return _exact(name, floats, left, right)
        one, two = as_float(left), as_float(right)
        return None if one is None or two is None else Value(FLOAT, floats(one, two))

    return run


def exact_type(name: str, left: Type, right: Type) -> Type | None:
    """The type of ``+``, ``-`` or ``*`` of ints and decimals, where no digit can be lost: Spark and
    the engine give up digits beyond the 38th in ways of their own."""
    if not {left.kind, right.kind} <= {"int", "decimal"} or name not in ("+", "-", "*"):
        return None
    precision, scale = exact_digits(name, as_decimal(left), as_decimal(right))
    return decimal_type(precision, scale) if precision <= MOST_DIGITS else None


def _exact(name: str, compute: Operator, left: Value, right: Value) -> Value | None:
    """Arithmetic of decimals, which never fails where no digit can be lost."""
    gives = exact_type(name, left.type, right.type)
    if gives is None or left.column is None or right.column is None:
        return None
    one, two = (v.column.cast(spark_type(as_decimal(v.type))) for v in (left, right))  # type: ignore[union-attr]
    return Value(gives, compute(one, two).cast(spark_type(gives)))


def _checked(kind: Type, compute: Operator, left: Column, right: Column) -> Value:
    """A function that gives null where the engine fails."""
    found = compute(left, right)
    fails = found.isNull() & left.isNotNull() & right.isNotNull()
    if kind == INT:
        return Value(INT, found, fails=fails)
    value = _instant(found) if kind == TIMESTAMP else Value(DURATION, micros=found)
    return replace(value, fails=fails)


def _divided(left: Value, right: Value) -> Value | None:
    """By a literal that is not zero: Spark takes division by zero for an error."""
    if not right.constant:
        return None
    if left.type == right.type == DURATION and left.micros is not None:
        return Value(FLOAT, left.micros.cast("double") / F.lit(float(right.constant)))
    kinds = (left.type, right.type)
    if FLOAT not in kinds and kinds != (INT, INT):
        return None
    one, two = as_float(left), as_float(right)
    return None if one is None or two is None else Value(FLOAT, one / two)


def _negated(value: Value) -> Value | None:
    if value.column is None:
        return None
    if value.type == INT:
        return _checked(INT, F.try_subtract, F.lit(0).cast("bigint"), value.column)
    return Value(value.type, -value.column) if _keeps_sign_exact(value.type) else None


def _absolute(value: Value) -> Value | None:
    if not _keeps_sign_exact(value.type) or value.column is None:
        return None
    return Value(value.type, F.abs(value.column))


def _keeps_sign_exact(kind: Type) -> bool:
    """Whether Spark turns the sign of such a number and nothing else: it rounds decimals with more
    than 34 digits."""
    return kind == FLOAT or (kind.kind == "decimal" and kind.precision <= _SIGNED_DIGITS)


# -- texts and choices


def _of_text(gives: Type, compute: Callable[[Column], Column]) -> Any:
    def run(text: Value) -> Value | None:
        return Value(gives, compute(text.column)) if text.column is not None else None

    return run


def _substring(text: Value, start: Value, length: Value | None = None) -> Value | None:
    """From a literal position on; Spark counts positions before the first in its own way."""
    first = start.constant
    size = _LONGEST_TEXT if length is None else length.constant
    if text.column is None or first is None or size is None:
        return None
    if not 1 <= first <= _LONGEST_TEXT or not 0 <= size <= _LONGEST_TEXT:
        return None
    return Value(STRING, F.substring(text.column, first, min(size, _LONGEST_TEXT - first)))


def _joined(*texts: Value) -> Value | None:
    columns = [text.column for text in texts if text.column is not None]
    return Value(STRING, F.concat(*columns)) if len(columns) == len(texts) else None


def _coalesced(*values: Value) -> Value | None:
    kind = values[0].type
    columns = [value.column for value in values if value.column is not None]
    if len(columns) < len(values) or any(value.type != kind for value in values):
        return None
    found = F.coalesce(*columns)
    return Value(kind, found, F.unix_micros(found) if kind == TIMESTAMP else None)


def _length(text: Column) -> Column:
    return F.length(text).cast("bigint")


_FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "+": _arithmetic(
        "+",
        operator.add,
        F.try_add,
        {
            (TIMESTAMP, DURATION): TIMESTAMP,
            (DURATION, TIMESTAMP): TIMESTAMP,
            (DURATION, DURATION): DURATION,
        },
    ),
    "-": _arithmetic(
        "-",
        operator.sub,
        F.try_subtract,
        {
            (TIMESTAMP, DURATION): TIMESTAMP,
            (TIMESTAMP, TIMESTAMP): DURATION,
            (DURATION, DURATION): DURATION,
        },
    ),
    "*": _arithmetic("*", operator.mul, F.try_multiply, {}),
    "%": _arithmetic("%", None, F.try_mod, {}),
    "/": _divided,
    "neg": _negated,
    "abs": _absolute,
    "length": _of_text(INT, _length),
    "trim": _of_text(STRING, F.trim),
    "ltrim": _of_text(STRING, F.ltrim),
    "rtrim": _of_text(STRING, F.rtrim),
    "substring": _substring,
    "concat": _joined,
    "||": _joined,
    "coalesce": _coalesced,
}
