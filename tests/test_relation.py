"""Sorted runs: what is remembered of an event type, and how little of it a step looks at."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_sizes import drawn_run_sizes

import thence
from thence.engine.state import sorted_run
from thence.engine.state.relation import ALWAYS, FAN, RECENT, Relation, relation
from thence.engine.state.sorted_run import key_hashes, probes
from thence.model.events import Events

Row = tuple[int, int, int]
"""Start, end, key."""

rows = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10), st.integers(0, 3)), max_size=12)


def events(of: list[Row]) -> Events:
    starts = np.array([start for start, _, _ in of], dtype=np.int64)
    ends = starts + np.array([length for _, length, _ in of], dtype=np.int64)
    return Events(starts, ends, {"k": pa.array([k for _, _, k in of], pa.int64())})


def listed(found: Events) -> list[Row]:
    columns = found.start.tolist(), found.end.tolist(), found.columns["k"].to_pylist()
    return sorted(zip(*columns, strict=True))


@given(st.lists(rows, max_size=8), st.integers(-1, 50), st.integers(0, 50), st.integers(), rows)
def test_a_relation_holds_what_was_added_and_has_not_expired(
    parts: list[list[Row]], after: int, low: int, seed: int, probing: list[Row]
) -> None:
    with drawn_run_sizes(random.Random(seed)):
        held, half = Relation(events([])), len(parts) // 2
        for part in parts[:half]:
            held = held.added(events(part))
        held = held.expired(after)
        for part in parts[half:]:
            held = held.added(events([row for row in part if row[0] + row[1] > after]))
        whole = events([row for part in parts for row in part])
        live = [row for row in listed(whole) if row[1] > after]
        assert listed(held.whole()) == live
        assert len(held) == len(live) <= held.most
        first, last = held.span
        assert all(first <= end <= last for _, end, _ in live)
        assert bool(live) == (first <= last)
        assert listed(held.ending(low, low + 9)) == [r for r in live if low <= r[1] <= low + 9]
        if probing:
            wanted = events(probing)
            found = held.near(("k",), probes(key_hashes(wanted, ["k"]), wanted.start, wanted.end))
            meeting = [
                r for r in live if any(s <= r[1] <= s + n and k == r[2] for s, n, k in probing)
            ]
            assert set(meeting) <= set(listed(found)) <= set(live)
            assert len(found) == len(listed(found))
            alike = listed(held.alike(wanted))
            assert set(live) & set(listed(wanted)) <= set(alike) <= set(live)
            assert len(alike) == len(held.alike(wanted))


def test_many_small_additions_make_few_runs() -> None:
    held = relation(events([]))
    for number in range(20 * RECENT):
        held = held.added(events([(number, 0, number % 7)]))
    assert len(held) == 20 * RECENT
    assert len(held.runs) <= 2 * FAN
    assert len(held.recent) < RECENT


def test_hashes_that_look_alike_find_no_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index knows hashes by their leading bits, which others may have as well."""
    monkeypatch.setattr(sorted_run, "_leading", lambda hashes: np.zeros(len(hashes), np.int64))
    held = relation(events([(t, 0, t % 5) for t in range(RECENT)]))
    wanted = events([(0, 0, 1), (0, 0, 2), (0, 0, 3)])
    found = held.near(("k",), probes(key_hashes(wanted, ["k"]), None, None))
    assert listed(found) == listed(held.whole())


def test_what_is_alike_is_looked_up_by_its_columns_too() -> None:
    """Of many rows that end together, only those that could be equal are looked at."""
    held = relation(events([(5, 0, number) for number in range(20 * RECENT)]))
    assert listed(held.alike(events([(5, 0, 7), (5, 0, -1)]))) == [(5, 5, 7)]


def test_expired_runs_go_whole() -> None:
    held = relation(events([(t, 0, 0) for t in range(RECENT)]))
    held = held.added(events([(t, 0, 0) for t in range(RECENT, 2 * RECENT)]))
    first, second = held.runs
    assert held.after == ALWAYS
    assert held.expired(RECENT - 2).runs == (first, second)
    assert held.expired(RECENT - 1).runs == (second,)
    assert held.expired(2 * RECENT).runs == ()


def test_no_two_runs_have_one_name() -> None:
    made = [relation(events([(t, 0, 0) for t in range(RECENT)])).runs[0].name for _ in range(50)]
    assert len(set(made)) == 50


@pytest.mark.parametrize(
    "rule",
    {
        "sequence": "r(k) <- (a(k) seq b(k)) within 1 h;",
        "absence": "r(k) <- not(c(k)).[a(k), b(k)] within 1 h;",
        "absence until time has passed": "r(k) <- notfollows(a(k), b(k), 1 h);",
        "collection": "r(k, count(x)) <- w: (a(k) seq b(k)) within 1 h, while w: collect x: c(k);",
        "repetition": "r(k) <- (a(k)+ seq b(k)) within 1 h using greedy;",
        "policy": "r(k) <- (a(k) seq b(k)) within 1 h using recent;",
    }.items(),
    ids=lambda item: item[0],
)
def test_a_push_looks_at_what_it_can_meet(
    rule: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much is remembered: here, of a thousand keys two are asked for."""
    program = thence.compile(f"event a(k int); event b(k int); event c(k int); {rule[1]}")
    session = program.session()
    count = 20_000
    times = np.arange(count)
    for kind in ("a", "c"):
        session.push({kind: pa.table({"k": times % 1000, "time": times + (kind == "c") * count})})
    assert session.state_rows >= count
    taken: list[int] = []
    for way in ("whole", "ending", "near"):
        monkeypatch.setattr(Relation, way, _counted(getattr(Relation, way), taken))
    session.push({"b": [{"k": 7, "time": 2 * count}]})
    session.push({"b": [{"k": 8, "time": 2 * count + 1}]})
    assert taken
    assert sum(taken) < 8 * (RECENT + count // 1000)


@pytest.mark.parametrize(
    ("rules", "options"),
    {
        "results that may come again": ("r(k) <- (a(k) and b(k)) within 1 h;", {}),
        "recursion": ("r(k) <- a(k); r(k) <- (r(k) seq b(k)) within 1 h;", {}),
        "lineage": ("r(k) <- (a(k) seq b(k)) within 1 h;", {"lineage": True}),
        "used up": (
            "r(k) <- (a(k) seq b(k)) within 1 h using exclusive;",
            {"max_delay": None},
        ),
    }.values(),
    ids=["results that may come again", "recursion", "lineage", "used up"],
)
def test_a_push_looks_at_few_of_the_results_that_are_remembered(
    rules: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = thence.compile(f"event a(k int); event b(k int); {rules}")
    session = program.session(**{"max_delay": "1 h", **options})
    count = 20 * RECENT
    times = np.arange(count)
    for place, kind in enumerate("ab"):
        session.push({kind: pa.table({"k": times, "time": times + place * count})})
    finalised = options.get("max_delay", "1 h") is None
    if finalised:
        session.advance(2 * count - 1)
    remembered = {row["purpose"]: row["rows"] for row in session.remembered.to_pylist()}
    assert sum(remembered.values()) - remembered["to join"] >= count - 1
    # What has become twice as much is looked through once, for what nothing refers to any more.
    session.push_one("b", k=0, time=2 * count)
    taken: list[int] = []
    for way in ("whole", "ending", "near"):
        monkeypatch.setattr(Relation, way, _counted(getattr(Relation, way), taken))
    for number in range(3):
        session.push_one("b", k=number, time=2 * count + number + 1)
        if finalised:
            session.advance(2 * count + number + 1)
    assert taken
    assert sum(taken) < count


def test_a_session_shows_what_it_remembers() -> None:
    program = thence.compile(
        "event a(k int); event b(k int); r(k) <- (a(k) seq b(k)) within 1 h using exclusive;"
    )
    session = program.session("1 min")
    session.push({"a": [{"k": n, "time": n} for n in range(300)]})
    session.push({"b": [{"k": 7, "time": 1000}]})
    session.advance(2000)
    table = session.remembered.to_pylist()
    shown = {(row["event"], row["purpose"]): (row["rows"], row["oldest"]) for row in table}
    assert shown["a", "to join"][0] == 300
    assert shown["a", "used up"][0] == 1
    assert sum(row["rows"] for row in table) == session.state_rows
    assert sum(row["bytes"] for row in table) == session.state_bytes


def _counted(way: Callable[..., Events], taken: list[int]) -> Callable[..., Events]:
    def counting(*arguments: Any) -> Events:
        found = way(*arguments)
        taken.append(len(found))
        return found

    return counting


def test_what_is_new_is_joined_only_with_what_it_can_meet_in_time() -> None:
    session = thence.compile(
        "event a(id int); event b(id int); event c(id int);"
        "out(x.start as s, y.start as t, z.start as u) <- "
        "(x: a(id) seq y: b(id) seq z: c(id)) within 10 s;"
    ).session()

    def push(*events: tuple[str, int]) -> list[list[int]]:
        table = {name: [{"id": 1, "time": t * 1_000_000}] for name, t in events}
        rows = session.push(table)["out"].to_pylist()
        return sorted([row[name].second for name in "stu"] for row in rows)

    def joined() -> list[str]:
        """The events of which new ones have been joined with others so far."""
        (measured,) = session._measured
        (prepared,) = measured.plan.prepared
        return [prepared.uses[atom].event for atom in sorted(measured.meter.of(prepared).terms)]

    assert push(("a", 1)) == push(("c", 3)) == []
    assert push(("b", 2)) == [[1, 2, 3]]  # it comes last, and meets what ended later
    assert joined() == ["b"]
    assert push(("a", 4)) == []  # b and c are remembered, and ended before
    assert joined() == ["b"]
    # Each match with something new has a new c, so that one join finds all of them.
    assert push(("a", 6), ("b", 7), ("c", 8)) == [[1, 2, 8], [1, 7, 8], [4, 7, 8], [6, 7, 8]]
    assert joined() == ["b", "c"]
