"""Expressions for tests, written as text: their type, and their values over given columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from thence.engine.values.evaluate import evaluate
from thence.lang.parser import parse_program
from thence.logic.expr import Expr, Var
from thence.logic.functions import type_of
from thence.model.source import Source
from thence.model.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

MONEY = Type("decimal", precision=18, scale=6)
HUGE = Type("decimal", precision=38, scale=10)
VARIABLES: dict[str, Type] = {
    "i": INT, "j": INT, "f": FLOAT, "g": FLOAT, "b": BOOL, "c": BOOL, "s": STRING, "p": STRING,
    "t": TIMESTAMP, "u": TIMESTAMP, "d": DURATION, "e": DURATION, "m": MONEY, "n": MONEY,
    "h": HUGE, "k": HUGE, "l": list_of(INT),
}  # fmt: skip
_DECLARED = ", ".join(f"{name} {kind}" for name, kind in VARIABLES.items())
_ARGUMENTS = ", ".join(VARIABLES)


def parsed(text: str) -> Expr:
    """The expression that a text stands for, over the variables above."""
    program = f"event data({_DECLARED});\nresult({text}) <- data({_ARGUMENTS});"
    value = parse_program(Source(program)).rules[0].terms[0].value
    assert isinstance(value, Expr)
    return value


def type_in(text: str) -> str:
    """The type of an expression, as text."""
    return str(type_of(parsed(text), _leaf_type))


def values(text: str, **columns: list[Any]) -> list[Any]:
    """The values of an expression over columns of equal length (one row where none is given).

    Times go in and come out as microseconds.
    """
    expr = parsed(text)
    arrays = {name: pa.array(rows, VARIABLES[name].arrow) for name, rows in columns.items()}
    rows = len(next(iter(arrays.values()))) if arrays else 1
    found = evaluate(expr, lambda leaf: arrays[leaf.name], rows)
    kind = type_of(expr, _leaf_type)
    assert len(found) == rows
    assert found.type == kind.arrow
    found.validate(full=True)
    if kind.kind in ("timestamp", "duration"):
        found = found.cast(pa.int64())
    return found.to_pylist()


def value(text: str, **row: Any) -> Any:
    """The value of an expression over one row."""
    return values(text, **{name: [each] for name, each in row.items()})[0]


def _leaf_type(leaf: Expr) -> Type:
    assert isinstance(leaf, Var)
    return VARIABLES[leaf.name]
