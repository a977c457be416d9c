"""One event at a time: the same as a push of it, and as clear about what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import thence

TEXT = """
    event order(id int, amount float);
    event shipped(id int);
    late(id, amount) <- (order(id, amount) seq shipped(id)) within 2 s;
"""


def new() -> thence.Session:
    return thence.compile(TEXT).session()


def test_keywords_a_record_and_a_push_are_the_same() -> None:
    order, shipped = {"id": 7, "amount": 2.5, "time": 1}, {"id": 7, "start": 5, "end": 9}
    by_keyword, by_record, by_push = new(), new(), new()
    for event, record in (("order", order), ("shipped", shipped)):
        found = [
            by_keyword.push_one(event, **record),
            by_record.push_one(event, record),
            by_push.push({event: [record]}),
        ]
        rows = [results["late"].to_pylist() for results in found]
        assert rows[0] == rows[1] == rows[2]
    assert len(rows[0]) == 1
    assert by_keyword.save() == by_record.save() == by_push.save()


def test_names_that_python_has_for_itself() -> None:
    program = thence.compile(
        "event e(`event` int, record int, self int); r(x, y, z) <- e(x, y, z);"
    )
    given = {"event": 1, "record": 2, "self": 3, "time": 4}
    for results in (
        program.session().push_one("e", **given),
        program.session().push_one("e", given),
    ):
        (row,) = results["r"].to_pylist()
        assert (row["x"], row["y"], row["z"]) == (1, 2, 3)


def test_one_that_comes_too_late() -> None:
    session = new()
    session.push_one("order", id=1, amount=1.0, time=10)
    session.push_one("order", id=2, amount=1.0, time=5)
    assert session.late_counts == {"order": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.push_one("ordre", id=1, amount=1.0, time=1), "Did you mean 'order'?"),
        (lambda s: s.push_one("time", time=1), "declares no input event 'time'"),
        (lambda s: s.push_one("late", id=1, amount=1.0, time=1), "declares no input event 'late'"),
        (lambda s: s.push_one({"order": []}), "the name of an event comes first"),
        (lambda s: s.push_one("order", [1]), "this list is not a record"),
        (
            lambda s: s.push_one("order", {"id": 1}, time=1),
            "both as a record and by keyword",
        ),
        (lambda s: s.push_one("order", id=1, amont=1.0, time=1), "Did you mean 'amont'?"),
        (lambda s: s.push_one("order", id=1, amount=1.0), "has no column 'time'"),
        (lambda s: s.push_one("order", id=1, amount=1.0, start=1), "both 'start' and 'end'"),
        (lambda s: s.push_one("order", id="x", amount=1.0, time=1), "column 'id', row 1: 'x'"),
        (lambda s: s.push_one("order", id=1, amount=1.0, time=None), "'time' is null"),
        (lambda s: s.push_one("order"), "has no column 'id'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_taken(
    call: Callable[[thence.Session], Any], message: str
) -> None:
    session = new()
    saved = session.save()
    with pytest.raises(thence.InputError) as caught:
        call(session)
    assert message in str(caught.value)
    assert session.save() == saved


def test_a_table_is_no_event() -> None:
    program = thence.compile("event a(k int); table t(k int); r(k) <- a(k), t(k);")
    with pytest.raises(thence.InputError, match="as a table, whose rows have no time"):
        program.session(tables={"t": [{"k": 1}]}).push_one("t", k=1, time=1)
