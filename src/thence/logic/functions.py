"""Operators, functions and aggregates: their names, what they take, what they give.

Two tables: the columnar form of each entry of :data:`FUNCTIONS` stands under the same name in
``engine/values/functions``, that of each entry of :data:`AGGREGATES` in ``engine/aggregates``.
Types are inferred from the leaves up by :func:`type_of`.

``null`` adapts: the types of the other arguments decide. Where nothing else decides, as in
``null + 1``, the result has the type ``null`` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from thence.logic import signatures as sig
from thence.logic.expr import PREVIOUS, Call, Const, Expr
from thence.logic.signatures import Mismatch, Signature
from thence.model.errors import ThenceError
from thence.model.shapes import shape_problem
from thence.model.source import Span
from thence.model.suggestions import did_you_mean
from thence.model.time import parse_duration, parse_timestamp
from thence.model.types import BOOL, FLOAT, INT, STRING, TIMESTAMP, Type, list_of

TRUNCATION_UNITS = (
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
    "microsecond",
)  # fmt: skip
MOST_NESTED = 150


class TypeProblem(ThenceError):
    """An expression that has no type: what is wrong, which text it is about, what to write."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function: how many arguments, and the type that it gives for theirs."""

    name: str
    usage: str
    least: int
    most: int | None
    result: Signature
    literals: Callable[[Call], Type | None] | None = None
    """Looks at literal arguments: refuses bad ones, and may say a more exact result type."""


def type_of(expr: Expr, leaf: Callable[[Expr], Type]) -> Type:
    """The type of an expression; ``leaf`` gives those of leaves that are not literals.

    Raises :class:`TypeProblem` where there is none.

    >>> from thence.logic.expr import Var
    >>> str(type_of(Call("/", (Var("x"), Const(2, INT))), lambda leaf: INT))
    'float'
    """
    return _type_of(expr, leaf, 0)


def _type_of(expr: Expr, leaf: Callable[[Expr], Type], depth: int) -> Type:
    # Operators nest to the left, so a long row of them is a loop here and no recursion.
    spine: list[Call] = []
    node = expr
    while isinstance(node, Call):
        spine.append(node)
        if not node.args:
            raise _arity_problem(node)
        node = node.args[0]
    found = node.type if isinstance(node, Const) else leaf(node)
    for call in reversed(spine):
        if depth > MOST_NESTED:
            raise TypeProblem(
                f"this expression is nested more than {MOST_NESTED} deep",
                call.span,
                "name parts of it with a condition such as `part = …`",
            )
        found = _call_type(call, [found, *(_type_of(a, leaf, depth + 1) for a in call.args[1:])])
    return found


def _call_type(call: Call, types: list[Type]) -> Type:
    if call.function == PREVIOUS:
        if len(types) != 1:
            raise TypeProblem("prev takes one value", call.span, "write prev(b.price)")
        return types[0]
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise TypeProblem(
            f"there is no function '{call.function}'",
            call.span,
            did_you_mean(call.function, FUNCTIONS),
        )
    if len(types) < function.least or (function.most is not None and len(types) > function.most):
        raise _arity_problem(call)
    try:
        found = function.result(types)
        exact = function.literals(call) if function.literals else None
    except Mismatch as problem:
        raise TypeProblem(
            problem.message, call.span, _quoted(call, types) or problem.hint
        ) from None
    return exact or found


def _quoted(call: Call, types: list[Type]) -> str | None:
    """What to write where a duration or a time is computed with, or compared, as a text."""
    is_time = any(found.kind in ("timestamp", "duration") for found in types)
    if not is_time and call.function not in _ARITHMETIC:
        return None
    for arg in call.args:
        if not isinstance(arg, Const) or arg.type.kind != "string":
            continue
        if _reads(parse_duration, arg.value):
            return f"a duration is written without quotes: {arg.value.strip()}"
        if is_time and _reads(parse_timestamp, arg.value):
            return f"write a time as timestamp '{arg.value}'"
    return None


_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})


def _reads(parse: Callable[[str], int], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _arity_problem(call: Call) -> TypeProblem:
    function = FUNCTIONS.get(call.function)
    count = len(call.args)
    return TypeProblem(
        f"{call.function} cannot take {count} argument{'' if count == 1 else 's'}",
        call.span,
        f"write {function.usage}" if function else None,
    )


# -- literal arguments


def _decimal_digits(call: Call) -> Type | None:
    if len(call.args) == 1:
        return None
    digits = [arg.value if isinstance(arg, Const) else None for arg in call.args[1:]]
    precision, scale = digits[0], digits[1] if len(digits) == 2 else 0
    if (
        not isinstance(precision, int)
        or not isinstance(scale, int)
        or not 1 <= precision <= 38
        or not 0 <= scale <= precision
    ):
        raise Mismatch(
            "decimal(x, precision, scale) takes two literal numbers",
            "precision is 1 to 38 digits, of which at most all stand after the point",
        )
    return Type("decimal", precision=precision, scale=scale)


def _regex(call: Call) -> None:
    pattern = call.args[1]
    if isinstance(pattern, Const) and pattern.value is not None:
        problem = regex_problem(pattern.value)
        if problem:
            raise Mismatch(
                f"'{pattern.value}' is not a regular expression: {problem}",
                "the syntax is RE2's: no look-around, no back-references",
            )


def regex_problem(pattern: str) -> str | None:
    """Why a text is not a regular expression of RE2, or None where it is one.

    >>> regex_problem("a(b")
    'missing ): a(b'
    """
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as problem:
        return str(problem).removeprefix("Invalid regular expression: ")
    return None


def _shape(call: Call) -> None:
    shape = call.args[2]
    if isinstance(shape, Const) and shape.value is not None:
        problem = shape_problem(shape.value)
        if problem:
            raise Mismatch(
                f"this is no shape: {problem}",
                "shapes are written as WKT, such as 'POLYGON ((0 0, 4 0, 4 3, 0 0))'",
            )


def _unit(call: Call) -> None:
    unit = call.args[0]
    if isinstance(unit, Const) and unit.value is not None and unit.value not in TRUNCATION_UNITS:
        raise Mismatch(
            f"'{unit.value}' is not a unit that date_trunc knows",
            did_you_mean(unit.value, TRUNCATION_UNITS, f"units are {', '.join(TRUNCATION_UNITS)}"),
        )


def _table() -> dict[str, Function]:
    s, b, t = STRING, BOOL, TIMESTAMP
    entries = [
        Function("+", "a + b", 2, 2, sig.plus),
        Function("-", "a - b", 2, 2, sig.minus),
        Function("*", "a * b", 2, 2, sig.times),
        Function("/", "a / b", 2, 2, sig.divided),
        Function("%", "a % b", 2, 2, sig.remainder),
        Function("neg", "-a", 1, 1, sig.same("-", sig.SIZED)),
        Function("||", "a || b", 2, None, sig.fixed("||", [s], s, rest=True)),
        Function("=", "a = b", 2, 2, sig.compare("=", ordered=False)),
        Function("!=", "a != b", 2, 2, sig.compare("!=", ordered=False)),
        *(
            Function(n, f"a {n} b", 2, 2, sig.compare(n, ordered=True))
            for n in ("<", "<=", ">", ">=")
        ),
        Function("and", "a and b", 2, None, sig.fixed("and", [b], b, rest=True)),
        Function("or", "a or b", 2, None, sig.fixed("or", [b], b, rest=True)),
        Function("not", "not a", 1, 1, sig.fixed("not", [b], b)),
        Function("is_null", "a is null", 1, 1, lambda types: BOOL),
        Function("is distinct from", "a is distinct from b", 2, 2, sig.distinct),
        Function("in", "a in (b, c)", 2, None, sig.compare("in", ordered=False)),
        Function("like", "a like 'b%'", 2, 2, sig.fixed("like", [s, s], b)),
        Function("abs", "abs(x)", 1, 1, sig.same("abs", sig.SIZED)),
        Function("round", "round(x) or round(x, digits)", 1, 2, sig.rounded("round")),
        Function("floor", "floor(x)", 1, 1, sig.rounded("floor")),
        Function("ceil", "ceil(x)", 1, 1, sig.rounded("ceil")),
        *(
            Function(n, f"{n}(x)", 1, 1, sig.float_function(n))
            for n in ("sqrt", "exp", "ln", "log10")
        ),
        Function("power", "power(x, y)", 2, 2, sig.float_function("power")),
        Function("distance", "distance(x1, y1, x2, y2)", 4, 4, sig.float_function("distance")),
        Function("inside", "inside(x, y, shape)", 3, 3, sig.inside, _shape),
        Function("sign", "sign(x)", 1, 1, sig.sign),
        Function("greatest", "greatest(x, y, …)", 1, None, sig.extreme("greatest")),
        Function("least", "least(x, y, …)", 1, None, sig.extreme("least")),
        Function("length", "length(text)", 1, 1, sig.fixed("length", [s], INT)),
        *(
            Function(n, f"{n}(text)", 1, 1, sig.fixed(n, [s], s))
            for n in ("lower", "upper", "trim", "ltrim", "rtrim")
        ),
        Function(
            "substring", "substring(text, from) or substring(text, from, length)", 2, 3,
            sig.fixed("substring", [s, INT, INT], s),
        ),
        Function("concat", "concat(a, b, …)", 1, None, sig.fixed("concat", [s], s, rest=True)),
        Function("replace", "replace(text, old, new)", 3, 3, sig.fixed("replace", [s, s, s], s)),
        Function(
            "starts_with", "starts_with(text, start)", 2, 2, sig.fixed("starts_with", [s, s], b)
        ),
        Function("ends_with", "ends_with(text, end)", 2, 2, sig.fixed("ends_with", [s, s], b)),
        Function(
            "matches", "matches(text, 'regex')", 2, 2, sig.fixed("matches", [s, s], b), _regex
        ),
        Function("coalesce", "coalesce(a, b, …)", 1, None, lambda t: sig.common("coalesce", t)),
        Function("nullif", "nullif(a, b)", 2, 2, sig.nullif),
        Function("if", "if(condition, then, else)", 3, 3, sig.if_else),
        Function("int", "int(x)", 1, 1, sig.cast("int", sig.SCALARS, INT)),
        Function("float", "float(x)", 1, 1, sig.cast("float", sig.SCALARS, FLOAT)),
        Function("bool", "bool(x)", 1, 1, sig.cast("bool", sig.TRUTHS, b)),
        Function("string", "string(x)", 1, 1, sig.cast("string", sig.SCALARS | sig.ORDERED, s)),
        Function(
            "decimal", "decimal(x) or decimal(x, precision, scale)", 1, 3,
            sig.decimal, _decimal_digits,
        ),
        *(
            Function(n, f"{n}(t)", 1, 1, sig.fixed(n, [t], INT))
            for n in ("year", "month", "day", "hour", "minute", "second", "weekday")
        ),
        Function(
            "date_trunc", "date_trunc('hour', t)", 2, 2, sig.fixed("date_trunc", [s, t], t), _unit
        ),
        Function("size", "size(list)", 1, 1, sig.size),
        Function("element", "element(list, position)", 2, 2, sig.element),
    ]  # fmt: skip
    return {entry.name: entry for entry in entries}


FUNCTIONS: dict[str, Function] = _table()


# -- aggregates


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate: the types it takes, the one it gives for theirs, and what it is of nothing."""

    name: str
    takes: frozenset[str] | None
    """The kinds of types; None for any."""
    gives: Callable[[Type], Type]
    distinct: bool = False
    """Whether it may differ if each value counts once."""
    empty: object = None
    bare: bool = False
    """Whether it can do without a value, and is then about the events."""
    scalar: str | None = None
    """The function that does the same with several values of one match."""

    @property
    def needs(self) -> str:
        return "values with an order" if self.takes == ORDERED else "numbers or durations"

    @property
    def few(self) -> bool:
        """Whether it has few different values over all combinations of some events."""
        return self.bare or not self.distinct

    def over(self, values: Type, span: Span) -> Type:
        """Its type over values of a type; raises :class:`TypeProblem` where it has none."""
        if values.kind == "null" and not self.bare:
            raise TypeProblem(f"{self.name} of null is always null", span)
        if self.takes is not None and values.kind not in self.takes:
            raise TypeProblem(f"{self.name} cannot take {values}", span, f"it needs {self.needs}")
        return self.gives(values)

    def of_nothing(self, kind: Type) -> Const:
        """What it is over no events, where its type is known; else of what type that is."""
        return Const(self.empty, INT if self.empty == 0 else kind)


SUMMED = frozenset({"int", "float", "decimal", "duration"})
ORDERED = SUMMED | {"string", "timestamp"}


def _itself(values: Type) -> Type:
    return values


def _total(values: Type) -> Type:
    return replace(values, precision=38) if values.kind == "decimal" else values


def _mean(values: Type) -> Type:
    return values if values.kind == "duration" else FLOAT


AGGREGATES: dict[str, AggregateFunction] = {
    row.name: row
    for row in (
        AggregateFunction("count", None, lambda values: INT, distinct=True, empty=0, bare=True),
        AggregateFunction("sum", SUMMED, _total, distinct=True),
        AggregateFunction("avg", SUMMED, _mean, distinct=True),
        AggregateFunction("stddev", SUMMED, _mean, distinct=True),
        AggregateFunction("median", SUMMED, _mean, distinct=True),
        AggregateFunction("min", ORDERED, _itself, scalar="least"),
        AggregateFunction("max", ORDERED, _itself, scalar="greatest"),
        AggregateFunction("first", None, _itself),
        AggregateFunction("last", None, _itself),
        AggregateFunction("list", None, list_of, distinct=True, empty=()),
    )
}
