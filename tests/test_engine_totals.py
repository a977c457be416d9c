"""Running totals over sliding windows give what looking at every event gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence
from thence.engine import collect, ranges

PROGRAM = """
event a(k int); event s(k int, v int);
r(k, x.start, count(), count(v), sum(v), avg(v)) <-
  x: a(k), w: extend(x, 4 us), while w: collect s(k, v);
unkeyed(count(), sum(v)) <- x: a(_), w: extend_backward(x, 6 us), while w: collect s(_, v);
-- The matches of a group have one window here, and often several there.
together(count(), sum(v)) <- x: s(_, u), w: extend(x, 5 us), while w: collect s(_, v), u > -9;
apart(count(), sum(v)) <- x: s(k, _), w: extend(x, 5 us), while w: collect s(k, v);
"""
numbers = st.sampled_from([0, 1, -1, 7, None, 2**40, -(2**40)])
rows = st.lists(st.tuples(st.sampled_from([1, 2, None]), numbers, st.integers(0, 12)), max_size=14)


def results(events: list[tuple[Any, ...]], anchors: list[int]) -> dict[str, Any]:
    program = thence.compile(PROGRAM)
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
