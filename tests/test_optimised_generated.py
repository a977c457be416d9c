"""Generated programs with optimisations on and off: none changes what is found.

The programs are of the shapes that the optimisations of paper 3 are about: rules over rules of
which few are asked for, compound patterns that must be absent or are collected, before and after
what would ask for them. What depends on sizes goes one way, the other, or both in turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any, NamedTuple

import pytest
from hosts import (
    MICROSECOND,
    Results,
    arrivals,
    batch,
    collect,
    in_a_session,
    oracle,
    rows_of,
    tables,
)
from hypothesis import given, note
from hypothesis import strategies as st
from notation import Written
from strategies import Example, examples
from test_generated import accepted

import thence
from thence.plan import demand

SECOND = 1_000_000
EVENTS = "event t(k int); event u(k int, v int); event a(k int, v int); event b(k int, v int);\n"

BELOW = (
    "low(k, x, y) <- (a(k, x) seq b(k, y)) within {d};",
    "low(k, x, y) <- p: a(k, x), q: b(k, y), {{p, q}} within {d};",
    "low(k, x, y) <- (a(k, x) seq b(k, y)) within {d} where x < y;",
    "low(k, x, x) <- a(k, x);\nlow(k, x, y) <- (b(k, x) seq a(k, y)) within {d};",
    "low(k, x, y) <- not(u(k, x)).[a(k, x), b(k, y)] within {d};",
    "low(k, 1, count(y)) <- p: a(k, _), w: extend(p, {d}), while w: collect b(k, y);",
    "low(k, 1, x) <- p: a(k, x), w: extend(p, {d}), while w: not b(k, _);",
    "low(k, x, x) <- (a(k, x) or b(k, x));",
    "low(k, x, y) <- (a(k, x) seq b(k, y)) within {d} using last;",
    "low(k, y, y) <- (a(k, _){{1,2}} seq b(k, y)) within {d};",
)
MIDDLE = (
    "mid(k, y) <- l: low(k, x, y);",
    "mid(k, z) <- (low(k, x, y) seq a(k, z)) within {d};",
    "mid(k, y) <- l: low(k, x, y), w: extend(l, {d}), while w: not b(k, x);",
    "mid(k, count(y)) <- p: a(k, _), w: extend(p, {d}), while w: collect low(k, _, y);",
    "mid(k, y) <- (low(k, x, y) seq low(k, y, z)) within {d};",
)
TOP = (
    "top(k, y) <- t: t(k), m: mid(k, y), t before m, {{t, m}} within {d};",
    "top(k, y) <- t: t(k), m: mid(k, y), {{t, m}} within {d};",
    "top(k, y) <- t: t(k), m: mid(_, y), t before m, {{t, m}} within {d};",
    "top(k, y) <- t: u(k, y), m: mid(k, y), t before m, {{t, m}} within {d} where y > 1;",
    "top(k, y) <- t: t(k), s: u(k, y), m: mid(k, y), t before s, s before m, {{t, m}} within {d};",
    "top(k, y) <- m: mid(k, y), t: t(k), m before t, {{t, m}} within {d};",
    "top(k, 1) <- t: t(k), w: extend(t, {d}), while w: not mid(k, _);",
    "top(k, count(y)) <- t: t(k), w: extend(t, {d}), while w: collect mid(k, y);",
    "top(k, 1) <- t: t(k), w: extend(t, {d}), while w: not (a(k, x) seq b(k, x));",
    "top(k, count(x)) <- t: t(k), w: extend(t, {d}), while w: collect (a(k, x) seq b(k, x));",
    "top(k, y) <- t: t(k), l: low(k, x, y), m: mid(k, y), t before l, {{t, l, m}} within {d};",
)


class Layered(NamedTuple):
    """A program whose rules build on rules, its events, and what it is asked for."""

    program: str
    events: tuple[Written, ...]
    emit: tuple[str, ...]


@st.composite
def layered(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Layered:
    """A program in three layers, of which the last, or the last two, are asked for."""
    tops = draw(st.lists(st.sampled_from(TOP), min_size=1, max_size=2))
    middle = draw(st.sampled_from([MIDDLE[0], *MIDDLE]))
    rules = [draw(st.sampled_from(BELOW)), middle, *tops]
    declared = EVENTS
    if draw(st.booleans()):
        declared = declared.replace(");", ") within 0 s;")
    text = declared + "\n".join(
        rule.format(d=f"{draw(st.sampled_from([4, 9, 20]))} s") for rule in rules
    )
    instants = "within 0 s" in declared or draw(st.booleans())
    size = draw(st.integers(8, 24))
    events = draw(st.lists(events_of(instants), min_size=size, max_size=size))
    emit = draw(st.sampled_from([("top",), ("top",), ("mid", "top")]))
    return Layered(text, tuple(dict.fromkeys(events)), emit)


@st.composite
def events_of(draw: Callable[[st.SearchStrategy[Any]], Any], instants: bool) -> Written:
    kind = draw(st.sampled_from(["t", "u", "a", "a", "b", "b"]))
    start = draw(st.integers(0, 14)) * SECOND
    end = start if instants else start + draw(st.integers(0, 2)) * SECOND
    key = draw(st.sampled_from([1, 1, 1, 1, 1, 1, 2, None]))
    values = (key,) if kind == "t" else (key, draw(st.integers(1, 2)))
    return Written(kind, values, start, end)


@contextmanager
def sizes_say(which: str) -> Iterator[None]:
    """Let what depends on sizes go one way: always worth it, never, or every other time."""
    turns = cycle([0, 10**9])

    class Turning:
        """A number that is another one whenever it is multiplied."""

        def __mul__(self, other: int) -> int:
            return next(turns) * (other + 1)

    chosen = {"always": 0, "never": 10**9, "in turn": Turning(), "by size": demand.RARER}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demand, "RARER", chosen[which])
        patch.setattr("thence.engine.join.join.SMALL", 0 if which != "by size" else 1024)
        yield


ways = st.sampled_from(["always", "always", "in turn", "by size", "never"])
switches = st.sampled_from([(), (), *((name,) for name in thence.optimisations())])
seeds = st.integers(0, 2**16)


def wanted(found: Results, emit: Sequence[str]) -> Results:
    return {name: found[name] for name in emit}


@given(layered(), ways, switches)
def test_batch(example: Layered, way: str, without: tuple[str, ...]) -> None:
    text, events, emit = example
    note("\n".join([text, *map(str, events)]))
    with sizes_say(way):
        found = batch(text, events, None, without, emit)
    assert found == wanted(oracle(text, events, None), emit)


@given(layered(), ways, switches, seeds, st.booleans())
def test_micro_batches(
    example: Layered, way: str, without: tuple[str, ...], seed: int, save: bool
) -> None:
    text, events, emit = example
    note("\n".join([text, *map(str, events)]))
    with sizes_say(way):
        found = in_a_session(text, events, None, random.Random(seed), save, without, emit)
    assert found == wanted(oracle(text, events, None), emit)


@given(layered(), ways, switches, seeds)
def test_a_session_that_forgets(
    example: Layered, way: str, without: tuple[str, ...], seed: int
) -> None:
    """Events are instants, so that state has a bound and little is kept."""
    text, events, emit = example
    instants = tuple(dict.fromkeys(event._replace(end=event.start) for event in events))
    note("\n".join([text, *map(str, instants)]))
    chance = random.Random(seed)
    delay = chance.choice([0, 1, 4 * SECOND])
    program = thence.compile(text, without=without)
    try:
        session = program.session(delay * MICROSECOND, emit=emit)
    except thence.StateError:
        return
    found: Results = {}
    with sizes_say(way):
        for event in arrivals(instants, delay, chance):
            collect(found, rows_of(session.push(tables(text, [event]))))
        collect(found, rows_of(session.finish()))
    assert found == wanted(oracle(text, instants, None), emit)


@given(examples(), ways, switches, seeds)
def test_programs_of_all_kinds(
    example: Example, way: str, without: tuple[str, ...], seed: int
) -> None:
    program, chance = accepted(example), random.Random(seed)
    emit = tuple(chance.sample(program.plan.public, 1))
    expected = wanted(oracle(*example[:3]), emit)
    with sizes_say(way):
        assert batch(*example[:3], without, emit) == expected
        assert in_a_session(*example[:3], chance, seed % 2 == 0, without, emit) == expected


PAIRS = """event t(k int) within 0 s; event a(k int) within 0 s; event b(k int) within 0 s;
pair(k) <- (a(k) seq b(k)) within 10 s;
"""
TOGETHER = PAIRS + "r(k) <- t: t(k), p: pair(k), t before p, {t, p} within 20 s;"


def at(*seconds: int) -> list[dict[str, int]]:
    return [{"k": 1, "time": second * SECOND} for second in seconds]


@pytest.mark.parametrize(("first", "second"), [("always", "never"), ("never", "always")])
def test_what_was_not_asked_for_is_found_when_it_is(first: str, second: str) -> None:
    """The choice may be another one in each step: who asks late is answered all the same."""
    session = thence.compile(TOGETHER).session("30s", emit="r")
    with sizes_say(first):
        assert session.push({"a": at(5), "b": at(6)})["r"].num_rows == 0
    with sizes_say(second):
        assert session.push({"t": at(1)})["r"].num_rows == 1
    with sizes_say(first):
        assert session.push({"t": at(2)})["r"].num_rows == 1
        assert session.push({"b": at(7)})["r"].num_rows == 2


def test_what_may_still_meet_something_is_kept() -> None:
    """A partner that may come later is no reason to drop an event."""
    text = """event a(k int) within 0 s; event b(k int) within 0 s;
    r(k) <- i: a(k), j: b(k), {i, j} within 10 s;"""
    with sizes_say("always"):
        session = thence.compile(text).session()
        session.push({"b": at(5)})
        session.advance(8 * SECOND)
        assert session.push({"a": at(9)})["r"].num_rows == 1


def test_an_asker_that_ends_late_asks_for_nothing_twice() -> None:
    """Events that may last do not come before what they ask for; yet each result is given once."""
    text = PAIRS.replace(" within 0 s", "")
    text += "r(k) <- t: t(k), p: pair(k), {t, p} within 20 s where t.start < p.start;"
    text += "q(k) <- t: t(k), w: extend(t, 5 s), while w: not b(k);"
    assert thence.compile(text).plan_for(("r", "q")).suppressed == {"pair"}
    with sizes_say("always"):
        session = thence.compile(text).session(emit=("r", "q"), allow_unbounded=True)
        assert session.push({"t": at(1), "a": at(5), "b": at(6)})["r"].num_rows == 1
        session.advance(15 * SECOND)
        lasting = [{"k": 1, "start": 2 * SECOND, "end": 16 * SECOND}]
        assert session.push({"t": lasting})["r"].num_rows == 1


def test_a_policy_sees_all_matches() -> None:
    """Of what is asked for, the last might be another one."""
    text = PAIRS.replace("within 10 s;\n", "within 10 s using first(p) exclusive;\n").replace(
        "(a(k) seq b(k))", "(p: a(k) seq b(k))"
    )
    text += "r(k) <- t: t(k), p: pair(k), t before p, {t, p} within 20 s;"
    chosen = [
        a for a in thence.compile(text).plan_for(("r",)).prepared if a.conjunct.policy.chooses
    ]
    assert chosen
    assert all(each.demand is None for each in chosen)
    with sizes_say("always"):
        program = thence.compile(text)
        events = {"t": at(4), "a": at(3, 5), "b": at(6)}
        assert program.run(events, emit="r")["r"].num_rows == 0
