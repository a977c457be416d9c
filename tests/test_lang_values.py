"""What the text of values means: literals, conditions, and the terms of heads."""

from __future__ import annotations

from decimal import Decimal

import pytest
from test_lang_rules import HOUR, SECOND, X, body, call, number, read, rule

from thence.logic.check import check_program
from thence.logic.expr import Aggregate, Attr, Call, Const, Expr
from thence.logic.ops import HeadTerm, Where
from thence.logic.widening import decimal_type
from thence.model.types import BOOL, DURATION, FLOAT, INT, NULL, STRING, TIMESTAMP


def condition(text: str) -> Expr:
    found = body(f"a(x, y) where {text}")
    assert isinstance(found, Where)
    return found.condition


def value(text: str) -> Expr:
    found = condition(f"x = {text}")
    assert isinstance(found, Call)
    return found.args[1]


# -- expressions


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("3", Const(3, INT)),
        ("-3", Const(-3, INT)),
        ("-9223372036854775808", Const(-(2**63), INT)),
        ("1.5", Const(Decimal("1.5"), decimal_type(2, 1))),
        ("1.50", Const(Decimal("1.50"), decimal_type(3, 2))),
        ("15e-1", Const(1.5, FLOAT)),
        ("2e3", Const(2000.0, FLOAT)),
        ("-.5", Const(Decimal("-0.5"), decimal_type(1, 1))),
        ("-.5e0", Const(-0.5, FLOAT)),
        ("'it''s'", Const("it's", STRING)),
        ('"say ""so"""', Const('say "so"', STRING)),
        ("''", Const("", STRING)),
        ("true", Const(True, BOOL)),
        ("FALSE", Const(False, BOOL)),
        ("null", Const(None, NULL)),
        ("2 h", Const(2 * HOUR, DURATION)),
        ("-2 h", Const(-2 * HOUR, DURATION)),
        ("duration '2 h'", Const(2 * HOUR, DURATION)),
        ("timestamp '1970-01-01T00:00:01Z'", Const(SECOND, TIMESTAMP)),
    ],
)
def test_literals(text: str, constant: Const) -> None:
    assert value(text) == constant


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("12 / 4 % 3", "(12 / 4) % 3"),
        ("-x * 3", "(-x) * 3"),
        ("+x * 3", "x * 3"),
        ("x - -3", "x - (-3)"),
        ("'a' || 'b' + 1", "'a' || ('b' + 1)"),
    ],
)
def test_arithmetic_has_the_usual_precedence(text: str, grouped: str) -> None:
    assert value(text) == value(grouped)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("x = 1 or y = 2 and x = 3", "x = 1 or (y = 2 and x = 3)"),
        ("not x = 1 and y = 2", "(not (x = 1)) and (y = 2)"),
        ("x + 1 is null", "(x + 1) is null"),
        ("x + 1 > y * 2", "(x + 1) > (y * 2)"),
        ("x between 1 and 2 and y = 3", "(x between 1 and 2) and y = 3"),
        ("not x is null", "not (x is null)"),
    ],
)
def test_conditions_have_the_usual_precedence(text: str, grouped: str) -> None:
    assert condition(text) == condition(grouped)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x == 1", "x = 1"),
        ("x <> 1", "x != 1"),
        ("x ≠ 1", "x != 1"),
        ("x ≤ 1", "x <= 1"),
        ("x ≥ 1", "x >= 1"),
        ("x <-1", "x < -1"),
        ("x is not null", "not x is null"),
        ("x not in (1, 2)", "not x in (1, 2)"),
        ("x is not distinct from y", "not x is distinct from y"),
        ("x IS DISTINCT FROM y + 1", "x is distinct from (y + 1)"),
        ("x not like 'a%'", "not x like 'a%'"),
        ("x between y - 1 and y + 1", "x >= y - 1 and x <= y + 1"),
        ("x not between 1 and 2", "not (x >= 1 and x <= 2)"),
        ("LOWER(x) = 'a'", "lower(x) = 'a'"),
        ("x = 1 and (y = 2 and x = 3)", "x = 1 and y = 2 and x = 3"),
    ],
)
def test_conditions_that_are_written_differently_and_mean_the_same(text: str, same: str) -> None:
    assert condition(text) == condition(same)


def test_conditions_become_calls() -> None:
    assert condition("x in (1, 2)") == call("in", X, number(1), number(2))
    assert condition("x is null") == call("is_null", X)
    assert condition("x is distinct from 2") == call("is distinct from", X, number(2))
    assert condition("-x > 1") == call(">", call("neg", X), number(1))
    assert condition("x like 'a%'") == call("like", X, Const("a%", STRING))


# -- heads


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("count()", Aggregate("count", None)),
        ("count(*)", Aggregate("count", None)),
        ("COUNT(x)", Aggregate("count", X)),
        ("count(distinct x)", Aggregate("count", X, distinct=True)),
        ("sum(x * 2)", Aggregate("sum", call("*", X, number(2)))),
        ("avg(x)", Aggregate("avg", X)),
        ("min(x)", Aggregate("min", X)),
        ("max(x)", Aggregate("max", X)),
        ("first(x)", Aggregate("first", X)),
        ("last(s.y)", Aggregate("last", Attr("s", "y"))),
        ("list(distinct x)", Aggregate("list", X, distinct=True)),
    ],
)
def test_a_head_term_may_be_an_aggregate(text: str, aggregate: Aggregate) -> None:
    found = rule(f"p({text}) <- w: gate, while w: collect s: a(x, _);")
    assert found.terms == (HeadTerm("c1", aggregate),)


def names(text: str) -> tuple[str, ...]:
    return tuple(term.name for term in rule(text).terms)


def test_columns_are_called_after_variables_attributes_or_positions() -> None:
    assert names("p(x, l.y, x + 1, x * 2 as double) <- l: a(x, _);") == ("x", "y", "c3", "double")


def test_a_column_whose_name_is_taken_is_called_by_its_position() -> None:
    assert names("p(x, x, l.start, l.x) <- l: a(x, _);") == ("x", "c2", "c3", "c4")


def test_a_column_is_never_called_like_another() -> None:
    assert names("p(c2, x + 1) <- a(c2, x);") == ("c2", "c2_")


def test_all_rules_of_a_head_share_the_names_of_the_first() -> None:
    assert names("p(x, y) <- a(x, y); p(z, z + 1) <- b(z, _);") == ("x", "y")


def test_a_column_that_could_not_have_its_name_is_warned_about() -> None:
    program = read("p(x, x, l.end, x as c4) <- l: a(x, _);\np(y, y, l.end, y) <- l: a(y, _);")
    warnings = check_program(program).warnings
    assert [(w.severity, w.line, w.column) for w in warnings] == [
        ("warning", 6, 6),
        ("warning", 6, 9),
    ]
    assert "is called 'c2', not 'x'" in warnings[0].message
