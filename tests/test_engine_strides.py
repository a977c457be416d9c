"""Recursion by the same stride gives all at once what it gives round by round."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from thence.plan.tree import Stage

PROGRAM = """
event a(k int, n int);
event c(k int, n int) within 4 us;
each(k)          <- periodic(a(k, _), 3 us, c(k, _));
above(k, x.n)    <- periodic(x: a(k, _), 3 us, c(k, v) where v > x.n);
either(k)        <- periodic(a(k, _), 3 us, c(_, 1) or (y: c(k, 2) where y.end > y.start));
both_ends(k)     <- periodic(a(k, _), 3 us, c(k, _) seq c(_, 3));
-- A recursion of its own, whose times join after the event rather than at it.
silent(k)        <- anyone(a(k, _));
silent(k)        <- notfollows(silent(k), c(k, _), 2 us);
-- Two strides in one recursion, and something else in it besides.
mixed(k)         <- anyone(a(k, _));
mixed(k)         <- notfollows(mixed(k), c(k, _), 3 us);
mixed(k)         <- notfollows(mixed(k), c(k, 1), 5 us);
mixed(k + 1)     <- follows(mixed(k), c(_, 2), 2 us) where k < 4;
-- Ticks that begin strides, and strides that have ticks.
ticking(k)       <- anyone(a(k, _));
ticking(k)       <- notfollows(ticking(k), c(k, _), 2 us);
ticking(k)       <- ticks(ticking(k), 3 us, 4 us);
-- Strides that all begin when the first one does.
longer(k)        <- a(k, _) or c(k, 3);
longer(k)        <- x: longer(k), w: shift(x, 4 us);
longer(k)        <- x: longer(k), w: extend(x, 2 us), while w: not c(k, 1);
"""

fewer_examples = settings(max_examples=settings().max_examples // 3)
compiled = cache(thence.compile)

keys = st.sampled_from([1, 2, None])
event = st.tuples(
    st.sampled_from("aaccc"), keys, st.integers(0, 3), st.integers(0, 15), st.sampled_from([0, 3])
)


def rows(events: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [
        {"type": type_, "k": k, "n": n, "start": start, "end": start + length}
        for type_, k, n, start, length in events
    ]


def shown(results: Any, into: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    found = {} if into is None else into
    for name, table in results.items():
        found[name] = sorted([*found.get(name, []), *map(str, table.to_pylist())])
    return found


@fewer_examples
@given(st.lists(event, max_size=10), st.booleans())
def test_strides_are_what_rounds_give(events: list[tuple[Any, ...]], lineage: bool) -> None:
    program = compiled(PROGRAM)
    strides = shown(program.run(rows(events), until=25, lineage=lineage))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage, "strides", lambda *_: False)
        assert shown(program.run(rows(events), until=25, lineage=lineage)) == strides


@fewer_examples
@given(st.lists(event, max_size=10), st.lists(st.integers(0, 25), max_size=3))
def test_a_session_that_is_cut_anywhere_gives_each_tick_once(
    events: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    program = compiled(PROGRAM)
    session = program.session(allow_unbounded=True)
    found: dict[str, list[str]] = {}
    before = -1
    for cut in sorted({*cuts, 25}):
        now = [e for e in rows(events) if before < e["end"] <= cut]
        shown(session.push(now), found)
        shown(session.advance(cut), found)
        session = program.session(state=session.save(), allow_unbounded=True)
        before = cut
    assert found == shown(program.run(rows(events), until=25))


@pytest.mark.parametrize(
    ("rule", "strides"),
    [
        ("m(k) <- periodic(a(k, _), 3 us, c(k, _));", True),
        ("m(k) <- periodic(a(k, _), 3 us, c(_, _) within 2 us);", True),
        ("m(k) <- periodic(x: a(k, _), 3 us, c(k, v) where v > x.n);", True),
        ("m(k) <- anyone(a(k, _)); m(k) <- notfollows(m(k), c(k, _), 2 us);", True),
        ("m(k) <- anyone(a(k, _)); m(k) <- notprecedes(m(k), c(k, _), 2 us) seq a(k, _);", False),
        ("m(k) <- a(k, _); m(k + 1) <- notfollows(m(k), c(k, _), 2 us) where k < 9;", False),
        ("m(k) <- a(k, _); m(k) <- t: m(k), w: shift(t, 2 us);", True),
    ],
)
def test_which_rules_go_by_the_same_stride(rule: str, strides: bool) -> None:
    program = thence.compile(f"event a(k int, n int); event c(k int, n int); {rule}")
    stages = program.plan.stages
    found = [stage.strides(number) for stage in stages for number in range(len(stage.rules))]
    assert any(found) == strides


def test_half_a_million_ticks_are_no_rounds() -> None:
    program = thence.compile("event a(); event c(); m() <- periodic(a, 1 s, c);")
    ticks = 500_000
    events = {"a": [{"time": 0}], "c": [{"time": ticks * 1_000_000}]}
    assert program.run(events)["m"].num_rows == ticks


def test_strides_end_where_others_of_their_kind_begin() -> None:
    """Two strides in one recursion: from each event that one finds, the other would go on to the
    end of time, and find what is found from others as well."""
    program = thence.compile(
        "event a(); event c(); m() <- anyone(a);"
        "m() <- notfollows(m, c, 2 us); m() <- notfollows(m, c, 3 us);"
    )
    found = program.run({"a": [{"time": 0}]}, until=30_000, max_matches=40_000)
    assert found["m"].num_rows == 30_000  # all but one microsecond after the first


def test_strides_without_an_end_are_refused_at_once() -> None:
    program = thence.compile("event a(); m() <- a; m() <- x: m, w: shift(x, 1 us);")
    with pytest.raises(thence.LimitError, match="going on every 1 us gives 1,893,456,000,000,000"):
        program.run({"a": [{"time": 0}]}, until="2030-01-01T00:00:00Z")
