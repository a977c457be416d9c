"""Statistics: sampled, running, or given; and what is expected from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence.model.events import Events
from thence.plan.statistics import Running, distinct, sampled, statistics

TYPES = "event a(k int, v int); event b(k int, v int);"


def some(rows: int, values: int, step: int = 1_000_000, begin: int = 0) -> Events:
    times = begin + np.arange(rows) * step
    return Events(times, times, {"k": pa.array(np.arange(rows) % values)})


@pytest.mark.parametrize("values", [1, 10, 300])
def test_a_sample_tells_few_values_nearly_exactly(values: int) -> None:
    found = sampled({"a": some(100_000, values)}).statistics({"a": ["k"]})["a"]
    assert (found.rows, found.instants) == (100_000, True)
    assert found.seconds == pytest.approx(100_000, rel=0.01)
    assert found.distinct["k"] == pytest.approx(values, rel=0.1)


def test_a_sample_tells_many_values_from_few() -> None:
    found = sampled({"a": some(100_000, 100_000)}).statistics({"a": ["k"]})["a"]
    assert found.distinct["k"] > 20_000


def test_a_sample_of_a_few_rows_holds_on_to_no_others() -> None:
    """A type that is rare is a part of the columns of all: what is remembered is a copy."""
    whole = some(100_000, 7)
    columns = {name: column[5:25] for name, column in whole.columns.items()}
    sample = sampled({"a": Events(whole.start[5:25], whole.start[5:25], columns)}).events["a"]
    assert sample.start.base is None
    assert sample.columns["k"].to_pylist() == whole.columns["k"][5:25].to_pylist()
    assert sample.columns["k"].get_total_buffer_size() < 1000


def test_values_of_a_small_column_are_counted() -> None:
    assert distinct(pa.array([1, 1, None, 2]), 4) == 3


def test_running_figures_are_about_recent_events() -> None:
    running = Running({"a": ["k"]})
    begin, rates = 0, []
    for step in (1_000_000, 1_000_000, 1_000, 1_000):
        for _ in range(8):
            if running.add({"a": some(512, 7, step, begin)}):
                rates.append(running.current["a"].rate)
            begin += 512 * step
    assert rates == [pytest.approx(r, rel=0.05) for r in (1, 1, 1000, 1000)]
    assert running.current["a"].distinct == {"k": 7}
    assert running.whole["a"].rows == 32 * 512


def test_drift_has_a_factor() -> None:
    def of(rows: int, values: int = 5) -> Any:
        return statistics({"a": {"rows": rows, "seconds": 10, "distinct": {"k": values}}})

    assert of(150).drifted(of(100)) == ()
    assert of(201).drifted(of(100)) == of(49).drifted(of(100)) == ("a",)
    assert of(100, 11).drifted(of(100)) == ("a",)
    assert of(100).drifted(statistics(None)) == ("a",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "must map events"),
        ({"a": 3}, "statistics of 'a' must map rows"),
        ({"a": {"row": 3}}, "have no 'row': there are rows, seconds"),
        ({"a": {"seconds": 3}}, "must say how many rows"),
        ({"a": {"rows": -1}}, "'rows' of 'a' must be a number, none below 0"),
        ({"a": {"rows": True}}, "'rows' of 'a' must be a number"),
        ({"a": {"rows": 1, "distinct": 3}}, "'distinct' of 'a' must be a mapping"),
        ({"z": {"rows": 1}}, "statistics are given of 'z', which the program does not declare"),
    ],
)
def test_statistics_that_are_none_are_refused(given: Any, message: str) -> None:
    with pytest.raises(thence.InputError, match=message):
        thence.compile(TYPES, statistics=given)


def test_given_statistics_are_what_explain_estimates_by() -> None:
    rule = "r(k) <- (x: a(k, _) seq y: b(k, _)) within 10 s where x.v > 3;"
    figures = {"seconds": 1000, "distinct": {"k": 10}}
    given = {
        "a": {"rows": 1000, "selectivity": {"(x.v > 3)": 0.5}, **figures},
        "b": {"rows": 2000, **figures},
    }
    program = thence.compile(TYPES + rule, statistics=given)
    assert program.plan.estimates is not None
    (found,) = program.plan.estimates.joins.values()
    assert found.filters == {0: (1000.0, 500.0)}
    # 500 of `a`, and for each of them 2 a second over 10 s with one of 10 keys.
    assert found.matches == pytest.approx(500 * 2 * 10 / 10, rel=0.01)
    text = program.explain()
    assert "order: x, then y by time and key\n" in text
    assert "join, estimated" in text
    assert "estimated" not in thence.compile(TYPES + rule).explain()
    assert program.plan.to_json()["stages"][0]["joins"][0]["estimate"]["rows"] == 2500


def test_rules_over_rules_are_estimated_from_what_is_expected_below() -> None:
    rules = "r(k) <- (a(k, _) seq b(k, _)) within 10 s; s(k) <- r(k) seq r(k) within 1 min;"
    given = {n: {"rows": 100, "seconds": 100, "distinct": {"k": 10}} for n in "ab"}
    plan = thence.compile(TYPES + rules, statistics=given).plan
    assert plan.estimates is not None
    assert plan.estimates.events["r"].distinct == {"k": 10}
    assert plan.estimates.events["s"].rows > 0
