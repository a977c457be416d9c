"""Expressions as text, for messages."""

from __future__ import annotations

from thence.logic.expr import Attr, Call, CausedBy, Const, Expr, Folded, TimeOf, Var
from thence.model.time import format_duration, format_timestamp

_WORDS = {"and", "or", "like", "is distinct from"}
_LONGEST = 60


def expr_text(expr: Expr) -> str:
    """An expression as a user would write it; long texts and lists are shortened.

    >>> from thence.model.types import INT
    >>> expr_text(Call("*", (Call("+", (Var("x"), Const(1, INT))), Attr("o", "qty"))))
    '(x + 1) * o.qty'
    """
    return _text(expr, 6)


def _text(expr: Expr, depth: int) -> str:
    match expr:
        case Const():
            return _literal(expr)
        case Var(name):
            return name
        case Attr(label, name):
            return f"{label}.{name}"
        case TimeOf(label, which):
            return f"{label}.{which}"
        case Folded(aggregate):
            arg = "" if aggregate.arg is None else _text(aggregate.arg, depth)
            return f"{aggregate.function}({'distinct ' * aggregate.distinct}{arg})"
        case CausedBy(effect, cause):
            return f"caused_by({effect}, {cause})"
        case Call(function, args):
            return "…" if depth == 0 else _call(function, args, depth - 1)
    # Later forms of a rule have leaves of their own, such as a column of an event.
    return str(getattr(expr, "name", "…"))


def _call(function: str, args: tuple[Expr, ...], depth: int) -> str:
    if function in ("neg", "not"):
        return f"{'-' if function == 'neg' else 'not '}{_operand(args[0], depth)}"
    if function == "is_null":
        return f"{_operand(args[0], depth)} is null"
    if function == "in":
        return f"{_operand(args[0], depth)} in ({_listed(args[1:], depth)})"
    if function in _WORDS or not function[0].isalpha():
        return f" {function} ".join(_operand(arg, depth) for arg in args[:6])
    return f"{function}({_listed(args, depth)})"


def _listed(args: tuple[Expr, ...], depth: int) -> str:
    shown = [_text(arg, depth) for arg in args[:6]]
    return ", ".join([*shown, "…"] if len(args) > 6 else shown)


def _operand(expr: Expr, depth: int) -> str:
    text = _text(expr, depth)
    function = expr.function if isinstance(expr, Call) else "f"
    simple = function[0].isalpha() and function not in _WORDS | {"in", "is_null", "not", "neg"}
    return text if simple else f"({text})"


def _literal(const: Const) -> str:
    value, kind = const.value, const.type.kind
    if value is None:
        return "null"
    if kind == "string":
        shown = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
        quoted = shown.replace("'", "''")
        return f"'{quoted}'"
    if kind == "bool":
        return "true" if value else "false"
    if kind == "timestamp":
        return f"timestamp '{format_timestamp(value)}'"
    if kind == "duration":
        return format_duration(value)
    return f"{value:f}" if kind == "decimal" else str(value)
