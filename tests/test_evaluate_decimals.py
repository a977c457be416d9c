"""Decimal arithmetic against Python's, over all sizes of decimals."""

from __future__ import annotations

import decimal
from decimal import Decimal

import pyarrow as pa
import pytest
from expressions import parsed, values
from hypothesis import given
from hypothesis import strategies as st

from thence.engine.values.evaluate import evaluate
from thence.logic.expr import Call, Const, Expr, Var
from thence.logic.functions import type_of
from thence.model.errors import EvaluationError
from thence.model.types import INT, Type

EXACT = decimal.Context(prec=300, rounding=decimal.ROUND_HALF_UP)
PYTHON = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": EXACT.divide,
    "%": EXACT.remainder,
}


@st.composite
def decimals(draw: st.DrawFn) -> tuple[Type, Decimal]:
    """A decimal type and a value of it."""
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    digits = draw(st.integers(0, precision))
    unscaled = draw(st.integers(-(10**digits) + 1, 10**digits - 1))
    value = EXACT.scaleb(Decimal(unscaled), -scale)
    return Type("decimal", precision=precision, scale=scale), value


def is_left(leaf: Expr) -> bool:
    return isinstance(leaf, Var) and leaf.name == "x"


@given(decimals(), decimals(), st.sampled_from(sorted(PYTHON)))
def test_results_are_exact_or_rounded_half_away_from_zero(
    left: tuple[Type, Decimal], right: tuple[Type, Decimal], operator: str
) -> None:
    call = Call(operator, (Var("x"), Var("y")))
    sides = {True: left, False: right}
    gives = type_of(call, lambda leaf: sides[is_left(leaf)][0])
    columns = {
        side: pa.array([value, None, value], kind.arrow) for side, (kind, value) in sides.items()
    }
    if operator in "/%" and right[1] == 0:
        with pytest.raises(EvaluationError, match="division by zero"):
            evaluate(call, lambda leaf: columns[is_left(leaf)], 3)
        return
    unit = EXACT.scaleb(Decimal(1), -gives.scale)
    expected = EXACT.quantize(PYTHON[operator](left[1], right[1]), unit)
    if abs(expected) >= EXACT.scaleb(Decimal(1), gives.precision - gives.scale):
        with pytest.raises(EvaluationError, match="does not fit"):
            evaluate(call, lambda leaf: columns[is_left(leaf)], 3)
        return
    found = evaluate(call, lambda leaf: columns[is_left(leaf)], 3)
    assert found.type == gives.arrow
    assert found.to_pylist() == [expected, None, expected]


@given(decimals(), decimals(), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
def test_comparison_is_exact_whatever_the_types(
    left: tuple[Type, Decimal], right: tuple[Type, Decimal], operator: str
) -> None:
    sides = {True: pa.array([left[1]], left[0].arrow), False: pa.array([right[1]], right[0].arrow)}
    found = evaluate(Call(operator, (Var("x"), Var("y"))), lambda leaf: sides[is_left(leaf)], 1)
    tests = {
        "=": left[1] == right[1],
        "!=": left[1] != right[1],
        "<": left[1] < right[1],
        "<=": left[1] <= right[1],
        ">": left[1] > right[1],
        ">=": left[1] >= right[1],
    }
    assert found.to_pylist() == [tests[operator]]


@given(decimals())
def test_a_decimal_becomes_the_nearest_float(number: tuple[Type, Decimal]) -> None:
    column = pa.array([number[1]], number[0].arrow)
    assert evaluate(Call("float", (Var("x"),)), lambda leaf: column, 1).to_pylist() == [
        float(number[1])
    ]


@given(decimals(), st.integers(-38, 40))
def test_rounding_is_exact(number: tuple[Type, Decimal], digits: int) -> None:
    kind, value = number
    column = pa.array([value, None], kind.arrow)
    modes = {
        "round": (digits, decimal.ROUND_HALF_UP),
        "floor": (0, decimal.ROUND_FLOOR),
        "ceil": (0, decimal.ROUND_CEILING),
    }
    for function, (places, mode) in modes.items():
        args = (Var("x"), Const(places, INT)) if function == "round" else (Var("x"),)
        call = Call(function, args)
        unit = EXACT.scaleb(Decimal(1), -min(places, kind.scale))
        expected = value.quantize(unit, mode, EXACT)
        gives = type_of(call, lambda leaf: kind)
        if abs(expected) >= EXACT.scaleb(Decimal(1), gives.precision - gives.scale):
            with pytest.raises(EvaluationError, match="does not fit"):
                evaluate(call, lambda leaf: column, 2)
        else:
            assert evaluate(call, lambda leaf: column, 2).to_pylist() == [expected, None]


def test_division_is_exact_where_arrow_is_not() -> None:
    number = Decimal("2097151.9999999999999999999999999")
    column = pa.array([number], pa.decimal128(38, 25))
    call = Call("round", (Var("x"), Const(11, INT)))
    assert evaluate(call, lambda leaf: column, 1).to_pylist() == [Decimal(2097152)]


literals = st.builds(
    lambda whole, fraction: f"{whole}.{fraction}",
    st.sampled_from(["0", "1", "3", "100", "98765432109"]),
    st.sampled_from(["0", "1", "10", "25", "000", "333333", "0000000001"]),
)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=5), literals)
def test_ints_and_durations_by_literals(numbers: list[int | None], literal: str) -> None:
    divisor = Decimal(literal)
    for text, column in (("i / {}", "i"), ("i % {}", "i"), ("d / {}", "d")):
        written = text.format(literal)
        if not divisor:
            if any(number is not None for number in numbers):
                with pytest.raises(EvaluationError, match="zero"):
                    values(written, **{column: numbers})
            continue
        exact = [None if n is None else EXACT.divide(Decimal(n), divisor) for n in numbers]
        if "%" in text:
            rest = [None if n is None else EXACT.remainder(Decimal(n), divisor) for n in numbers]
            assert values(written, i=numbers) == rest
        elif column == "i":
            scale = type_of(parsed(written), lambda leaf: INT).scale
            unit = EXACT.scaleb(Decimal(1), -scale)
            wanted = [None if q is None else EXACT.quantize(q, unit) for q in exact]
            assert values(written, i=numbers) == wanted
        elif all(q is None or abs(q) < 2**63 - 1 for q in exact):
            even = decimal.ROUND_HALF_EVEN
            whole = [None if q is None else int(q.to_integral_value(even)) for q in exact]
            assert values(written, d=numbers) == whole
