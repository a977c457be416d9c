"""Turns a flat row of operands and operators into an expression, by the usual precedence.

``or`` binds loosest, then ``and``, ``not``, comparisons, ``||``, ``+ -``, ``* / %``, and a sign
tightest. The method is Dijkstra's shunting yard: two stacks, no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from thence.lang import syntax as s
from thence.lang.problem import SyntaxProblem, point_in_time
from thence.lang.words import INFIX
from thence.logic.expr import Call, Const, Expr
from thence.model.source import NOWHERE, Span
from thence.model.types import DURATION

_OR, _AND, _NOT, _COMPARE, _CONCAT, _ADD, _MULTIPLY, _SIGN = range(1, 9)
_INFIX: dict[str, int] = {
    "or": _OR, "and": _AND,
    "=": _COMPARE, "!=": _COMPARE, "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE,
    "like": _COMPARE, "not like": _COMPARE, "between": _COMPARE, "not between": _COMPARE,
    "is distinct from": _COMPARE, "is not distinct from": _COMPARE,
    "||": _CONCAT, "+": _ADD, "-": _ADD, "*": _MULTIPLY, "/": _MULTIPLY, "%": _MULTIPLY,
}  # fmt: skip
_FLIPPED: dict[str, str] = {
    "not like": "like", "not between": "between", "not in": "in",
    "is not distinct from": "is distinct from",
}  # fmt: skip

Junction = Literal["and", "or"]
_LONG = 32


def is_tight(op: s.Op) -> bool:
    """Whether an operator works on values only, so that its operands cannot be events."""
    return op.kind != "infix" or op.text not in INFIX


def join(function: Junction, parts: Sequence[Expr], span: Span = NOWHERE) -> Expr:
    """The parts joined by ``and`` or ``or``, in one agreed shape whatever the parentheses were.

    A short row leans to the left; a long one is split in halves, so that it never gets deep.

    >>> from thence.logic.expr import Var
    >>> x, y, z = Var("x"), Var("y"), Var("z")
    >>> join("and", [x, y, z]) == join("and", [x, join("and", [y, z])])
    True
    """
    flat: list[Expr] = []
    stack = list(reversed(parts))
    while stack:
        part = stack.pop()
        if isinstance(part, Call) and part.function == function:
            stack.extend(reversed(part.args))
        else:
            flat.append(part)
    return _tree(function, flat, span)


def _tree(function: Junction, parts: Sequence[Expr], span: Span) -> Expr:
    if len(parts) > _LONG:
        half = len(parts) // 2
        left = _tree(function, parts[:half], span)
        return Call(function, (left, _tree(function, parts[half:], span)), span)
    tree = parts[0]
    for part in parts[1:]:
        tree = Call(function, (tree, part), span)
    return tree


class _Row:
    """A run of ``and`` or ``or`` that is still being read."""

    __slots__ = ("end", "function", "parts", "start")

    def __init__(self, function: Junction, parts: list[Expr], start: int, end: int) -> None:
        self.function, self.parts, self.start, self.end = function, parts, start, end


class _Value:
    """An operand with its place in the text."""

    __slots__ = ("end", "expr", "start")

    def __init__(self, expr: Expr, start: int, end: int) -> None:
        self.expr, self.start, self.end = expr, start, end


def regroup(parts: Sequence[s.Node | s.Op], operand: Callable[[s.Node], Expr]) -> Expr:
    """The expression that a flat row means; ``operand`` turns each operand into one."""
    yard = _Yard()
    at = 0
    while at < len(parts):
        part = parts[at]
        at += 1
        if not isinstance(part, s.Op):
            yard.values.append(_Value(operand(part), part.start, part.end))
        elif part.kind == "prefix":
            after = parts[at]
            if part.text == "-" and isinstance(after, s.Literal_) and _has_sign(after):
                value = Const(_negative(after.value), after.type, Span(part.start, after.end))
                yard.values.append(_Value(value, part.start, after.end))
                at += 1
            else:
                yard.ops.append((_NOT if part.text == "not" else _SIGN, part))
        elif part.kind == "postfix":
            yard.reduce(_COMPARE)
            yard.postfix(part, tuple(operand(item) for item in part.items))
        elif part.text == "between_and":
            yard.close_between(part)
        else:
            level = _INFIX.get(part.text)
            if level is None:
                raise _no_condition(part, parts[at - 2], parts[at])
            yard.reduce(level, part)
            yard.ops.append((level, part))
    yard.reduce(0)
    return yard.take().expr


def _no_condition(op: s.Op, *around: s.Node | s.Op) -> SyntaxProblem:
    """The refusal of an operator between events that stands between values."""
    operands = (s.strip(part) for part in around if not isinstance(part, s.Op))
    times = (
        point_in_time(each.value, each.type) for each in operands if isinstance(each, s.Literal_)
    )
    return SyntaxProblem(
        s.span_of(op),
        f"`{op.text}` joins events, and this is a condition",
        next(filter(None, times), None)
        or "compare values with =, <, >, …; join conditions with `and`, `or`",
    )


def _has_sign(literal: s.Literal_) -> bool:
    return literal.type.numeric or literal.type == DURATION


def _negative(value: Any) -> Any:
    """A number with the other sign. Python would round a long decimal, and keep a zero's sign."""
    if not isinstance(value, Decimal):
        return -value
    return value.copy_negate() if value else value


class _Yard:
    """The two stacks."""

    def __init__(self) -> None:
        self.values: list[_Value | _Row] = []
        self.ops: list[tuple[int, s.Op]] = []

    def take(self) -> _Value:
        """The operand on top, complete."""
        top = self.values.pop()
        if isinstance(top, _Row):
            span = Span(top.start, top.end)
            return _Value(join(top.function, top.parts, span), top.start, top.end)
        return top

    def reduce(self, level: int, coming: s.Op | None = None) -> None:
        """Apply the waiting operators that bind at least as tightly as ``level``."""
        while self.ops and self.ops[-1][0] >= level:
            waiting, op = self.ops.pop()
            if coming is not None and waiting == level == _COMPARE:
                raise SyntaxProblem(
                    s.span_of(coming),
                    f"`{op.text}` and `{coming.text}` in a row compare a truth value",
                    "join two comparisons with `and`: 1 < x and x < 5",
                )
            self.apply(op)

    def apply(self, op: s.Op) -> None:
        """Apply one operator to the operands on top."""
        if op.kind == "prefix":
            if op.text == "+":
                return
            value = self.take()
            function = "not" if op.text == "not" else "neg"
            self.push(function, (value.expr,), op.start, value.end)
        elif op.text in ("and", "or"):
            self._junction("and" if op.text == "and" else "or")
        elif op.text in ("between", "not between"):
            raise SyntaxProblem(
                s.span_of(op), "`between` needs two bounds", "write x between 1 and 5"
            )
        elif op.text == "between_and":
            high, low, value = self.take(), self.take(), self.take()
            span = Span(value.start, high.end)
            inside = Call(
                "and",
                (
                    Call(">=", (value.expr, low.expr), span),
                    Call("<=", (value.expr, high.expr), span),
                ),
                span,
            )
            self.push_expr(inside, bool(op.items), value.start, high.end)
        else:
            right, left = self.take(), self.take()
            text = _FLIPPED.get(op.text, op.text)
            call = Call(text, (left.expr, right.expr), Span(left.start, right.end))
            self.push_expr(call, text != op.text, left.start, right.end)

    def _junction(self, function: Junction) -> None:
        right = self.take()
        left = self.values[-1]
        if isinstance(left, _Row) and left.function == function:
            left.parts.append(right.expr)
            left.end = right.end
        else:
            value = self.take()
            self.values.append(_Row(function, [value.expr, right.expr], value.start, right.end))

    def close_between(self, op: s.Op) -> None:
        """Turn a waiting ``between`` into one that knows both its bounds."""
        _, waiting = self.ops.pop()
        while waiting.text not in ("between", "not between"):
            self.apply(waiting)
            _, waiting = self.ops.pop()
        # A mark in `items` remembers the `not`; the operator itself has no list.
        mark: tuple[s.Node, ...] = (
            (s.Anything(op.start, op.end),) if waiting.text == "not between" else ()
        )
        self.ops.append((_COMPARE, replace(op, items=mark)))

    def postfix(self, op: s.Op, items: tuple[Expr, ...]) -> None:
        """Apply ``is null`` or ``in`` to the operand on top."""
        value = self.take()
        span = Span(value.start, op.end)
        if op.text in ("is null", "is not null"):
            call = Call("is_null", (value.expr,), span)
        else:
            call = Call("in", (value.expr, *items), span)
        self.push_expr(call, op.text in ("is not null", "not in"), value.start, op.end)

    def push(self, function: str, args: tuple[Expr, ...], start: int, end: int) -> None:
        self.values.append(_Value(Call(function, args, Span(start, end)), start, end))

    def push_expr(self, expr: Expr, negated: bool, start: int, end: int) -> None:
        if negated:
            expr = Call("not", (expr,), Span(start, end))
        self.values.append(_Value(expr, start, end))
