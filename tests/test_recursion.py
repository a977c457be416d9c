"""Recursion over events: whatever way it is written, it finds what the oracle finds, for what it
derives."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hosts import batch, in_a_session, oracle
from hypothesis import given, note
from hypothesis import strategies as st
from notation import Written

import thence

SECOND = 1_000_000
DECLARED = "event edge(k int, x int, y int); event rail(k int, x int, y int);\n"

BEGIN = (
    "path(k, x, y) <- edge(k, x, y);",
    "path(k, x, y) <- edge(k, x, y);\npath(k, x, y) <- rail(k, x, y);",
    "path(k, x, y) <- edge(k, x, y);\n"
    "path(k, x, y) <- (edge(k, x, z) seq rail(k, z, y)) within 4 s;",
    "path(k, y, x) <- edge(k, x, y);",
    "path(k, x, y) <- edge(k, x, y) where x != y;",
    "path(k, x, x) <- edge(k, x, _);",
)
AGAIN = (
    "path(k, x, z) <- path(k, x, y) {op} edge(k, y, z){within};",
    "path(k, x, z) <- edge(k, x, y) {op} path(k, y, z){within};",
    "path(k, x, z) <- path(k, x, y) {op} path(k, y, z){within};",
    "path(k, x, z) <- path(_, x, y) {op} path(k, y, z){within};",
    "path(k, x, z) <- path(k, x, y) {op} path(_, y, z){within};",
    "path(k, x, z) <- edge(_, x, y) {op} path(k, y, z){within};",
    "path(k, x, z) <- path(k, y, z) {op} path(k, x, y){within};",
    "path(k, x, z) <- path(k, x, _) {op} path(k, _, z){within};",
    "path(k, x, z) <- path(k, y, z) {op} edge(k, x, y){within};",
    "path(k, x, z) <- edge(k, y, z) {op} path(k, x, y){within};",
    "path(k, x, y) <- path(k, y, z) {op} path(k, z, x){within};",
    "path(k, x, z) <- path(k, x, y) {op} path(k, y, z){within} where x != z;",
    "path(k, x, z) <- edge(k, x, y) {op} path(k, y, z){within};\n"
    "path(k, x, z) <- path(k, x, y) {op} rail(k, y, z){within};",
)
OPERATORS = ("seq", "seq", "seq", "and", "before", "meets", "after", "overlaps")
WITHIN = ("", "", " within 4 s", " within 9 s")


class Closure(NamedTuple):
    """A recursion over links, and some links."""

    program: str
    events: tuple[Written, ...]


@st.composite
def closures(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Closure:
    """Every way to put chains together, over few nodes, so that chains are long and meet again."""
    within, op = draw(st.sampled_from(WITHIN)), draw(st.sampled_from(OPERATORS))
    again = draw(st.sampled_from(AGAIN)).format(op=op, within=within)
    text = DECLARED + draw(st.sampled_from((*BEGIN[:1] * 4, *BEGIN))) + "\n" + again
    size = draw(st.integers(4, 8))
    instants = draw(st.booleans())
    return Closure(text, tuple(draw(link(instants)) for _ in range(size)))


@st.composite
def link(draw: Callable[[st.SearchStrategy[Any]], Any], instants: bool) -> Written:
    start = draw(st.integers(0, 9))
    length = 0 if instants else draw(st.sampled_from([0, 0, 1, 2]))
    values = tuple(
        draw(st.sampled_from(pool)) for pool in ([1, 1, 1, 2], [1, 2, 3], [1, 2, 3, None])
    )
    name = draw(st.sampled_from(["edge", "edge", "rail"]))
    return Written(name, values, start * SECOND, (start + length) * SECOND)


@given(closures(), st.sampled_from([(), ("linearise",)]))
def test_a_closure_in_one_go(example: Closure, without: tuple[str, ...]) -> None:
    note("\n".join([example.program, *map(str, example.events)]))
    assert batch(*example, None, without) == oracle(*example, None)


@given(closures(), st.sampled_from([(), ("linearise",)]), st.integers(0, 2**16), st.booleans())
def test_a_closure_in_parts_out_of_order(
    example: Closure, without: tuple[str, ...], seed: int, save: bool
) -> None:
    note("\n".join([example.program, *map(str, example.events)]))
    found = in_a_session(*example, None, random.Random(seed), save, without)
    assert found == oracle(*example, None)


WAYS = {
    "at the end": "path(x, z) <- path(x, y) seq edge(y, z);",
    "at the front": "path(x, z) <- edge(x, y) seq path(y, z);",
    "two chains": "path(x, z) <- path(x, y) seq path(y, z);",
    "in any order": "path(x, z) <- path(x, y) and edge(y, z);",
    "two chains in any order": "path(x, z) <- path(x, y) and path(y, z);",
    "with a window": "path(x, z) <- path(x, y) seq path(y, z) within 1 h;",
}
ways = pytest.mark.parametrize("way", WAYS)


def closure(way: str) -> thence.Program:
    return thence.compile(f"event edge(x int, y int); path(x, y) <- edge(x, y); {WAYS[way]}")


def chain(links: int) -> pa.Table:
    at = np.arange(links)
    return pa.table({"x": at, "y": at + 1, "time": at * SECOND})


def figures(program: thence.Program, of: Any) -> tuple[int, int, int]:
    """How often the recursive rule was joined, how many candidates that looked at, and how many
    matches it had."""
    told = json.loads(program.explain(analyze=of, format="json"))
    measured = told["stages"][-1]["joins"][-1]["measured"]
    runs = sum(order["times"] for order in measured["orders"])
    return runs, measured["join"]["candidates"], measured["join"]["matches"]


@ways
def test_a_round_looks_at_what_it_finds(way: str) -> None:
    """A chain of n links holds n (n + 1) / 2, and each longer than one is found once."""
    program, links = closure(way), 60
    results = program.run({"edge": chain(links)})
    every = links * (links + 1) // 2
    assert results.count("path") == every
    runs, candidates, matches = figures(program, results)
    assert matches == every - links
    assert runs <= links
    assert candidates <= 3 * every


@ways
def test_a_push_of_a_link_looks_at_what_it_finds(way: str) -> None:
    """When the last link of a chain comes, one round finds all chains that end in it."""
    program, links = closure(way), 60
    session = program.session(allow_unbounded=True)
    session.push({"edge": chain(links).slice(0, links - 1)})
    before = figures(program, session)
    assert session.push({"edge": chain(links).slice(links - 1)})["path"].num_rows == links
    runs, candidates, matches = np.subtract(figures(program, session), before)
    assert matches == links - 1
    assert runs <= 3
    assert candidates <= 4 * links


@pytest.mark.parametrize("without", [(), ("linearise",)])
def test_lineage_of_a_deep_chain(without: tuple[str, ...]) -> None:
    """However chains are put together, one rests on all its links."""
    program = thence.compile(
        f"event edge(x int, y int); path(x, y) <- edge(x, y); {WAYS['two chains']}", without=without
    )
    found = program.run({"edge": chain(30)}, lineage=True)["path"].to_pylist()
    assert len(found) == 30 * 31 // 2
    assert all(len(row["lineage"]) == row["y"] - row["x"] for row in found)


def test_what_chains_begin_with_may_be_collected() -> None:
    """A recursion whose beginning is no plain join stays as it is written."""
    text = """event edge(x int, y int);
        hub(x, count(y) as y) <- e: edge(x, _), w: extend(e, 4 s), while w: collect edge(x, y);
        path(x, y) <- hub(x, y);
        path(x, count(y)) <- e: edge(x, _), w: extend(e, 7 s), while w: collect edge(x, y);
        path(x, z) <- path(x, y) seq path(y, z);"""
    events = [Written("edge", (n % 3, n % 2), n * SECOND, n * SECOND) for n in range(12)]
    expected = oracle(text, events, None)
    assert len(expected["path"]) > 10
    assert batch(text, events, None) == expected
    assert in_a_session(text, events, None, random.Random(1), True) == expected
