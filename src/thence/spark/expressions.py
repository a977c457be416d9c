"""Conditions on one event as Spark filters, so that Spark drops rows before Python sees them.

The engine evaluates every condition again, so a filter may let too much pass. It must not drop what
the engine needs:

- a row for which the engine finds the condition true;
- a row on which the engine would fail, such as for an int that does not fit into 64 bits, unless a
  part of the condition that stands before it is not true there.

So a condition is translated from two sides: where it *may be true*, and where it *may be false*,
which is what ``not`` needs. Either may be unknown. Spark's view of floats differs (NaN equals
itself, and is greater than every number), and files know the smallest and the greatest value of a
column without regard to NaN; where that matters, NaN is asked for by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from thence.logic.expr import Call, Const, Expr, conjuncts
from thence.logic.functions import type_of
from thence.logic.widening import MOST_DIGITS, as_decimal
from thence.model.types import BOOL, FLOAT, INT, NULL, STRING, Type
from thence.spark.expressions_values import Row, Value, any_of, as_float, exact_type
from thence.spark.types import spark_type

_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a condition may be true, and where it may be false; None where that is unknown.

    It fails where ``fails`` is true, and nowhere else if ``sure``.
    """

    true: Column | None = None
    false: Column | None = None
    fails: Column | None = None
    sure: bool = True


def condition(
    expr: Expr,
    attributes: Mapping[str, Column],
    types: Mapping[str, Type],
    start: Column,
    end: Column,
) -> Column | None:
    """A filter that is true wherever the engine may find a condition true; None for all rows.

    ``attributes`` are columns of the declared ``types``; one that is left out is not looked at.
    ``start`` and ``end`` are in microseconds. The filter itself never fails.
    """
    row = Row(attributes, types, start, end)
    terms = []
    failed: Column | None = None
    for part in conjuncts(expr):
        found = Truth(sure=False) if _deep(part) else _truth(part, row)
        if not found.sure:
            break  # what stands behind must not spare the run an error
        failed = _either(failed, found.fails)
        if found.true is not None:
            terms.append(found.true if failed is None else found.true | failed)
    return reduce(operator.and_, terms) if terms else None


def _truth(expr: Expr, row: Row) -> Truth:
    if isinstance(expr, Call) and expr.function in _CONDITIONS:
        found = _CONDITIONS[expr.function](expr, row)
    else:
        found = _of_value(row.value(expr))
    return Truth(sure=_never_fails(expr, row)) if found is None else found


def _of_value(value: Value | None) -> Truth | None:
    """A literal or an attribute that is true or false itself."""
    if value is None or value.type not in (BOOL, NULL):
        return None
    return _never() if value.column is None else _exactly(value.column, value)


def _exactly(column: Column, *values: Value) -> Truth:
    """A condition that Spark sees as the engine does."""
    return Truth(column, ~column, any_of(*values))


def _never(*values: Value) -> Truth:
    """A condition that is null."""
    return Truth(F.lit(False), F.lit(False), any_of(*values))


# -- and, or, not


def _all(call: Call, row: Row) -> Truth | None:
    return _joined([_truth(part, row) for part in call.args])


def _any(call: Call, row: Row) -> Truth | None:
    return _turned(_joined([_turned(_truth(part, row)) for part in call.args]))


def _not(call: Call, row: Row) -> Truth | None:
    return _turned(_truth(call.args[0], row))


def _joined(parts: Iterable[Truth | None]) -> Truth | None:
    """Conditions that all must hold. One that may fail anywhere makes the whole unknown."""
    known = []
    for part in parts:
        if part is None or not part.sure:
            return None
        known.append(part)
    true = [part.true for part in known if part.true is not None]
    false = [part.false for part in known if part.false is not None]
    return Truth(
        reduce(operator.and_, true) if true else None,
        reduce(operator.or_, false) if len(false) == len(known) else None,
        reduce(_either, (part.fails for part in known), None),
    )


def _turned(found: Truth | None) -> Truth | None:
    return found and Truth(found.false, found.true, found.fails, found.sure)


def _either(one: Column | None, two: Column | None) -> Column | None:
    if one is None or two is None:
        return two if one is None else one
    return one | two


# -- comparisons


Operator = Callable[[Column, Column], Column]
_OPERATORS: dict[str, Operator] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _comparison(call: Call, row: Row) -> Truth | None:
    left, right = (row.value(arg) for arg in call.args)
    return None if left is None or right is None else _compared(call.function, left, right)


def _compared(name: str, left: Value, right: Value) -> Truth | None:
    if NULL in (left.type, right.type):
        return _never(left, right)
    if FLOAT in (left.type, right.type):
        return _compared_floats(name, left, right)
    columns = _same_form(left, right)
    return None if columns is None else _exactly(_OPERATORS[name](*columns), left, right)


def _same_form(left: Value, right: Value) -> tuple[Column, Column] | None:
    """Two values that are no floats, as columns that compare exactly."""
    one, two = left.column, right.column
    if left.type == right.type:
        if one is not None and two is not None:
            return one, two
        if left.micros is not None and right.micros is not None:
            return left.micros, right.micros
        return None
    if one is None or two is None:
        return None
    common = _exact_decimal(left.type, right.type)
    return None if common is None else (one.cast(spark_type(common)), two.cast(spark_type(common)))


def _exact_decimal(left: Type, right: Type) -> Type | None:
    """The decimal type that holds two ints or decimals exactly, where there is one."""
    if not {left.kind, right.kind} <= {"int", "decimal"}:
        return None
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    digits = max(one.precision - one.scale, two.precision - two.scale) + scale
    return Type("decimal", precision=digits, scale=scale) if digits <= MOST_DIGITS else None


def _compared_floats(name: str, left: Value, right: Value) -> Truth | None:
    """For the engine, nothing is true of NaN but that it is unequal to everything."""
    one, two = as_float(left), as_float(right)
    if one is None or two is None:
        return None
    nan: Column | None = None
    for value, column in ((left, one), (right, two)):
        if value.type == FLOAT and value.constant is None:
            nan = _either(nan, F.isnan(column))
    true = _on_numbers(name, left, right, one, two)
    false = _on_numbers(_OPPOSITE[name], left, right, one, two)
    if nan is not None:
        if name == "!=":
            true = true | nan
        else:
            false = false | nan
    return Truth(true, false, any_of(left, right))


def _on_numbers(name: str, left: Value, right: Value, one: Column, two: Column) -> Column:
    """A comparison that holds for all numbers for which the engine's does.

    A source of data may tell the two zeros apart, so that the outer one of them is asked for.
    """
    if right.constant == 0:
        low, high = F.lit(-0.0), F.lit(0.0)
        if name == "=":
            return (one >= low) & (one <= high)
        return _OPERATORS[name](one, low if name in (">=", "<") else high)
    if left.constant == 0:
        return _on_numbers(_MIRRORED[name], right, left, two, one)
    return _OPERATORS[name](one, two)


_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _in(call: Call, row: Row) -> Truth | None:
    """``x in (a, b)`` is ``x = a or x = b``; for plain literals Spark has a form of its own."""
    value, *items = (row.value(arg) for arg in call.args)
    known = [item for item in items if item is not None]
    if value is None or len(known) < len(items):
        return None
    columns = [item.column for item in known if item.constant is not None]
    plain = value.type in (INT, STRING) and all(item.type in (value.type, NULL) for item in known)
    if plain and columns and all(isinstance(arg, Const) for arg in call.args[1:]):
        assert value.column is not None
        among = value.column.isin(*columns)
        nulls = len(columns) < len(known)
        return Truth(among, F.lit(False) if nulls else ~among, any_of(value))
    return _turned(_joined([_turned(_compared("=", value, item)) for item in known]))


def _distinct(call: Call, row: Row) -> Truth | None:
    """Identity, of anything but floats, whose zeros a source of data may tell apart."""
    left, right = (row.value(arg) for arg in call.args)
    if left is None or right is None or FLOAT in (left.type, right.type):
        return None
    if NULL in (left.type, right.type):
        return _turned(_is_null(Call("is_null", call.args[:: -1 if left.type == NULL else 1]), row))
    columns = _same_form(left, right)
    if columns is None:
        return None
    same = columns[0].eqNullSafe(columns[1])
    return Truth(~same, same, any_of(left, right))


def _is_null(call: Call, row: Row) -> Truth | None:
    value = row.value(call.args[0])
    if value is None:
        return None
    held = value.column if value.column is not None else value.micros
    if held is None:
        return Truth(F.lit(True), F.lit(False))
    return Truth(held.isNull(), held.isNotNull(), any_of(value))


# -- texts


def _affix(test: Callable[[Column, str], Column]) -> Callable[[Call, Row], Truth | None]:
    """A test of a text against a literal."""

    def run(call: Call, row: Row) -> Truth | None:
        text, part = (row.value(arg) for arg in call.args)
        if text is None or part is None or text.column is None or part.constant is None:
            return None
        return _exactly(test(text.column, part.constant), text)

    return run


def _like(call: Call, row: Row) -> Truth | None:
    """Patterns of which the only special sign is ``%``: what stands between must be there."""
    text, pattern = (row.value(arg) for arg in call.args)
    if text is None or pattern is None or text.column is None or pattern.constant is None:
        return None
    if set("_\\") & set(pattern.constant):
        return None
    column = text.column
    first, *others = pattern.constant.split("%")
    if not others:
        return _exactly(column == first, text)
    *middle, last = others
    tests = [column.startswith(first)] if first else []
    tests += [column.endswith(last)] if last else []
    tests += [column.contains(part) for part in middle if part]
    if not tests:
        return _exactly(column.isNotNull() | F.lit(None).cast("boolean"), text)
    if len(tests) == 1:
        return _exactly(tests[0], text)
    # Each is needed; but all together may hold where the parts overlap, or come in another order.
    return Truth(reduce(operator.and_, tests), None, any_of(text))


_CONDITIONS: dict[str, Callable[[Call, Row], Truth | None]] = {
    "and": _all,
    "or": _any,
    "not": _not,
    **dict.fromkeys(_OPERATORS, _comparison),
    "in": _in,
    "is_null": _is_null,
    "is distinct from": _distinct,
    "starts_with": _affix(lambda column, part: column.startswith(part)),
    "ends_with": _affix(lambda column, part: column.endswith(part)),
    "like": _like,
}


# -- what cannot fail

_TOTAL = frozenset(
    {
        *("=", "!=", "<", "<=", ">", ">=", "and", "or", "not", "is_null", "in", "like"),
        "is distinct from",
        *("starts_with", "ends_with", "lower", "upper", "trim", "ltrim", "rtrim", "length"),
        *("||", "concat", "replace", "coalesce", "nullif", "if", "greatest", "least", "size"),
        *("element", "sqrt", "exp", "ln", "log10"),
        *("year", "month", "day", "hour", "minute", "second", "weekday"),
    }
)
_TOTAL_ON_DECIMALS = frozenset(
    {
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
        "not",
        "is_null",
        "is distinct from",
        "neg",
        "abs",
    }
)
_TOTAL_ON_FLOATS = frozenset({"+", "-", "*", "/", "neg", "abs", "sign", "floor", "ceil"})


def _never_fails(expr: Expr, row: Row) -> bool:
    """Whether the engine can compute an expression in every row, as far as that is obvious."""
    if not isinstance(expr, Call):
        return True
    kinds = {type_of(arg, row.type_of).kind for arg in expr.args}
    total = expr.function in (_TOTAL if "decimal" not in kinds else _TOTAL_ON_DECIMALS)
    if expr.function in _TOTAL_ON_FLOATS and type_of(expr, row.type_of) == FLOAT:
        total = kinds <= {"int", "float", "decimal"}
    elif len(expr.args) == 2 and "decimal" in kinds:
        left, right = (type_of(arg, row.type_of) for arg in expr.args)
        total = total or exact_type(expr.function, left, right) is not None
    return total and all(_never_fails(arg, row) for arg in expr.args)


def _deep(expr: Expr) -> bool:
    """Whether an expression nests so deep that neither Python nor Spark should walk into it."""
    level: list[Expr] = [expr]
    for _ in range(_DEEPEST):
        level = [arg for node in level if isinstance(node, Call) for arg in node.args]
        if not level:
            return False
    return True
