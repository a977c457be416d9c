"""``explain``: what a program will do, in words that a reader of the program knows."""

from __future__ import annotations

import pytest
from hypothesis import given, reject
from strategies import Example, examples

import thence

TYPES = "event a(k int, v int); event b(k int, v int); event c(k int, v int);\n"


def explained(rules: str) -> str:
    return thence.compile(TYPES + rules).explain()


def test_a_sequence_in_a_window() -> None:
    text = explained("r(k) <- (x: a(k, _) seq y: b(k, _)) within 5 s where y.v > x.v;")
    for part in (
        "x: a   -- kept for 5 s",
        "y: b   -- not kept",
        "equal: x.k = y.k",
        "x.end < y.start",
        "y.end <= x.start + 5 s",
        "(y.v > x.v)",
        "at:    [x.start, y.end]",
        "reported at once",
        "partition key: k",
        "c(k int, v int)   -- not used",
        "columns read: k, v",
    ):
        assert part in text, part


def test_an_absence() -> None:
    text = explained("r(k) <- x: a(k, _), w: extend(x, 6 h), while w: not b(k, _);")
    for part in (
        "x: a   -- kept for 6 h",
        "absent: b   -- kept for 6 h",
        "equal: b.k = x.k",
        "x.start < b.start",
        "b.end < x.end + 6 h",
        "reported when the horizon of b has passed x.end + 6 h",
        "partition key: k",
    ):
        assert part in text, part


def test_a_bound_is_strict_where_it_was_meant_so_whatever_the_figure() -> None:
    body = "x: a(_, _), y: b(_, _) where y.start <= x.end + 999 us and y.end < x.start + 7 us"
    text = explained(f"r() <- {body} and x.start + 1 us <= y.start and x.end + 2 ms > y.end;")
    for part in (
        "y.start <= x.end + 999 us",
        "y.end < x.start + 7 us",
        "x.start + 1 us <= y.start",
        "y.end < x.end + 2 ms",
    ):
        assert part in text, part


def test_a_collection() -> None:
    text = explained("r(k, count(v)) <- x: a(k, _), w: extend_backward(x, 1 min), "
                     "while w: collect b(k, v);")  # fmt: skip
    assert "collect: b   -- kept for 1 min" in text
    assert "reported when the horizons of a and b have passed x.end" in text


def test_state_without_a_bound_is_said_with_its_pair() -> None:
    text = explained("r(k) <- first: a(k, _) seq second: b(k, _);")
    assert "kept forever" in text
    assert "unbounded state" in text
    assert "'first'" in text
    assert "'second'" in text


def test_what_a_bound_rests_on_is_said() -> None:
    text = explained("r(k) <- x: a(k, _), y: b(k, _), y.start <= x.start + 5 s, x before y;")
    assert "bounded if these are instants" in text
    assert ": a, b" in text


def test_declared_lengths_are_shown() -> None:
    text = thence.compile("event visit(k int) within 8 h; r(k) <- visit(k) and visit(k);").explain()
    assert "within 8 h" in text


def test_rules_over_rules_come_in_order() -> None:
    text = explained("late(k) <- early(k) seq b(k, _); early(k) <- a(k, _);")
    assert text.index("stage 1: early") < text.index("stage 2: late")


def test_recursion_that_looks_back_is_said() -> None:
    rules = "r(k) <- a(k, _); r(k) <- r(k) seq b(k, _) using chronicle;"
    assert "(recursive, instant by instant)" in explained(rules)


def test_recursion_is_said() -> None:
    assert "recursive" in explained("r(k) <- a(k, _); r(k) <- r(k) seq b(k, _);")


def test_an_inner_pattern_is_a_stage_of_its_own() -> None:
    text = explained("r(k) <- not(a(k, _) seq b(k, _)).[a(k, _), c(k, _)];")
    assert "stage 1: inner pattern" in text
    assert "absent: inner pattern" in text


def test_each_alternative_is_a_join() -> None:
    assert explained("r(k) <- a(k, _) or b(k, _) or c(k, _);").count("join for r") == 3


@pytest.mark.parametrize("text", ["", "event a();", "event a(); r() <- at '2026-01-01T00:00:00Z';"])
def test_programs_with_little_to_explain(text: str) -> None:
    assert thence.compile(text).explain().startswith("inputs")


@given(examples())
def test_every_program_can_be_explained(example: Example) -> None:
    try:
        program = thence.compile(example.program)
    except thence.CheckError:
        reject()
    text = program.explain()
    for schema in program.derived:
        assert f"join for {schema.name}" in text or f"selection for {schema.name}" in text
