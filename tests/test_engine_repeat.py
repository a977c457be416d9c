"""Repetitions in the engine: on the paths for many rows, and with conditions of every kind."""

from __future__ import annotations

import pytest
from hosts import batch, oracle
from notation import parse_events

DECLARED = "event a(); event b(v int, f float); event c();"
EVENTS = """
    a() @ 0
    b(5, 0.5) @ 1
    b(3, 0.5) @ 2
    b(4, null) @ 3
    b(2, 0.25) @ 4
    b(2, NaN) @ [5, 6]
    b(1, 0.25) @ 7
    c() @ 8
    a() @ 9
    c() @ 10
"""


def found_by_both(rule: str) -> set[object]:
    """The results of a rule, once the engine and the oracle agree on them."""
    text, events = f"{DECLARED}\n{rule}", parse_events(EVENTS)
    found = batch(text, events, None)
    assert found == oracle(text, events, None)
    return found["m"]


def test_ticks_after_repetitions_that_are_found_in_several_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("thence.engine.arrays.ranges.CHUNK", 2)
    assert len(found_by_both("m(list(x.v)) <- ticks(x: b(_, _){2}, 1 s, 2 s);")) > 2


@pytest.mark.parametrize(
    "condition",
    [
        "x.v < prev(x.v)",
        "prev(x.v) <= x.v",
        "x.v != prev(x.v) and x.f <= prev(x.f)",
        "x.f = prev(x.f)",
        "x.f != prev(x.f)",
        "x.start - prev(x.end) <= 2 s",
        "x.start >= prev(x.end) + 2 s",
        "prev(x.v) + 1 > x.v * 1",
        "x.v - prev(x.v) < 0",
        "(x.v < prev(x.v) or x.f is null)",
        "10 % (x.v - prev(x.v)) >= 0 and x.v > 0",
        "x.v > 1 and prev(x.v) > 2",
    ],
)
@pytest.mark.parametrize("policy", ["greedy", "greedy strict", "strict", "first"])
def test_conditions_on_the_repetition_before(condition: str, policy: str) -> None:
    """Comparisons with the one before are followed by compiled code, any other step by step."""
    body = "a() seq x: b(_, _)+ seq c()"
    if "%" in condition:  # a remainder by zero is an error, so no two equal values are neighbours
        body = "a() seq (x: b(_, _) where x.v > 2)+ seq c()"
    rule = f"m(list(x.v), list(x.start)) <- {body} where {condition} using {policy};"
    found_by_both(rule)


def test_what_nobody_asks_for_is_not_computed() -> None:
    """The difference is zero for two that are never neighbours: no error comes of it."""
    rule = (
        "m(list(x.v)) <- a() seq x: b(_, _)+ seq c() "
        "where x.v < prev(x.v) and 10 % (x.v - prev(x.v)) <= 0 using greedy;"
    )
    assert found_by_both(rule)
