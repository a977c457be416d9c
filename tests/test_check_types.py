"""Types: of variables, arguments, conditions, heads, and events that rules derive."""

from __future__ import annotations

import pytest
from checking import EVENTS, checked, found, only, place

from thence.lang.parser import parse_program
from thence.logic.check import check_program, head_types, variable_types
from thence.logic.expr import Const, Var
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Rule
from thence.model.errors import CheckError
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source, Span
from thence.model.types import INT, NULL


@pytest.mark.parametrize(
    ("rule", "mark", "message", "hint"),
    [
        (
            "p(x) <- a(x, _), b(x, _);", "x, _);",
            "'x' is int in a and float in b",
            "use another variable, such as x2, and a condition: x = x2",
        ),
        (
            "p(x) <- c(x, _), a(_, x);", "x);",
            "'x' is int in c and string in a",
            "use another variable, such as x2, and a condition: string(x) = x2",
        ),
        (
            "p(x) <- a(x, x);", "x);",
            "'x' is int in one place of a and string in another", None,
        ),
        (
            "p(t + '1 DAY' as u) <- b(_, t);", "t + '1 DAY'",
            "'+' cannot take timestamp and string", "written without quotes: 1 DAY",
        ),
        (
            "p <- b(_, t) where '2 h' - t > t;", "'2 h' - t",
            "'-' cannot take string and timestamp", "written without quotes: 2 h",
        ),
        (
            "p <- l: b(_, _) where duration(l) < '10 s';", "duration(l)",
            "'<' cannot take duration and string", "written without quotes: 10 s",
        ),
        (
            "p <- b(_, t) where t < '2026-01-02';", "t < '2026",
            "'<' cannot take timestamp and string", "timestamp '2026-01-02'",
        ),
        (
            "p <- b(_, t) where t < 'noon';", "t < 'noon'",
            "'<' cannot take timestamp and string", "timestamp '2026-01-01T06:00:00Z'",
        ),
        ("p <- a('one', _);", "'one'", "a.x is int, and 'one' is string", None),
        ("p <- a(1.5, _);", "1.5", "a.x is int, and 1.5 is decimal(2, 1)", None),
        ("p <- a(_, 5);", "5", "a.n is string, and 5 is int", "write '5'"),
        (
            "p <- b(_, '2026-01-01');", "'2026",
            "b.t is timestamp, and '2026-01-01' is string",
            "write a time as timestamp '2026-01-01T06:00:00Z'",
        ),
        (
            "p <- b(_, 5 s);", "5 s",
            "b.t is timestamp, and 5 s is duration", None,
        ),
        (
            "p(x) <- a(x, _), a(_, x + 1);", "x + 1",
            "a.n is string, and x + 1 is int", None,
        ),
        (
            "p <- a(x, n), x + 1;", "x + 1",
            "a condition must be true or false, and x + 1 is int", "compare it with something",
        ),
        (
            "p <- a(x, n) where x > 1 and n;", "n;",
            "a condition must be true or false, and n is string", None,
        ),
        ("p(x) <- a(x, n) where n > x;", "n >", "'>' cannot take string and int", None),
        ("p(n + 1) <- a(x, n), x > 1;", "n + 1", "'+' cannot take string and int", None),
        ("p(q) <- a(x, n), q = x + n;", "x + n", "'+' cannot take int and string", None),
        ("p(q) <- a(x, _), x > 1, q = null;", "null", "'q' would always be null", None),
        (
            "p(q) <- (a(x, _) where q = x) or (b(y, _) where q = y);", "q = y",
            "'q' is float here and int elsewhere in the rule", "convert one of them",
        ),
    ],
)  # fmt: skip
def test_rules_with_wrong_types(rule: str, mark: str, message: str, hint: str | None) -> None:
    error = only(rule)
    assert error.message == message
    assert (error.line, error.column) == place(rule, mark)
    assert hint is None or hint in (error.hint or "")


@pytest.mark.parametrize(
    "rule", ["p <- b(1, _);", "p <- a(1 + 1, 'x');", "p(y) <- b(y, _), a(y * 2, _);"]
)
def test_arguments_that_fit(rule: str) -> None:
    assert found(rule) == []


def test_an_int_fits_a_decimal_attribute() -> None:
    text = "event d(m decimal(10, 2), l list<int>); p <- d(1, _); q <- d(1.5, _);"
    assert check_program(parse_program(Source(text))).schemas["p"].attributes == ()


def test_lists_cannot_be_joined_on() -> None:
    text = "event d(l list<int>); p <- d(l) seq d(l);"
    with pytest.raises(CheckError, match="'l' is a list, and lists cannot be joined on") as problem:
        check_program(parse_program(Source(text)))
    assert (problem.value.line, problem.value.column) == (1, text.rindex("l)") + 1)


def test_a_variable_has_one_type_in_all_of_a_rule_even_in_windows() -> None:
    rule = "p(x) <- not(b(x, _)).[a(x, _), g];"
    assert only(rule).message == "'x' is float in b and int in a"


# -- derived events


def test_derived_events_get_their_columns_from_the_heads() -> None:
    schemas = checked(
        "p(x, n, x / 2, l.start, x + 1 as next) <- l: a(x, n);\nq(k) <- p(_, k, _, _, _);"
    ).schemas
    assert str(schemas["p"]) == "p(x int, n string, c3 float, c4 timestamp, next int)"
    assert str(schemas["q"]) == "q(k string)"
    assert str(schemas["a"]) == "a(x int, n string)"


def test_aggregates_have_types() -> None:
    rules = """
    p(count(), sum(x), avg(x), min(n), first(l.start), list(n), sum(duration(l)), avg(duration(l)))
      <- e: g, w: extend_backward(e, 1h), while w: collect l: a(x, n);
    """
    assert [str(a.type) for a in checked(rules).schemas["p"].attributes] == [
        "int", "int", "float", "string", "timestamp", "list<string>", "duration", "duration",
    ]  # fmt: skip


def test_the_sum_of_decimals_has_room() -> None:
    text = """
    event g; event d(m decimal(10, 2));
    p(sum(m), avg(m), max(m)) <- e: g, w: extend_backward(e, 1h), while w: collect d(m);
    """
    schema = check_program(parse_program(Source(text))).schemas["p"]
    assert [str(a.type) for a in schema.attributes] == ["decimal(38, 2)", "float", "decimal(10, 2)"]


def test_rules_are_typed_in_order_of_dependency_and_not_of_text() -> None:
    assert str(checked("q(x) <- p(x);\np(x) <- a(x, _);").schemas["q"]) == "q(x int)"


def test_recursion_takes_its_types_from_where_it_starts() -> None:
    rules = "p(x, z) <- p(x, y) seq p(y, z);\np(x, z) <- c(x, z);"
    assert str(checked(rules).schemas["p"]) == "p(x int, z int)"


def test_types_travel_through_mutual_recursion() -> None:
    rules = "p(v) <- q(v);\nq(v) <- r(v);\nr(v) <- p(v);\nr(n) <- a(_, n);"
    schemas = checked(rules).schemas
    assert [str(schemas[name]) for name in "pqr"] == ["p(v string)", "q(v string)", "r(v string)"]


def test_recursion_without_a_start_has_no_type() -> None:
    rules = "p(v) <- q(v);\nq(v) <- p(v);"
    first, second = found(rules)
    assert first.message == (
        "the type of column 1 of 'p' cannot be told: it comes only from 'p' itself"
    )
    assert (first.line, first.column) == place(rules, "v")
    assert (second.line, second.column) == place(rules, "v", 2)
    assert first.hint == "some rule must give the recursion a start"


@pytest.mark.parametrize(
    ("rules", "message", "hint"),
    [
        (
            "p(x) <- a(x, _);\np(n) <- a(_, n);",
            "column 1 of 'p' is string here and int in the rule on line 6",
            "the same types",
        ),
        (
            "p(y) <- b(y, _);\np(x) <- a(x, _);",
            "column 1 of 'p' is int here and float in the rule on line 6",
            "write float(x) to convert it",
        ),
        (
            "p(x) <- a(x, _);\np(y) <- b(y, _);",
            "column 1 of 'p' is float here and int in the rule on line 6",
            "write float(x) in the rule on line 6",
        ),
    ],
)
def test_rules_of_one_event_must_agree(rules: str, message: str, hint: str) -> None:
    error = only(rules)
    assert error.message == message
    assert (error.line, error.column) == (7, 3)
    assert hint in (error.hint or "")


def test_null_in_a_head_takes_the_type_of_the_other_rules() -> None:
    assert str(checked("p(null as v) <- g;\np(x) <- a(x, _);").schemas["p"]) == "p(v int)"


def test_a_head_that_is_null_everywhere_has_no_type() -> None:
    rules = "p(null as v) <- g;\np(null) <- a(_, _);"
    error = only(rules)
    assert error.message == "column 1 of 'p' is null in every rule, so it has no type"
    assert (error.line, error.column) == place(rules, "null")
    assert "int(null)" in (error.hint or "")


def test_a_wrong_rule_does_not_cause_errors_in_the_rules_that_use_it() -> None:
    rules = "p(n + 1) <- a(x, n), x > 1;\nq(v) <- p(v), v > 1;\nr(v) <- q(v);"
    assert only(rules).message == "'+' cannot take string and int"


# -- programs that were not read from text


def program(*rules: Rule) -> LogicProgram:
    events = (EventSchema("a", (Attribute("x", INT),)),)
    return LogicProgram(events, rules, Source(" " * 40))


@pytest.mark.parametrize(
    ("rule", "message", "hint"),
    [
        (
            Rule("p", (), Atom("aa", (), Span(3, 5))),
            "there is no event 'aa'",
            "did you mean 'a'?",
        ),
        (
            Rule("p", (), Atom("a", (("xx", Var("v", Span(3, 5))),))),
            "'a' has no attribute 'xx'",
            "did you mean 'x'?",
        ),
        (
            Rule("a", (), Atom("a"), head_span=Span(3, 5)),
            "'a' is declared with `event`, so no rule can derive it",
            "another name",
        ),
        (
            Rule("p", (), Atom("a", (("x", Const(None, NULL, Span(3, 5))),))),
            "nothing is equal to null, so a would never match",
            "x is null",
        ),
    ],
)
def test_programs_of_other_front_ends_are_checked_too(rule: Rule, message: str, hint: str) -> None:
    with pytest.raises(CheckError) as problem:
        check_program(program(rule))
    (error,) = problem.value.diagnostics
    assert error.message == message
    assert (error.line, error.column) == (1, 4)
    assert hint in (error.hint or "")


def test_rules_of_one_event_must_have_as_many_terms() -> None:
    body = Atom("a", (("x", Var("x")),))
    one = Rule("p", (HeadTerm("x", Var("x")),), body)
    two = Rule("p", (), Atom("a"), head_span=Span(7, 8))
    with pytest.raises(CheckError, match="'p' has 0 terms here and 1 in the rule on line 1"):
        check_program(program(one, two))


def test_helpers_give_the_types_of_one_rule() -> None:
    rules = "p(x, q, n) <- a(x, n), q = x * 1.5;"
    logic = parse_program(Source(EVENTS + rules))
    schemas = {schema.name: schema for schema in logic.events}
    types = variable_types(logic.rules[0], schemas)
    assert {name: str(kind) for name, kind in types.items()} == {
        "x": "int",
        "n": "string",
        "q": "decimal(22, 1)",
    }
    assert [str(kind) for kind in head_types(logic.rules[0], schemas)] == [
        "int",
        "decimal(22, 1)",
        "string",
    ]
