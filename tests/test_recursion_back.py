"""Recursion that looks back at its own results: at their absence, at all of them, or at those that
a policy chooses. What ends at an instant follows from what ended before."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hosts import batch, in_a_session, oracle
from hypothesis import given, note
from hypothesis import strategies as st
from notation import Written

import thence

SECOND = 1_000_000
DECLARED = "event a(k int, v int); event b(k int, v int);\n"

RULES = (
    "p(k, v) <- a(k, v);\np(k, sum(u)) <- e: b(k, _), w: extend_backward(e, {d}), "
    "while w: collect q(k, u);\nq(k, v) <- anyone(p(k, v));",
    "p(k, v) <- a(k, v);\np(k, w) <- p(k, _) seq b(k, w) using {policy};",
    "p(k, v) <- a(k, v);\np(k, w) <- (p(k, v) seq a(v, w)) within {d} using {policy};",
    "p(k, v) <- a(k, v);\np(k, w) <- (b(k, _) seq p(k, v) seq a(k, w)) within {d} using {policy};",
    "p(k, v) <- a(k, v);\nq(k, w) <- (p(k, _) seq b(k, w)) using {policy};\np(k, v) <- q(k, v);",
    "p(k, v) <- e: a(k, v), w: extend_backward(e, {d}), while w: not p(k, _);",
    "p(k, v) <- e: a(k, v), w: extend_backward(e, {d}), while w: not q(k, v);\n"
    "q(k, v) <- p(k, v);\nq(k, v) <- (p(k, v) seq b(k, _)) within {d};",
    "p(k, v) <- not(p(k, _)).[a(k, v), b(k, _)] within {d};",
    "p(k, v) <- notprecedes(a(k, v), p(k, _), {d});",
    "p(k, v) <- a(k, v);\n"
    "p(k, sum(u)) <- e: b(k, _), w: extend_backward(e, {d}), while w: collect p(k, u);",
    "p(k, v) <- a(k, v) where v = 1;\n"
    "p(k, count(u)) <- e: b(k, _), w: extend_backward(e, {d}), while w: collect p(_, u);",
    "p(k, 0) <- a(k, 1);\nq(k, u + 1) <- (p(k, u) seq b(k, _)) within {d};\n"
    "p(k, max(u)) <- e: a(k, _), w: extend_backward(e, {d}), while w: collect q(k, u);",
    "p(k, v) <- a(k, v);\np(k, w) <- p(k, v) seq b(k, w) using {policy};\n"
    "r(k, count(v)) <- e: b(k, _), w: extend_backward(e, {d}), while w: collect p(k, v);",
)
POLICIES = ("chronicle", "recent", "continuous", "first", "last", "first exclusive", "cumulative")


class Example(NamedTuple):
    """A program that looks back, its events, and how far each input has been seen."""

    program: str
    events: tuple[Written, ...]
    until: Any


@st.composite
def examples(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Example:
    rule = draw(st.sampled_from(RULES))
    policies = POLICIES[:-1] if "w)" in rule else POLICIES
    text = DECLARED + rule.format(
        policy=draw(st.sampled_from(policies)), d=f"{draw(st.sampled_from([2, 4, 9]))} s"
    )
    size = draw(st.integers(4, 12))
    events = tuple(draw(event()) for _ in range(size))
    until: int | Mapping[str, int] | None = draw(
        st.sampled_from([None, None, 8 * SECOND, {"a": 9 * SECOND, "b": 5 * SECOND}])
    )
    return Example(text, events, until)


@st.composite
def event(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Written:
    start = draw(st.integers(0, 10))
    length = draw(st.sampled_from([0, 0, 0, 1, 3]))
    values = draw(st.sampled_from([1, 1, 1, 2])), draw(st.sampled_from([1, 2, 3]))
    return Written(draw(st.sampled_from("ab")), values, start * SECOND, (start + length) * SECOND)


@given(examples())
def test_in_one_go(example: Example) -> None:
    note("\n".join([example.program, *map(str, example.events)]))
    assert batch(*example) == oracle(*example)


@given(examples(), st.integers(0, 2**16), st.booleans())
def test_in_parts_out_of_order(example: Example, seed: int, save: bool) -> None:
    note("\n".join([example.program, *map(str, example.events)]))
    assert in_a_session(*example, random.Random(seed), save) == oracle(*example)


def test_an_alarm_that_stays_silent_for_a_while() -> None:
    program = thence.compile("""
        event hot(room string);
        alarm(room) <- notprecedes(hot(room), alarm(room), 10 s);
    """)
    times = [1, 4, 9, 12, 20, 30]
    events = [{"room": "cellar", "time": second * SECOND} for second in times]
    found = program.run({"hot": events})["alarm"].column("end").cast(pa.int64()).to_pylist()
    assert [end // SECOND for end in sorted(found)] == [1, 12, 30]


def test_lineage_goes_back_through_what_was_collected() -> None:
    program = thence.compile("""
        event paid(amount int);
        saved(amount) <- p: paid(amount) where amount = 1;
        saved(sum(s) as amount) <- p: paid(_), w: extend_backward(p, 1 h), while w: collect had(s);
        had(amount) <- anyone(saved(amount));
    """)
    events = [{"amount": 1 if n == 0 else 5, "time": n * SECOND} for n in range(4)]
    found = program.run({"paid": events}, lineage=True)["saved"].to_pylist()
    rested = sorted((row["end"].second, row["amount"], len(row["lineage"])) for row in found)
    assert rested == [(0, 1, 1), (1, 1, 2), (2, 2, 3), (3, 4, 4)]


@pytest.mark.parametrize("rows", [1, 7])
def test_a_push_takes_what_is_new(rows: int) -> None:
    """Rule (11) under chronicle: each link is used up by the first chain that goes on with it."""
    program = thence.compile("""
        event a(x int, y int);
        tc(x, y) <- a(x, y);
        tc(x, y) <- tc(x, z) seq a(z, y) using chronicle;
    """)
    at = np.arange(40)
    table = pa.table({"x": at, "y": at + 1, "time": at * SECOND})
    session = program.session(allow_unbounded=True)
    found = [session.push({"a": table.slice(n, rows)})["tc"].num_rows for n in range(0, 40, rows)]
    found.append(session.finish()["tc"].num_rows)
    assert sum(found) == program.run({"a": table})["tc"].num_rows == 40 + 39
