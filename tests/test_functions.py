"""The types of expressions, and what is said where an expression has none."""

from __future__ import annotations

import pytest
from expressions import parsed, type_in

from thence.logic.expr import Call, Const, Expr, Var
from thence.logic.functions import TypeProblem, type_of
from thence.model.types import INT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + j", "int"),
        ("i + f", "float"),
        ("i / j", "float"),
        ("i % j", "int"),
        ("m + n", "decimal(19, 6)"),
        ("m + i", "decimal(26, 6)"),
        ("m * n", "decimal(37, 12)"),
        ("m * i", "decimal(38, 6)"),
        ("m / n", "decimal(37, 19)"),
        ("m % n", "decimal(18, 6)"),
        ("h + k", "decimal(38, 9)"),
        ("h * k", "decimal(38, 6)"),
        ("h / k", "decimal(38, 6)"),
        ("m + f", "float"),
        ("coalesce(m, i)", "decimal(25, 6)"),
        ("round(m)", "decimal(19, 6)"),
        ("decimal(i)", "decimal(19, 0)"),
        ("decimal(s)", "decimal(18, 6)"),
        ("decimal(s, 10, 2)", "decimal(10, 2)"),
        ("t - u", "duration"),
        ("t - d", "timestamp"),
        ("d * 2", "duration"),
        ("d / e", "float"),
        ("d / 2", "duration"),
        ("if(b, i, null)", "int"),
        ("l is distinct from l", "bool"),
        ("if(b, i, f)", "float"),
        ("null + 1", "null"),
        ("element(l, 1)", "int"),
        ("size(l)", "int"),
        ("sign(f)", "float"),
        ("floor(f)", "float"),
    ],
)
def test_types(text: str, expected: str) -> None:
    assert type_in(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("s + p", "'+' cannot take string and string", "join texts with ||"),
        ("s * 2", "'*' cannot take string and int", "turn text into a number with int(x)"),
        ("t + 5", "'+' cannot take timestamp and int", "write a duration with its unit, such as"),
        ("t + u", "'+' cannot take timestamp and timestamp", "timestamps can be subtracted"),
        ("i = s", "'=' cannot take int and string", "text and numbers differ"),
        ("t < '2026-01-01'", "'<' cannot take timestamp and string", "timestamp '2026-"),
        ("d > 10", "'>' cannot take duration and int", "such as 10 s"),
        ("b < c", "'<' cannot take bool and bool", "no order"),
        ("l = l", "'=' cannot take list<int> and list<int>", "element(l, i)"),
        ("i and b", "argument 1 of 'and' must be bool, not int", None),
        ("s || i", "argument 2 of '||' must be string, not int", "convert it with string(x)"),
        ("not i", "'not' must be bool, not int", None),
        ("lower(i)", "'lower' must be string, not int", "convert it with string(x)"),
        ("i in (1, 'a')", "'in' cannot take int and int and string", "text and numbers differ"),
        ("coalesce(i, s)", "'coalesce' cannot take int and string", "text and numbers differ"),
        ("if(i, 1, 2)", "the condition of `if` must be true or false, not int", None),
        ("int(d)", "'int' cannot take duration", "d / 1 s"),
        ("sqrt(s)", "'sqrt' cannot take string", None),
        ("round(f, g)", "the number of digits of round must be an int, not float", None),
        ("size(s)", "'size' cannot take string", "length(x)"),
        ("substring(s)", "substring cannot take 1 argument", "substring(text, from, length)"),
        ("lower(s, p)", "lower cannot take 2 arguments", "write lower(text)"),
        ("concat()", "concat cannot take 0 arguments", "write concat(a, b, …)"),
        ("matches(s, 'a(')", "'a(' is not a regular expression: missing ): a(", "RE2"),
        ("matches(s, '(?=a)')", "is not a regular expression", "no look-around"),
        ("date_trunc('hours', t)", "'hours' is not a unit that date_trunc", "mean 'hour'?"),
        ("date_trunc('x', t)", "'x' is not a unit that date_trunc knows", "units are year"),
        ("decimal(s, 40, 2)", "takes two literal numbers", "1 to 38 digits"),
        ("decimal(s, i, 2)", "takes two literal numbers", None),
    ],
)
def test_expressions_without_a_type(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(TypeProblem) as problem:
        type_in(text)
    assert message in problem.value.message
    assert hint is None or hint in (problem.value.hint or "")


def test_a_problem_points_at_the_part_that_has_it() -> None:
    text = "i + 1 > 2 and s + 1 > 2"
    expr = parsed(text)
    with pytest.raises(TypeProblem) as problem:
        type_in(text)
    assert isinstance(expr, Call)
    offset = problem.value.span.start - expr.span.start
    assert text[offset : offset + problem.value.span.end - problem.value.span.start] == "s + 1"


def test_an_unknown_function_suggests_one() -> None:
    with pytest.raises(TypeProblem) as problem:
        type_of(Call("lenght", (Var("s"),)), lambda leaf: INT)
    assert problem.value.message == "there is no function 'lenght'"
    assert problem.value.hint == "did you mean 'length'?"


def test_long_rows_of_operators_need_no_deep_stack() -> None:
    total: Expr = Var("i")
    for _ in range(5000):
        total = Call("+", (total, Const(1, INT)))
    assert type_of(total, lambda leaf: INT) == INT


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    nested: Expr = Var("i")
    for _ in range(5000):
        nested = Call("+", (Const(1, INT), nested))
    with pytest.raises(TypeProblem, match="nested more than 150 deep"):
        type_of(nested, lambda leaf: INT)
