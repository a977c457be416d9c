"""Patterns that are evaluated on their own: ``(p using …)`` and ``periodic``.

Where they occur is in ``cases/policies_inside.yaml`` and ``cases/snoop.yaml``; here is what is
refused, and what a session remembers.
"""

from __future__ import annotations

import pytest

import thence

EVENTS = "event a(n int); event b(n int); event c(n int);\n"


def refusal(text: str) -> str:
    with pytest.raises(thence.ThenceError) as refused:
        thence.compile(EVENTS + text)
    (found,) = refused.value.diagnostics  # type: ignore[attr-defined]
    assert found.line == 2
    return str(found.message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "m() <- (a(x) seq b(y) where y > z using last) seq c(z);",
            "'z' is bound outside of this pattern, which is evaluated on its own",
        ),
        (
            "m() <- (not(c(z)).[a(_), b(_)] using last) seq c(z);",
            "'z' is bound outside of this pattern, which is evaluated on its own",
        ),
        (
            "m() <- o: c(_), (a(x) seq b(_) where x > o.n using last);",
            "the label 'o' is bound outside of this pattern, which is evaluated on its own",
        ),
        (
            "m() <- (x: a(_) seq b(_) using last), w: extend(x, 5 s), while w: not c(_);",
            "'x' is a part of a pattern that is evaluated on its own, so outside of it there are "
            "only its attributes and times",
        ),
        (
            "m() <- c(k) seq periodic(a(_), 5 s, b(k));",
            "'k' is bound outside of this pattern, which is evaluated on its own",
        ),
        (
            "m() <- (a(_) seq b(_) using first(z)) seq c(_);",
            "the policy chooses 'z', and no event of this rule is labelled so",
        ),
        ("m() <- (a(_) seq b(_) using newest) seq c(_);", "there is no policy 'newest'"),
        (
            "m(n) <- a(n); m(n) <- (m(n) and b(_) using last) seq c(_);",
            "the policy of 'm' chooses from what depends on it: m -> choose m",
        ),
    ],
)
def test_what_cannot_be(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_clock_remembers_one_period() -> None:
    program = thence.compile(f"{EVENTS} m(n) <- periodic(a(n), 10 s, b(n));")
    session = program.session()
    session.push({"a": [{"n": 1, "time": 0}]})
    counts = []
    for second in range(1000, 10_000, 1000):
        found = session.push([{"type": "c", "n": 0, "time": second * 1_000_000}])["m"]
        counts.append((found.num_rows, session.state_rows))
    assert [rows for rows, _ in counts] == [99, *[100] * 8]
    assert len({state for _, state in counts}) == 1


def test_a_chosen_part_is_remembered_no_longer_than_its_window() -> None:
    program = thence.compile(
        f"{EVENTS} m(n) <- ((a(n) seq b(_)) within 5 s using last) seq c(_) within 20 s;"
    )
    session = program.session()
    sizes = []
    for second in range(0, 1000, 10):
        moment = second * 1_000_000
        session.push({name: [{"n": 1, "time": moment + i}] for i, name in enumerate("abc")})
        sizes.append(session.state_rows)
    assert max(sizes[5:]) == sizes[5]


def test_explain_shows_the_rule_that_a_part_is() -> None:
    program = thence.compile(f"{EVENTS} m(x) <- (a(x) seq b(_) using chronicle) seq c(_);")
    (hidden,) = set(program.plan.derived) - {"m"}
    assert f"join for inner pattern {hidden}\n" in program.explain()
    assert [schema.name for schema in program.derived] == ["m"]


def test_layers_look_through_parts_that_are_judged_by_themselves() -> None:
    program = thence.compile(
        f"{EVENTS} m(x) <- (a(x) seq b(_) using last) seq periodic(c(_), 5 s, b(_));"
    )
    assert str(program.hierarchy()).endswith("m(x int) from a, b, c, not b")


def test_a_pattern_in_several_choices_is_one_event_also_in_the_text() -> None:
    program = thence.compile(
        "event a(k int); event b(k int); event o(k int);"
        "chosen(k) <- any(2, (x: a(k) seq y: b(k) using first(x)), o(k), a(k));"
    )
    events = {"a": [{"k": 1, "time": 1}], "b": [{"k": 1, "time": 2}], "o": [{"k": 1, "time": 3}]}
    again = thence.compile(program.text())
    assert again.run(events)["chosen"].equals(program.run(events)["chosen"])
    assert again.run(events)["chosen"].num_rows == 2
