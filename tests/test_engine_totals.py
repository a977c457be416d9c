"""Ranges of sorted events, and running totals over them, give what looking at every event gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from thence.engine.aggregates import rolling
from thence.engine.arrays import ranges
from thence.engine.output import collect, latest, sliding

PROGRAM = """
event a(k int); event s(k int, v int);
r(k, x.start, count(), count(v), sum(v), avg(v)) <-
  x: a(k), w: extend(x, 4 us), while w: collect s(k, v);
unkeyed(count(), sum(v)) <- x: a(_), w: extend_backward(x, 6 us), while w: collect s(_, v);
-- The matches of a group have one window here, and often several there.
together(count(), sum(v)) <- x: s(_, u), w: extend(x, 5 us), while w: collect s(_, v), u > -9;
apart(count(), sum(v)) <- x: s(k, _), w: extend(x, 5 us), while w: collect s(k, v);
"""
RANGES = """
event s(k int, v int, f float);
last_two(k, list(v), sum(f), first(f), last(v), count(distinct v)) <-
  x: anyone(s(k, _, _)), over 2 rows of x: collect s(k, v, f);
recent(k, list(v), avg(f), min(f), max(v), stddev(f), median(distinct f)) <-
  x: anyone(s(k, _, _)), over 5 us of x: collect s(k, v, f);
bounded(list(v), sum(v)) <- x: anyone(s), over 3 rows in 4 us of x: collect s(_, v, _);
inside(k, list(v), sum(f)) <-
  x: s(k, _, _), w: extend_backward(x, 6 us), while w: collect s(k, v, f);
"""
compiled = cache(thence.compile)
numbers = st.sampled_from([0, 1, -1, 7, None, 2**40, -(2**40)])
rows = st.lists(st.tuples(st.sampled_from([1, 2, None]), numbers, st.integers(0, 12)), max_size=14)


def results(events: list[tuple[Any, ...]], anchors: list[int]) -> dict[str, Any]:
    program = compiled(PROGRAM)
    found = program.run(
        {
            "a": [{"k": 1 + time % 2, "time": time} for time in anchors],
            "s": [{"k": k, "v": v, "time": time} for k, v, time in events],
        },
        until=100,
    )
    return {name: sorted(map(str, table.to_pylist())) for name, table in found.items()}


@given(rows, st.lists(st.integers(0, 12), max_size=6), st.sampled_from([1, 3, 1 << 18]))
def test_running_totals_are_what_looking_at_each_event_gives(
    events: list[tuple[Any, ...]], anchors: list[int], chunk: int
) -> None:
    totals = results(events, anchors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "sliding", lambda *_: None)
        patch.setattr(ranges, "CHUNK", chunk)
        assert results(events, anchors) == totals


intervals = st.tuples(
    st.sampled_from([1, 2, None]),
    st.sampled_from([0, 1, 7, None]),
    st.sampled_from([0.1, -0.0, 1e17, -1e17, float("nan"), None]),
    st.integers(0, 6),
    st.sampled_from([0, 0, 1, 3]),
)


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(intervals, max_size=14), st.booleans(), st.sampled_from([1, 3, 1 << 18]))
def test_ranges_are_what_looking_at_each_event_gives(
    events: list[tuple[Any, ...]], instants: bool, chunk: int
) -> None:
    program = compiled(RANGES)
    table = [
        {"k": k, "v": v, "f": f, "start": start, "end": start + (0 if instants else length)}
        for k, v, f, start, length in events
    ]

    def found() -> dict[str, Any]:
        results = program.run({"s": table}, until=100)
        return {name: sorted(map(str, rows.to_pylist())) for name, rows in results.items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "CHUNK", chunk)
        patch.setattr(rolling, "WORTH", 0)
        ranged = found()
        patch.setattr(collect, "sliding", lambda *_: None)
        assert found() == ranged
        patch.setattr(latest, "unique_by", lambda *_, **__: False)
        assert found() == ranged


@pytest.mark.parametrize("function", ["sum", "list"])
def test_what_no_window_holds_need_have_no_value(function: str) -> None:
    program = thence.compile(
        f"event a(); event s(v int); r({function}(10 % v)) <- x: a, over 2 rows of x: collect s(v);"
    )
    events = {
        "a": [{"time": 5}],
        "s": [{"v": v, "time": time} for time, v in enumerate((0, 3, 4, 0), 2)],
    }
    with pytest.raises(thence.EvaluationError, match="zero"):
        program.run(events)
    events["s"][-1]["time"] = 6
    (row,) = program.run(events)["r"].to_pylist()
    assert row["c1"] == (3 if function == "sum" else [1, 2])


def totals(values: list[int]) -> tuple[int, float]:
    program = thence.compile(
        "event a(); event s(v int); r(sum(v), avg(v)) <- x: a(), w: extend(x, 1 s), "
        "while w: collect s(v);"
    )
    events = {
        "a": [{"time": 0}],
        "s": [{"v": v, "time": n} for n, v in enumerate(values, 1)],
    }
    (row,) = program.run(events, until=10**9)["r"].to_pylist()
    return row["c1"], row["c2"]


@pytest.mark.parametrize(
    "values",
    [[2**62, -(2**62), 5], [2**63 - 1, -(2**63) + 1], [2**53 + 1], [2**62, 2**62 - 1], [3, 4]],
)
def test_large_numbers_add_up_exactly(values: list[int]) -> None:
    total, mean = totals(values)
    assert total == sum(values)
    assert mean == pytest.approx(sum(values) / len(values), rel=1e-12, abs=1.0)


def test_a_sum_beyond_64_bits_is_refused() -> None:
    with pytest.raises(thence.EvaluationError, match="overflow"):
        totals([2**63 - 1, 1])


KINDS = """
event s(k int, t string, m decimal(10, 2), d duration, b bool, f float, e timestamp);
texts(k, min(t), max(t), count(distinct t), first(t), last(t), count(t)) <-
  x: anyone(s(k=k)), over 5 us of x: collect s(k=k, t=t);
sums(k, sum(m), avg(m), sum(d), avg(d), sum(m * 1.5), sum(f), avg(f), stddev(m), median(d)) <-
  x: anyone(s(k=k)), over 5 us of x: collect s(k=k, m=m, d=d, f=f);
least(k, min(m), max(d), count(distinct b), min(f), max(f), min(e), count(distinct m)) <-
  x: anyone(s(k=k)), over 3 rows of x: collect s(k=k, m=m, d=d, b=b, f=f, e=e);
ever(k, sum(f), min(f), count(distinct t), last(d)) <-
  x: anyone(s(k=k)), over 1 h of x: collect s(k=k, f=f, t=t, d=d);
"""
kinds = st.tuples(
    st.sampled_from([1, 2]),
    st.sampled_from(["x", "y", "", "é", None]),
    st.sampled_from([Decimal("0.25"), Decimal("-1.50"), Decimal("99999999.99"), None]),
    st.sampled_from([timedelta(microseconds=3), timedelta(0), timedelta(days=-1), None]),
    st.sampled_from([True, False, None]),
    st.sampled_from([0.1, 0.2, -0.0, 1e17, -1e17, float("inf"), float("nan"), None]),
    st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), None]),
    st.integers(0, 9),
    st.sampled_from([0, 0, 1, 3]),
)


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(kinds, max_size=14), st.booleans())
def test_ranges_of_values_of_every_kind(events: list[tuple[Any, ...]], instants: bool) -> None:
    program = compiled(KINDS)
    table = [
        dict(zip("ktmdbfe", each, strict=False))
        | {"start": each[7], "end": each[7] + (0 if instants else each[8])}
        for each in events
    ]

    def found() -> dict[str, Any]:
        results = program.run({"s": table}, until=100)
        return {name: sorted(map(str, table.to_pylist())) for name, table in results.items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "WORTH", 0)
        by_ranges = found()
        patch.setattr(collect, "sliding", lambda *_: None)
        assert found() == by_ranges


def test_a_wide_window_is_not_looked_at_anew_for_each_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of a hundred thousand windows holds up to as many events: five billion in all."""
    monkeypatch.setattr(sliding, "expand", None)
    count = 100_000
    table = pa.table({"time": pa.array(np.arange(count)), "f": pa.array(np.arange(count) % 7 / 7)})
    program = thence.compile(
        "event q(f float);"
        "r(o.end, sum(f), avg(f), min(f), max(f), count(distinct f), first(f), last(f)) <-"
        "  o: q, over 1 h of o: collect q(f);"
    )
    last = program.run({"q": table})["r"].to_pylist()[-1]
    assert (last["c6"], last["c5"], last["c8"]) == (7, 6 / 7, (count - 1) % 7 / 7)
