"""How far along it is: what a session tells of its partial matches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import progress_oracle as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from progress_oracle import Absence, Inequality, Spec

import thence

EVENTS = "event a(x int); event b(x int); event c(x int); event d(x int);"


def before(one: str, other: str) -> Inequality:
    return (one, "end"), (other, "start"), -1


def within(labels: str, width: int) -> tuple[Inequality, ...]:
    return tuple(((one, "end"), (other, "start"), width) for one in labels for other in labels)


def sequence(types: str, width: int) -> Spec:
    labels = "klmn"[: len(types)]
    atoms = [f"{label}: {event}(x)" for label, event in zip(labels, types, strict=True)]
    times = [before(one, other) for one, other in pairwise(labels)]
    return Spec(
        f"r(x) <- ({' seq '.join(atoms)}) within {width} us;",
        dict(zip(labels, types, strict=True)),
        (*times, ((labels[-1], "end"), ("k", "start"), width)),
    )


def together(types: str, width: int) -> Spec:
    labels = "klmn"[: len(types)]
    atoms = [f"{label}: {event}(x)" for label, event in zip(labels, types, strict=True)]
    return Spec(
        f"r(x) <- ({' and '.join(atoms)}) within {width} us;",
        dict(zip(labels, types, strict=True)),
        within(labels, width),
    )


def related(relation: str, times: tuple[Inequality, ...], width: int) -> Spec:
    return Spec(
        f"r(x) <- k: a(x), l: b(x), k {relation} l, {{k, l}} within {width} us;",
        {"k": "a", "l": "b"},
        (*times, *within("kl", width)),
    )


def without_between(width: int) -> Spec:
    gap = before("k", "absent"), before("absent", "l")
    return Spec(
        f"r(x) <- not(c(x)).[k: a(x), l: b(x)] within {width} us;",
        {"k": "a", "l": "b"},
        (before("k", "l"), (("l", "end"), ("k", "start"), width)),
        (Absence("c", gap, ("l", "start")),),
    )


def without_after(width: int) -> Spec:
    inside = (("k", "start"), ("absent", "start"), -1), (("absent", "end"), ("k", "end"), width - 1)
    return Spec(
        f"r(x) <- k: a(x), w: extend(k, {width} us), while w: not c(x);",
        {"k": "a"},
        (),
        (Absence("c", inside, ("k", "end"), width),),
        instants=True,
    )


def then_without_between(width: int) -> Spec:
    gap = before("l", "absent"), before("absent", "m")
    return Spec(
        f"r(x) <- (k: a(x) seq not(c(x)).[l: b(x), m: d(x)]) within {width} us;",
        {"k": "a", "l": "b", "m": "d"},
        (before("k", "l"), before("l", "m"), (("m", "end"), ("k", "start"), width)),
        (Absence("c", gap, ("m", "start")),),
    )


def with_condition(width: int) -> Spec:
    plain = sequence("aba", width)
    return replace(plain, text=f"{plain.text[:-1]} where l.x > 1;", least={"l": 2})


WIDTHS = st.integers(2, 6)
MET = ((("k", "end"), ("l", "start"), 0), (("l", "start"), ("k", "end"), 0))
DURING = (("l", "start"), ("k", "start"), -1), (("k", "end"), ("l", "end"), -1)
SPECS = st.one_of(
    st.builds(sequence, st.sampled_from(["ab", "aa", "abc", "aba"]), WIDTHS),
    st.builds(together, st.sampled_from(["ab", "aa", "abc"]), WIDTHS),
    st.builds(related, st.just("meets"), st.just(MET), WIDTHS),
    st.builds(related, st.just("during"), st.just(DURING), WIDTHS),
    st.builds(with_condition, WIDTHS),
    st.builds(without_between, WIDTHS),
    st.builds(without_after, WIDTHS),
    st.builds(then_without_between, st.integers(3, 6)),
)

SEEN = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.integers(1, 2), st.integers(0, 8), st.sampled_from([0, 0, 0, 2])
    ).map(lambda e: (e[0], e[1], e[2], e[2] + e[3])),
    max_size=8,
)


def micros(time: Any) -> int:
    return int((time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1))


def told(session: thence.Session) -> set[oracle.Row]:
    """What a session tells, as the oracle does."""
    found = session.progress("r").to_pylist()
    rows = set()
    for row in found:
        parts = frozenset(
            (
                part["label"],
                (part["event"], row["x"], micros(part["start"]), micros(part["end"])),
            )
            for part in row["parts"]
        )
        awaited = tuple(
            (
                each["label"] if each["what"] == "event" else f"no {each['event']}",
                micros(each["until"]),
            )
            for each in row["awaiting"]
        )
        assert row["met"] == len(parts) and row["of"] == len(parts) + len(awaited)
        assert row["done"] == row["met"] / row["of"]
        assert micros(row["since"]) == min(event[2] for _, event in parts)
        rows.add((row["x"], parts, awaited, micros(row["until"])))
    assert len(rows) == len(found), "each is told once"
    return rows


@settings(max_examples=150, deadline=None)
@given(SPECS, SEEN, st.integers(0, 3), st.data())
def test_a_session_cut_anywhere_tells_what_the_definition_says(
    spec: Spec, events: list[oracle.Seen], delay: int, data: st.DataObject
) -> None:
    program = thence.compile(f"{EVENTS} {spec.text}")
    session = program.session((delay and f"{delay} us") or None, progress=True)
    if spec.instants:
        events = [(event, key, end, end) for event, key, _, end in events]
    seen: list[oracle.Seen] = []
    horizon = -9
    # So that all of them are not too late: sorted, but for as much as the delay allows.
    waiting = sorted(events, key=lambda event: event[3] + data.draw(st.integers(0, delay)))
    while waiting:
        cut = data.draw(st.integers(1, len(waiting)))
        batch, waiting = waiting[:cut], waiting[cut:]
        session.push([{"type": t, "x": x, "start": s, "end": e} for t, x, s, e in batch])
        seen += [event for event in batch if event[3] > horizon]
        # More may come of the last instant.
        horizon = max(horizon, max(event[3] for event in batch) - delay - 1)
        if data.draw(st.booleans()):
            session = program.session(state=session.save(), progress=True)
        assert told(session) == oracle.in_progress(spec, seen, horizon, reach=14)
    horizon += data.draw(st.integers(0, 4))
    session.advance(horizon)
    assert told(session) == oracle.in_progress(spec, seen, horizon, reach=14)


# --- what is told of it ---------------------------------------------------------------------------

ORDERS = """
event order(id string, product string);
event shipped(id string);
completed(id, product) <- (o: order(id, product) seq s: shipped(id)) within 2 days;
"""


def order(name: str, hour: int = 8) -> dict[str, Any]:
    return {"id": name, "product": "book", "time": f"2026-01-01T{hour:02}:00:00Z"}


def shipped(name: str, hour: int) -> dict[str, Any]:
    return {"id": name, "time": f"2026-01-01T{hour:02}:00:00Z"}


def begun(text: str, **options: Any) -> thence.Session:
    return thence.compile(text).session(progress=True, **options)


def summary(session: thence.Session, *asked: Any, **bindings: Any) -> list[str]:
    """What is in progress, in short: the parts that are there, and those that are awaited."""

    def names(parts: list[dict[str, Any]]) -> str:
        return " ".join(part["label"] or part["event"] or part.get("what", "?") for part in parts)

    found = session.progress(*asked, **bindings).to_pylist()
    return [f"{r['rule']}: {names(r['parts'])} | {names(r['awaiting'])}" for r in found]


def test_a_row_says_what_is_there_and_what_is_awaited_until_when() -> None:
    session = begun(ORDERS)
    session.push({"order": [order("o7")]})
    (row,) = session.progress().to_pylist()
    eight = datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert row == {
        "rule": "completed",
        "id": "o7",
        "product": "book",
        "done": 0.5,
        "met": 1,
        "of": 2,
        "parts": [
            {
                "label": "o",
                "event": "order",
                "start": eight,
                "end": eight,
                "attributes": '{"id": "o7", "product": "book"}',
            }
        ],
        "awaiting": [
            {"label": "s", "event": "shipped", "what": "event", "until": eight + timedelta(days=2)}
        ],
        "since": eight,
        "until": eight + timedelta(days=2),
    }


def test_what_has_been_completed_is_no_longer_in_progress() -> None:
    session = begun(ORDERS)
    session.push({"order": [order("o7"), order("o8")], "shipped": [shipped("o7", 9)]})
    session.advance("2026-01-01T20:00:00Z")
    assert [row["id"] for row in session.progress().to_pylist()] == ["o8"]


def test_what_can_no_longer_be_completed_is_not_in_progress() -> None:
    session = begun(ORDERS)
    session.push({"order": [order("o7")]})
    session.advance("2026-01-03T08:00:00Z")
    assert session.progress().num_rows == 0


def test_one_rule_and_one_key_can_be_asked_for() -> None:
    session = begun(ORDERS + "paid(id) <- (order(id, _) seq shipped(id)) within 1 day;")
    session.push({"order": [order("o7"), order("o8")]})
    assert session.progress("completed").num_rows == 2
    assert session.progress("completed", id="o8").column("id").to_pylist() == ["o8"]
    assert session.progress("completed", {"id": "o8"}).num_rows == 1
    assert session.progress(product="book")["rule"].to_pylist() == ["completed"] * 2
    assert session.progress("completed", id="o9").num_rows == 0


@pytest.mark.parametrize(
    ("asked", "bindings", "message"),
    [
        (("complete",), {}, "no rule derives 'complete'; there are rules for: completed"),
        (("completed",), {"key": 1}, "'completed' has no attribute 'key'; it has: id, product"),
        ((), {"key": 1}, "no rule has the attributes key"),
        (("completed",), {"id": 7}, "'id' of 'completed' is string, and 7 is none"),
        ((), {"limit": 0}, "limit must be a whole number from 1 on, not 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    asked: tuple[str, ...], bindings: dict[str, Any], message: str
) -> None:
    with pytest.raises(thence.InputError, match=message):
        begun(ORDERS).progress(*asked, **bindings)


def test_a_session_that_did_not_begin_with_it_says_what_to_write() -> None:
    with pytest.raises(thence.InputError, match=r"program.session\(progress=True\)"):
        thence.compile(ORDERS).session().progress()


def test_more_than_the_limit_is_refused() -> None:
    session = begun(ORDERS)
    session.push({"order": [order(f"o{n}") for n in range(5)]})
    with pytest.raises(thence.LimitError, match="more than 4 partial matches"):
        session.progress(limit=4)
    assert session.progress(limit=5).num_rows == 5


def test_parts_that_may_come_in_too_many_orders_are_refused() -> None:
    labels = [f"l{n}: a({n})" for n in range(10)]
    session = begun(f"{EVENTS} r() <- ({' and '.join(labels)}) within 1 min;")
    session.push({"a": [{"x": n, "time": n} for n in range(10)]})
    with pytest.raises(thence.LimitError, match="more than 512 orders"):
        session.progress()


def test_a_long_sequence_has_few_sets_of_parts() -> None:
    labels = [f"l{n}: a({n})" for n in range(12)]
    session = begun(f"{EVENTS} r() <- ({' seq '.join(labels)}) within 1 min;")
    session.push({"a": [{"x": n, "time": n} for n in range(11)]})
    (row,) = session.progress().to_pylist()
    assert (row["met"], row["of"]) == (11, 12)


def test_each_alternative_is_in_progress_by_itself() -> None:
    session = begun(f"{EVENTS} r(x) <- (a(x) seq (b(x) or c(x))) within 10 s;")
    session.push([{"type": "a", "x": 1, "time": 0}])
    assert summary(session) == ["r: a | b", "r: a | c"]


def test_a_derived_event_is_a_part_once_it_has_been_derived() -> None:
    session = begun(f"""{EVENTS}
        ab(x) <- (a(x) seq b(x)) within 10 s;
        r(x) <- (ab(x) seq c(x)) within 10 s;""")
    session.push([{"type": "a", "x": 1, "time": 0}])
    assert summary(session) == ["ab: a | b"]
    session.push([{"type": "b", "x": 1, "time": 1}])
    assert summary(session) == ["r: ab | c"]


def test_rows_of_tables_are_no_parts_but_must_be_there() -> None:
    text = f"{EVENTS} table t(x int, y string); r(x, y) <- (a(x) seq b(x)) within 10 s, t(x, y);"
    session = begun(text, tables={"t": [{"x": 1, "y": "p"}, {"x": 1, "y": "q"}]})
    session.push([{"type": "a", "x": x, "time": 0} for x in (1, 2)])
    found = session.progress().to_pylist()
    assert [(row["x"], row["y"], row["of"]) for row in found] == [(1, "p", 2), (1, "q", 2)]


def test_what_a_policy_has_used_up_is_not_in_progress() -> None:
    session = begun(f"{EVENTS} r(x) <- (a(x) seq b(x)) within 10 s using exclusive;")
    session.push([{"type": "a", "x": x, "time": 0} for x in (1, 2)])
    session.push([{"type": "b", "x": 1, "time": 1}])
    session.advance(2)
    assert [row["x"] for row in session.progress().to_pylist()] == [2]


def test_what_is_collected_is_awaited_until_its_window_closes() -> None:
    session = begun(
        f"{EVENTS} r(x, count(y)) <- k: a(x), w: extend(k, 5 us), while w: collect b(y);"
    )
    session.push([{"type": "a", "x": 1, "time": 0}])
    (row,) = session.progress().to_pylist()
    assert row["awaiting"][0]["what"] == "collection" and micros(row["until"]) == 5
    session.advance(5)
    assert session.progress().num_rows == 0


def test_rules_of_which_nothing_can_be_told_are_named() -> None:
    session = begun(f"{EVENTS} r(x) <- (a(x){{3}} seq b(x)) within 10 s; s(x) <- a(x) where x > 1;")
    assert session.progress().schema.metadata == {b"untold": b"r: it repeats a pattern"}
    with pytest.raises(thence.InputError, match="how far 'r' has come is not told: it repeats"):
        session.progress("r")


def test_a_match_that_can_be_completed_for_ever_has_no_end() -> None:
    session = begun(f"{EVENTS} r(x) <- a(x) seq b(x);", allow_unbounded=True)
    session.push([{"type": "a", "x": 1, "time": 0}])
    (row,) = session.progress().to_pylist()
    assert row["until"] is None and row["awaiting"][0]["until"] is None


def test_each_input_has_its_own_horizon() -> None:
    session = begun(f"{EVENTS} r(x) <- (a(x) seq b(x)) within 5 us;")
    session.push({"a": [{"x": 1, "time": 0}]})
    session.advance(100, "a")
    assert summary(session) == ["r: a | b"], "of b nothing has been seen yet"
    session.advance(100, "b")
    assert summary(session) == []


def test_attributes_whose_names_are_taken_have_a_sign_more() -> None:
    session = begun(
        "event a(done int); event b(done int); r(done) <- (a(done) seq b(done)) within 1 s;"
    )
    session.push([{"type": "a", "done": 7, "time": 0}])
    (row,) = session.progress("r", done=7).to_pylist()
    assert (row["done_"], row["done"]) == (7, 0.5)


def test_rules_that_changed_are_asked_together_with_those_that_go_on() -> None:
    session = begun(f"{EVENTS} r(x) <- (a(x) seq b(x)) within 10 s;")
    session.push([{"type": "a", "x": 1, "time": 0}])
    more = f"{EVENTS} r(x) <- (a(x) seq b(x)) within 10 s; s(x) <- (a(x) seq c(x)) within 10 s;"
    session.replace(thence.compile(more))
    session.push([{"type": "a", "x": 2, "time": 1}])
    assert summary(session) == ["r: a | b", "r: a | b", "s: a | c"]


def test_nothing_is_remembered_for_it_where_it_was_not_asked_for() -> None:
    program = thence.compile(ORDERS)
    plain, asked = program.session(), program.session(progress=True)
    for session in (plain, asked):
        session.push({"order": [order("o7")], "shipped": [shipped("o7", 9)]})
        session.advance("2026-01-01T10:00:00Z")
    assert (plain.state_rows, asked.state_rows) == (1, 2)


def test_what_must_be_absent_rules_out_only_with_the_values_that_are_asked_for() -> None:
    session = begun(f"{EVENTS} r(x) <- not(c(5)).[a(x), b(x)] within 10 s;")
    session.push([{"type": "a", "x": 1, "time": 0}, {"type": "c", "x": 4, "time": 1}])
    session.advance(2)
    assert summary(session) == ["r: a | b c"]
    session.push([{"type": "c", "x": 5, "time": 3}])
    session.advance(4)
    assert summary(session) == []
