"""The plan as JSON: stable, and just what docs/plan.md says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doc_pages import ROOT, code, rows, section
from hypothesis import given, reject
from strategies import Example, examples

import thence

PAGE = ROOT / "docs" / "plan.md"
TEXT = """
    event a(k int, v int); event b(k int, v int);
    table t(k int, name string);
    far(x, y) :- t(x, _), t(y, _); near(x, y) :- far(x, y); near(x, z) :- near(x, y), far(y, z);
    r(k, name) <- (x: a(k, _) seq y: b(k, _)) within 10 us where x.v > 4, t(k, name);
    quiet(k) <- x: a(k, _), w: extend(x, 5 us), while w: not b(k, _);
    row(k) <- a(k, _) seq b(k, _)+ seq a(k, _) within 1 s;
    f(k) <- a(k, _) seq y: b(k, _) using first(y);
    apart() <- a(_, _) and b(_, _) within 1 s;
    known(k, y) <- a(k, _), near(k, y);
"""
PROGRAM = thence.compile(
    TEXT, statistics={n: {"rows": 100, "seconds": 1, "distinct": {"k": 3}} for n in "ab"}
)


def documented(heading: str) -> set[str]:
    return {key for row in rows(section(PAGE, heading)) for key in code(row[0])}


def plan() -> dict[str, Any]:
    """The plan of the program above, with all that a run adds."""
    results = PROGRAM.run(
        {n: [{"k": 1, "v": 5, "time": t} for t in range(3)] for n in "ab"},
        tables={"t": [{"k": 1, "name": "one"}]},
    )
    found: dict[str, Any] = json.loads(PROGRAM.explain(analyze=results, format="json"))
    return found


def objects(kind: str) -> list[dict[str, Any]]:
    whole = plan()
    joins = [join for stage in whole["stages"] for join in stage["joins"]]
    found: dict[str, list[dict[str, Any]]] = {
        "a plan": [{key: whole[key] for key in whole if key != "run"}],
        "an event": [*whole["inputs"], *(e for stage in whole["stages"] for e in stage["events"])],
        "a relation": whole["relations"],
        "a stage": whole["stages"],
        "a join": joins,
        "an atom": [atom for join in joins for atom in join["atoms"]],
        "a window": [window for join in joins for window in join["windows"]],
        "a step": [step for join in joins for step in join["order"] or ()],
        "a piece": [piece for pieces in whole["spread"].values() for piece in pieces],
        "what was measured": [join["measured"] for join in joins],
    }
    return found[kind]


@pytest.mark.parametrize(
    "kind",
    ["a plan", "an event", "a relation", "a stage", "a join", "an atom", "a window", "a step",
     "a piece", "what was measured"],
)  # fmt: skip
def test_keys_are_those_of_the_page(kind: str) -> None:
    found = objects(kind)
    assert found
    for each in found:
        assert set(each) == documented(f"Keys of {kind}")


def test_strategies_and_witnesses_of_the_page() -> None:
    from typing import get_args

    from thence.plan.order import Strategy, Witness

    assert documented("The order of a join") == {*get_args(Strategy), *get_args(Witness)}


def test_figures_of_the_page() -> None:
    from thence.plan.statistics import EventStatistics

    fields = set(EventStatistics.__dataclass_fields__)
    assert documented("Statistics and estimates") == fields
    assert set(PROGRAM.plan.to_json()["statistics"]["a"]) == fields


def test_how_atoms_are_read() -> None:
    joins = PROGRAM.plan.to_json()["stages"][0]["joins"]
    assert [(a["name"], a["read"], a["kept"]) for a in joins[0]["atoms"]] == [
        ("x", "kept", 10), ("y", "streamed", 0), ("t", "table", None),
    ]  # fmt: skip


def test_what_is_switched_off_is_said() -> None:
    off = thence.compile(TEXT, without=["join_order"]).plan.to_json()["optimisations"]
    assert {each["name"]: each["on"] for each in off} == {
        name: name != "join_order" for name in thence.optimisations()
    }


@given(examples())
def test_every_plan_is_json(example: Example) -> None:
    try:
        program = thence.compile(example.program)
    except thence.CheckError:
        reject()
    assert json.loads(program.explain(format="json")) == program.plan.to_json()
    assert str(program.plan).startswith("inputs")
