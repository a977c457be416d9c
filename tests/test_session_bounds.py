"""Sessions whose state has no bound, or only one that rests on how long events last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from test_session import TYPES, push, seconds

import thence

# --- state without a bound ------------------------------------------------------------------------


def refusal(make: Callable[[], Any]) -> str:
    with pytest.raises(thence.StateError) as caught:
        make()
    return str(caught.value)


def test_state_without_a_bound_is_refused_naming_the_pair() -> None:
    program = thence.compile(TYPES + "pair(k) <- first: a(k) seq b(k);")
    message = refusal(program.session)
    assert "'first'" in message
    assert "'b'" in message
    assert "within" in message
    assert "allow_unbounded" in message
    assert "line 2, column 1" in message


def test_each_pair_without_a_bound_is_named() -> None:
    program = thence.compile(
        TYPES + "one(k) <- a(k) seq b(k);\ntwo(k) <- (b(k) seq c(k)) within 5 s;\n"
        "three(k) <- (a(k) and c(k));"
    )
    message = refusal(program.session)
    assert "'one'" in message
    assert "'two'" not in message
    assert "'three'" in message


def test_what_a_batch_accepts_with_a_remark() -> None:
    program = thence.compile(TYPES + "pair(k) <- a(k) seq b(k);")
    (remark,) = program.check()
    assert remark.severity == "warning"
    assert "'a'" in remark.message


def test_state_without_a_bound_can_be_accepted() -> None:
    text = TYPES + "pair(k) <- a(k) seq b(k);"
    session = thence.compile(text).session(allow_unbounded=True)
    push(session, text, "a(1) @ 0")
    push(session, text, "c(1) @ 1000000")
    assert len(push(session, text, "b(1) @ 2000000")["pair"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        "(a(k) seq b(k)) within 5 s",
        "x: a(k), y: b(k), y.end <= x.start + 5 s, x.end <= y.start + 5 s",
        "both(a(k), b(k), 5 s)",
        "precedes(a(k), b(k), 5 s)",
        "notfollows(a(k), b(k), 5 s)",
        "x: a(k), w: extend_backward(x, 5 s), while w: not b(k)",
        "x: a(k), w: shift(x, -5 s), while w: not b(k)",
        "a(k)",
        "a(k) or b(k)",
        "a(k) equals b(k)",
        "a(k) meets b(k)",
        "a(k) par b(k) par c(k)",
        "then(a(k), b(k)) within 5 s",
        "any(2, a(k), b(k), c(k)) within 5 s",
        "relative(a(k), other_than(relative(b(k), c(k)), c(k))) within 5 s",
    ],
)
def test_bodies_whose_state_has_a_bound(body: str) -> None:
    thence.compile(TYPES + f"r(k) <- {body};").session()


def test_bounds_that_follow_from_how_long_events_last() -> None:
    lasting = "".join(f"event {name}(k int) within 5 s;\n" for name in "abc")
    text = lasting + "r(k) <- a(k) par b(k) par c(k);"
    session = thence.compile(text).session()
    assert not len(push(session, text, "a(1) @ [0, 4]\nb(1) @ [3, 7]")["r"])
    assert len(push(session, text, "c(1) @ [6, 9]")["r"]) == 1
    push(session, text, "a(1) @ [100, 101]")
    assert session.state_rows == 1


# --- events that are taken to be instants ---------------------------------------------------------


def test_an_interval_is_refused_where_the_bound_rests_on_instants() -> None:
    program = thence.compile(
        TYPES + "r(k) <- x: a(k), y: b(k), y.start <= x.start + 5 s, x before y;"
    )
    session = program.session()
    session.push({"a": [{"k": 1, "time": 0}]})
    with pytest.raises(thence.InputError) as caught:
        session.push({"b": [{"k": 1, "time": 1}, {"k": 1, "start": 1, "end": 5}]})
    message = str(caught.value)
    assert "'b'" in message
    assert "instants" in message
    assert "event b(" in message
    assert "within" in message


def test_an_interval_is_welcome_where_its_length_is_declared() -> None:
    text = (
        "event a(k int); event b(k int) within 10 s;"
        "r(k) <- x: a(k), y: b(k), y.start <= x.start + 5 s, x before y;"
    )
    session = thence.compile(text).session()
    push(session, text, "a(1) @ 0")
    assert seconds(push(session, text, "b(1) @ [4, 14]")["r"]) == [(1, 0.0, 14.0)]


def test_an_interval_longer_than_declared_is_refused() -> None:
    text = "event b(k int) within 10 s; r(k) <- b(k);"
    session = thence.compile(text).session()
    with pytest.raises(thence.InputError, match="10 s"):
        push(session, text, "b(1) @ [4, 14.000001]")


def test_state_that_rests_on_instants_goes_on_only_so() -> None:
    """A session that took events to be instants has forgotten what intervals would have needed."""
    text = """
        event a(); event b();
        r() <- o: a(), w: extend(o, 5 s), while w: not b();
    """
    saved = thence.compile(text).session().save()
    assert thence.compile(text).session(state=saved).state_rows == 0
    with pytest.raises(thence.StateError, match="allow_unbounded"):
        thence.compile(text).session(state=saved, allow_unbounded=True)


def test_an_event_that_no_rule_reads_only_moves_time() -> None:
    """One table with heartbeats: they let a window be judged, in a run and in a session."""
    program = thence.compile("""
        event a(); event heartbeat();
        r() <- o: a(), w: extend(o, 5 s), while w: not a();
    """)
    times = [0, 3_000_000, 9_000_000]
    types = ["a", "heartbeat", "heartbeat"]
    table = pa.table({"type": types, "time": pa.array(times).cast(pa.timestamp("us"))})
    assert program.run(table).count("r") == 1
    assert program.run(table.slice(0, 2)).count("r") == 0
    session = program.session()
    assert session.push(table.slice(0, 1)).count("r") == 0
    assert session.push(table.slice(2)).count("r") == 1
    session.push(table.slice(1, 1))
    assert session.late_counts == {"heartbeat": 1}


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("r(k) <- (q(k, v) seq b(k)) within 1 day where v > 10;", 1),
        ("r(k) <- (x: q(k, _) seq b(k)) within 1 day where x.v > 10 and x.n != 3;", 1),
        ("r(k) <- (q(k, 20) seq b(k)) within 1 day;", 1),
        ("r(k) <- (q(k, v) seq b(k)) within 1 day;", 5),
        ("r(k) <- (q(k, v) seq q(k, w)) within 1 day where v > 10 and w < 2;", 3),
        ("r(k, count(v)) <- o: b(k), over 1 day of o: collect (q(k, v) where v > 10);", 1),
        ("r(k) <- o: b(k), w: extend(o, 1 day), while w: not (q(k, v) where v > 10);", 1),
        ("m(k, v) <- q(k, v); r(k) <- (m(k, v) seq b(k)) within 1 day where v > 10;", 1),
        ("r(k) <- (x: q(k, v)+ seq b(k)) within 1 day where x.v > 10;", 1),
    ],
)
def test_events_that_no_rule_can_use_are_not_kept(rules: str, kept: int) -> None:
    program = thence.compile(
        f"event q(k int, v int); event b(k int); {rules.replace('x.n != 3', 'x.k != 3')}"
    )
    session = program.session()
    session.push({"q": [{"k": 1, "v": v, "time": v + 1} for v in (0, 1, 4, 7, 20)]})
    held = session._generations[0].state.events
    assert sum(len(events) for events in held.values()) == kept


def test_a_condition_that_cannot_be_computed_is_an_error_only_where_it_is_asked() -> None:
    program = thence.compile(
        "event q(v int); event b();"
        "r() <- o: b, w: extend(o, 1 h), while w: not (q(v) where 10 % v = 3);"
    )
    session = program.session(max_delay="2 h")
    session.push({"q": [{"v": 1, "time": 5}], "b": [{"time": 1}]})
    assert session.state_rows == 1
    session.push({"q": [{"v": 0, "time": 4}]})
    assert session.state_rows == 2
    with pytest.raises(thence.EvaluationError, match="zero"):
        session.advance("1970-01-01T03:00:00Z")
