"""``caused_by``: what is refused, and what a session needs to know.

Where it is true is in ``cases/caused_by.yaml``.
"""

from __future__ import annotations

import pytest

import thence

EVENTS = """event a(n int); event b(n int); event c(n int); table f(n int);
m(x) <- a(x) seq b(_);
"""

NO_ROWS: dict[str, list[dict[str, int]]] = {"f": []}


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
            "k(x) <- m(x) seq c(_) using last; r() <- p: k(_), y: a(_), caused_by(p, y);",
            "the policy of 'k' chooses before it is known what 'm' was made of, so causes behind "
            "that cannot be asked for",
        ),
        (
            "k(count(x.n)) <- x: a(_) seq c(_) using cumulative;"
            "r() <- p: k(_), y: a(_), caused_by(p, y);",
            "the policy of 'k' merges matches, so its causes cannot be asked for",
        ),
        (
            "k(x) <- a(x), f(x); r() <- p: k(_), y: f(_), caused_by(p, y);",
            "'y' is a row of a table, and only events are causes",
        ),
        (
            "k(x) <- a(x) seq b(_)+ seq c(_); r() <- p: k(_), y: b(_), caused_by(p, y);",
            "'k' repeats 'b', and causes cannot be asked for among repetitions",
        ),
        (
            "r() <- (p: m(_) seq c(_) using last), y: a(_), caused_by(p, y);",
            "'p' is a part of a pattern that is judged by itself, so outside of it there are only "
            "its attributes and times",
        ),
    ],
)
def test_what_cannot_be_asked(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_stream_needs_to_know_how_far_back_a_cause_lies() -> None:
    bounded = """event a(n int); event b(n int);
    m(x) <- (a(x) seq b(_)) within 5 s;
    r(x) <- (p: m(x) and y: a(_)) within 10 s where caused_by(p, y);
    """
    assert not thence.compile(bounded)._compiled.needs.unbounded
    with pytest.raises(thence.StateError):
        thence.compile(bounded.replace("within 10 s ", "")).session()


def test_causes_add_nothing_to_layers_and_traces() -> None:
    program = thence.compile(f"{EVENTS} r(x) <- p: m(x), y: b(_), not caused_by(p, y);")
    assert "r(x int) from m, b\n" in f"{program.hierarchy()}\n"
    events = {"a": [{"n": 1, "time": 1}], "b": [{"n": 2, "time": 2}, {"n": 3, "time": 0}]}
    cause = program.run(events, tables=NO_ROWS, trace=True).trace("r", 0)
    assert [part.event for part in cause.derivations[0].causes] == ["b", "m"]
    assert cause.absences == ()


def test_causes_add_nothing_to_the_lineage() -> None:
    program = thence.compile(f"{EVENTS} r(x) <- p: m(x), y: b(_), caused_by(p, y);")
    events = {
        "a": [{"n": 1, "time": 1}],
        "b": [{"n": 2, "time": 2}, {"n": 3, "time": 0}],
    }
    (row,) = program.run(events, tables=NO_ROWS, lineage=True)["r"].to_pylist()
    assert [(e["label"], e["event"]) for e in row["lineage"]] == [
        (None, "a"), (None, "b"), ("y", "b"),
    ]  # fmt: skip
