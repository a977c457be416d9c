"""Conditions on one event in a form that can be stored, and which of them let more through."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from thence.logic.conjunct import Column
from thence.logic.expr import Call, Const, Expr

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

Form = Sequence[Any]
"""``[column, "<", number]`` for a limit on a column, where a decimal is a text; ``[text]`` for any
other condition."""


def condition_form(condition: Expr) -> list[Any]:
    """A condition as JSON can hold it.

    >>> from thence.model.types import INT
    >>> condition_form(Call(">", (Const(5, INT), Column(0, "n"))))
    ['n', '<', 5]
    """
    match condition:
        case Call(word, (Column(_, name), Const(value, _))) if _is_limit(word, value):
            return [name, word, _stored(value)]
        case Call(word, (Const(value, _), Column(_, name))) if _is_limit(word, value):
            return [name, _TURNED[word], _stored(value)]
    return [repr(condition)]


def _is_limit(word: str, value: Any) -> bool:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return word in _TURNED and number


def _stored(value: Any) -> Any:
    return f"{value:f}" if isinstance(value, Decimal) else value


def let_through(needed: Sequence[Sequence[Form]], held: Sequence[Sequence[Form]]) -> bool:
    """Whether every event that is needed was let in.

    Both are alternatives, each a list of conditions that must all hold; no condition lets
    everything through.

    >>> let_through([[["n", ">", 7]]], [[["n", ">", 5]]])
    True
    >>> let_through([[["n", ">", 7]]], [[["n", ">", 9]]])
    False
    """
    return all(any(_narrower(way, other) for other in held) for way in needed)


def _narrower(way: Sequence[Form], other: Sequence[Form]) -> bool:
    """Whether what meets all conditions of one alternative meets all of another."""
    return all(any(_implies(mine, its) for mine in way) for its in other)


def _implies(mine: Form, its: Form) -> bool:
    if list(mine) == list(its):
        return True
    if len(mine) != 3 or len(its) != 3 or mine[0] != its[0] or mine[1][0] != its[1][0]:
        return False
    if mine[2] == its[2]:
        return len(mine[1]) < len(its[1])  # n < 5 implies n <= 5
    limit, other = _comparable(mine[2], its[2])
    return bool(limit < other if mine[1][0] == "<" else limit > other)


def _comparable(one: Any, two: Any) -> tuple[Any, Any]:
    """Two limits as numbers. Beside a float, a decimal is one, and those that are one float differ
    by nothing; what differs as a float differs in any case."""
    return (one, two) if isinstance(one, int) and isinstance(two, int) else (float(one), float(two))
