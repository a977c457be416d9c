"""Another program in the place of a session's own: what is the same goes on, what is new begins."""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from datetime import timedelta

import pytest
from hosts import MICROSECOND, Results, arrivals, batch, collect, cuts, facts, rows_of, tables
from hypothesis import given, reject
from hypothesis import strategies as st
from run_sizes import drawn_run_sizes
from strategies import Example, examples
from test_generated import accepted, seeds

import thence

SECOND = 1_000_000

DECLARED = "event a(x int); event b(x int);\n"
PAIR = "pair(x) <- (a(x) seq b(x)) within 10 s;\n"
ALONE = "alone(x) <- o: a(x), w: extend(o, 5 s), while w: not b(x);\n"


def at(seconds: float, kind: str = "a", x: int = 1) -> dict[str, object]:
    return {"type": kind, "x": x, "time": int(seconds * SECOND)}


def ends(results: thence.Results, event: str) -> list[float]:
    """When the results of an event end, in seconds."""
    return [end / SECOND for _, _, end in sorted(rows_of(results)[event], key=lambda row: row[2])]


# --- what goes on, begins, and is gone ------------------------------------------------------------


def test_an_event_with_the_same_rules_goes_on() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(1)])
    session.replace(thence.compile(DECLARED + ALONE + PAIR))
    assert ends(session.push([at(2, "b")]), "pair") == [2]


def test_layout_and_comments_are_no_change() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(1)])
    changed = session.replace(thence.compile(DECLARED + "-- pairs\n" + PAIR.replace(" ", "  ")))
    assert changed.kept == ("pair",) and not changed.begun
    assert ends(session.push([at(2, "b")]), "pair") == [2]


def test_a_new_rule_sees_nothing_of_what_came_before() -> None:
    session = thence.compile(DECLARED + ALONE).session()
    session.push([at(1)])
    session.replace(thence.compile(DECLARED + PAIR))
    found = session.push([at(2, "b"), at(3), at(4, "b")])
    assert rows_of(found)["pair"] == {((1,), 3 * SECOND, 4 * SECOND)}


def test_a_new_rule_asserts_no_absence_before_it_began() -> None:
    """Nobody knows whether an `a` came in the 5 s before the first `b`."""
    text = DECLARED + "late(x) <- o: b(x), w: extend_backward(o, 5 s), while w: not a(x);"
    session = thence.compile(DECLARED).session()
    session.push([at(10)])
    session.replace(thence.compile(text))
    session.push([at(12, "b"), at(20, "b")])
    assert ends(session.finish(), "late") == [20]


def test_a_changed_rule_begins_anew() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(1)])
    changed = session.replace(thence.compile(DECLARED + PAIR.replace("10 s", "20 s")))
    assert changed.begun == ("pair",) and not changed.kept
    assert ends(session.push([at(2, "b")]), "pair") == []


def test_what_rests_on_a_changed_rule_begins_anew() -> None:
    above = "twice(x) <- (pair(x) seq pair(x)) within 1 min;"
    session = thence.compile(DECLARED + PAIR + above).session()
    changed = session.replace(thence.compile(DECLARED + PAIR.replace("10", "9") + above))
    assert changed.begun == ("pair", "twice")


def test_a_removed_rule_goes_with_all_that_it_remembers() -> None:
    both = thence.compile(
        DECLARED + "event c(y string);\n" + PAIR + "r(y) <- (c(y) seq c(y)) within 1 h;"
    )
    session = both.session()
    session.push({"c": [{"y": "long ago", "time": n} for n in range(500)]})
    held = session.state_rows
    changed = session.replace(thence.compile(DECLARED + PAIR))
    assert changed.gone == ("r",) and session.state_rows < held - 499
    assert set(session.push([at(1)])) == {"pair"}


def test_new_rules_may_begin_later() -> None:
    session = thence.compile(DECLARED).session()
    changed = session.replace(thence.compile(DECLARED + PAIR), begin=5 * SECOND)
    assert changed.begin == 5 * SECOND
    found = session.push([at(4), at(5), at(6, "b"), at(7), at(8, "b")])
    assert rows_of(found)["pair"] == {((1,), 7 * SECOND, 8 * SECOND)}


def test_new_rules_cannot_begin_before_what_was_taken() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(9)])
    with pytest.raises(
        thence.InputError, match="cannot begin at 1970-01-01T00:00:08Z: events up to"
    ):
        session.replace(thence.compile(DECLARED + ALONE), begin=8 * SECOND)
    assert ends(session.push([at(10, "b")]), "pair") == [10]


def test_what_is_no_program_is_refused() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    with pytest.raises(thence.InputError, match=r"must come from thence\.compile"):
        session.replace(DECLARED + ALONE)  # type: ignore[arg-type]


def test_a_program_whose_state_has_no_bound_is_refused_and_changes_nothing() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(1)])
    with pytest.raises(thence.StateError, match="has no bound"):
        session.replace(thence.compile(DECLARED + "ever(x) <- a(x) seq b(x);"))
    assert ends(session.push([at(2, "b")]), "pair") == [2]


def test_a_new_input_holds_up_only_what_reads_it() -> None:
    text = (
        DECLARED
        + "event c(x int);\n"
        + PAIR
        + ALONE
        + ALONE.replace("b(", "c(").replace("alone", "other")
    )
    session = thence.compile(DECLARED + ALONE).session()
    session.push({"a": [{"x": 1, "time": 0}], "b": [{"x": 9, "time": 0}]})
    session.replace(thence.compile(text))
    session.push({"a": [{"x": 2, "time": SECOND}]})
    found = session.push({"b": [{"x": 9, "time": 60 * SECOND}]})
    assert (ends(found, "alone"), ends(found, "other")) == ([5, 6], [])


def test_late_events_stay_late() -> None:
    session = thence.compile(DECLARED + PAIR).session()
    session.push([at(5)])
    session.replace(thence.compile(DECLARED + ALONE))
    session.push([at(3)])
    assert session.late_counts == {"a": 1}


def test_tables_are_given_for_what_begins() -> None:
    declared = DECLARED + "table good(x int);\n"
    session = thence.compile(declared + "early(x) <- a(x), good(x);").session(
        tables={"good": [{"x": 1}]}
    )
    later = thence.compile(declared + "early(x) <- a(x), good(x);\nnewer(x) <- b(x), good(x);")
    session.replace(later, tables={"good": [{"x": 2}]})
    found = rows_of(session.push([at(1), at(1, "a", 2), at(1, "b"), at(1, "b", 2)]))
    assert {name: {row[0] for row in rows} for name, rows in found.items()} == {
        "early": {(1,)},
        "newer": {(2,)},
    }


# --- saved and restored ---------------------------------------------------------------------------


def replaced_session() -> tuple[thence.Program, bytes]:
    session = thence.compile(DECLARED + PAIR).session(timedelta(seconds=1))
    session.push([at(1)])
    later = thence.compile(DECLARED + PAIR + ALONE)
    session.replace(later)
    session.push([at(2)])
    return later, session.save()


def test_a_session_with_rules_that_began_later_is_restored() -> None:
    later, saved = replaced_session()
    session = later.session(state=saved)
    assert ends(session.push([at(3, "b")]), "pair") == [3, 3]
    session.push([at(10, "a", 5)])
    assert ends(session.advance(20 * SECOND), "alone") == [15]


@pytest.mark.parametrize("text", [DECLARED + PAIR, DECLARED + PAIR + ALONE.replace("5", "6")])
def test_only_the_program_of_the_session_restores_it(text: str) -> None:
    _, saved = replaced_session()
    with pytest.raises(thence.StateError, match="the saved state belongs to another program"):
        thence.compile(text).session(state=saved)


@given(st.integers(0, 2**31), st.integers(1, 255))
def test_tampered_bytes_of_such_a_session_are_refused(place: int, change: int) -> None:
    later, saved = replaced_session()
    place %= len(saved)
    bad = saved[:place] + bytes([saved[place] ^ change]) + saved[place + 1 :]
    with pytest.raises(thence.StateError):
        later.session(state=bad)


# --- generated ------------------------------------------------------------------------------------


def less(text: str, outputs: Collection[str]) -> str:
    """A program without the rules that none of some derived events rests on."""
    rules = [re.match(r"\s*(\w+)\(", line) for line in text.splitlines()]
    heads = [
        None if found is None or line.startswith(("event", "table")) else found[1]
        for found, line in zip(rules, text.splitlines(), strict=True)
    ]
    needed, before = set(outputs), -1
    while len(needed) > before:
        before = len(needed)
        needed |= {
            name
            for head, line in zip(heads, text.splitlines(), strict=True)
            if head in needed
            for name in heads
            if name is not None and re.search(rf"\b{name}\b", line)
        }
    lines = zip(heads, text.splitlines(), strict=True)
    return "\n".join(line for head, line in lines if head is None or head in needed)


@given(examples(), st.data(), seeds)
def test_kept_events_are_as_if_nothing_happened_and_new_ones_as_if_begun_then(
    example: Example, data: st.DataObject, seed: int
) -> None:
    every = list(accepted(example).plan.public)
    names = st.lists(st.sampled_from(every), min_size=1, unique=True)
    earlier, later = (less(example.program, data.draw(names)) for _ in range(2))
    try:
        old, new = thence.compile(earlier), thence.compile(later)
    except thence.ProgramError:
        reject()
    chance = random.Random(seed)
    delay = chance.choice([0, 2_000_000])
    events = [event for event in example.events if not event.is_row]
    facts_ = facts(example.program, example.events)
    parts = cuts(arrivals(events, delay, chance), chance)
    place = chance.randint(0, len(parts))

    def given_tables(program: thence.Program) -> dict[str, object]:
        return {table.name: facts_[table.name] for table in program.tables}

    session = old.session(delay * MICROSECOND, tables=given_tables(old), allow_unbounded=True)
    found: Results = {}
    with drawn_run_sizes(chance):
        for part in parts[:place]:
            collect(found, rows_of(session.push(tables(example.program, part))))
        changed = session.replace(new, tables=given_tables(new))
        for part in parts[place:]:
            collect(found, rows_of(session.push(tables(example.program, part))))
            if chance.random() < 0.3:
                session = new.session(
                    state=session.save(), tables=given_tables(new), allow_unbounded=True
                )
        collect(found, rows_of(session.finish()))
    whole = batch(example.program, example.events, None)
    assert {name: found[name] for name in changed.kept} == {n: whole[n] for n in changed.kept}
    if changed.begin is None:
        expected = whole
    else:
        after = [event for event in example.events if event.is_row or event.end > changed.begin]
        inputs = [schema.name for schema in new.events]
        coverage = {name: [(changed.begin + 1, None)] for name in inputs}
        last = max((event.end for event in events), default=None)
        given_ = tables(example.program, after)
        expected = rows_of(new.run(given_, until=last, tables=given_tables(new), coverage=coverage))
    since = -(2**62) if changed.begin is None else changed.begin
    for name in changed.begun:
        mine = {row for row in found.get(name, set()) if row[2] > since}
        assert mine == {row for row in expected[name] if row[2] > since}, name
