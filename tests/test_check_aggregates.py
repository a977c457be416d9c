"""Aggregates in heads: what they are over, and what they can take."""

from __future__ import annotations

import pytest
from checking import EVENTS, checked, found, only, place

from thence.lang.parser import parse_program
from thence.logic.check import check_program, collect_of
from thence.logic.expr import Aggregate
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Or, Rule, While
from thence.model.errors import CheckError
from thence.model.source import Source, Span

WINDOW = "e: g, w: extend_backward(e, 1h)"
ONE = f"<- {WINDOW}, while w: collect a(x, n);"
TWO = f"<- {WINDOW}, while w: collect a(x, n), while w: collect c(k, z);"


@pytest.mark.parametrize(
    ("rule", "mark", "message", "hint"),
    [
        (
            "p(count()) <- a(x, n), length(n) > x;", "count()",
            "count has nothing to aggregate: the rule collects and repeats no events",
            "while w: collect e(x)",
        ),
        (
            f"p(sum(n), max(x)) {ONE}", "sum(n)",
            "sum cannot take string", "it needs numbers or durations",
        ),
        (f"p(avg(x > 1)) {ONE}", "avg", "avg cannot take bool", "numbers or durations"),
        (f"p(max(x > 1)) {ONE}", "max", "max cannot take bool", "it needs values with an order"),
        (f"p(list(null)) {ONE}", "list", "list of null is always null", None),
        (
            f"p(count()) {TWO}", "count()",
            "count() does not say which of the collected events it counts",
            "count a variable of one of them",
        ),
        (
            f"p(sum(x + z)) {TWO}", "sum(x + z)",
            "this sum could be over several of the collects", "one rule per collect",
        ),
        (f"p(sum(q)) {ONE}", "q", "'q' is not bound", None),
        (
            f"p(max(e.start)) {TWO}", "max(e.start)",
            "this max could be over several of the collects", None,
        ),
    ],
)  # fmt: skip
def test_aggregates_that_mean_nothing(rule: str, mark: str, message: str, hint: str | None) -> None:
    error = only(rule)
    assert error.message == message
    assert (error.line, error.column) == place(rule, mark)
    assert hint is None or hint in (error.hint or "")


@pytest.mark.parametrize(
    "head",
    [
        "p(count(), sum(x), list(distinct n))",
        "p(count(distinct n), first(x), last(n))",
        "p(e.start, max(x - length(n)))",
        "p(max(e.start))",
    ],
)
def test_aggregates_over_one_collect(head: str) -> None:
    assert found(f"{head} {ONE}") == []


def test_each_aggregate_may_be_over_another_collect() -> None:
    rules = f"p(sum(x), sum(z)) {TWO}"
    assert checked(rules).strata == (("p",),)
    rule = parse_program(Source(EVENTS + rules)).rules[0]
    events = []
    for term in rule.terms:
        assert isinstance(term.value, Aggregate)
        collect = collect_of(rule, term.value)
        assert isinstance(collect, While)
        assert isinstance(collect.pattern, Atom)
        events.append(collect.pattern.event)
    assert events == ["a", "c"]


def test_an_outer_variable_means_the_collect_that_mentions_it() -> None:
    body = "o: a(x, _), w: extend(o, 1h), while w: collect a(x, _), while w: collect c(_, z)"
    rule = parse_program(Source(f"{EVENTS} p(count(x), sum(z)) <- {body};")).rules[0]
    value = rule.terms[0].value
    assert isinstance(value, Aggregate)
    collect = collect_of(rule, value)
    assert collect is not None
    assert isinstance(collect.pattern, Atom)
    assert collect.pattern.event == "a"


def refused(rule: Rule) -> list[tuple[str, int]]:
    events = parse_program(Source(EVENTS)).events
    with pytest.raises(CheckError) as problem:
        check_program(LogicProgram(events, (rule,), Source(" " * 40)))
    return [(error.message, error.column) for error in problem.value.diagnostics]


def test_distinct_and_missing_values_in_programs_of_other_front_ends() -> None:
    rule = parse_program(Source(f"{EVENTS} p(min(x)) {ONE}")).rules[0]
    value = rule.terms[0].value
    assert isinstance(value, Aggregate)
    distinct = HeadTerm("c1", Aggregate("min", value.arg, True, Span(3, 4)))
    empty = HeadTerm("c1", Aggregate("sum", None, False, Span(3, 4)))
    assert refused(Rule("p", (distinct,), rule.body)) == [("distinct changes nothing in min", 4)]
    assert refused(Rule("p", (empty,), rule.body)) == [("sum needs a value", 4)]


def test_a_collect_stands_only_in_the_body_itself() -> None:
    window = While("l", "collect", Atom("a"), Span(3, 4))
    messages = refused(Rule("p", (), Or((Atom("g"), window))))
    assert ("`while … collect` cannot stand inside another pattern", 4) in messages


def test_an_accumulation_stands_in_no_branch() -> None:
    error = only("p(count()) <- g or aperiodic*(g, a(_, _), g);")
    assert error.message == "`aperiodic*` cannot stand in a choice or an absence"


def test_a_body_must_wait_for_something_that_occurs() -> None:
    rule = Rule("p", (), While("l", "not", Atom("a"), Span(3, 4)), span=Span(1, 9))
    messages = refused(rule)
    assert messages == [
        ("nothing in the body of 'p' occurs: there is no event that it waits for", 2),
        ("there is no label 'l' in this rule", 4),
    ]
