"""Events that must be next to each other are found as such, and are what trying all would find."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from thence.plan.prepared import Prepared

EVENTS = "event a(k int, n int); event b(k int, n int); event c(k int, n int);"
RULES = (
    "not(a(_, _)).[x: a(_, _), y: b(_, _)]",
    "not(b(_, _)).[x: a(_, _), y: b(_, _)]",
    "not(a(k, _)).[x: a(k, _), y: b(k, _)]",
    "not(a(k, _)).[x: a(k, _), y: b(_, _)]",
    "not(a(_, m)).[x: a(k, m), y: b(k, m)]",
    "not(a(_, 1)).[x: a(_, _), y: b(_, _)]",
    "not(a(_, _)).[x: a(_, _), y: a(_, _)]",
    "not(a(_, _)).[x: a(_, 1), y: b(_, _)] seq c(_, _)",
    "not(a(_, _)).[x: a(_, _), (y: b(_, _) and c(_, _))]",
    "immediately(x: a(_, _), y: b(_, _))",
    "immediately(x: a(k, _), y: b(k, _), a(_, _))",
    "without(x: a(_, _), b(_, _), y: c(_, _), c(_, _))",
    "aperiodic(x: a(_, _), y: b(_, _), b(_, _))",
    "x: a(k, _) until y: b(k, _)",
    "x: a(k, _) until y: a(k, _)",
    "x: a(k, _) until y: b(k, 1)",
    "x: a(k, _) until (y: b(k, _) where y.n > 1)",
    "x: a(k, _) seq c(k, _) until y: b(k, _)",
    "not(a(_, 1)).[x: a(_, 1), y: b(_, _)]",
)
FREE = ("not(c(_, _)).[x: a(_, _), y: b(_, _)]", "x: a(_, _) seq y: b(_, _)")


def program(body: str) -> str:
    return f"{EVENTS} r(x.n as x, y.n as y) <- {body};"


compiled = cache(thence.compile)

event = st.tuples(
    st.sampled_from("aabbc"),
    st.sampled_from([1, 2, None]),
    st.integers(1, 2),
    st.integers(0, 8),
    st.sampled_from([0, 0, 0, 2]),
)


def found(body: str, rows: list[dict[str, Any]], lineage: bool) -> list[str]:
    results = compiled(program(body)).run(rows, until=20, lineage=lineage)
    return sorted(map(str, results["r"].to_pylist()))


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(event, max_size=12), st.booleans(), st.booleans())
def test_the_nearest_are_what_trying_all_gives(
    events: list[tuple[Any, ...]], instants: bool, lineage: bool
) -> None:
    rows = [
        {"type": type_, "k": k, "n": n, "start": time, "end": time + (0 if instants else length)}
        for type_, k, n, time, length in events
    ]
    for body in RULES:
        nearest = found(body, rows, lineage)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Prepared, "nearest", property(lambda _: ()))
            assert found(body, rows, lineage) == nearest, body


def nearest_of(body: str) -> set[tuple[str, str]]:
    prepared = [p for p in compiled(program(body)).plan.prepared if p.conjunct.event == "r"]
    uses = [use.label for use in prepared[0].uses]
    return {(uses[n.atom] or "", n.side) for n in prepared[0].nearest}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("not(a(_, _)).[x: a(_, _), y: b(_, _)]", {("x", "last")}),
        ("not(b(_, _)).[x: a(_, _), y: b(_, _)]", {("y", "first")}),
        ("not(a(k, _)).[x: a(k, _), y: b(k, _)]", {("x", "last")}),
        # The one that lies between may have another k than the one it would be between.
        ("not(a(k, _)).[x: a(k, _), y: b(_, _)]", set()),
        ("not(a(_, 1)).[x: a(_, _), y: b(_, _)]", set()),
        ("immediately(x: a(_, _), y: b(_, _))", {("x", "last"), ("y", "first")}),
        ("without(x: a(_, _), b(_, _), y: c(_, _), c(_, _))", {("y", "first")}),
        ("x: a(k, _) until y: b(k, _)", {("y", "first")}),
        ("x: a(k, _) until y: a(k, _)", {("y", "first")}),
        ("x: a(k, _) until (y: b(k, _) where y.n > 1)", {("y", "first")}),
        ("not(a(_, 1)).[x: a(_, 1), y: b(_, _)]", {("x", "last")}),
        *((body, set()) for body in FREE),
    ],
)
def test_what_an_absence_says_of_neighbours(body: str, expected: set[tuple[str, str]]) -> None:
    assert nearest_of(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "not(a(_, _)).[x: a(_, _), y: b(_, _)]",
        "not(b(_, _)).[x: a(_, _), y: b(_, _)]",
        "immediately(x: a(_, _), y: b(_, _))",
        "x: a(_, _) until y: b(_, _)",
        "x: a(k, _) seq y: b(k, _) using strict",
    ],
)
def test_hundreds_of_millions_of_pairs_are_not_tried(body: str) -> None:
    events = [{"type": "ab"[n % 2], "k": 1, "n": n, "time": n} for n in range(60_000)]
    assert compiled(program(body)).run(events)["r"].num_rows == 30_000
