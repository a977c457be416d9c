"""Ticks and windows over what ended last: how they are read, and what is refused."""

from __future__ import annotations

import pytest

import thence
from thence.lang.parser import parse_program
from thence.logic.ops import And, Atom, Label, Ticks, While
from thence.model.errors import ProgramError, ThenceError
from thence.model.source import Source

SECOND = 1_000_000


def body(text: str) -> object:
    (rule,) = parse_program(Source(f"event a(n int); {text}")).rules
    return rule.body


def test_ticks() -> None:
    assert body("r() <- ticks(a(_), 5 s, '1 min');") == Ticks(Atom("a"), 5 * SECOND, 60 * SECOND)


@pytest.mark.parametrize(
    ("written", "reach", "rows"),
    [
        ("5 s", 5 * SECOND, None),
        ("10 rows", None, 10),
        ("1 row", None, 1),
        ("10 ROWS in 5 s", 5 * SECOND, 10),
    ],
)
def test_over(written: str, reach: int | None, rows: int | None) -> None:
    collect = While("x", "collect", Atom("a"), reach=reach, rows=rows)
    found = body(f"r(count() as k) <- x: a(_), OVER {written} OF x: collect a(_);")
    assert found == And((Label("x", Atom("a")), collect))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("over 0 rows of x: collect a(_)", "no rows are nothing to look at"),
        ("over 5 s of y: collect a(_)", "unknown label 'y'"),
        ("over 5 s of x: collect a(n) where n > 1", "`over … collect` takes one event"),
        ("over 5 s of x: collect a(_) seq a(_)", "`over … collect` takes one event"),
        ("over 5 s of x: not a(_)", "unexpected 'not'"),
        (
            "(y: a(_), over 5 s of y: collect a(_)) seq a(_)",
            "`over … collect` cannot stand inside another pattern",
        ),
        ("ticks(a(_), 5 s)", "ticks takes an event and two durations"),
        ("ticks(a(_), 0 s, 5 s)", "durations of ticks must be more than nothing"),
        ("ticks(a(_), 5 s, -5 s)", "durations of ticks must be more than nothing"),
        ("ticks(a(_), 1 us, 1 day)", "these are 86,400,000,000 ticks for each event"),
    ],
)
def test_what_is_refused(item: str, message: str) -> None:
    with pytest.raises(ProgramError) as refused:
        thence.compile(f"event a(n int); r(x.n) <- x: a(_), {item};")
    assert message in refused.value.diagnostics[0].message


def test_events_may_be_called_over_of_and_rows() -> None:
    program = thence.compile(
        "event over(of int); event rows(over int); r(x) <- over(x) seq rows(x);"
    )
    assert program.derived[0].names == ("x",)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda a: thence.ticks(a, "1 us", "1 day"), "ticks for each event"),
        (lambda a: thence.ticks(a, "0 s", "1 day"), "must be more than nothing"),
        (lambda a: thence.collect(a).over(a), "over needs a duration, or rows"),
        (lambda a: thence.collect(a).over(a, rows=0), "rows is a number from 1 on, not 0"),
        (lambda a: thence.collect(a).over(a, "-1 s"), "cannot be negative"),
    ],
)
def test_what_is_refused_in_python(made: object, message: str) -> None:
    assert callable(made)
    with pytest.raises(ThenceError, match=message):
        thence.build(made(thence.event("a", {"n": "int"})()).select("r"))


def test_a_stream_of_ticks_forgets() -> None:
    program = thence.compile("event a(n int); r(n) <- ticks(a(n), 5 s, 10 s);")
    session = program.session()
    for second in range(100):
        session.push({"a": [{"n": second, "time": second * SECOND}]})
    assert session.state_rows < 30
