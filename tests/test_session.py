"""Sessions: what comes when, exactly once, whatever the order and the cuts of arrival."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from time import time_ns
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hosts import MICROSECOND, Results, batch, collect, one_table, rows_of, tables
from notation import Written, parse_events

import thence
from thence.model.time import LATEST

TYPES = "event a(k int); event b(k int); event c(k int);\n"
PAIR = TYPES + "pair(k) <- (a(k) seq b(k)) within 5 s;"
LONELY = TYPES + "lonely(k) <- x: a(k), w: extend(x, 5 s), while w: not b(k);"
QUIET = TYPES + "quiet(k) <- not(c(k)).[a(k), b(k)] within 5 s;"
COUNT = TYPES + "tally(k, count(n)) <- x: a(k), w: extend(x, 5 s), while w: collect b(n);"

SECOND = 1_000_000


def push(session: thence.Session, text: str, source: str) -> Results:
    """Push events written as in case files, in one table; give what comes of it."""
    return rows_of(session.push(one_table(text, parse_events(source))))


def seconds(rows: Iterable[Any]) -> list[Any]:
    """Rows as (values…, start, end) with times in seconds, sorted."""
    return sorted((*values, start / SECOND, end / SECOND) for values, start, end in rows)


# --- when results come ----------------------------------------------------------------------------


def test_a_result_that_needs_no_waiting_comes_at_once() -> None:
    session = thence.compile(PAIR).session(max_delay="1 h")
    assert push(session, PAIR, "a(1) @ 1\nb(1) @ 2") == {"pair": {((1,), SECOND, 2 * SECOND)}}


def test_absence_comes_when_the_horizon_passes_the_window_and_not_before() -> None:
    session = thence.compile(LONELY).session()
    assert push(session, LONELY, "a(1) @ 1")["lonely"] == set()
    # The window ends at 6 s. An event at 6 s says only that everything before it has been seen.
    assert push(session, LONELY, "c(1) @ 6")["lonely"] == set()
    assert session.horizon == 6 * SECOND - 1
    found = push(session, LONELY, "c(1) @ 6.000001")["lonely"]
    assert session.horizon == 6 * SECOND
    assert seconds(found) == [(1, 1.0, 6.0)]


def test_max_delay_puts_the_horizon_back() -> None:
    session = thence.compile(LONELY).session(max_delay="2s")
    assert push(session, LONELY, "a(1) @ 1\nc(1) @ 8")["lonely"] == set()
    assert session.horizon == 6 * SECOND - 1
    assert len(push(session, LONELY, "c(1) @ 8.000001")["lonely"]) == 1


def test_an_event_within_max_delay_still_prevents_an_absence() -> None:
    session = thence.compile(LONELY).session(max_delay="2s")
    assert push(session, LONELY, "a(1) @ 1\nc(1) @ 7.9")["lonely"] == set()
    assert push(session, LONELY, "b(1) @ 5.95")["lonely"] == set()
    assert rows_of(session.finish())["lonely"] == set()


def test_advance_says_that_a_time_itself_has_been_seen() -> None:
    session = thence.compile(LONELY).session(max_delay="1 h")
    push(session, LONELY, "a(1) @ 1")
    assert rows_of(session.advance(6 * SECOND - 1))["lonely"] == set()
    assert seconds(rows_of(session.advance(6 * SECOND))["lonely"]) == [(1, 1.0, 6.0)]
    assert rows_of(session.advance(100 * SECOND))["lonely"] == set()


@pytest.mark.parametrize(
    "time",
    ["1970-01-01T00:00:06Z", 6 * SECOND, datetime(1970, 1, 1, 0, 0, 6, tzinfo=UTC),
     datetime(1970, 1, 1, 0, 0, 6), "1970-01-01T02:00:06+02:00"],
)  # fmt: skip
def test_a_time_to_advance_to_may_be_given_in_many_ways(time: Any) -> None:
    session = thence.compile(LONELY).session()
    session.push(tables(LONELY, parse_events("a(1) @ 1")))
    assert session.advance(time).count("lonely") == 1
    assert session.horizon == 6 * SECOND


def test_time_never_goes_back() -> None:
    session = thence.compile(LONELY).session()
    session.advance(50 * SECOND)
    session.advance(10 * SECOND)
    assert session.horizon == 50 * SECOND
    push(session, LONELY, "a(1) @ 51")
    session.finish()
    assert session.horizon == 51 * SECOND


def test_finish_judges_up_to_the_latest_event_and_no_further() -> None:
    session = thence.compile(LONELY).session(max_delay="1 h")
    push(session, LONELY, "a(1) @ 1\na(2) @ 4\nc(1) @ 6")
    assert seconds(rows_of(session.finish())["lonely"]) == [(1, 1.0, 6.0)]
    assert rows_of(session.finish())["lonely"] == set()


def test_finish_before_any_event_judges_nothing() -> None:
    text = "event a(); r() <- at '1970-01-01T00:00:01Z';"
    session = thence.compile(text).session()
    assert session.finish().total == 0
    assert session.horizon is None
    assert session.advance(2 * SECOND).count("r") == 1
    assert session.advance(3 * SECOND).count("r") == 0


def test_a_session_goes_on_after_finish() -> None:
    session = thence.compile(PAIR).session()
    push(session, PAIR, "a(1) @ 1")
    session.finish()
    assert len(push(session, PAIR, "b(1) @ 2")["pair"]) == 1


def test_aggregates_come_once_their_group_is_complete() -> None:
    session = thence.compile(COUNT).session()
    assert push(session, COUNT, "a(1) @ 1\nb(7) @ 2\nb(8) @ 3")["tally"] == set()
    assert push(session, COUNT, "b(9) @ 4\nb(9) @ 4")["tally"] == set()
    found = push(session, COUNT, "c(1) @ 7")["tally"]
    assert seconds(found) == [(1, 3, 1.0, 6.0)]


# --- exactly once ---------------------------------------------------------------------------------


def test_a_result_that_can_be_derived_again_comes_once() -> None:
    text = TYPES + "seen(k) <- (a(k) seq b(k)) within 5 s; seen(k) <- a(k) and b(k) within 5 s;"
    session = thence.compile(text).session(max_delay="10 s")
    assert len(push(session, text, "a(1) @ 1\nb(1) @ 3")["seen"]) == 1
    assert push(session, text, "a(1) @ 1\nb(1) @ 3")["seen"] == set()
    assert push(session, text, "a(1) @ 1\nb(1) @ 2.5") == {"seen": {((1,), SECOND, 2_500_000)}}


def test_an_event_delivered_twice_changes_nothing() -> None:
    twice = [event for event in parse_events("a(1) @ 1\nb(2) @ 2\nb(3) @ 3") for _ in range(2)]
    session = thence.compile(COUNT).session(max_delay="10 s")
    for event in [*twice, *twice]:
        session.push(tables(COUNT, [event]))
    assert seconds(rows_of(session.advance(6 * SECOND))["tally"]) == [(1, 2, 1.0, 6.0)]


# --- late events ----------------------------------------------------------------------------------


def test_late_events_change_nothing_and_are_kept_and_counted() -> None:
    session = thence.compile(LONELY).session()
    push(session, LONELY, "a(1) @ 1\na(2) @ 1\nc(1) @ 10")
    assert (
        push(session, LONELY, "b(1) @ 9.999999\nb(1) @ 2\na(3) @ 3\nb(2) @ 11")["lonely"] == set()
    )
    assert session.late_count == 3
    assert session.late_counts == {"b": 2, "a": 1}
    late = {name: table.to_pylist() for name, table in session.late.items()}
    assert [row["k"] for row in late["a"]] == [3]
    assert [row["start"].microsecond for row in late["b"]] == [0, 999999]


def test_an_event_at_the_watermark_is_not_late_and_one_just_before_it_is() -> None:
    session = thence.compile(PAIR).session(max_delay="2 s")
    push(session, PAIR, "a(1) @ 10")
    push(session, PAIR, "a(1) @ 8")
    assert session.late_count == 0
    push(session, PAIR, "a(1) @ 7.999999")
    assert session.late_count == 1


def test_an_interval_is_late_by_its_end() -> None:
    text = "event v(k int) within 1 h; r(k) <- v(k);"
    session = thence.compile(text).session()
    push(session, text, "v(1) @ 100")
    assert len(push(session, text, "v(2) @ [1, 100]")["r"]) == 1
    assert push(session, text, "v(3) @ [1, 99.999999]")["r"] == set()
    assert session.late_count == 1


def test_late_events_of_a_type_that_no_rule_reads_are_counted_as_well() -> None:
    session = thence.compile(PAIR).session()
    push(session, PAIR, "c(1) @ 10")
    push(session, PAIR, "c(1) @ 1")
    assert session.late_counts == {"c": 1}


def test_taking_late_events_forgets_them_but_not_their_number() -> None:
    session = thence.compile(PAIR).session()
    push(session, PAIR, "a(1) @ 10")
    push(session, PAIR, "a(1) @ 1")
    assert session.take_late()["a"].num_rows == 1
    assert session.take_late() == {}
    push(session, PAIR, "a(1) @ 2")
    assert session.late["a"].num_rows == 1
    assert session.late_count == 2


def test_advancing_makes_later_arrivals_late() -> None:
    session = thence.compile(PAIR).session(max_delay="1 h")
    session.advance(10 * SECOND)
    push(session, PAIR, "a(1) @ 10\na(2) @ 10.000001")
    assert session.late_count == 1


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", ["2s", "2 seconds", timedelta(seconds=2), 2 * SECOND])
def test_max_delay_may_be_given_in_many_ways(delay: Any) -> None:
    session = thence.compile(PAIR).session(max_delay=delay)
    push(session, PAIR, "a(1) @ 10")
    assert session.horizon == 8 * SECOND - 1


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        ("2", "has no unit of time"),
        ("soon", "is not a duration"),
        ("-2 s", "must not be negative"),
        (-1, "must not be negative"),
        (timedelta(seconds=-1), "must not be negative"),
        (2.0, "must be a duration"),
        (True, "must be a duration"),
        ([], "must be a duration"),
    ],
)
def test_a_bad_max_delay_is_refused(delay: Any, message: str) -> None:
    with pytest.raises(thence.InputError, match=f"max_delay.*{message}"):
        thence.compile(PAIR).session(max_delay=delay)


@pytest.mark.parametrize("time", ["noon", "2026-13-01", 1.5, None, True, [], timedelta(1)])
def test_a_bad_time_to_advance_to_is_refused(time: Any) -> None:
    session = thence.compile(PAIR).session()
    with pytest.raises(thence.InputError, match="advance"):
        session.advance(time)
    assert session.horizon is None


@pytest.mark.parametrize("until", ["noon", 1.5, True, [], timedelta(1)])
def test_a_bad_end_of_time_is_refused(until: Any) -> None:
    with pytest.raises(thence.InputError, match="until"):
        thence.compile(PAIR).run({}, until=until)


def test_a_longer_delay_than_there_is_time_is_no_trouble() -> None:
    session = thence.compile(LONELY).session(max_delay=2**63 - 1)
    push(session, LONELY, "a(1) @ 1\nb(1) @ 100")
    assert session.late_count == 0
    assert seconds(rows_of(session.advance(6 * SECOND))["lonely"]) == [(1, 1.0, 6.0)]


@pytest.mark.parametrize("time", [time_ns(), 2**63 - 1, 2**63, 10**40, -(10**40), LATEST + 1])
def test_a_time_that_no_calendar_shows_is_refused(time: int) -> None:
    program = thence.compile(LONELY)
    session = program.session()
    push(session, LONELY, "a(1) @ 1")
    with pytest.raises(thence.InputError, match=r"advance: .* is outside the years 1 to 9999"):
        session.advance(time)
    with pytest.raises(thence.InputError, match=r"until: .* is outside the years 1 to 9999"):
        program.run({}, until=time)
    assert session.horizon == SECOND - 1


def test_nanoseconds_are_told_from_microseconds() -> None:
    with pytest.raises(thence.InputError, match=r"time\.time_ns\(\) gives, divide them by 1000"):
        thence.compile(LONELY).session().advance(time_ns())


def test_the_last_instant_of_all_ends_everything() -> None:
    session = thence.compile(LONELY).session()
    push(session, LONELY, "a(1) @ 1")
    assert session.advance(LATEST).count("lonely") == 1
    push(session, LONELY, "a(1) @ 2")
    assert session.late_count == 1
    assert thence.compile(LONELY).session(state=session.save()).horizon == LATEST


def test_a_time_that_is_missing_is_refused() -> None:
    program = thence.compile(LONELY)
    with pytest.raises(thence.InputError, match="advance must be a time, and this one is missing"):
        program.session().advance(pd.NaT)
    with pytest.raises(thence.InputError, match="until must be a time, and this one is missing"):
        program.run({}, until=pd.NaT)
    with pytest.raises(thence.InputError, match="max_delay must be a duration"):
        program.session(max_delay=pd.NaT)


def test_whole_numbers_of_numpy_are_times() -> None:
    session = thence.compile(LONELY).session()
    session.advance(np.int64(5))
    assert session.horizon == 5


# --- pushes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [{}, [], {"a": []}])
def test_a_push_without_events(nothing: Any) -> None:
    session = thence.compile(LONELY).session()
    assert session.push(nothing).total == 0
    assert session.horizon is None
    push(session, LONELY, "a(1) @ 1")
    assert session.push(nothing).total == 0
    assert session.horizon == SECOND - 1


def test_a_push_of_an_unknown_event_is_refused_and_nothing_of_it_is_taken() -> None:
    session = thence.compile(PAIR).session()
    with pytest.raises(thence.InputError, match="aa"):
        session.push({"a": [{"k": 1, "time": SECOND}], "aa": [{"k": 1, "time": SECOND}]})
    assert session.horizon is None
    assert push(session, PAIR, "b(1) @ 2")["pair"] == set()


def test_a_push_with_a_bad_row_is_refused_and_nothing_of_it_is_taken() -> None:
    session = thence.compile(PAIR).session()
    with pytest.raises(thence.InputError):
        session.push({"a": [{"k": 1, "time": SECOND}], "b": [{"k": "one", "time": SECOND}]})
    assert session.state_rows == 0
    assert push(session, PAIR, "b(1) @ 2")["pair"] == set()


def test_a_push_that_cannot_be_evaluated_leaves_the_session_as_it_was() -> None:
    text = TYPES + "r(k) <- a(k) where 1000000000 * k * k > 0;"
    session = thence.compile(text).session(max_delay="1 h")
    push(session, text, "a(1) @ 1")
    before = session.save()
    with pytest.raises(thence.EvaluationError):
        push(session, text, "a(9223372036854775807) @ 2")
    assert session.save() == before
    assert len(push(session, text, "a(2) @ 2")["r"]) == 1


def test_results_name_every_derived_event_each_time() -> None:
    text = PAIR + "twice(k) <- pair(k) seq pair(k) within 20 s;"
    session = thence.compile(text).session()
    for results in (session.push({}), session.advance(5), session.finish()):
        assert list(results) == ["pair", "twice"]
        assert results["pair"].column_names == ["k", "start", "end"]


PROGRAMS = {
    "pair": PAIR,
    "lonely": LONELY,
    "quiet": QUIET,
    "count": COUNT,
    "both": TYPES + "r(k) <- a(k) and b(k) within 3 s;",
    "notprecedes": TYPES + "r(k) <- notprecedes(a(k), b(k), 3 s);",
    "notfollows, then": TYPES + "r(k) <- (notfollows(a(k), b(k), 2 s) seq c(k)) within 4 s;",
    "rules over rules": LONELY + "r(k) <- (lonely(k) seq b(k)) within 12 s;",
    "collected absences": LONELY
    + "r(count(k)) <- x: c(_), w: extend_backward(x, 15 s), while w: collect lonely(k);",
    "recursion": TYPES + "r(k) <- a(k); r(k) <- (r(k) seq b(k)) within 9 s;",
    "nested absence": TYPES + "r(k) <- not(not(a(k)).[b(k), c(k)]).[a(k), b(k)] within 9 s;",
    "a time point": TYPES + "r(k) <- a(k) seq at '1970-01-01T00:00:09Z' within 9 s;",
}  # fmt: skip


def stream(source: random.Random, count: int = 40) -> list[Written]:
    times = sorted(source.randint(0, 40) for _ in range(count))
    return [
        Written(source.choice("aabc"), (source.choice([1, 2]),), t * SECOND, t * SECOND)
        for t in times
    ]


def pushed(text: str, parts: Iterable[Sequence[Written]], delay: int = 0) -> Results:
    session = thence.compile(text).session(delay * MICROSECOND)
    found: Results = {}
    for part in parts:
        collect(found, rows_of(session.push(tables(text, part))))
    collect(found, rows_of(session.finish()))
    assert session.late_count == 0
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_event_at_a_time_is_the_same_as_all_at_once(name: str) -> None:
    text = PROGRAMS[name]
    events = stream(random.Random(name))
    expected = batch(text, events, None)
    assert any(expected.values())
    assert pushed(text, [events]) == expected
    assert pushed(text, [[event] for event in events]) == expected
    assert pushed(text, [part for event in events for part in ([event], [])]) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_shuffled_within_max_delay_is_the_same(name: str) -> None:
    text = PROGRAMS[name]
    source = random.Random(name)
    events = stream(source)
    late = sorted(events, key=lambda event: event.end + source.randint(0, 6 * SECOND))
    cut = [late[i : i + 3] for i in range(0, len(late), 3)]
    assert pushed(text, cut, 6 * SECOND) == batch(text, events, None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_most_shuffled_order_is_the_same(name: str) -> None:
    """Everything backwards, one at a time, with a delay as long as the stream."""
    text = PROGRAMS[name]
    events = stream(random.Random(name))
    assert pushed(text, [[e] for e in events[::-1]], 41 * SECOND) == batch(text, events, None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_batch_until_a_time_is_a_session_advanced_to_it(name: str) -> None:
    """For every time from before all events to after them."""
    text = PROGRAMS[name]
    program = thence.compile(text)
    events = tables(text, stream(random.Random(name), 15))
    session = program.session(max_delay="1 h")
    found = rows_of(session.push(events))
    for horizon in range(-1, 60):
        collect(found, rows_of(session.advance(horizon * SECOND)))
        assert found == rows_of(program.run(events, until=horizon * SECOND))
