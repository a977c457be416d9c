"""The table of the operators over moments: its rows fit together."""

from __future__ import annotations

import pytest

import thence
from thence.logic.moments import OPERATORS

COUNTS = [
    (name, count) for name, row in OPERATORS.items() for count in range(9) if row.takes(count)
]


@pytest.mark.parametrize(("name", "count"), COUNTS)
def test_arguments_come_out_in_the_order_in_which_they_are_written(name: str, count: int) -> None:
    row, given = OPERATORS[name], list(range(count))
    roles = row.divided(given)
    assert row.arguments(roles["part"], roles["absent"], roles["collected"]) == given


@pytest.mark.parametrize("name", OPERATORS)
def test_a_shape_has_a_stretch_of_time_for_each_absent_and_each_collected_argument(
    name: str,
) -> None:
    row = OPERATORS[name]
    shape = row.shape(row.roles.count("part"), 10)
    assert len(shape.absences) == row.roles.count("absent")
    assert len(shape.collections) == row.roles.count("collected")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_shape_is_about_the_parts_there_are(name: str) -> None:
    row = OPERATORS[name]
    parts = row.roles.count("part")
    shape = row.shape(parts, 10)
    bounds = {part for bound in shape.bounds for part in (bound.later, bound.earlier)}
    stretches = {part for s in (*shape.absences, *shape.collections) for part in (s.since, s.until)}
    assert {*shape.at, *bounds, *stretches} <= set(range(parts))


def test_the_duration_of_an_instant_is_remarked_on() -> None:
    """It is zero whatever happens, which nobody asks for."""
    text = "event a();\nevent b();\nr() <- x: then(a, b), duration(x) < 5 s;"
    (remark,) = [d for d in thence.compile(text).check() if "instant" in d.message]
    assert (remark.severity, remark.line) == ("warning", 3)
    assert remark.message == "'x' is an instant, so this is always zero"
    text = "event a();\nevent b();\nr() <- x: (a seq b), duration(x) < 5 s;"
    assert not [d for d in thence.compile(text).check() if "instant" in d.message]


def test_a_limit_on_a_clock_is_remarked_on() -> None:
    text = "event a();\nevent b();\nr() <- periodic(a, 2 s, b) within 5 s;"
    assert "within any time" in thence.compile(text).check()[0].message
    text = "event a();\nevent b();\nr() <- (periodic(a, 2 s, b) seq b) within 5 s;"
    assert not [d for d in thence.compile(text).check() if "within any time" in d.message]


def test_a_limit_on_an_instant_bounds_the_state_of_a_session() -> None:
    program = thence.compile("event a();\nevent b();\nr() <- then(a, b) within 5 s;")
    session = program.session()
    for second in range(100):
        session.push([{"type": "a", "time": second * 1_000_000}])
    assert session.state_rows < 10
