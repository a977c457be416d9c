"""Writes expressions as text, with no more parentheses than they need."""

from __future__ import annotations

import re

from thence.lang.words import FUNCTIONS, RESERVED
from thence.logic.expr import Aggregate, Attr, Call, CausedBy, Const, Expr, Folded, TimeOf, Var
from thence.model.time import format_duration, format_timestamp

_OR, _AND, _NOT, _COMPARE, _CONCAT, _ADD, _MULTIPLY, _SIGN, _OPERAND = range(1, 10)
_LEVELS: dict[str, int] = {
    "=": _COMPARE, "!=": _COMPARE, "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE,
    "like": _COMPARE, "is distinct from": _COMPARE, "||": _CONCAT, "+": _ADD, "-": _ADD,
    "*": _MULTIPLY, "/": _MULTIPLY, "%": _MULTIPLY,
}  # fmt: skip
_WITH_NOT: dict[str, str] = {
    "is_null": "is not null", "in": "not in", "like": "not like",
    "is distinct from": "is not distinct from",
}  # fmt: skip
"""Functions whose opposite has a form of its own."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """A name as it must be written: in backquotes where it is no plain identifier.

    >>> quoted("order"), quoted("event"), quoted("two words")
    ('order', '`event`', '`two words`')
    """
    if _IDENTIFIER.fullmatch(name) and name.lower() not in RESERVED and name != "_":
        return name
    return "`" + name.replace("`", "``") + "`"


def format_expr(expr: Expr) -> str:
    """An expression as text that reads back as the same expression.

    >>> format_expr(Call("*", (Call("+", (Var("x"), Var("y"))), Attr("l", "z"))))
    '(x + y) * l.z'
    """
    return _at_level(expr)


def format_aggregate(aggregate: Aggregate) -> str:
    """An aggregate as text."""
    if aggregate.arg is None:
        return f"{aggregate.function}()"
    distinct = "distinct " if aggregate.distinct else ""
    return f"{aggregate.function}({distinct}{format_expr(aggregate.arg)})"


def _at_level(expr: Expr, least: int = 0) -> str:
    """The text of an expression, in parentheses if it binds more loosely than ``least``."""
    match expr:
        case Const():
            return _constant(expr)
        case Var(name):
            return quoted(name)
        case Attr(label, name):
            return f"{quoted(label)}.{quoted(name)}"
        case TimeOf(label, which):
            return f"{quoted(label)}.{which}"
        case Folded(aggregate):
            return format_aggregate(aggregate)
        case CausedBy(effect, cause):
            return f"caused_by({quoted(effect)}, {quoted(cause)})"
        case Call():
            text, level = _call(expr)
            return f"({text})" if level < least else text
    raise AssertionError(f"no text is known for {type(expr).__name__}")


def _call(call: Call) -> tuple[str, int]:
    """The text of a call, and how tightly its outermost operator binds."""
    function, args = call.function, call.args
    if function in ("and", "or"):
        level = _AND if function == "and" else _OR
        return f" {function} ".join([_at_level(a, level + 1) for a in _row(call)]), level
    if function == "not":
        return _negation(args[0])
    if function == "neg":
        bare = isinstance(args[0], (Var, Attr, TimeOf))
        return (f"-{_at_level(args[0])}" if bare else f"-({_at_level(args[0])})"), _SIGN
    if function == "is_null":
        return f"{_at_level(args[0], _CONCAT)} is null", _COMPARE
    if function == "in":
        return f"{_at_level(args[0], _CONCAT)} in {_listed(args[1:])}", _COMPARE
    known = _LEVELS.get(function)
    if known is not None:
        # A comparison of comparisons needs parentheses on both sides; the others lean left.
        left = _at_level(args[0], known + 1 if known == _COMPARE else known)
        return f"{left} {function} {_at_level(args[1], known + 1)}", known
    if function not in FUNCTIONS:
        raise AssertionError(f"no text is known for the operator '{function}'")
    return f"{function}{_listed(args)}", _OPERAND


def _negation(arg: Expr) -> tuple[str, int]:
    if isinstance(arg, Call) and arg.function in _WITH_NOT:
        left = _at_level(arg.args[0], _CONCAT)
        if arg.function == "is_null":
            return f"{left} is not null", _COMPARE
        if arg.function == "in":
            return f"{left} not in {_listed(arg.args[1:])}", _COMPARE
        return f"{left} {_WITH_NOT[arg.function]} {_at_level(arg.args[1], _CONCAT)}", _COMPARE
    return f"not {_at_level(arg, _NOT)}", _NOT


def _listed(args: tuple[Expr, ...]) -> str:
    return f"({', '.join(map(_at_level, args))})"


def _row(call: Call) -> list[Expr]:
    """The operands of a run of ``and`` or of ``or``, whatever its grouping."""
    found: list[Expr] = []
    stack: list[Expr] = [call]
    while stack:
        top = stack.pop()
        if isinstance(top, Call) and top.function == call.function:
            stack.extend(reversed(top.args))
        else:
            found.append(top)
    return found


def _constant(const: Const) -> str:
    value = const.value
    if value is None:
        return "null"
    match const.type.kind:
        case "bool":
            return "true" if value else "false"
        case "string":
            return "'" + str(value).replace("'", "''") + "'"
        case "timestamp":
            return f"timestamp '{format_timestamp(value)}'"
        case "duration":
            return format_duration(value)
        case "decimal":
            return f"{value:f}"
        case "float":
            # Without an exponent it would be read as a decimal.
            shown = repr(float(value))
            return shown if "e" in shown else f"{shown}e0"
    return str(value)
