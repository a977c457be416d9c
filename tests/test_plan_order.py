"""The order of a join: a pure function of what is known of its rows."""

from __future__ import annotations

from typing import Any

import pytest
from hosts import oracle, rows_of, tables
from hypothesis import given, note, reject
from strategies import Example, examples
from test_engine_join import conjunctions, happenings

import thence
from thence.plan.order import Order, Size, order
from thence.plan.prepared import Prepared

TYPES = "event a(k int, v int); event b(k int, v int); event c(k int, v int);"
HOUR = 3_600_000_000


def prepared(rule: str, without: tuple[str, ...] = ()) -> Prepared:
    (found,) = thence.compile(TYPES + rule, without=without).plan.prepared
    return found


def taken(rule: Prepared, *rows: int, **more: Any) -> Order:
    """The order for atoms of so many instants, spread over an hour."""
    sizes = {atom: Size(each, last=HOUR, **more) for atom, each in enumerate(rows)}
    found = order(rule, sizes)
    assert found is not None
    return found


def atoms(found: Order) -> list[int]:
    return [step.atom for step in found.steps]


SEQUENCE = "r(k) <- (x: a(k, _) seq y: b(k, _) seq z: c(k, _)) within 5 s;"


def test_a_join_begins_with_the_rarest() -> None:
    rule = prepared(SEQUENCE)
    assert atoms(taken(rule, 1000, 1000, 10))[0] == 2
    assert atoms(taken(rule, 1000, 10, 1000))[0] == 1
    assert atoms(taken(rule, 10, 1000, 1000))[0] == 0


def test_what_starts_a_match_comes_first_where_it_is_nearly_the_rarest() -> None:
    rule = prepared(SEQUENCE)
    assert atoms(taken(rule, 120, 1000, 100))[0] == 0
    assert atoms(taken(rule, 130, 1000, 100))[0] == 2


def test_in_the_order_of_the_text_where_that_is_asked() -> None:
    rule = prepared(SEQUENCE, ("join_order",))
    assert atoms(taken(rule, 1000, 1000, 10)) == [0, 1, 2]
    assert atoms(taken(prepared(SEQUENCE), 1000, 1000, 10)) != [0, 1, 2]


def test_the_number_of_values_decides_what_is_next() -> None:
    rule = prepared("r(y.v, z.k) <- (x: a(k, m) and y: b(k, _) and z: c(_, m)) within 1 min;")
    many = {0: Size(10, last=HOUR)}
    for values, expected in (((5000, 2), 1), ((2, 5000), 2)):
        sizes = many | {
            1: Size(5000, last=HOUR, distinct={"k": values[0]}),
            2: Size(5000, last=HOUR, distinct={"v": values[1]}),
        }
        found = order(rule, sizes)
        assert found is not None and atoms(found)[1] == expected


def test_strategies_and_witnesses() -> None:
    found = taken(prepared(SEQUENCE), 1000, 1000, 10)
    assert [(step.strategy, step.witness) for step in found.steps] == [
        ("scan", "all"), ("range", "latest"), ("range", "all"),
    ]  # fmt: skip
    read = taken(prepared(SEQUENCE.replace("r(k)", "r(k, y.v)")), 1000, 1000, 10)
    assert all(step.witness == "all" for step in read.steps)


def test_every_combination_is_kept_where_that_is_asked() -> None:
    rule = prepared(SEQUENCE)
    sizes = {atom: Size(100, last=HOUR) for atom in range(3)}
    found = order(rule, sizes, keep_all=True)
    assert found is not None and {step.witness for step in found.steps} == {"all"}


def test_an_event_next_to_another_is_looked_for_from_there() -> None:
    rule = prepared("r(k) <- not(a(k, _)).[a(k, _), b(k, _)];")
    sizes = {0: Size(1000, last=HOUR), 1: Size(500, last=HOUR)}
    found = order(rule, sizes)
    assert found is not None
    assert [step.strategy for step in found.steps] == ["scan", "neighbour"]
    assert found.grown == (500.0, 1.0)


def test_a_row_of_a_table_is_looked_up() -> None:
    text = "event a(k int); table t(k int, v int); r(k, v) <- a(k), t(k, v);"
    (rule,) = thence.compile(text).plan.prepared
    found = order(rule, {0: Size(10, last=HOUR), 1: Size(100_000)})
    assert found is not None
    assert [step.strategy for step in found.steps] == ["scan", "lookup"]


def test_rows_that_can_never_meet_have_no_order() -> None:
    rule = prepared("r(k) <- (x: a(k, _) seq y: b(k, _)) within 5 s;")
    assert order(rule, {0: Size(1, last=0), 1: Size(1, first=HOUR, last=HOUR)}) is None


def test_the_same_sizes_give_the_same_order() -> None:
    rule = prepared(SEQUENCE)
    one, other = taken(rule, 1000, 200, 10), taken(rule, 1000, 200, 10)
    assert one.steps == other.steps and one.grown == other.grown
    assert all(mine is theirs for mine, theirs in zip(one.steps, other.steps, strict=True))


@given(conjunctions(), happenings())
def test_the_order_of_the_text_gives_what_the_oracle_gives(text: str, events: list[Any]) -> None:
    note(text)
    try:
        program = thence.compile(text, without=["join_order"])
    except thence.CheckError:
        reject()
    assert rows_of(program.run(tables(text, events), until=20)) == oracle(text, events, 20)


@given(examples())
def test_programs_of_many_rules_in_the_order_of_the_text(example: Example) -> None:
    try:
        program = thence.compile(example.program, without=["join_order"])
    except thence.CheckError:
        reject()
    events = tables(example.program, example.events)
    expected = rows_of(thence.compile(example.program).run(events, until=example.until))
    assert rows_of(program.run(events, until=example.until)) == expected


@pytest.mark.parametrize("rows", [(5, 3, 4), (1, 1, 1), (0, 2, 2)])
def test_estimates_are_there_for_any_sizes(rows: tuple[int, ...]) -> None:
    given_ = {name: {"rows": each, "seconds": 10} for name, each in zip("abc", rows, strict=True)}
    plan = thence.compile(TYPES + SEQUENCE, statistics=given_).plan
    assert plan.estimates is not None
    (found,) = plan.estimates.joins.values()
    assert (found.order is None) == (0 in rows)
    assert found.rows == sum(rows)
