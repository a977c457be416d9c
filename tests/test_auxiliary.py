"""Auxiliary events: equal patterns inside rules are one, others stay apart, names are stable."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hosts import Results, batch, collect, rows_of, tables
from hypothesis import given
from strategies import Example, examples
from test_generated import accepted

import thence
from thence.lang.parser import parse_program
from thence.lang.text import format_program
from thence.model.source import Source

EVENTS = "event a(k int, v int); event b(k int, v int); event c(k int, v int);\n"


def hidden(rules: str) -> tuple[str, ...]:
    """The auxiliary events of a program as its patterns need them: what is only alike is shared
    after that."""
    shared = ("share_constants", "share_windows")
    plan = thence.compile(EVENTS + rules, without=shared).plan
    return tuple(event for event in plan.derived if plan.schemas[event].hidden)


def absent(pattern: str, head: str = "r", lasts: str = "5 s") -> str:
    return f"{head}(k) <- x: a(k, _), w: from_end(x, {lasts}), while w: not ({pattern});\n"


# -- what is one event


@pytest.mark.parametrize(
    "rules",
    [
        # in two rules, and in one
        absent("b(k, _) seq c(k, _)") + absent("b(k, _) seq c(k, _)", "s"),
        "r(k) <- x: a(k, _), w: extend(x, 2 s), while w: not (b(k, _) seq c(k, _)), "
        "y: b(k, _), v: extend(y, 2 s), while v: not (b(k, _) seq c(k, _));",
        # whatever the variables and labels are called that are not handed out
        absent("x1: b(k, p) seq c(k, p)") + absent("x2: b(k, q) seq c(k, q)", "s"),
        absent("(m: b(k, _) seq n: c(k, _) where m.v < n.v) seq b(k, _)")
        + absent("(n: b(k, _) seq o: c(k, _) where n.v < o.v) seq b(k, _)", "s"),
        # in windows of any length
        absent("b(k, _) seq c(k, _)", lasts="1 s") + absent("b(k, _) seq c(k, _)", "s", "9 s"),
        absent("b(k, _) seq c(k, _)") + "s(k) <- notfollows(a(k, _), (b(k, _) seq c(k, _)), 9 s);",
        # alternatives and nested windows
        "r(k, count()) <- x: a(k, _), w: extend(x, 2 s), while w: collect (b(k, _) or c(k, _));"
        "s(k, count()) <- x: b(k, _), w: extend(x, 9 s), while w: collect (b(k, _) or c(k, _));",
        # with policies, repeated, going on from themselves
        "r(k) <- (a(k, _) seq b(k, _) using recent) seq c(k, _);"
        "s(k) <- c(k, _) seq (a(k, _) seq b(k, _) using recent);",
        "r(k) <- (a(k, _) seq b(k, _) using recent) seq (a(k, _) seq b(k, _) using recent);",
        "r(k) <- (a(k, _) seq b(k, _)){2} within 5 s; s(k) <- (a(k, _) seq b(k, _))+ seq c(k, _);",
        "r(k) <- (b(k, _) seq c(k, _)){2} within 5 s;" + absent("b(k, _) seq c(k, _)", "s"),
        "r(k) <- periodic(a(k, _), 1 s, b(k, _)) seq c(k, _);"
        "s(k) <- c(k, _) seq periodic(a(k, _), 1 s, b(k, _));",
        # queries inside others
        "CREATE EVENT r AS WITH q AS (SELECT k FROM a WHERE v > 1) SELECT k FROM q;"
        "CREATE EVENT s AS WITH p AS (SELECT k FROM a WHERE v > 1) SELECT k FROM p;",
    ],
)
def test_equal_patterns_are_one_event(rules: str) -> None:
    assert len(hidden(rules)) == 1


def test_the_widest_limit_is_that_of_all() -> None:
    """It is found whether the rule that needs it comes first or last, and what is inside of the
    pattern has it too."""
    pattern = "not(b(j, _) seq c(j, _)).[b(k, _), c(k, _)]"
    short, long = absent(pattern, "s", "2 s"), absent(pattern, "l", "9 s")
    alone = thence.compile(EVENTS + long).plan
    lengths = {event: alone.needs.lengths[event] for event in hidden(long)}
    assert len(lengths) == 2
    for rules in (short + long, long + short):
        plan = thence.compile(EVENTS + rules).plan
        assert {event: plan.needs.lengths[event] for event in hidden(rules)} == lengths
    narrow = thence.compile(EVENTS + short).plan.needs.lengths
    assert all(narrow[event] < most for event, most in lengths.items())


def test_the_stage_of_an_auxiliary_event_comes_before_its_first_user() -> None:
    rules = "p(k) <- a(k, _);" + absent("b(k, _) seq c(k, _)") + absent("b(k, _) seq c(k, _)", "s")
    assert thence.compile(EVENTS + rules).plan.derived == ("p", *hidden(rules), "r", "s")


def test_equal_pairs_of_effect_and_cause_are_one_event() -> None:
    made = "m(k) <- a(k, _) seq b(k, _);"
    asks = "{}(k) <- e: m(k), x: a(k, _) where caused_by(e, x);"
    one, two = hidden(made + asks.format("r")), hidden(made + asks.format("r") + asks.format("s"))
    assert one == two != ()


# -- what is not


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("b(k, 1) seq c(k, _)", "b(k, 2) seq c(k, _)"),
        ("b(k, 1) seq c(k, _)", "b(k, _) seq c(k, _)"),
        ("b(k, _) seq c(k, _)", "c(k, _) seq b(k, _)"),
        ("b(k, _) seq c(k, _)", "b(k, _) and c(k, _)"),
        ("b(k, _) seq c(k, _)", "b(j, _) seq c(j, _)"),  # another key is handed out, or none
        ("b(k, v) seq c(k, v)", "b(k, v) seq c(k, u)"),
        ("b(k, _) seq c(k, _) within 1 s", "b(k, _) seq c(k, _) within 2 s"),
        ("(b(k, _) seq c(k, _) using recent)", "(b(k, _) seq c(k, _) using chronicle)"),
        ("(x1: b(k, _) seq c(k, _) using first(x1))", "(x1: b(k, _) seq c(k, _) using last(x1))"),
        ("(b(k, _) seq c(k, _)){2}", "(b(k, _) seq c(k, _)){2} within 1 s"),
    ],
)
def test_different_patterns_stay_apart(one: str, other: str) -> None:
    apart = {*hidden(absent(one)), *hidden(absent(other))}
    assert set(hidden(absent(one) + absent(other, "s"))) == apart
    assert hidden(absent(one)) != hidden(absent(other))


def test_what_is_wrong_inside_is_said_wherever_it_stands() -> None:
    impossible = "(x1: b(k, _) seq y1: c(k, _) where y1.start < x1.end) seq a(k, _)"
    with pytest.raises(thence.ProgramError) as refusal:
        thence.compile(EVENTS + absent(impossible) + absent(impossible, "s"))
    assert [diagnostic.line for diagnostic in refusal.value.diagnostics] == [2, 3]


# -- names


def test_names_do_not_depend_on_other_rules() -> None:
    rule = absent("b(k, _) seq c(k, _)")
    own = hidden(rule)
    assert hidden(rule) == own
    others = "p(k) <- (a(k, _) seq c(k, _))+;" + absent("c(k, _) seq b(k, _)", "q")
    assert hidden(others + rule) == (*hidden(others), *own)
    assert hidden(rule + others) == (*own, *hidden(others))


def test_a_name_that_a_user_has_given_is_not_taken() -> None:
    rule = absent("b(k, _) seq c(k, _)")
    (name,) = hidden(rule)
    program = thence.compile(f"event `{name}`(n int); `#1`(n) <- `{name}`(n);" + EVENTS + rule)
    assert program.plan.public == ("#1", "r")
    assert program.events[0].name == name
    found = program.run(
        {name: [{"n": 7, "time": 1}], "a": [{"k": 1, "v": 0, "time": 2}]}, until=10**8
    )
    assert [row["n"] for row in found["#1"].to_pylist()] == [7]
    assert [row["k"] for row in found["r"].to_pylist()] == [1]
    assert thence.compile(program.text()).text() == program.text()
    assert "`#1`(n) <- " in program.text()


# -- answers


def with_copies(text: str) -> str:
    """A program with every rule once more, under another name."""
    program = parse_program(Source(text))
    copies = [replace(rule, event=f"{rule.event} again") for rule in program.rules]
    return format_program(replace(program, rules=(*program.rules, *copies)))


@given(examples())
def test_rules_that_share_everything_find_the_same(example: Example) -> None:
    accepted(example)
    program = thence.compile(with_copies(example.program))
    names = [schema.name for schema in thence.compile(example.program).derived]
    found = rows_of(program.run(tables(example.program, example.events), until=example.until))
    alone = batch(example.program, example.events, example.until)
    assert {name: found[name] for name in names} == alone
    assert {name: found[f"{name} again"] for name in names} == alone


def test_a_session_goes_on_from_saved_state() -> None:
    rules = absent("b(k, _) seq c(k, _)", lasts="3 s") + absent("b(k, _) seq c(k, _)", "s", "9 s")
    program = thence.compile(EVENTS + rules)
    seconds = [("a", 0), ("b", 1), ("a", 2), ("c", 4), ("a", 5), ("b", 6), ("c", 7)]
    events = {
        name: [{"k": 1, "v": 0, "time": at * 10**6} for each, at in seconds if each == name]
        for name in "abc"
    }
    whole = program.run(events, until=30 * 10**6)
    session = program.session(max_delay="0s")
    found: Results = {}
    for name, at in seconds:
        collect(found, rows_of(session.push({name: [{"k": 1, "v": 0, "time": at * 10**6}]})))
        session = thence.compile(EVENTS + rules).session(max_delay="0s", state=session.save())
    collect(found, rows_of(session.advance(30 * 10**6)))
    assert found == rows_of(whole)


def test_what_is_told_of_a_shared_pattern_is_told_of_its_place() -> None:
    body = "x: a(k, _), w: from_end(x, 5 s), while w: collect ({}: b(k, _) seq c(k, _));\n"
    rules = absent("b(k, _) seq c(k, _)")
    rules += f"p(k, count()) <- {body.format('m')}q(k, count()) <- {body.format('n')}"
    program = thence.compile(EVENTS + rules)
    events = {n: [{"k": 1, "v": 0, "time": at * 10**6}] for at, n in enumerate("abc", 1)}
    found = program.run(events, until=10**8, trace=True)
    for head, label, line in (("p", "m", 3), ("q", "n", 4)):
        (derivation,) = found.trace(head, 0).derivations
        (inner,) = (cause for cause in derivation.causes if cause.collected)
        assert [each.line for each in (derivation, *inner.derivations)] == [line, line]
        assert [each.label for each in inner.derivations[0].causes] == [label, None]
