"""What every operator and function computes, over columns and over constants."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from expressions import value, values

from thence.engine.values.evaluate import evaluate
from thence.engine.values.functions import KERNELS
from thence.logic.expr import Call, Const, Expr, Var
from thence.logic.functions import FUNCTIONS
from thence.model.errors import EvaluationError
from thence.model.types import INT

SECOND = 1_000_000
BIG, SMALL = 2**63 - 1, -(2**63)
NAN, INF = float("nan"), float("inf")


def same(one: Any, two: Any) -> bool:
    both_nan = isinstance(one, float) and isinstance(two, float) and one != one and two != two
    return both_nan or (one == two and type(one) is type(two))


def test_every_function_has_a_type_and_a_columnar_form() -> None:
    assert set(FUNCTIONS) == set(KERNELS)


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("i + j", {"i": 2, "j": 3}, 5),
        ("i - j", {"i": 2, "j": 3}, -1),
        ("i * j", {"i": 2, "j": 3}, 6),
        ("i / j", {"i": 7, "j": 2}, 3.5),
        ("i / j", {"i": 1, "j": 0}, INF),
        ("i % j", {"i": 7, "j": 3}, 1),
        ("i % j", {"i": -7, "j": 3}, -1),
        ("i % j", {"i": 7, "j": -3}, 1),
        ("i % j", {"i": SMALL, "j": -1}, 0),
        ("-i", {"i": 5}, -5),
        ("i + f", {"i": 1, "f": 0.5}, 1.5),
        ("i = f", {"i": 2**53 + 1, "f": 2.0**53}, True),
        ("f / g", {"f": 1.0, "g": 0.0}, INF),
        ("f / g", {"f": -1.0, "g": 0.0}, -INF),
        ("f / g", {"f": 0.0, "g": 0.0}, NAN),
        ("f % g", {"f": 7.5, "g": 2.0}, 1.5),
        ("f % g", {"f": -7.5, "g": 2.0}, -1.5),
        ("f % g", {"f": 1.0, "g": 0.0}, NAN),
        ("f * g", {"f": 1e308, "g": 10.0}, INF),
        ("abs(i)", {"i": -3}, 3),
        ("abs(f)", {"f": -0.5}, 0.5),
        ("abs(d)", {"d": -SECOND}, SECOND),
        ("sign(i)", {"i": -3}, -1),
        ("sign(f)", {"f": -0.5}, -1.0),
        ("sign(f)", {"f": NAN}, NAN),
        ("sign(d)", {"d": -SECOND}, -1),
        ("sign(m)", {"m": Decimal("-2.5")}, -1),
        ("floor(f)", {"f": -1.5}, -2.0),
        ("ceil(f)", {"f": -1.5}, -1.0),
        ("floor(i)", {"i": 3}, 3),
        ("round(f)", {"f": 2.5}, 3.0),
        ("round(f)", {"f": -2.5}, -3.0),
        ("round(f, 2)", {"f": 3.14159}, 3.14),
        ("round(f, 2)", {"f": 1e308}, 1e308),
        ("round(f, 2)", {"f": NAN}, NAN),
        ("round(f, 400)", {"f": 1.5}, 1.5),
        ("round(i, -2)", {"i": 1250}, 1300),
        ("round(i, 5)", {"i": 1250}, 1250),
        ("round(i, j)", {"i": 1250, "j": -3}, 1000),
        ("sqrt(i)", {"i": 9}, 3.0),
        ("sqrt(f)", {"f": -1.0}, NAN),
        ("exp(f)", {"f": 0.0}, 1.0),
        ("ln(f)", {"f": 0.0}, -INF),
        ("log10(m)", {"m": Decimal(1000)}, 3.0),
        ("power(i, j)", {"i": 2, "j": 10}, 1024.0),
        ("power(f, g)", {"f": 0.0, "g": -1.0}, INF),
        ("greatest(i, j, 4)", {"i": 2, "j": 3}, 4),
        ("greatest(i, f)", {"i": 2, "f": 1.5}, 2.0),
        ("least(s, p)", {"s": "b", "p": "a"}, "a"),
        ("least(t, u)", {"t": 5, "u": 3}, 3),
        ("least(d, e)", {"d": 5, "e": 3}, 3),
        ("greatest(i, j)", {"i": None, "j": 3}, 3),
        ("greatest(f, g)", {"f": NAN, "g": 1.0}, 1.0),
    ],
)
def test_numbers(text: str, row: dict[str, Any], expected: Any) -> None:
    assert same(value(text, **row), expected)


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("m + n", {"m": Decimal("1.5"), "n": Decimal("2.25")}, Decimal("3.75")),
        ("m * 2", {"m": Decimal("1.5")}, Decimal(3)),
        ("m - i", {"m": Decimal("1.5"), "i": 2}, Decimal("-0.5")),
        ("-m", {"m": Decimal("1.5")}, Decimal("-1.5")),
        ("abs(m)", {"m": Decimal("-1.5")}, Decimal("1.5")),
        ("m / n", {"m": Decimal(2), "n": Decimal(3)}, Decimal("0.6666666666666666667")),
        ("m / n", {"m": Decimal(-2), "n": Decimal(3)}, Decimal("-0.6666666666666666667")),
        ("m % n", {"m": Decimal("-7.5"), "n": Decimal(2)}, Decimal("-1.5")),
        ("h * k", {"h": Decimal("1.5"), "k": Decimal("0.0000000001")}, Decimal("0E-6")),
        ("h + k", {"h": Decimal(10) ** 27, "k": Decimal(1)}, Decimal(10) ** 27 + 1),
        ("h / k", {"h": Decimal(1), "k": Decimal(8)}, Decimal("0.125")),
        ("m * n * m", dict.fromkeys("mn", Decimal("1.5")), Decimal("3.375")),
        ("m + f", {"m": Decimal("0.1"), "f": 0.2}, 0.1 + 0.2),
        ("round(m)", {"m": Decimal("2.5")}, Decimal(3)),
        ("round(m, 1)", {"m": Decimal("-2.25")}, Decimal("-2.3")),
        ("floor(m)", {"m": Decimal("-2.25")}, Decimal(-3)),
        ("ceil(m)", {"m": Decimal("999999999999.5")}, Decimal(1000000000000)),
        ("m = f", {"m": Decimal("0.1"), "f": 0.1}, True),
        ("m < i", {"m": Decimal("1.999999"), "i": 2}, True),
        ("h = m", {"h": Decimal(10) ** 27, "m": Decimal(1)}, False),
        ("greatest(m, i)", {"m": Decimal("1.5"), "i": 1}, Decimal("1.5")),
    ],
)
def test_decimals(text: str, row: dict[str, Any], expected: Any) -> None:
    assert value(text, **row) == expected


def test_decimals_beyond_what_arrow_divides_are_still_exact() -> None:
    tiny, huge = Decimal("0.0000000003"), Decimal("1234567890123456789012345678")
    assert value("h / k", h=Decimal(1), k=tiny) == Decimal("3333333333.333333")
    assert value("h * k", h=huge, k=Decimal("0.5")) == huge / 2


@pytest.mark.parametrize("number", ["0.1", "123456789.123456", "999999999999.999999", "0.000001"])
def test_a_decimal_becomes_the_nearest_float(number: str) -> None:
    assert values("float(m)", m=[Decimal(number), None]) == [float(number), None]


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("t - u", {"t": 5 * SECOND, "u": 2 * SECOND}, 3 * SECOND),
        ("t + d", {"t": 5, "d": 2}, 7),
        ("d + t", {"t": 5, "d": 2}, 7),
        ("t - d", {"t": 5, "d": 2}, 3),
        ("d + e", {"d": 5, "e": 2}, 7),
        ("d - e", {"d": 5, "e": 7}, -2),
        ("-d", {"d": 5}, -5),
        ("d * 3", {"d": 5}, 15),
        ("3 * d", {"d": 5}, 15),
        ("d * f", {"d": 3 * SECOND, "f": 0.5}, 1_500_000),
        ("f * d", {"d": 3 * SECOND, "f": 0.5}, 1_500_000),
        ("d / 2", {"d": 5 * SECOND}, 2_500_000),
        ("d / f", {"d": 5, "f": 0.5}, 10),
        ("d / e", {"d": 3 * SECOND, "e": 2 * SECOND}, 1.5),
        ("d / 1 s", {"d": 2_500_000}, 2.5),
        ("d > 2 s", {"d": 2_500_000}, True),
        ("t < timestamp '2026-01-01T00:00:00Z'", {"t": 0}, True),
        ("year(t)", {"t": 0}, 1970),
        ("month(t)", {"t": -1}, 12),
        ("day(t)", {"t": -1}, 31),
        ("hour(t)", {"t": -1}, 23),
        ("minute(t)", {"t": 61 * SECOND}, 1),
        ("second(t)", {"t": 61_500_000}, 1),
        ("weekday(t)", {"t": 0}, 4),
        ("weekday(timestamp '2026-01-05T00:00:00Z')", {"i": 1}, 1),
        ("weekday(timestamp '2026-01-04T23:59:59Z')", {"i": 1}, 7),
        ("date_trunc('minute', t)", {"t": 61_500_000}, 60 * SECOND),
        ("date_trunc(s, t)", {"s": "second", "t": 61_500_000}, 61 * SECOND),
        ("date_trunc('week', t)", {"t": 0}, -3 * 86_400 * SECOND),
    ],
)
def test_times(text: str, row: dict[str, Any], expected: Any) -> None:
    assert value(text, **row) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("s || p", {"s": "a", "p": "b"}, "ab"),
        ("concat(s, '-', p)", {"s": "a", "p": "b"}, "a-b"),
        ("length(s)", {"s": "héß"}, 3),
        ("lower(s)", {"s": "HÉ"}, "hé"),
        ("upper(s)", {"s": "hé"}, "HÉ"),
        ("trim(s)", {"s": "  a b "}, "a b"),
        ("ltrim(s)", {"s": "  a "}, "a "),
        ("rtrim(s)", {"s": "  a "}, "  a"),
        ("substring(s, 2)", {"s": "abc"}, "bc"),
        ("substring(s, 2, 1)", {"s": "abc"}, "b"),
        ("substring(s, 0, 2)", {"s": "abc"}, "a"),
        ("substring(s, -5, 2)", {"s": "abc"}, ""),
        ("substring(s, 9)", {"s": "abc"}, ""),
        ("substring(s, 2, -4)", {"s": "abc"}, ""),
        ("substring(s, i, j)", {"s": "abc", "i": BIG, "j": BIG}, ""),
        ("substring(s, i, j)", {"s": "abc", "i": SMALL, "j": BIG}, ""),
        ("replace(s, 'b', 'xy')", {"s": "abcb"}, "axycxy"),
        ("replace(s, '', 'x')", {"s": "abc"}, "abc"),
        ("starts_with(s, 'ab')", {"s": "abc"}, True),
        ("ends_with(s, p)", {"s": "abc", "p": "b"}, False),
        ("matches(s, 'b+')", {"s": "abbc"}, True),
        ("matches(s, '^b')", {"s": "abbc"}, False),
        ("s like 'a%c'", {"s": "a\nbc"}, True),
        ("s like 'a_c'", {"s": "aéc"}, True),
        ("s like 'a.c'", {"s": "abc"}, False),
        ("s not like 'a%'", {"s": "abc"}, False),
        ("s like p", {"s": "abc", "p": "%b%"}, True),
        ("s < p", {"s": "a", "p": "b"}, True),
    ],
)
def test_texts(text: str, row: dict[str, Any], expected: Any) -> None:
    assert value(text, **row) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("int(f)", {"f": -1.9}, -1),
        ("int(m)", {"m": Decimal("-1.9")}, -1),
        ("int(s)", {"s": " 42 "}, 42),
        ("int(b)", {"b": True}, 1),
        ("float(s)", {"s": "1e3"}, 1000.0),
        ("float(i)", {"i": 2**53 + 1}, 2.0**53),
        ("bool(s)", {"s": "TRUE"}, True),
        ("bool(i)", {"i": 2}, True),
        ("string(i)", {"i": -5}, "-5"),
        ("string(f)", {"f": 1.0}, "1.0"),
        ("string(b)", {"b": False}, "false"),
        ("string(m)", {"m": Decimal("1.5")}, "1.500000"),
        ("string(h)", {"h": Decimal("1E-10")}, "0.0000000001"),
        ("string(t)", {"t": 0}, "1970-01-01T00:00:00Z"),
        ("string(d)", {"d": 1_500_000}, "1.5 s"),
        ("decimal(i)", {"i": 5}, Decimal(5)),
        ("decimal(s)", {"s": "1.1234565"}, Decimal("1.123457")),
        ("decimal(f)", {"f": 0.1}, Decimal("0.1")),
        ("decimal(m, 4, 1)", {"m": Decimal("-2.25")}, Decimal("-2.3")),
        ("decimal(b, 3, 1)", {"b": True}, Decimal(1)),
    ],
)
def test_conversions(text: str, row: dict[str, Any], expected: Any) -> None:
    assert value(text, **row) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b and c", [True, False, None, False, False, False, None, False, None]),
        ("b or c", [True, True, True, True, False, None, True, None, None]),
        ("not b", [False, False, False, True, True, True, None, None, None]),
        ("b is null", [False] * 6 + [True] * 3),
        ("b is not null", [True] * 6 + [False] * 3),
        ("b = c", [True, False, None, False, True, None, None, None, None]),
        ("b is distinct from c", [False, True, True, True, False, True, True, True, False]),
        ("b is not distinct from null", [False] * 6 + [True] * 3),
        ("if(b, 1, 2)", [1, 1, 1, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_logic_has_three_values(text: str, expected: list[Any]) -> None:
    three = [True, False, None]
    rows = {"b": [b for b in three for _ in three], "c": three * 3}
    assert values(text, **rows) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("f is distinct from g", {"f": math.nan, "g": math.nan}, False),
        ("f is distinct from g", {"f": 0.0, "g": -0.0}, False),
        ("f is distinct from g", {"f": math.nan, "g": None}, True),
        ("f is distinct from g", {"f": None, "g": None}, False),
        ("f is distinct from 1", {"f": 1.0}, False),
        ("m is distinct from i", {"m": Decimal("2.5"), "i": 2}, True),
        ("m is distinct from i", {"m": Decimal("2"), "i": 2}, False),
        ("s is distinct from 'a'", {"s": "a"}, False),
        ("t is distinct from u", {"t": 1, "u": 2}, True),
        ("l is distinct from l", {"l": [1, None]}, False),
        ("null is distinct from null", {"i": 1}, False),
    ],
)
def test_identity(text: str, row: dict[str, Any], expected: bool) -> None:
    assert value(text, **row) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i in (1, 2)", [True, False, None]),
        ("i not in (1, 2)", [False, True, None]),
        ("i in (1, null)", [True, None, None]),
        ("i in (1, 2, 4, 5, 6, 7)", [True, False, None]),
        ("i in (1, 2, 4, 5, 6, null)", [True, None, None]),
        ("i in (1.0, 2, 4, 5, 6, 7)", [True, False, None]),
        ("i in (2, j)", [None, True, None]),
        ("i between 1 and 2", [True, False, None]),
        ("coalesce(i, 7)", [1, 3, 7]),
        ("coalesce(i, j)", [1, 3, None]),
        ("coalesce(i, 1.5)", [1.0, 3.0, 1.5]),
        ("coalesce(null, i)", [1, 3, None]),
        ("nullif(i, 3)", [1, None, None]),
        ("if(i > 2, i, null)", [None, 3, None]),
        ("if(i > 2, i, 0.5)", [0.5, 3.0, 0.5]),
        ("i = null", [None, None, None]),
        ("null + i", [None, None, None]),
        ("lower(null)", [None, None, None]),
    ],
)
def test_choosing_between_values(text: str, expected: list[Any]) -> None:
    assert values(text, i=[1, 3, None], j=[None, 3, None]) == expected


@pytest.mark.parametrize("items", ["f in (0.0, {})", "f in (0.0, {}, 5.0, 6.0, 7.0)"])
def test_a_list_of_floats_compares_as_equality_does(items: str) -> None:
    text = items.format("float('nan')")
    assert values(text, f=[NAN, -0.0, 1.0]) == [False, True, False]


def test_nan_is_neither_equal_nor_ordered() -> None:
    row = {"f": NAN, "g": NAN}
    tests = ["f = g", "f < g", "f >= g"]
    assert [value(test, **row) for test in tests] == [False, False, False]
    assert value("f != g", **row) is True


def test_instants_and_durations_can_be_looked_up_in_long_lists() -> None:
    listed = ", ".join(f"{n} s" for n in range(1, 9))
    assert values(f"d in ({listed})", d=[3 * SECOND, 9 * SECOND, None]) == [True, False, None]


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("size(l)", [[1, 2], [], None], [2, 0, None]),
        ("element(l, 1)", [[1, 2], [], None], [1, None, None]),
        ("element(l, 2)", [[1, 2], [3], [4, None]], [2, None, None]),
        ("element(l, 0)", [[1]], [None]),
        ("coalesce(l, l)", [[1], None], [[1], None]),
    ],
)
def test_lists(text: str, rows: list[Any], expected: list[Any]) -> None:
    assert values(text, l=rows) == expected


def test_an_element_is_found_in_a_part_of_a_column() -> None:
    lists = pa.array([[9], [1, 2], [3]]).slice(1)
    expr = Call("element", (Var("l"), Const(1, INT)))
    assert evaluate(expr, lambda leaf: lists, 2).to_pylist() == [1, 3]


def test_arguments_that_vary_by_row_are_taken_row_by_row() -> None:
    found = values("substring(s, i)", s=["abc", "abc", None, "xyz"], i=[1, 3, 2, None])
    assert found == ["abc", "c", None, None]
    found = values("matches(s, p)", s=["ab", "ab", "b"], p=["^a", "^b", "^b"])
    assert found == [True, False, True]


@pytest.mark.parametrize("text", ["1", "1 + 2 * 3", "null", "'a' || 'b'", "1 < 2", "10 s * 2"])
@pytest.mark.parametrize("rows", [0, 3])
def test_constants_fill_all_rows(text: str, rows: int) -> None:
    assert len(values(text, i=[1] * rows)) == rows


def test_no_rows_give_no_values() -> None:
    for text in ("i % j", "substring(s, i)", "matches(s, p)", "d * f", "m / n", "element(l, i)"):
        names = {name: [] for name in "ijspdfmnl"}
        assert values(text, **names) == []


# -- errors


@pytest.mark.parametrize(
    ("text", "row", "message"),
    [
        (
            "i + 1",
            {"i": BIG},
            "cannot compute 9223372036854775807 + 1: the result does not fit into 64 bits "
            "(in i + 1)",
        ),
        ("i * j", {"i": BIG, "j": 2}, "9223372036854775807 * 2: the result does not fit"),
        ("abs(i)", {"i": SMALL}, "abs(-9223372036854775808)"),
        ("-i", {"i": SMALL}, "does not fit into 64 bits"),
        ("i % j", {"i": 5, "j": 0}, "cannot compute 5 % 0: division by zero (in i % j)"),
        ("m / n", {"m": Decimal(5), "n": Decimal(0)}, "division by zero"),
        ("m % n", {"m": Decimal(5), "n": Decimal(0)}, "division by zero"),
        ("h * k", dict.fromkeys("hk", Decimal(10) ** 27), "does not fit in precision 38"),
        ("h * k + h", dict.fromkeys("hk", Decimal(10) ** 27), "does not fit in precision 38"),
        ("int(s)", {"s": "abc"}, "cannot compute int('abc'): the value cannot be converted"),
        ("int(f)", {"f": NAN}, "int(nan)"),
        ("int(f)", {"f": 1e19}, "int(1e+19)"),
        ("float(s)", {"s": ""}, "float('')"),
        ("bool(s)", {"s": "maybe"}, "bool('maybe')"),
        ("decimal(s)", {"s": "1.2.3"}, "decimal('1.2.3'): this is not a decimal number"),
        ("decimal(f)", {"f": INF}, "decimal(inf): this is not a decimal number"),
        ("decimal(m, 2, 1)", {"m": Decimal(10)}, "does not fit in precision 2"),
        ("t + d", {"t": BIG, "d": 1}, "does not fit into 64 bits"),
        ("d * f", {"d": BIG, "f": 2.0}, "not a duration of 64 bits"),
        ("d * f", {"d": 1, "f": NAN}, "cannot compute 1 us * nan"),
        ("d / 0", {"d": 1}, "not a duration of 64 bits"),
        ("round(i, -30)", {"i": 1}, "more digits than"),
        ("date_trunc(s, t)", {"s": "fortnight", "t": 0}, "units are year, quarter"),
        ("matches(s, p)", {"s": "a", "p": "("}, "missing )"),
    ],
)
def test_what_cannot_be_computed_says_which_value(
    text: str, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(EvaluationError) as problem:
        value(text, **row)
    assert message in str(problem.value)


def test_the_first_offending_row_is_shown() -> None:
    rows = [str(n) for n in range(1000)]
    rows[617], rows[900] = "bad", "worse"
    with pytest.raises(EvaluationError, match=r"int\('bad'\)"):
        values("int(s)", s=rows)


def test_long_texts_are_shortened_in_errors() -> None:
    with pytest.raises(EvaluationError) as problem:
        value("int(s)", s="x" * 10_000)
    assert len(str(problem.value)) < 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("j != 0 and i % j = 1", [True, False, None]),
        ("j = 0 or i % j = 1", [True, True, None]),
        ("if(j = 0, -1, i % j)", [1, -1, None]),
        ("coalesce(nullif(j, 0), i % 2)", [2, 1, 1]),
        ("coalesce(j, 1 % j)", [2, 0, None]),
        ("b and j != 0 and i % j = 1", [True, False, None]),
        ("j != 0 and (i % j = 1 or i % j = 2)", [True, False, None]),
    ],
)
def test_what_stands_to_the_left_protects_what_stands_to_the_right(
    text: str, expected: list[Any]
) -> None:
    assert values(text, i=[5, 5, 5], j=[2, 0, None], b=[True] * 3) == expected


def test_protection_ends_where_a_row_needs_the_value() -> None:
    with pytest.raises(EvaluationError, match="5 % 0"):
        values("i > 0 and i % j = 1", i=[-5, 5], j=[0, 0])


def test_long_rows_of_operators_need_no_deep_stack() -> None:
    total: Expr = Var("i")
    for _ in range(5000):
        total = Call("+", (total, Const(1, INT)))
    assert evaluate(total, lambda leaf: pa.array([0]), 1).to_pylist() == [5000]


def test_floats_keep_their_sign_of_zero() -> None:
    assert math.copysign(1, value("-f", f=0.0)) == -1
