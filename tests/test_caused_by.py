"""``caused_by``: what is refused, and what a session needs to know.

Where it is true is in ``cases/caused_by.yaml``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import PROFILE
from hypothesis import given, settings
from hypothesis import strategies as st

import thence

EVENTS = """event a(n int); event b(n int); event c(n int);
m(x) <- a(x) seq b(_);
"""


def refusal(text: str) -> str:
    with pytest.raises(thence.ThenceError) as refused:
        thence.compile(EVENTS + text)
    (found,) = refused.value.diagnostics  # type: ignore[attr-defined]
    return str(found.message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "r() <- p: m(_), y: c(_), caused_by(p, y);",
            "no 'm' is made of 'c', so this is never true",
        ),
        (
            "r() <- p: a(_), y: b(_), caused_by(p, y);",
            "'a' comes from outside, so nothing in the program is its cause",
        ),
        (
            "r() <- p: m(_), y: a(_), caused_by(p, 3);",
            "caused_by(x, y) takes two labels",
        ),
        (
            "r() <- p: m(_), y: (a(_) seq b(_)), caused_by(p, y);",
            "'y' does not name one event of one type that occurs",
        ),
        (
            "r() <- p: m(_), y: a(_) where caused_by(p, y) or y.n > 3;",
            "caused_by is a condition on events that occur, by itself or joined to others by `and`",
        ),
        (
            "r(caused_by(p, y)) <- p: m(_), y: a(_);",
            "caused_by is a condition on events that occur, by itself or joined to others by `and`",
        ),
        (
            "r() <- (p: m(_) seq c(_) using last), y: a(_), caused_by(p, y);",
            "'p' is a part of a pattern that is evaluated on its own, so outside of it there are "
            "only its attributes and times",
        ),
    ],
)
def test_what_cannot_be_asked(text: str, message: str) -> None:
    assert refusal(text) == message


def test_what_causes_need_is_forgotten_in_time() -> None:
    program = thence.compile("""event a(n int); event b(n int);
    seen(n) <- a(n) or b(n);
    m(x) <- (seen(x) seq seen(_)) within 2 s;
    yes(x) <- (p: m(x) and y: a(_)) within 3 s where caused_by(p, y);
    no(x) <- (p: m(x) and y: a(_)) within 3 s where not caused_by(p, y);
    """)
    session = program.session(max_delay="1 s")
    rows = []
    for second in range(400):
        for event in "ab":
            session.push({event: [{"n": second, "time": second * 1_000_000}]})
        rows.append(sum(session.remembered.column("rows").to_pylist()))
    assert max(rows[200:]) <= max(rows[:200])


def test_too_many_causes_are_refused() -> None:
    program = thence.compile("""event hop(x int, y int);
    path(x, y) <- hop(x, y);
    path(x, z) <- path(x, y) seq hop(y, z);
    r(p.x as x) <- p: path(_, _), h: hop(_, _) where caused_by(p, h);
    """)
    hops = [{"x": n, "y": n + 1, "time": n} for n in range(60)]
    with pytest.raises(thence.LimitError, match="telling of which 'hop' events 'path' events"):
        program.run({"hop": hops}, max_matches=5_000)


def test_rules_that_go_on_keep_what_their_causes_need() -> None:
    text = """event a(n int); event b(n int);
    m(x) <- (a(x) seq b(_)) within 5 s;
    l(x) <- (m(x) seq b(_)) within 5 s;
    yes(x) <- (p: l(x) and y: a(_)) within 9 s where caused_by(p, y);
    """
    session = thence.compile(text + "other(x) <- a(x);").session()
    session.push({"a": [{"n": 1, "time": 1}], "b": [{"n": 1, "time": 2}]})
    session.replace(thence.compile(text))
    assert session.push({"b": [{"n": 1, "time": 3}]})["yes"].num_rows == 1
    session.replace(thence.compile("event a(n int); event b(n int); other(x) <- b(x);"))
    assert "to tell derivations" not in session.remembered["purpose"].to_pylist()


def test_a_stream_needs_to_know_how_far_back_a_cause_lies() -> None:
    bounded = """event a(n int); event b(n int);
    m(x) <- (a(x) seq b(_)) within 5 s;
    r(x) <- (p: m(x) and y: a(_)) within 10 s where caused_by(p, y);
    """
    assert not thence.compile(bounded).plan.needs.unbounded
    with pytest.raises(thence.StateError):
        thence.compile(bounded.replace("within 10 s ", "")).session()


def test_a_rule_may_ask_for_the_causes_of_what_it_derives_itself() -> None:
    """A path goes on from one that was made of the toll, as far as it comes."""
    program = thence.compile("""event hop(x int, y int); event toll(x int);
    path(x, y) <- (toll(x) seq hop(x, y)) within 20 s;
    path(1, y) <- hop(9, y);
    path(p.x as x, h.y as y) <- ((p: path(_, _) seq h: hop(_, _)) and t: toll(_)) within 20 s
      where h.x = p.y and caused_by(p, t);
    """)
    second = 1_000_000
    hops = [(9, 7, 2), (1, 2, 2), (2, 3, 3), (7, 8, 3), (3, 4, 4)]
    toll = {"toll": [{"x": 1, "time": second}, {"x": 5, "time": second}]}
    found = [
        program.run(toll | {"hop": [{"x": x, "y": y, "time": t * second} for x, y, t in hops]})
    ]
    session = program.session()
    found.append(session.push(toll))
    for x, y, t in hops:
        found.append(session.push({"hop": [{"x": x, "y": y, "time": t * second}]}))
    batch, *steps = [[(r["x"], r["y"]) for r in each["path"].to_pylist()] for each in found]
    assert sorted(batch) == [(1, 2), (1, 3), (1, 4), (1, 7)]
    assert sorted(path for step in steps for path in step) == sorted(batch)


def test_causes_add_nothing_to_layers_and_traces() -> None:
    program = thence.compile(f"{EVENTS} r(x) <- p: m(x), y: b(_), not caused_by(p, y);")
    assert "r(x int) from m, b\n" in f"{program.hierarchy()}\n"
    events = {"a": [{"n": 1, "time": 1}], "b": [{"n": 2, "time": 2}, {"n": 3, "time": 0}]}
    cause = program.run(events, trace=True).trace("r", 0)
    assert [part.event for part in cause.derivations[0].causes] == ["b", "m"]
    assert cause.absences == ()


def test_causes_add_nothing_to_the_lineage() -> None:
    program = thence.compile(f"{EVENTS} r(x) <- p: m(x), y: b(_), caused_by(p, y);")
    events = {
        "a": [{"n": 1, "time": 1}],
        "b": [{"n": 2, "time": 2}, {"n": 3, "time": 0}],
    }
    (row,) = program.run(events, lineage=True)["r"].to_pylist()
    assert [(e["label"], e["event"]) for e in row["lineage"]] == [
        (None, "a"), (None, "b"), ("y", "b"),
    ]  # fmt: skip


# -- what lineage says


LAST_OF = "event s(k int, v int); event d(k int); event e(k int);"
WAYS = [
    "l(k) <- d(k) seq s(k, _);",
    "l(k) <- d(k) and s(k, _) or e(k) seq s(k, _);",
    "l(k) <- x: s(k, _), y: d(k), x before y, {x, y} within 3 s;",
    "l(k, count() as n) <- o: d(k), w: extend_backward(o, 4 s), while w: collect s(k, _);",
    "l(k, count() as n) <- o: d(k), over 4 s of o: collect s(k, _);",
    "l(k, sum(v) as n) <- o: d(k), over 4 s of o: collect (s(k, v) where v > 1);",
    "l(k, sum(v) as n) <- o: d(k), over 4 s of o: collect s(k, v), e(_);",
    "l(k, count(x) as n) <- o: (d(k) seq e(k)), over 4 s of o: collect x: s(k, _);",
    "l(k, count() as n) <- o: d(k), over 5 s of o: collect (s(k, _) seq e(k));",
    "l(k, count() as n) <- o: d(k), over 4 s of o: collect m(k); m(k) <- s(k, _) seq e(k);",
    "l(k, count(x) as n, count(y) as m) <- o: d(k), over 4 s of o: collect x: s(k, _), "
    "over 2 s of o: collect y: e(k);",
    "l(count() as k) <- t: ticks(s(_, _), 2 s, 4 s), over 4 s of t: collect s(_, _);",
    "l(k, count() as n) <- aperiodic*(d(k), s(k, _), e(k));",
    "l(k) <- aperiodic(d(k), s(k, _), e(k));",
    "l(k) <- follows(s(k, _), d(k), 3 s);",
    "l(k) <- precedes(d(k), s(k, _), 3 s);",
    "l(k) <- any(2, s(k, _), d(k), e(k));",
    "l(k) <- anyone(s(k, _), d(k));",
    "l(k) <- both(s(k, _), d(k), 2 s);",
    "l(k) <- not(e(k)).[s(k, _), d(k)];",
    "l(k) <- s(k, _) seq d(k) using recent;",
    "l(k) <- m(k) seq d(_); m(k) <- e(k); m(k) <- s(k, _);",
    "l(k) <- m(k) seq d(_); m(j) <- n(j) and e(_); n(k) <- d(k) or s(k, _);",
    "l(k) <- n(k) seq d(k); l(k) <- l(k) seq e(_); n(k) <- e(k) or s(k, _);",
    "l(k) <- m(k) seq d(k) using last; m(k) <- s(k, _);",
    "l(k) <- s(k, _) seq d(k) or s(k, _) seq e(k) using first;",
    "l(k, count(x.v) as n) <- x: s(k, _) seq d(k) using cumulative;",
    "l(k, count() as n) <- o: d(k), over 4 s of o: collect s(k, _) using last;",
    "l(k, count() as n) <- o: d(k), over 2 rows of o: collect s(k, _);",
    "l(k, count() as n) <- o: d(k), over 2 rows of o: collect m(k); m(k) <- s(k, _) seq e(k);",
    "l(k) <- d(k) seq s(k, _)+ seq e(k);",
    "l(k) <- s(k, _){2};",
    "l(k) <- d(k) seq (s(k, _) seq e(k)){1,2};",
    "l(k) <- d(k) seq m(k)+; m(k) <- s(k, _) and e(k);",
    "CREATE EVENT l AS SELECT k, COUNT(*) AS n FROM s [RANGE BY '4 s'] PARTITION BY k;",
    "CREATE EVENT l AS SELECT COUNT(*) AS k FROM s [RANGE BY '4 s' SLIDE BY '2 s'];",
]


Given = tuple[str, int, int, int]
Answers = dict[str, set[tuple[object, ...]]]


def row_of(event: Given) -> dict[str, int]:
    kind, k, v, second = event
    return {"k": k, **({"v": v} if kind == "s" else {}), "time": second * 1_000_000}


def told_by(results: thence.Results) -> Answers:
    return {
        name: {
            (r["effect"], r["xs"], r["xe"], ("k", r["k"]), ("v", r["v"]), r["ys"])
            for r in results[name].to_pylist()
        }
        for name in ("yes", "no")
    }


def in_a_session(
    program: thence.Program, events: Sequence[Given], delay: str, lineage: bool
) -> Answers:
    """What a session answers that takes one event after another, and is saved and restored half
    way; each answer comes once."""
    how: dict[str, Any] = {"max_delay": delay, "allow_unbounded": True, "lineage": lineage}
    session = program.session(**how)
    answers: Answers = {"yes": set(), "no": set()}
    for number, event in enumerate(events):
        if number == len(events) // 2:
            session = program.session(state=session.save(), **how)
        take(answers, told_by(session.push({event[0]: [row_of(event)]})))
    take(answers, told_by(session.advance(20_000_000)))
    return answers


def take(answers: Answers, more: Answers) -> None:
    for name, found in more.items():
        assert not answers[name] & found
        answers[name] |= found


@pytest.mark.parametrize("way", WAYS)
@given(
    given_=st.lists(
        st.tuples(st.sampled_from("ssde"), st.integers(1, 2), st.integers(1, 3), st.integers(1, 8)),
        min_size=8, max_size=12, unique=True,
    )
)  # fmt: skip
@settings(max_examples=100 if PROFILE == "long" else 2)
def test_the_causes_are_those_of_the_lineage(way: str, given_: list[Given]) -> None:
    program = thence.compile(f"""{LAST_OF} {way}
    yes(x.k as effect, x.start as xs, x.end as xe, y.v as v, y.k as k, y.start as ys) <-
      x: l, y: s(_, _), caused_by(x, y);
    no(x.k as effect, x.start as xs, x.end as xe, y.v as v, y.k as k, y.start as ys) <-
      x: l, y: s(_, _), not caused_by(x, y);
    """)
    events: dict[str, list[dict[str, int]]] = {"s": [], "d": [], "e": []}
    for each in given_:
        events[each[0]].append(row_of(each))
    results = program.run(events, until=20_000_000, lineage=True)
    made = {
        (
            row["k"],
            row["start"],
            row["end"],
            *sorted(json.loads(e["attributes"]).items()),
            e["start"],
        )
        for row in results["l"].to_pylist()
        for e in row["lineage"]
        if e["event"] == "s"
    }
    said = told_by(results)
    assert said["yes"] == made
    for order, delay in ((given_, "20 s"), (sorted(given_, key=lambda each: each[3]), "0 s")):
        assert in_a_session(program, order, delay, lineage=delay == "0 s") == said
    effects = {(row["k"], row["start"], row["end"]) for row in results["l"].to_pylist()}
    assert len(said["no"] | made) == len(effects) * len(
        {(r["k"], r["v"], r["time"]) for r in events["s"]}
    )
