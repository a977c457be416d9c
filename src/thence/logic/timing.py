"""Temporal conditions as difference bounds: Allen's relations, and comparisons of times."""

from __future__ import annotations

from thence.logic.bounds import Constraint, less
from thence.logic.conjunct import EPOCH, NodeTime
from thence.logic.expr import Call, Const, Expr
from thence.model.source import Span

# Each relation as bounds on (s1, e1, s2, e2).
_ALLEN: dict[str, tuple[str, ...]] = {
    "before": ("e1 < s2",),
    "meets": ("e1 = s2",),
    "overlaps": ("s1 < s2", "s2 < e1", "e1 < e2"),
    "starts": ("s1 = s2", "e1 < e2"),
    "during": ("s2 < s1", "e1 < e2"),
    "finishes": ("s2 < s1", "e1 = e2"),
    "equals": ("s1 = s2", "e1 = e2"),
    "intersects": ("s1 <= e2", "s2 <= e1"),
    "par": ("s1 < e1", "s1 < e2", "s2 < e1", "s2 < e2"),
}
_INVERSE = {
    "after": "before", "met_by": "meets", "overlapped_by": "overlaps", "started_by": "starts",
    "contains": "during", "finished_by": "finishes",
}  # fmt: skip


def relation(
    name: str, first: tuple[int, int], second: tuple[int, int], span: Span
) -> list[Constraint]:
    """The constraints of an Allen relation, or ``par``, between two intervals given by nodes.

    >>> from thence.model.source import NOWHERE
    >>> relation("before", (1, 2), (3, 4), NOWHERE)
    [Constraint(later=2, earlier=3, limit=-1)]
    """
    if name in _INVERSE:
        name, first, second = _INVERSE[name], second, first
    nodes = {"s1": first[0], "e1": first[1], "s2": second[0], "e2": second[1]}
    found = []
    for x, sign, y in map(str.split, _ALLEN[name]):
        if sign == "<":
            found.append(less(nodes[x], nodes[y], 0, span))
        else:
            ways = [(x, y), (y, x)] if sign == "=" else [(x, y)]
            found += [Constraint(nodes[a], nodes[b], 0, span) for a, b in ways]
    return found


def as_constraints(condition: Expr) -> list[Constraint] | None:
    """A comparison of times as difference bounds, or None where it is something else.

    >>> from thence.model.types import DURATION
    >>> later = Call("+", (NodeTime(2), Const(5, DURATION)))
    >>> as_constraints(Call("<=", (later, NodeTime(3))))
    [Constraint(later=2, earlier=3, limit=-5)]
    """
    if not isinstance(condition, Call) or condition.function not in ("<", "<=", ">", ">=", "="):
        return None
    left, right = (_linear(arg) for arg in condition.args)
    if left is None or right is None:
        return None
    weights = {n: left[0].get(n, 0) - right[0].get(n, 0) for n in left[0] | right[0]}
    weights = {n: w for n, w in weights.items() if w}
    constant = left[1] - right[1]
    up = [n for n, w in weights.items() if w == 1]
    down = [n for n, w in weights.items() if w == -1]
    if len(up) + len(down) != len(weights) or len(up) > 1 or len(down) > 1 or not weights:
        return None
    x, y = (up or [EPOCH])[0], (down or [EPOCH])[0]
    # The condition is now: x - y + constant  (op)  0.
    span = condition.span
    match condition.function:
        case "<=":
            return [Constraint(x, y, -constant, span)]
        case "<":
            return [less(x, y, -constant, span)]
        case ">=":
            return [Constraint(y, x, constant, span)]
        case ">":
            return [less(y, x, constant, span)]
    return [Constraint(x, y, -constant, span), Constraint(y, x, constant, span)]


def _linear(expr: Expr) -> tuple[dict[int, int], int] | None:
    """Weights of nodes and a constant, for sums and differences of times and durations."""
    match expr:
        case NodeTime(node):
            return {node: 1}, 0
        case Const(value, kind) if kind.kind in ("timestamp", "duration"):
            return ({EPOCH: 1} if kind.kind == "timestamp" else {}), int(value)
        case Call("neg", (arg,)):
            inner = _linear(arg)
            return inner and ({n: -w for n, w in inner[0].items()}, -inner[1])
        case Call(("+" | "-") as function, (a, b)):
            left, right = _linear(a), _linear(b)
            if left is None or right is None:
                return None
            sign = 1 if function == "+" else -1
            nodes = left[0] | right[0]
            sums = {n: left[0].get(n, 0) + sign * right[0].get(n, 0) for n in nodes}
            return sums, left[1] + sign * right[1]
    return None
