"""Policies: how they are written, what is refused, and what a session remembers for them.

Which matches they choose is in ``cases/policies.yaml``.
"""

from __future__ import annotations

import pytest

import thence
from thence.logic.policy import Policy

EVENTS = "event a(n int); event b(n int);"


def policy(text: str) -> Policy:
    program = thence.compile(f"{EVENTS} m(x.n) <- x: a(_) seq y: b(_) {text};")
    return program._checked.program.rules[0].policy


def problems(text: str) -> list[str]:
    with pytest.raises(thence.ThenceError) as refused:
        thence.compile(f"{EVENTS} {text}")
    return [diagnostic.message for diagnostic in refused.value.diagnostics]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Policy()),
        ("using unrestricted", Policy()),
        ("using recent", Policy("last")),
        ("using last", Policy("last")),
        ("USING Chronicle", Policy("first", consumption="exclusive")),
        ("using first exclusive", Policy("first", consumption="exclusive")),
        ("using exclusive first", Policy("first", consumption="exclusive")),
        ("using continuous", Policy("all", consumption="initiator")),
        ("using cumulative", Policy("cumulative", consumption="exclusive")),
        ("using cumulative(x) last(y)", Policy("all", (("x", "cumulative"), ("y", "last")))),
        ("using first(x) last(y)", Policy("all", (("x", "first"), ("y", "last")))),
        ("using last(x, y)", Policy("all", (("x", "last"), ("y", "last")))),
        ("using last first(y) shared", Policy("last", (("y", "first"),))),
    ],
)
def test_words_behind_using(text: str, expected: Policy) -> None:
    assert policy(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("using newest", "there is no policy 'newest'"),
        ("using first last", "'last' contradicts 'first'"),
        ("using chronicle shared", "'shared' contradicts 'chronicle'"),
        ("using first(x) last(x)", "'last' contradicts 'first'"),
        ("using exclusive(x)", "'exclusive' takes no labels: it is about the whole match"),
        ("using cumulative shared", "'shared' contradicts 'cumulative'"),
        ("using first(z)", "the policy chooses 'z', and no event of this rule is labelled so"),
    ],
)
def test_words_that_do_not_fit_are_refused(text: str, message: str) -> None:
    assert problems(f"m(x.n) <- x: a(_) seq y: b(_) {text};") == [message]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "m(count()) <- a(_) seq b(_) using cumulative;",
            "this count does not say which events it is over",
        ),
        (
            "m(sum(x.n + y.n)) <- x: a(_) seq y: b(_) using cumulative;",
            "this sum does not say which events it is over",
        ),
        (
            "m(sum(n)) <- a(n) seq b(n) using cumulative;",
            "this sum does not say which events it is over",
        ),
        (
            "m(count(x)) <- x: a(_)+ seq b(_) using cumulative;",
            "a rule whose matches are merged cannot repeat events besides",
        ),
        (
            "m() <- (a(_) seq b(_) using cumulative) seq b(_);",
            "`cumulative` makes one result of several matches, for the head of a rule",
        ),
    ],
)
def test_aggregates_over_merged_matches_say_over_which_events(rule: str, message: str) -> None:
    assert problems(rule) == [message]


def test_only_events_that_must_occur_can_be_chosen() -> None:
    absent = "m(x.n) <- not(z: b(_)).[x: a(_), y: b(_)] using first(z);"
    assert problems(absent) == ["the policy chooses 'z', and no event of this rule is labelled so"]
    compound = "m(w.start) <- w: (x: a(_) seq y: b(_)) using first(w);"
    assert "chooses 'w'" in problems(compound)[0]


def test_a_policy_cannot_choose_from_what_depends_on_it() -> None:
    (message,) = problems("m(n) <- a(n); m(x.n) <- x: a(_) seq m(n) using last;")
    assert message == "the policy of 'm' chooses from what depends on it: m -> choose m"


def test_using_is_no_reserved_word() -> None:
    program = thence.compile("event using(using int); r(using) <- using(using);")
    assert program.run({"using": [{"using": 1, "time": 5}]})["r"].num_rows == 1


def test_explain_says_what_is_chosen() -> None:
    program = thence.compile(f"{EVENTS} m(x.n) <- x: a(_) seq y: b(_) using first(x) exclusive;")
    assert "using: first(x) exclusive" in program.explain()


def test_a_policy_is_written_as_it_is_read() -> None:
    text = f"{EVENTS} m(x.n) <- x: a(_) seq y: b(_) using last(x) exclusive;"
    assert "using last(x) exclusive;" in thence.compile(text).explain()


def test_what_was_used_up_outlives_a_save() -> None:
    text = f"{EVENTS} m(x.n as x, y.n as y) <- (x: a(_) seq y: b(_)) within 1 h using chronicle;"
    program = thence.compile(text)
    session = program.session()
    session.push({"a": _at(1, 2), "b": _at(3)})
    found = session.advance(4_000_000)
    assert found["m"].select(["x", "y"]).to_pylist() == [{"x": 1, "y": 3}]
    session = program.session(state=session.save())
    session.push({"b": _at(5)})
    found = session.advance(6_000_000)
    assert found["m"].select(["x", "y"]).to_pylist() == [{"x": 2, "y": 5}]


def test_what_was_used_up_is_forgotten_with_its_window() -> None:
    text = f"{EVENTS} m(x.n) <- (x: a(_) seq y: b(_)) within 10 s using chronicle;"
    session = thence.compile(text).session()
    for second in range(0, 1000, 2):
        session.push({"a": _at(second), "b": _at(second + 1)})
    assert session.state_rows < 40


def _at(*seconds: int) -> list[dict[str, int]]:
    return [{"n": second, "time": second * 1_000_000} for second in seconds]
