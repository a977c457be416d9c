"""Horizons per input: what each of them finalises, sources, inputs gone quiet, coverage."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hosts import collect, oracle, rows_of, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import parse_events
from strategies import Example, examples
from test_generated import accepted

import thence
from thence.plan.horizons import CLOCK, horizons_of

TYPES = "event a(k int); event b(k int); event c(k int);\n"
LONELY = TYPES + "lonely(k) <- x: a(k), w: extend(x, 5 s), while w: not b(k);"
PAIR = TYPES + "pair(k) <- (a(k) seq b(k)) within 5 s;"
SECOND = 1_000_000


def at(second: float, k: int = 1) -> list[dict[str, Any]]:
    return [{"k": k, "time": int(second * SECOND)}]


def ends(results: thence.Results, event: str) -> list[float]:
    return sorted(end / SECOND for _, _, end in rows_of(results)[event])


# --- which inputs finalise what ---------------------------------------------------------------


def test_a_table_under_a_name_moves_that_input_alone() -> None:
    session = thence.compile(LONELY).session()
    session.push({"a": at(1)})
    assert session.push({"a": at(20), "c": at(20)}).total == 0
    assert session.horizons == {"a": 20 * SECOND - 1, "b": None, "c": 20 * SECOND - 1}
    assert session.horizon is None
    assert ends(session.push({"b": at(6.000001, k=2)}), "lonely") == [6]
    assert session.horizon == session.horizons["b"] == 6 * SECOND


def test_one_table_of_many_types_moves_all_inputs() -> None:
    session = thence.compile(LONELY).session()
    session.push([{"type": "a", "k": 1, "time": SECOND}])
    assert session.horizon == SECOND - 1
    found = session.push([{"type": "c", "k": 1, "time": 6 * SECOND + 1}])
    assert ends(found, "lonely") == [6]


def test_the_last_instant_of_a_window_has_to_be_seen() -> None:
    session = thence.compile(LONELY).session()
    session.push({"a": at(1)})
    assert session.advance(6 * SECOND - 1, "b").total == 0
    assert session.advance(100 * SECOND, ["a", "c"]).total == 0
    assert ends(session.advance(6 * SECOND, "b"), "lonely") == [6]


def test_an_event_may_come_long_after_its_window_was_seen() -> None:
    """What must be absent has been seen; so a late starter is judged when it comes."""
    session = thence.compile(LONELY).session()
    session.push({"b": at(4)})
    session.advance(60 * SECOND, "b")
    found = session.push({"a": [*at(1), *at(7)]})
    assert ends(found, "lonely") == [12]


def test_an_event_is_kept_until_its_slow_partner_has_been_seen() -> None:
    session = thence.compile(PAIR).session()
    session.push({"b": at(4)})
    session.advance(60 * SECOND, ["b", "c"])
    assert session.state_rows
    assert ends(session.push({"a": at(2)}), "pair") == [4]
    session.advance(60 * SECOND, "a")
    assert session.state_rows == 0


def test_late_is_what_its_own_input_has_passed() -> None:
    session = thence.compile(PAIR).session()
    session.push({"a": at(10)})
    session.push({"b": at(1), "a": at(9)})
    assert session.late_counts == {"a": 1}


def test_delays_may_differ() -> None:
    session = thence.compile(PAIR).session({"a": "2 s", "b": "1 h"})
    session.push({"a": at(10), "b": at(7200), "c": at(5)})
    assert session.horizons == {
        "a": 8 * SECOND - 1, "b": 3600 * SECOND - 1, "c": 5 * SECOND - 1,
    }  # fmt: skip
    again = thence.compile(PAIR).session(state=session.save())
    again.push({"a": at(12)})
    assert again.horizons["a"] == 10 * SECOND - 1


def test_finish_finalises_everything_up_to_the_latest_event_of_all() -> None:
    session = thence.compile(LONELY).session()
    session.push({"a": at(1)})
    session.push({"c": at(6)})
    assert ends(session.finish(), "lonely") == [6]
    assert set(session.horizons.values()) == {6 * SECOND}


def test_until_per_input() -> None:
    program = thence.compile(LONELY)
    events = {"a": at(1), "c": at(100)}
    assert program.run(events).total == 1
    assert program.run(events, until={"b": 6 * SECOND - 1}).total == 0
    assert program.run(events, until={"b": 6 * SECOND, "a": 0, "c": 0}).total == 1
    assert program.run(events, until={"b": None}).total == 0


def test_aggregates_that_something_asks_for_are_not_missed_where_what_asks_is_slow() -> None:
    """A group is finalised once; what asks for it may come much later."""
    text = TYPES + (
        "sum3(k, count(n)) <- x: b(k), w: extend(x, 3 s), while w: collect c(n);\n"
        "answer(k, m) <- (a(k) seq sum3(k, m)) within 1 min;"
    )
    events = parse_events("a(1) @ 1\nb(1) @ 2\nc(5) @ 3\nc(6) @ 4")
    program = thence.compile(text)
    session = program.session(emit="answer")
    given_ = tables(text, events)
    session.push({"b": given_["b"]})
    session.push({"c": given_["c"]})
    session.advance(30 * SECOND, ["b", "c"])
    for _ in range(20):
        session.push({"b": at(31, k=2)})
    found = rows_of(session.push({"a": given_["a"]}))
    assert found == {"answer": oracle(text, events, 30 * SECOND)["answer"]} != {"answer": set()}


def test_the_plan_says_which_inputs_finalise_a_rule() -> None:
    text = LONELY + "\nodd(k) <- x: c(k), w: extend(x, 5 s), while w: not lonely(k);"
    plan = thence.compile(text).plan
    assert plan.horizons.seen["lonely"] == {"a": 0, "b": 0}
    by = {rule.conjunct.event: set(lags) for rule, lags in plan.whole.finalised_by.items()}
    assert by == {"lonely": {"b"}, "odd": {"a", "b"}}
    shown = thence.compile(text).explain()
    assert "reported when the horizon of b has passed x.end + 5 s" in shown
    assert "reported when the horizons of a and b have passed x.end + 5 s" in shown


def test_recursive_events_are_known_as_far_as_what_they_begin_with() -> None:
    text = TYPES + "t(k) <- a(k); t(k) <- x: t(k), w: shift(x, 2 s), while w: not b(k);"
    plan = thence.compile(text).plan
    assert plan.horizons.seen["t"] == {"a": 0, "b": 0}
    alone = thence.compile("event a(); noon() <- at '2026-01-01T12:00:00Z';").plan
    assert alone.horizons.seen["noon"] == {CLOCK: 0}
    assert horizons_of((), ["a"]).seen == {"a": {"a": 0}}


# --- sources --------------------------------------------------------------------------------------


def sourced(**options: Any) -> thence.Session:
    return thence.compile(LONELY).session(sources={"b": ["eu", "us"]}, **options)


def test_the_slowest_source_counts() -> None:
    session = sourced()
    session.push({"a": at(1)})
    assert session.push({"b": at(50, k=2)}, source="eu").total == 0
    assert session.horizons["b"] is None, "one that has not spoken yet holds the others up"
    assert ends(session.push({"b": at(6.000001, k=2)}, source="us"), "lonely") == [6]
    assert session.horizons["b"] == 6 * SECOND
    session.advance(70 * SECOND, "b", source="us")
    assert session.horizons["b"] == 50 * SECOND - 1
    session.advance(80 * SECOND, "b")
    assert session.horizons["b"] == 80 * SECOND


def test_an_event_behind_its_own_source_is_not_late_while_another_is_slower() -> None:
    session = sourced()
    session.push({"b": at(50)}, source="eu")
    session.push({"b": at(5)}, source="us")
    session.push({"b": at(40)}, source="eu")
    assert session.late_count == 0


def test_sources_are_saved() -> None:
    session = sourced()
    session.push({"a": at(1)})
    session.push({"b": at(50, k=2)}, source="eu")
    again = thence.compile(LONELY).session(state=session.save())
    assert ends(again.push({"b": at(7, k=2)}, source="us"), "lonely") == [6]
    with pytest.raises(thence.InputError, match=r"sources: the saved session has others: 'b/eu'"):
        thence.compile(LONELY).session(state=session.save(), sources={"b": ["eu", "asia"]})


def test_a_table_of_many_types_may_come_from_a_source() -> None:
    session = thence.compile(LONELY).session(sources={name: ["eu", "us"] for name in "abc"})
    for source in ("eu", "us"):
        session.push([{"type": "a", "k": 1, "time": SECOND}], source=source)
    assert session.horizon == SECOND - 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda s: s.push({"b": at(1)}),
            r"push: 'b' has several sources: say which one.*'eu', 'us'",
        ),
        (lambda s: s.push([{"type": "b", "k": 1, "time": 1}]), r"push: 'b' has several sources"),
        (lambda s: s.push({"b": at(1)}, source="uk"), r"no source 'uk'.*Declared are: 'eu', 'us'"),
        (lambda s: s.push({"a": at(1)}, source="eu"), r"'a' has no source 'eu': declare all"),
        (lambda s: s.advance(1, "b", source="asia"), r"advance: 'b' has no source 'asia'"),
        (
            lambda s: s.advance(1, source="asia"),
            r"advance: no input has a source 'asia'",
        ),
        (lambda s: s.push([], source="asia"), r"push: no input has a source 'asia'"),
        (lambda s: s.advance(1, "bb"), r"advance: the program declares no input event 'bb'"),
        (lambda s: s.advance(1, 7), r"advance: the program declares no input event 7"),
    ],
)
def test_sources_and_inputs_that_are_not_there(
    call: Callable[[thence.Session], Any], message: str
) -> None:
    session = sourced()
    with pytest.raises(thence.InputError, match=message):
        call(session)
    assert session.horizon is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": {"z": ["eu"]}}, "sources: the program declares no input event 'z'"),
        ({"sources": ["eu"]}, "sources must map inputs"),
        ({"sources": {"b": []}}, "'b' must have the names of its sources"),
        ({"sources": {"b": [7]}}, "'b' must have the names of its sources"),
        ({"max_delay": {"z": "2 s"}}, "max_delay: the program declares no input event 'z'"),
        ({"max_delay": {"a": 1.5}}, "max_delay of 'a' must be a duration"),
        ({"idle_after": "soon"}, "idle_after: 'soon' is not a duration"),
        ({"coverage": {"z": [(1, 2)]}}, "coverage: the program declares no input event 'z'"),
        ({"coverage": [(1, 2)]}, "coverage must map inputs"),
        ({"coverage": {"a": (1, 2)}}, "coverage of 'a' must be pairs of times"),
        ({"coverage": {"a": [(1, 2, 3)]}}, "coverage of 'a' must be pairs of times"),
        ({"coverage": {"a": [(2, 1)]}}, "coverage of 'a': 2 is after 1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(thence.InputError, match=message):
        thence.compile(LONELY).session(**options)


# --- inputs that have gone quiet --------------------------------------------------------------


class Wall:
    """A wall clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_input_that_has_gone_quiet_holds_nothing_up() -> None:
    wall = Wall()
    session = thence.compile(LONELY).session(idle_after="30 s", clock=wall)
    session.push({"a": at(1), "b": at(1, k=2)})
    wall.now += 29.9
    assert session.push({"a": at(50)}).total == 0
    assert session.idle == {}
    wall.now += 0.1
    assert ends(session.push({"a": at(51)}), "lonely") == [6]
    assert session.horizons["b"] == 51 * SECOND - 1
    since = datetime.fromtimestamp(1030, UTC)
    expected = {"idle": True, "count": 1, "since": since}
    assert session.idle == {"b": expected, "c": expected}
    # It comes back: what is later than its horizon counts, the rest is late.
    session.push({"b": [*at(52, k=1), *at(7)]})
    assert session.late_counts == {"b": 1}
    assert session.idle["b"] == {"idle": False, "count": 1, "since": since}
    wall.now += 100
    again = thence.compile(LONELY).session(state=session.save(), idle_after="30 s", clock=wall)
    assert again.idle["b"]["count"] == 1
    wall.now += 30
    again.push({"a": at(90)})
    assert again.idle["b"]["count"] == 2


def test_without_idle_after_the_wall_clock_says_nothing() -> None:
    wall = Wall()
    session = thence.compile(LONELY).session(clock=wall)
    session.push({"a": at(1)})
    wall.now += 10**6
    assert session.push({"a": at(50)}).total == 0
    assert session.idle == {}


def test_when_all_are_quiet_nobody_is_idle() -> None:
    wall = Wall()
    session = thence.compile(LONELY).session(idle_after="30 s", clock=wall)
    session.push({"a": at(1), "b": at(1, k=2)})
    wall.now += 100
    assert session.push({}).total == 0
    assert session.horizons["b"] == SECOND - 1


# --- coverage -------------------------------------------------------------------------------------


def test_coverage_in_a_session_is_kept_as_long_as_it_matters() -> None:
    program = thence.compile(LONELY)
    session = program.session(coverage={"b": [(10 * SECOND, None)]})
    session.push({"a": [*at(4), *at(10, k=2)]})
    session = program.session(state=session.save())
    assert ends(session.advance(20 * SECOND), "lonely") == [15]
    assert session._generations[0].state.gaps == {}, "nothing looks back so far any more"
    with pytest.raises(thence.InputError, match="coverage that it began with"):
        program.session(state=session.save(), coverage={"b": [(0, None)]})


def test_a_policy_a_repetition_and_a_stride_stop_at_a_gap() -> None:
    text = TYPES + (
        "chain(k) <- (a(k) seq b(_)+ seq c(k)) within 10 s;\n"
        "beat(k) <- periodic(a(k), 2 s, c(k)) where k = 2;\n"
        "pick(k) <- (x: a(k), w: extend(x, 5 s), while w: not b(_)) using last;"
    )
    events = {"a": [*at(1), *at(1, 2)], "b": at(3), "c": [*at(5), *at(20, k=3)]}
    program = thence.compile(text)
    whole = program.run(events)
    assert {name: table.num_rows for name, table in whole.items()} == {
        "chain": 1, "beat": 9, "pick": 0,
    }  # fmt: skip
    partly = program.run(events, coverage={"b": [(None, 3 * SECOND)], "c": [(None, 6 * SECOND)]})
    assert {name: table.num_rows for name, table in partly.items()} == {
        "chain": 0, "beat": 2, "pick": 0,
    }  # fmt: skip


NOT_MONOTONE = ("using", "collect", "{", "+", "*", "aperiodic*")


@settings(max_examples=settings().max_examples // 2)
@given(examples(), st.integers(0, 2**16))
def test_what_is_asserted_beside_a_gap_holds_whatever_was_in_it(
    example: Example, seed: int
) -> None:
    """Absence is asserted only where it is known: no event in a gap takes anything back."""
    accepted(example)
    if any(word in example.program for word in NOT_MONOTONE):
        return
    chance = random.Random(seed)
    program = thence.compile(example.program)
    ends_ = sorted({event.end for event in example.events}) or [0]
    last = ends_[-1]
    name = chance.choice([schema.name for schema in program.events])
    first = chance.choice(ends_)
    gap = first, first + chance.randint(0, 3) * example.unit
    hidden = [e for e in example.events if e.type == name and gap[0] <= e.end <= gap[1]]
    left = [event for event in example.events if event not in hidden]
    coverage = {name: [(None, gap[0] - 1), (gap[1] + 1, None)]}
    found = rows_of(program.run(tables(example.program, left), until=last, coverage=coverage))
    whole = rows_of(program.run(tables(example.program, example.events), until=last))
    for event, rows in found.items():
        assert rows <= whole[event]
    session = program.session(
        coverage=coverage, allow_unbounded=True, max_delay=2 * last + 10 * example.unit
    )
    given_: dict[str, Any] = {}
    for part in (left[: len(left) // 2], left[len(left) // 2 :]):
        collect(given_, rows_of(session.push(tables(example.program, part))))
    collect(given_, rows_of(session.advance(last)))
    assert given_ == found
