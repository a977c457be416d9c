"""Rows of tables by a range of values: found by a search, and the same as one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence
from thence.engine.join import value_search

RULE = "event e(k int, x float); table t(k int, lo float, hi float, n int);\n"
PROGRAM = RULE + "r(x, n) <- e(_, x), t(_, lo, hi, n), lo <= x and x < hi;"


def candidates(program: thence.Program, events: Any, table: Any) -> int:
    """How many pairs of an event and a row were looked at."""
    results = program.run({"e": events}, tables={"t": table})
    (join,) = program.plan.stages[0].rules[0]
    figures = results._measured.meter.of(join)
    return sum(term.candidates for term in figures.terms.values())


def test_disjoint_ranges_are_searched_and_not_tried_one_by_one() -> None:
    count = 500
    lo = np.random.default_rng(1).permutation(count) * 10.0
    table = pa.table({"k": [1] * count, "lo": lo, "hi": lo + 10, "n": range(count)})
    events = pa.table({"k": [1] * 1000, "x": np.linspace(0, 10 * count, 1000), "time": range(1000)})
    assert candidates(thence.compile(PROGRAM), events, table) <= 3 * 1000
    off = thence.compile(PROGRAM, without=["value_ranges"])
    assert candidates(off, events, table) == 1000 * count + count


def test_a_row_that_must_not_be_there_is_searched_too() -> None:
    text = RULE + "r(x) <- e(_, x), not (t(_, lo, hi, _) where lo <= x and x < hi);"
    lo = np.arange(200) * 10.0
    table = {"t": pa.table({"k": [1] * 200, "lo": lo, "hi": lo + 5, "n": range(200)})}
    events = {"e": pa.table({"k": [1] * 400, "x": np.arange(400) * 5.0 + 1, "time": range(400)})}
    searched, tried = (thence.compile(text, without=w) for w in ([], ["value_ranges"]))
    found = searched.run(events, tables=table)["r"]
    assert found.num_rows == 200 and found.equals(tried.run(events, tables=table)["r"])
    assert "      found: by a range of values\n" in searched.explain()
    assert "found: by" not in tried.explain()


def test_explain_says_so() -> None:
    told = {"e": {"rows": 10}, "t": {"rows": 10_000}}
    shown = thence.compile(PROGRAM, statistics=told).explain()
    assert "order: e, then t by a range of values\n" in shown
    keyed = RULE + "r(x, n) <- e(k, x), t(k, lo, hi, n), lo <= x and x < hi;"
    assert "t by a range of values and key\n" in thence.compile(keyed, statistics=told).explain()
    off = thence.compile(PROGRAM, statistics=told, without=["value_ranges"]).explain()
    assert "range of values" not in off


NUMBERS = st.one_of(
    st.none(),
    st.integers(-3, 3).map(float),
    st.sampled_from([0.5, -0.0, float("nan"), float("inf"), -float("inf"), 2.0**53, 2.0**53 + 2]),
)
WHOLE = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1]))
DECIMALS = st.one_of(st.none(), st.sampled_from([Decimal(n) for n in ("-1.5", "0", "0.5", "2.25")]))
TYPES: dict[str, Any] = {
    "float": NUMBERS,
    "int": WHOLE,
    "decimal(9, 2)": DECIMALS,
    "string": st.one_of(st.none(), st.sampled_from(["", "a", "ab", "b", "é"])),
    "timestamp": st.one_of(st.none(), st.integers(-3, 3)),
}
CONDITIONS = [
    "l.lo <= x and x < l.hi", "l.lo < x and x <= l.hi", "l.lo >= x", "x > l.hi",
    "l.lo <= x and l.lo >= y", "l.lo < x and l.hi > y and l.hi < x", "x > l.lo, y < l.lo",
]  # fmt: skip


@given(st.data())
def test_on_and_off_find_the_same(data: st.DataObject) -> None:
    one, two = (data.draw(st.sampled_from(list(TYPES))) for _ in range(2))
    if {one, two} & {"string", "timestamp"}:
        two = one
    keyed = data.draw(st.sampled_from(["k", "_"]))
    condition = data.draw(st.sampled_from(CONDITIONS))
    text = (
        f"event e(k int, x {one}, y {one}); table t(k int, lo {two}, hi {two}, n int);\n"
        f"r(n) <- e({keyed}, x, y), l: t({keyed}, _, _, n), {condition};"
    )
    keys = st.sampled_from([0, 1, None])
    events = data.draw(st.lists(st.tuples(keys, TYPES[one], TYPES[one]), max_size=5))
    rows = data.draw(st.lists(st.tuples(keys, TYPES[two], TYPES[two]), max_size=8))
    given_events = [{"k": k, "x": x, "y": y, "time": i} for i, (k, x, y) in enumerate(events)]
    given_rows = [{"k": k, "lo": lo, "hi": hi, "n": i} for i, (k, lo, hi) in enumerate(rows)]
    found = []
    for without in ([], ["value_ranges"]):
        program = thence.compile(text, without=without)
        results = program.run({"e": given_events}, tables={"t": given_rows})["r"].to_pylist()
        found.append({(row["start"], row["n"]) for row in results})
    assert found[0] == found[1]


def test_what_cannot_be_evaluated_is_left_to_the_conditions() -> None:
    program = thence.compile(
        "event e(x int); table t(m int, n int);\nr(n) <- e(x), t(m, n), x != 0, m <= 10 % x;"
    )
    events = [{"x": 0, "time": 1}, {"x": 4, "time": 2}]
    table = [{"m": 2, "n": 1}, {"m": 3, "n": 2}]
    assert program.run({"e": events}, tables={"t": table})["r"]["n"].to_pylist() == [1]


def test_a_product_that_is_meant_ends_with_a_limit() -> None:
    program = thence.compile(RULE + "r(x, n) <- e(_, x), t(_, lo, _, n), lo <= x;")
    events = pa.table({"k": [1] * 100, "x": [9.0] * 100, "time": range(100)})
    table = pa.table({"k": [1] * 100, "lo": [1.0] * 100, "hi": [1.0] * 100, "n": range(100)})
    with pytest.raises(thence.LimitError, match="joining 'e' with 't' gives 10,000 candidates"):
        program.run({"e": events}, tables={"t": table}, max_matches=1000)


def test_a_session_sorts_a_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    sort = value_search._in_order
    monkeypatch.setattr(value_search, "_in_order", lambda *a: made.append(1) or sort(*a))
    lo = np.arange(500) * 10.0
    table = pa.table({"k": [1] * 500, "lo": lo, "hi": lo + 10, "n": range(500)})
    session = thence.compile(PROGRAM).session(tables={"t": table})
    found = [
        session.push({"e": [{"k": 1, "x": 10.0 * i, "time": i}]})["r"]["n"].to_pylist()
        for i in range(5)
    ]
    assert found == [[0], [1], [2], [3], [4]]
    assert len(made) == 1
