"""Computes an expression for many rows at once.

``and``, ``or``, ``if`` and ``coalesce`` protect what stands to their right:
``d != 0 and n % d = 0`` is no error where ``d`` is zero. Everything is computed for all rows first,
since that is fast and almost always fine; only if that fails are the protected parts computed for
just the rows that need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions import KERNELS
from thence.engine.values.functions.conversions import (
    BOOLEAN,
    Uncomputable,
    Value,
    as_int64,
    is_scalar,
    length_of,
    spread,
    type_from_arrow,
)
from thence.logic.expr import Call, Const, Expr
from thence.logic.expr_text import expr_text
from thence.model.arrow import scalar
from thence.model.errors import EvaluationError

Leaf = Callable[[Expr], Any]


def evaluate(expr: Expr, leaf: Leaf, rows: int) -> Any:
    """The values of an expression as one contiguous Arrow array with ``rows`` entries.

    ``leaf`` gives the column of every leaf that is not a literal. Raises EvaluationError, which
    shows the first offending value, where a row has no result.

    >>> from thence.logic.expr import Var
    >>> from thence.model.types import INT
    >>> doubled = Call("*", (Var("x"), Const(2, INT)))
    >>> evaluate(doubled, lambda leaf: pa.array([1, None, 3]), 3).to_pylist()
    [2, None, 6]
    """
    found = _value(expr, leaf)
    return pa.repeat(found, rows) if is_scalar(found) else found


def _value(expr: Expr, leaf: Leaf) -> Value:
    if not isinstance(expr, Call):
        return scalar(expr.value, expr.type.arrow) if isinstance(expr, Const) else leaf(expr)
    # Operators nest to the left, so a long row of them is a loop here and no recursion.
    spine = [expr]
    node = expr.args[0]
    while isinstance(node, Call):
        spine.append(node)
        node = node.args[0]
    value = _value(node, leaf)
    for call in reversed(spine):
        try:
            args = [value, *[_value(arg, leaf) for arg in call.args[1:]]]
        except EvaluationError:
            if call.function not in _PROTECTING:
                raise
            value = _PROTECTING[call.function](call, value, leaf)
        else:
            value = _applied(call, args)
    return value


def _applied(call: Call, args: list[Value]) -> Value:
    kernel = KERNELS[call.function]
    try:
        return kernel(*args)
    except (pa.ArrowInvalid, pa.lib.ArrowCapacityError, Uncomputable) as problem:
        raise _explained(call, args, problem) from None


# -- protected evaluation


def _where(part: Expr, leaf: Leaf, needed: Any) -> Value:
    """A part, computed only for rows at which a NumPy mask (or one bool for all) is true."""
    if isinstance(needed, bool):
        if needed:
            return _value(part, leaf)
        nowhere = pa.array([], pa.int64())
        kind = _value(part, lambda node: leaf(node).take(nowhere)).type
        return pa.scalar(None, kind)
    places = pa.array(np.flatnonzero(needed))
    return spread(_value(part, lambda node: leaf(node).take(places)), needed)


def _mask(value: Value) -> Any:
    if is_scalar(value):
        return bool(value.as_py())
    return np.asarray(value)


def _protected_logic(settled: bool) -> Callable[[Call, Value, Leaf], Value]:
    """``and`` is settled by false, ``or`` by true: the rest of that row does not matter."""

    def run(call: Call, value: Value, leaf: Leaf) -> Value:
        value = pc.cast(value, BOOLEAN)
        for part in call.args[1:]:
            undecided = pc.fill_null(pc.not_equal(value, pa.scalar(settled)), True)
            right = _where(part, leaf, _mask(undecided))
            value = _applied(call, [value, right])
        return value

    return run


def _protected_if(call: Call, condition: Value, leaf: Leaf) -> Value:
    chosen = pc.fill_null(pc.cast(condition, BOOLEAN), False)
    then = _where(call.args[1], leaf, _mask(chosen))
    otherwise = _where(call.args[2], leaf, _mask(pc.invert(chosen)))
    return _applied(call, [condition, then, otherwise])


def _protected_coalesce(call: Call, value: Value, leaf: Leaf) -> Value:
    for part in call.args[1:]:
        value = _applied(call, [value, _where(part, leaf, _mask(pc.is_null(value)))])
    return value


_PROTECTING: dict[str, Callable[[Call, Value, Leaf], Value]] = {
    "and": _protected_logic(False),
    "or": _protected_logic(True),
    "if": _protected_if,
    "coalesce": _protected_coalesce,
}


# -- errors


def _explained(call: Call, args: list[Value], problem: Exception) -> EvaluationError:
    """An error that shows the first row that has no result."""
    row = _first_bad_row(call, args)
    values = [value if is_scalar(value) else value[row] for value in args]
    shown = expr_text(Call(call.function, tuple(_literal(value) for value in values)))
    return EvaluationError(f"cannot compute {shown}: {_reason(problem)} (in {expr_text(call)})")


def _first_bad_row(call: Call, args: list[Value]) -> int:
    """The first row at which the function fails, found by halving: few calls, whatever it is."""
    kernel = KERNELS[call.function]
    first, last = 0, length_of(args) or 0
    while last - first > 1:
        middle = (first + last) // 2
        part = [v if is_scalar(v) else v.slice(first, middle - first) for v in args]
        try:
            kernel(*part)
        except (pa.ArrowInvalid, pa.lib.ArrowCapacityError, Uncomputable):
            last = middle
        else:
            first = middle
    return first


def _literal(value: Value) -> Const:
    kind = type_from_arrow(value.type)
    if kind.kind in ("timestamp", "duration"):
        value = as_int64(value)
    return Const(value.as_py(), kind)


def _reason(problem: Exception) -> str:
    text = str(problem)
    lowered = text.lower()
    if lowered == "overflow":
        return "the result does not fit into 64 bits"
    if "divide by zero" in lowered:
        return "division by zero"
    if lowered.startswith(("failed to parse", "float value")):
        return "the value cannot be converted"
    return text[:1].lower() + text[1:]
