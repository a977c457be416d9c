"""Every function with every mix of types: the promised type comes out, and nothing else escapes."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from thence.engine.values.evaluate import evaluate
from thence.logic.expr import Call, Const, Expr, Var
from thence.logic.functions import FUNCTIONS, TypeProblem, type_of
from thence.model.errors import EvaluationError
from thence.model.types import (
    BOOL,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

BIG, SMALL = 2**63 - 1, -(2**63)
SAMPLES: dict[Type, list[Any]] = {
    INT: [1, 0, None, SMALL, BIG, -7],
    FLOAT: [1.5, None, float("nan"), float("inf"), -0.0, -1e308],
    BOOL: [True, False, None, True, False, None],
    STRING: ["abc", "", None, "12", "é%_", "("],
    TIMESTAMP: [0, None, 10**15, -1, BIG, SMALL],
    DURATION: [0, None, 1, -5, BIG, SMALL],
    DECIMAL: [*map(Decimal, ("1.5", "0", "-2.25", "999999999999.999999", "0.000001")), None],
    Type("decimal", precision=38, scale=10): [Decimal(10) ** 27, None, *[Decimal(0)] * 4],
    Type("decimal", precision=38, scale=38): [Decimal("0.5"), None, *[Decimal("1E-38")] * 4],
    list_of(INT): [[1, 2], None, [], [None], [3], [4]],
    NULL: [None] * 6,
}
COLUMNS = {kind: pa.array(rows, kind.arrow) for kind, rows in SAMPLES.items()}


def outcome(call: Call, kinds: tuple[Type, ...], start: int, rows: int) -> str:
    """What becomes of a call over a part of the sample columns; fails if it is not allowed."""

    def place(leaf: Expr) -> int:
        assert isinstance(leaf, Var)
        return int(leaf.name)

    try:
        promised = type_of(call, lambda leaf: kinds[place(leaf)])
    except TypeProblem:
        return "no type"
    columns = [COLUMNS[kind].slice(start, rows) for kind in kinds]
    try:
        found = evaluate(call, lambda leaf: columns[place(leaf)], rows)
    except EvaluationError:
        return "no value"
    found.validate(full=True)
    assert isinstance(found, pa.Array)
    assert (found.type, len(found)) == (promised.arrow, rows)
    return "value"


def calls(name: str, kinds: tuple[Type, ...]) -> list[Call]:
    """A function applied to columns, to constants, and to a column and constants."""
    columns = [Var(str(place)) for place in range(len(kinds))]
    found = [Call(name, tuple(columns))]
    for row in range(2):
        constants: list[Expr] = [
            column if kind.kind == "list" else Const(SAMPLES[kind][row], kind)
            for column, kind in zip(columns, kinds, strict=True)
        ]
        found += [Call(name, tuple(constants)), Call(name, (columns[0], *constants[1:]))]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_have_the_promised_type(name: str) -> None:
    function = FUNCTIONS[name]
    most = max(function.least, min(function.most or 2, 2))
    outcomes = {
        outcome(call, kinds, start, rows)
        for count in range(function.least, most + 1)
        for kinds in product(SAMPLES, repeat=count)
        for call in calls(name, kinds)
        for start, rows in ((0, 6), (3, 2), (0, 0))
    }
    assert "value" in outcomes
