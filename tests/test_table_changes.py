"""Tables that events change: in sessions, in Python, printed back, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import thence

ROADS = """
    event opened(a int, b int);
    event closed(a int, b int);
    event trip(a int, b int);
    table linked(x int, y int);
    on opened(a, b): insert linked(a, b);
    on closed(a, b): delete linked(a, b);
    possible(a, b) <- trip(a, b), linked(a, b);
    blocked(a, b) <- trip(a, b), not linked(a, b);
"""
EVENTS = [
    *({"type": "trip", "a": 1, "b": 2, "time": time} for time in range(10)),
    {"type": "opened", "a": 1, "b": 2, "time": 3},
    {"type": "closed", "a": 1, "b": 2, "time": 5},
    {"type": "opened", "a": 1, "b": 2, "time": 7},
]


def ends(results: Mapping[str, pa.Table], name: str) -> list[int]:
    return sorted(results[name]["end"].cast(pa.int64()).to_pylist())


def test_no_rows_need_to_be_given() -> None:
    found = thence.compile(ROADS).run(EVENTS)
    assert ends(found, "possible") == [3, 4, 7, 8, 9]
    assert ends(found, "blocked") == [0, 1, 2, 5, 6]


def test_rows_that_are_given_are_there_from_the_beginning() -> None:
    found = thence.compile(ROADS).run(EVENTS, tables={"linked": [{"x": 1, "y": 2}]})
    assert ends(found, "blocked") == [5, 6]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_events_come_changes_nothing(seed: int) -> None:
    events = list(EVENTS)
    random.Random(seed).shuffle(events)
    program = thence.compile(ROADS)
    session = program.session(max_delay="1s", allow_unbounded=True)
    found: dict[str, list[int]] = {"possible": [], "blocked": []}

    def note(results: Mapping[str, pa.Table]) -> None:
        for name in found:
            found[name] += ends(results, name)

    for place, event in enumerate(events):
        note(session.push([event]))
        if place == len(events) // 2:
            state = session.save()
            session = program.session(state=state, allow_unbounded=True)
    note(session.advance(9))
    assert sorted(found["possible"]) == [3, 4, 7, 8, 9]
    assert sorted(found["blocked"]) == [0, 1, 2, 5, 6]


def test_a_look_up_waits_for_what_deletes_and_not_for_what_inserts() -> None:
    session = thence.compile(ROADS).session(allow_unbounded=True)
    assert not ends(session.push({"opened": [{"a": 1, "b": 2, "time": 1}]}), "possible")
    assert not ends(session.push({"trip": [{"a": 1, "b": 2, "time": 4}]}), "possible")
    assert ends(session.advance(4, "closed"), "possible") == [4]


def test_that_a_row_is_absent_waits_for_what_inserts() -> None:
    session = thence.compile(ROADS).session(allow_unbounded=True)
    session.push({"trip": [{"a": 1, "b": 2, "time": 4}]})
    assert not ends(session.advance(4, "closed"), "blocked")
    assert not ends(session.advance(4, "trip"), "blocked")
    assert ends(session.advance(4, "opened"), "blocked") == [4]


def test_a_row_with_null_is_deleted_by_what_says_nothing_of_the_column() -> None:
    rows = [{"x": 1, "y": None}]
    events = [
        {"type": "a", "time": 1},
        {"type": "one", "x": None, "time": 2},
        {"type": "a", "time": 3},
        {"type": "every", "time": 4},
        {"type": "a", "time": 5},
    ]
    program = thence.compile("""
        event a(); event one(x int); event every();
        table t(x int, y int);
        on one(y): delete t(_, y);
        on every(): delete t(_, _);
        r(x) <- a(), t(x, _);
    """)
    assert ends(program.run(events, tables={"t": rows}), "r") == [1, 3]


def test_rules_begin_anew_where_other_events_change_their_table() -> None:
    later = ROADS.replace("on closed(a, b):", "on closed(a, b) where a > 1:")
    session = thence.compile(ROADS).session(allow_unbounded=True)
    session.push(EVENTS)
    assert session.replace(thence.compile(later)).begun == ("possible", "blocked")
    assert session.replace(thence.compile(later)).kept == ("possible", "blocked")


def test_literals_have_the_types_of_their_columns() -> None:
    program = thence.compile("""
        event a(x int);
        table t(x int, y int, f float, d decimal(9, 2));
        on a(1): insert t(1, null, 2, 1.5);
        on a(2): delete t(f = 2, d = 1.5);
        r(y, f, d) <- a(_), t(_, y, f, d);
    """)
    found = program.run({"a": [{"x": x, "time": x} for x in (1, 2, 3)]})["r"]
    assert found.drop_columns(["start", "end"]).to_pylist() == [
        {"y": None, "f": 2.0, "d": Decimal("1.50")}
    ]


def test_what_the_engine_must_keep_is_said_in_terms_of_the_table() -> None:
    program = thence.compile(ROADS)
    with pytest.raises(thence.StateError) as error:
        program.session()
    assert str(error.value).splitlines()[1:] == [
        "error: events change the table 'linked', and any later event may look into it, so what "
        "inserts and deletes its rows would have to be kept forever (line 7, column 29)",
        "  7 |     on closed(a, b): delete linked(a, b);",
        "    |                             ^^^^^^^^^^^^",
        "  hint: accept it with allow_unbounded",
    ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("on a(x): insert tt(x);", "no table 'tt' is declared, and events change tables. Did you"),
        ("on a(x): insert a(x);", "no table 'a' is declared, and events change tables."),
        ("on a(x): insert into t(x, x);", "insert takes the name of a table and values for its"),
        ("on a(x): delete t;", "delete takes the name of a table and values for its columns"),
        ("on a(x): insert t(x);", "a row that is inserted has a value in 'y'"),
        ("on a(x): insert t(x, _);", "a row that is inserted has a value in 'y'"),
        ("on a(x): delete t(x, 1, 2);", "'t' has no such column"),
        ("on a(x): delete t(z = x);", "'t' has no such column"),
        ("on a(x): delete t(x, x = 1);", "'t' has it already"),
        ("on a(x): insert t(x, 'one');", "t.y is int, and this is string"),
        ("on a(x): insert t(x, z);", "'z' is not bound"),
        ("on b(x): insert t(x, x);", "unknown event 'b'"),
        ("on a(x): insert v(x);", "'v' says itself when its rows are valid"),
        ("on r(x): insert t(x, x);", "'r' changes 't', and rests on what is in it"),
        (
            "on a(x): insert t(x, x); q(x) <- a(x), t(x, _) using recent;",
            "a policy cannot choose among matches that look into 't', which events change",
        ),
        (
            "on a(x): insert t(x, x); q(x) :- t(x, _);",
            "events change the rows of 't', and the relation 'q' holds at all times",
        ),
    ],
)
def test_what_is_refused(statement: str, message: str) -> None:
    declared = """event a(x int); table t(x int, y int); table v(x int) valid from f;
        r(x) <- a(x), t(x, _);
    """
    with pytest.raises(thence.ProgramError) as error:
        thence.compile(declared + statement)
    assert message in str(error.value)
    assert "^" in str(error.value)


def test_the_words_are_not_reserved() -> None:
    program = thence.compile("""
        event on(insert int);
        table delete(on int);
        on on(insert): insert delete(insert);
        r(on) <- on(on), delete(on);
    """)
    assert program.run({"on": [{"insert": 1, "time": 1}]})["r"].num_rows == 1


@pytest.mark.parametrize(
    "statement",
    [
        "on a(x, _): insert t(x, 'in');",
        "on l: a() where l.x > 1: insert t(l.x, l.y);",
        "on a(_, y): delete t(_, y);",
        "on a(1, y): delete t(_, _);",
    ],
)
def test_printed_back(statement: str) -> None:
    text = f"event a(x int, y string);\ntable t(x int, y string);\n\n{statement}"
    assert thence.compile(text).text() == text


def test_in_python() -> None:
    opened, trip = thence.event("opened", a=int, b=int), thence.event("trip", a=int, b=int)
    linked = thence.table("linked", x=int, y=int)
    o, t, k = opened("o"), trip("t"), linked("k")
    possible = (t & k).where(k.x == t.a, k.y == t.b).select("possible", t.a)
    program = thence.build(thence.on(o.where(o.a > 0), thence.insert(linked, o.a, y=o.b)), possible)
    assert "on o: opened() where o.a > 0: insert linked(o.a, o.b);" in program.text()
    assert ends(program.run([e for e in EVENTS if e["type"] != "closed"]), "possible") == [
        *range(3, 10)
    ]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda o, t: thence.insert(o, 1), "insert takes a table and values"),
        (lambda o, t: thence.insert(t, 1), "the columns of this row are not those of"),
        (lambda o, t: thence.delete(t, z=1), "the columns of this row are not those of"),
        (lambda o, t: thence.on(t(), thence.delete(t)), "on takes an event"),
        (lambda o, t: thence.on(o(), 1), "on takes what is done"),
    ],
)
def test_python_refuses(made: Any, message: str) -> None:
    with pytest.raises(thence.ThenceError, match=message):
        made(thence.event("o", a=int), thence.table("t", x=int, y=int))


def test_the_plan_says_so() -> None:
    program = thence.compile(ROADS)
    (table,) = program.plan.to_json()["tables"]
    assert table["changed"]
    assert "linked(x int, y int)   -- true until events delete them" in program.explain()
