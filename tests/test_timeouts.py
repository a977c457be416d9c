"""``timeout(r)``: sequences that began and were not completed in time."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_progress import micros

import thence

EVENTS = "event a(x int); event b(x int); event c(x int);"
Seen = tuple[str, int, int]
"""An event: its type, its key, and when it happens."""


def expired(types: str, limit: int, seen: list[Seen], until: int) -> set[tuple[int, str, int, int]]:
    """Every beginning of a sequence that came in time and did not go on in time: its key, the type
    that is missing, its start, and the first instant that is too late."""
    found = set()
    for size in range(1, len(types)):
        fitting = [[event for event in seen if event[0] == kind] for kind in types[:size]]
        for events in product(*fitting):
            key, start, end = events[0][1], events[0][2], events[-1][2]
            in_order = all(one[2] < other[2] for one, other in pairwise(events))
            if not in_order or {event[1] for event in events} != {key} or end > start + limit:
                continue
            following = [event for event in seen if event[:2] == (types[size], key)]
            goes_on = any(end < event[2] <= start + limit for event in following)
            if not goes_on and start + limit + 1 <= until:
                found.add((key, types[size], start, start + limit + 1))
    return found


SEEN = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 2), st.integers(0, 9)), max_size=8)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["ab", "aa", "abc", "aba"]),
    st.integers(2, 6),
    SEEN,
    st.integers(0, 20),
    st.data(),
)
def test_a_session_cut_anywhere_finds_what_timed_out(
    types: str, limit: int, seen: list[Seen], until: int, data: st.DataObject
) -> None:
    sequence = " seq ".join(f"{kind}(x)" for kind in types)
    program = thence.compile(
        f"{EVENTS} r(x) <- ({sequence}) within {limit} us; late(x, missing) <- timeout(r);"
    )
    session = program.session()
    found, waiting = [], sorted(seen, key=lambda event: event[2])
    while waiting:
        cut = data.draw(st.integers(1, len(waiting)))
        batch, waiting = waiting[:cut], waiting[cut:]
        found.append(session.push([{"type": t, "x": x, "time": at} for t, x, at in batch]))
    until = max([until, *(event[2] for event in seen)])
    found.append(session.advance(until))
    rows = [row for results in found for row in results["late"].to_pylist()]
    told = [(r["x"], r["missing"], micros(r["start"]), micros(r["end"])) for r in rows]
    assert len(told) == len(set(told))
    assert set(told) == expired(types, limit, seen, until)


def test_it_is_written_out_as_rules_that_say_the_same() -> None:
    text = f"{EVENTS} r(x) <- (k: a(x) seq b(x)) within 5 s; late(x, missing) <- timeout(r);"
    program = thence.compile(text)
    assert "while deadline: not (part_2: b(x) where k.end < part_2.start)" in program.text()
    assert thence.compile(program.text()).plan.public == program.plan.public


def test_several_rules_of_an_event_time_out_each() -> None:
    program = thence.compile(f"""{EVENTS}
        r(x) <- (a(x) seq b(x)) within 5 us;
        r(x) <- (a(x) seq c(x)) within 3 us;
        late(x, missing) <- timeout(r);""")
    results = program.run({"a": [{"x": 1, "time": 0}]}, until=9)
    found = [(row["missing"], micros(row["end"])) for row in results["late"].to_pylist()]
    assert sorted(found) == [("b", 6), ("c", 4)]


def test_an_event_may_still_be_called_timeout() -> None:
    program = thence.compile("event timeout(x int); r(x) <- timeout(x);")
    assert program.run({"timeout": [{"x": 1, "time": 0}]})["r"].num_rows == 1


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("r(x) <- a(x) seq b(x); l(x) <- timeout(r);", "'r' never times out: add `within`"),
        ("r(x) <- (a(x) and b(x)) within 1 s; l(x) <- timeout(r);", "'r' is no sequence"),
        ("r(x) <- (a(x)+ seq b(x)) within 1 s; l(x) <- timeout(r);", "more than single events"),
        ("r(x) <- (a(x) seq b(x)) within 1 s using first; l(x) <- timeout(r);", "has a policy"),
        ("l(x) <- timeout(a);", "no rule derives 'a', so it never times out"),
        ("r(x) <- (a(x) seq b(x)) within 1 s; l(y) <- timeout(r);", "has no such attribute"),
        ("r(x) <- (a(x) seq b(x)) within 1 s; l(x) <- timeout(r, 1);", "takes the name of a"),
    ],
)
def test_what_does_not_time_out_is_refused(rules: str, message: str) -> None:
    with pytest.raises(thence.ThenceError, match=message):
        thence.compile(f"{EVENTS} {rules}")
