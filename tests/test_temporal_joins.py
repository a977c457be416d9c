"""The examples of paper 3, section 5, as plans: which side streams through, which is suppressed.

The plans that would be wrong are here as well: there nothing streams, and answers are right.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hosts import arrivals, batch, collect, oracle, rows_of, tables
from notation import Written

import thence
from thence.plan.tree import Input, Plan

SECOND = 1_000_000

ORDERS = """event order(id int, product int, qty int) within 0 s;
event shipped(id int, tracking int) within 0 s;
"""
COMPLETED = """completed(id, p) <- o: order(id, p, q), s: shipped(id, t), o before s,
    {o, s} within 2 days;"""
OVERDUE = """overdue(id) <- o: order(id, p, q), w: extend(o, 6h), while w: not shipped(id, t),
    q < 10;"""
REPORT = """report(count(sid)) <- o: order(_, _, _), w: extend_backward(o, 24h),
    while w: collect shipped(sid, t);"""

LETTERS = """event a(u int, v int) within {long};
event b(v int, w int) within {long};
event c(w int, x int) within {long};
"""
FIVE = (
    "d(u, v, w, x) <- i: a(u, v), j: b(v, w), k: c(w, x), i before k, {more}{{i, j, k}} within 1h;"
)


def read(plan: Plan, event: str) -> dict[str, Input]:
    """How the only join for an event reads what, by label, or by name where there is none."""
    (rule,) = (each for each in plan.prepared if each.conjunct.event == event)
    names = (use.label or use.event for use in rule.uses)
    return dict(zip(names, plan.inputs_of(rule), strict=True))


def streamed(text: str, event: str, without: Sequence[str] = ()) -> set[str]:
    found = read(thence.compile(text, without=without).plan, event)
    return {name for name, each in found.items() if each.streamed}


def test_rule_1_streams_what_was_shipped() -> None:
    """``o.e < s.s`` implies ``o.e < s.e``: that is a right streaming join (5.1)."""
    assert streamed(ORDERS + COMPLETED, "completed") == {"s"}


def test_rules_2_and_4_stream_nothing_that_their_windows_wait_for() -> None:
    assert streamed(ORDERS + OVERDUE, "overdue") == set()
    assert streamed(ORDERS + REPORT, "report") == {"o"}


def test_rule_5_streams_k_where_j_is_during_it() -> None:
    """``{i.e, j.e} < {k.e}`` by the closed bounds, which no single comparison says (5.1)."""
    text = LETTERS.format(long="10 s") + FIVE.format(more="j during k, ")
    assert streamed(text, "d") == {"k"}


@pytest.mark.parametrize("longest", ["0 s", "10 s"])
def test_rule_5_streams_nothing_where_j_may_come_after_k(longest: str) -> None:
    """The right streaming join that would be wrong: a k may have to wait for a later j (5.1)."""
    text = LETTERS.format(long=longest) + FIVE.format(more="")
    assert streamed(text, "d") == set()
    events = some_letters(3, 0 if longest == "0 s" else 2)
    assert batch(text, events, None) == oracle(text, events, None)
    assert in_order(text, events) == oracle(text, events, None)


def test_a_restriction_on_starts_alone_streams_nothing() -> None:
    text = """event a(u int) within 10 s; event b(u int) within 10 s;
    d(u) <- i: a(u), j: b(u), {i, j} within 1h where i.start < j.start;"""
    assert streamed(text, "d") == set()


def test_streaming_can_be_switched_off() -> None:
    text = ORDERS + COMPLETED
    assert streamed(text, "completed", ["streaming"]) == set()
    kept = thence.compile(text, without=["streaming"]).plan.needs.retention
    assert kept["shipped"].micros == kept["order"].micros > 0


SUPPRESSED = """bb(v, w) <- (b(v, w) seq b(v, w)) within 10 s;
cc(w, x) <- (c(w, x) seq c(w, x)) within 20 s;
"""
OVER = FIVE.replace("b(v, w)", "bb(v, w)").replace("c(w, x)", "cc(w, x)")


def suppressed(text: str, emit: str) -> frozenset[str]:
    return thence.compile(text).plan_for((emit,)).suppressed


def test_i_asks_for_k_though_j_is_joined_with_it_before() -> None:
    """``(Ri x Sj) x Tk`` with ``i.e < k.s`` (5.2): what is known of i is not what a join with j has
    let through, so every i that may still be joined with a later j asks for its k."""
    text = LETTERS.format(long="0 s") + SUPPRESSED + OVER.format(more="")
    assert suppressed(text, "d") == {"cc"}
    late_j = [
        Written("a", (1, 1), 1 * SECOND, 1 * SECOND),
        Written("c", (2, 3), 2 * SECOND, 2 * SECOND),
        Written("c", (2, 3), 3 * SECOND, 3 * SECOND),
        Written("b", (1, 2), 4 * SECOND, 4 * SECOND),
        Written("b", (1, 2), 5 * SECOND, 5 * SECOND),
    ]
    found = in_order(text, late_j, emit="d")
    assert found == {"d": oracle(text, late_j, None)["d"]}
    assert len(found["d"]) == 1


def test_streaming_and_suppressing_combined() -> None:
    """Rule (5) with ``j during k``: k streams and is suppressed; so is j, which is kept (5.3)."""
    text = LETTERS.format(long="0 s") + SUPPRESSED + OVER.format(more="j during k, ")
    plan = thence.compile(text).plan_for(("d",))
    found = read(plan, "d")
    assert {name for name, each in found.items() if each.streamed} == {"k"}
    assert {name for name, each in found.items() if each.suppressed} == {"j", "k"}
    assert not found["j"].streamed


def test_a_restriction_on_the_end_alone_does_not_suppress() -> None:
    """Then what the right side is made of may come first, and must be there when i comes (5.2)."""
    rule = OVER.replace("i before k, ", "").replace("{more}", "")
    text = (
        LETTERS.format(long="0 s")
        + SUPPRESSED
        + rule.format().replace(";", " where i.end < k.end;")
    )
    assert suppressed(text, "d") == frozenset()


@pytest.mark.parametrize("more", ["", "j during k, "])
@pytest.mark.parametrize("without", [(), ("suppress",), ("streaming",), ("semi_join",)])
def test_plans_of_rule_5_agree(more: str, without: tuple[str, ...]) -> None:
    text = LETTERS.format(long="10 s") + SUPPRESSED + OVER.format(more=more)
    for seed in range(4):
        events = some_letters(seed, 1)
        expected = {"d": oracle(text, events, None)["d"]}
        assert batch(text, events, None, without, ("d",)) == expected
        assert in_order(text, events, without, "d") == expected


def some_letters(seed: int, longest: int) -> list[Written]:
    """Events of few values and few times."""
    chance = random.Random(seed)
    found = []
    for name, _ in itertools.product("abc", range(6)):
        start = chance.randint(0, 12)
        end = start + chance.randint(0, longest)
        values = (chance.randint(1, 2), chance.randint(1, 2))
        found.append(Written(name, values, start * SECOND, end * SECOND))
    return list(dict.fromkeys(found))


def in_order(
    text: str, events: Sequence[Written], without: Sequence[str] = (), emit: str | None = None
) -> dict[str, set[object]]:
    """What a session finds that is given one event after another."""
    session = thence.compile(text, without=without).session(emit=emit, allow_unbounded=True)
    found: dict[str, set[object]] = {}
    for event in arrivals(events, 0, random.Random(0)):
        collect(found, rows_of(session.push(tables(text, [event]))))
    collect(found, rows_of(session.finish()))
    return found


def test_state_holds_only_what_has_met_what_must_come_before_it() -> None:
    """Of two sequences of three, one has begun: only its second event is kept for the third."""
    text = """event a(k int) within 0 s; event b(k int) within 0 s; event c(k int) within 0 s;
    r(k) <- (a(k) seq b(k) seq c(k)) within 1 h;"""
    rows = [{"k": key % 50, "time": (key + 1) * SECOND} for key in range(100)]
    kept = []
    for without in ((), ("semi_join",)):
        session = thence.compile(text, without=without).session()
        session.push({"a": [{"k": 1, "time": 1}]})
        session.push({"b": rows})
        session.advance(200 * SECOND)
        kept.append(len(session._generations[0].state.events["b"]))
        assert session.push({"c": [{"k": 1, "time": 300 * SECOND}]})["r"].num_rows == 1
    # The latest is looked at when few are left, which is not worth it.
    assert kept[0] <= 3
    assert kept[1] == 100


def test_saved_state_of_another_plan_is_refused() -> None:
    text = LETTERS.format(long="0 s") + SUPPRESSED + OVER.format(more="")
    saved = thence.compile(text).session(emit="d").save()
    thence.compile(text).session(emit="d", state=saved)
    with pytest.raises(thence.StateError, match="another program"):
        thence.compile(text).session(state=saved)
    with pytest.raises(thence.StateError, match="another program"):
        thence.compile(text, without=["suppress"]).session(emit="d", state=saved)
