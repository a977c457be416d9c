"""Facts, deductive rules and the relations they derive: what is said, refused, computed, shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence.knowledge import graph_search
from thence.knowledge.joined_relation import Join
from thence.knowledge.reasoner import Reasoner
from thence.plan import staging

ROADS = """
    event car(place string);
    table linked(x string, y string);
    reachable(x, y) :- linked(x, y);
    reachable(x, z) :- linked(x, y), reachable(y, z);
    goes(p, y) <- car(p), reachable(p, y);
"""


def linked(*pairs: str) -> dict[str, Any]:
    return {"linked": [{"x": pair[0], "y": pair[1]} for pair in pairs]}


def at(second: int, **values: Any) -> dict[str, Any]:
    return {"time": second * 1_000_000, **values}


def rows(table: Any) -> set[tuple[Any, ...]]:
    return {
        tuple(v for k, v in row.items() if k not in ("start", "end")) for row in table.to_pylist()
    }


# -- what is refused


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (
            "table t(x int);\np(x, y) :- t(x);", (2, 6), "'y' is not bound",
            "bind it in an argument of a table, or give it a value with y = …",
        ),
        (
            "table t(x int);\np(y) :- t(_), not t(y);", (2, 3),
            "'y' is bound only inside `not`, so outside it has no value", None,
        ),
        (
            "table t(x int);\np(x) :- t(x, _);", (2, 14), "'t' has 1 attribute, and 2 are given",
            "it is t(x int)",
        ),
        (
            "table edge(x int);\np(x) :- egde(x);", (2, 9), "unknown table 'egde'",
            "did you mean 'edge'?",
        ),
        (
            "table t(x int);\np(x) :- t(x), not q(x);\nq(x) :- p(x);", (2, 19),
            "'p' depends on its own absence: p -> not q -> p",
            "break the cycle: recursion may only go through rows that are there",
        ),
        (
            "table t(x int);\np(count(x) as x) :- q(x);\nq(x) :- p(x);\nq(x) :- t(x);", (2, 21),
            "'p' aggregates what depends on it: p -> aggregate q -> p", None,
        ),
        (
            "table t(x int);\np(x) :- t(x), x = 'a';", (2, 15), None, None,
        ),
        (
            "table t(x int);\np(x) :- t(x) seq t(x);", (2, 9),
            "rows of tables have no time, so `seq` cannot stand in a deductive rule", None,
        ),
        (
            "table t(x int);\np(x) :- l: t(x), l.start > timestamp '2026-01-01';", (2, 18),
            "'l' is a row of the table 't', which has no start", None,
        ),
        (
            "table t(x int);\np(x) :- t(x) using recent;", (2, 20),
            "a policy chooses among events, and a deductive rule has none", None,
        ),
        (
            "table t(x int);\np(last(x)) :- t(x);", (2, 3),
            "last goes by time, and rows of tables have none", "write min(x) or max(x)",
        ),
        (
            "table t(x int);\np(1 + count(x)) :- t(x);", (2, 7),
            "count can only be a term of the head by itself", None,
        ),
        (
            "table t(x int);\np(count(x)) :- t(x) or t(x);", (2, 16),
            "count is over the matches of one body, and `or` makes several",
            "give the choice a relation of its own, and aggregate that",
        ),
        (
            "table t(x int);\np(x) <- t(x);", (2, 1),
            "nothing in the body of 'p' occurs: the table 't' has rows, which are true at all "
            "times, and no events",
            "name an event that the row is looked up for, or derive rows: head :- table(…)",
        ),
        (
            "table t(x int);\nt(x) :- u(x);\nu(1);", (2, 1),
            "'t' is declared with `table`, so no rule can derive it", None,
        ),
        ("table t(x int);\nt('a');", (2, 3), "t.x is int, and 'a' is string", None),
        ("table t(x int);\nt(1, 2);", (2, 1), "'t' has 1 column, and this fact has 2", None),
        ("u(1);\nu('b');", (2, 3), "column 1 of 'u' is int, and 'b' is string", None),
        ("u(null);", (1, 1), "column 1 of 'u' is null in every fact, so it has no type", None),
        (
            "u(x);", (1, 3), "a fact holds values, and 'x' is a variable",
            "write a text in quotes, 'x'; or say where it comes from, with a rule: … :- table(…);",
        ),
        (
            "event e(x int);\ne(1);", (2, 1),
            "'e' is an event, and events come with a time when a program is run", None,
        ),
        (
            "event e(x int);\ntable t(x int);\np(x) <- e(x) where t(x) or x > 3;", (3, 20),
            "a row of a table must be there, or must not: it cannot be one of several choices",
            "join it with `and`, and write one rule for each choice",
        ),
    ],
)  # fmt: skip
def test_what_cannot_mean_anything(
    text: str, place: tuple[int, int], message: str | None, hint: str | None
) -> None:
    first = thence.check(text)[0]
    assert first.severity == "error"
    assert (first.line, first.column) == place
    assert message is None or first.message == message
    assert hint is None or first.hint == hint


def test_a_rule_with_this_arrow_is_about_events_if_it_names_one() -> None:
    program = thence.compile("event a(x int); b(x) :- a(x); c(x) :- b(x) seq a(x);")
    assert [schema.name for schema in program.derived] == ["b", "c"]


# -- what ends


def test_a_recursion_that_computes_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MOST_ROUNDS", 50)
    program = thence.compile("""event a();
n(1);
n(x + 1) :- n(x);
r(x) <- a(), n(x);""")
    with pytest.raises(thence.LimitError) as caught:
        program.run({"a": [at(1)]})
    assert "still computes new rows after 50 rounds" in caught.value.message
    assert caught.value.excerpt is not None
    assert "n(x + 1) :- n(x)" in caught.value.excerpt
    assert caught.value.hint == "bound what it computes with a condition, such as n < 100"


def test_a_search_keeps_to_the_memory_it_may_take() -> None:
    nodes = np.arange(3_000)
    tables = {"linked": pa.table({"x": nodes, "y": np.roll(nodes, 1)})}
    program = thence.compile(ROADS.replace("string", "int"))
    with pytest.raises(thence.LimitError, match="following 'reachable'"):
        program.rows("reachable", tables=tables, memory_limit="50 MB")


# -- what is derived, and what is not


def derived_by(monkeypatch: pytest.MonkeyPatch, run: Any) -> dict[str, int]:
    """How many rows of each relation come into being while something runs."""
    counts: dict[str, int] = {}
    asked = Reasoner.ask

    def counting(self: Reasoner, relation: str, columns: tuple[str, ...], seeds: Any) -> None:
        asked(self, relation, columns, seeds)
        counts[relation] = len(self.rows(relation))

    monkeypatch.setattr(Reasoner, "ask", counting)
    run()
    return counts


@pytest.mark.parametrize("without", [(), ("closure",)])
def test_only_what_events_ask_for_is_derived(
    without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = thence.compile(ROADS + "unused(x, y) :- reachable(y, x);", without=without)
    tables = linked("ab", "bc", "xy", "yz", "zw")
    counts = derived_by(
        monkeypatch, lambda: program.run({"car": [at(1, place="b")]}, tables=tables)
    )
    assert counts == {"reachable": 1}


def test_constants_ask_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ROADS + "fixed(y) <- car(_), reachable('x', y);"
    program = thence.compile(text)
    counts = derived_by(
        monkeypatch,
        lambda: program.run({"car": [at(1, place="q")]}, tables=linked("ab", "bc", "xy", "yz")),
    )
    assert counts == {"reachable": 2}


def test_a_session_remembers_what_it_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    search = graph_search.Search._searched

    def noting(self: Any, begins: Any, firsts: Any, most: int) -> Any:
        searched.append(len(begins) - 1)
        return search(self, begins, firsts, most)

    monkeypatch.setattr(graph_search.Search, "_searched", noting)
    session = thence.compile(ROADS).session(tables=linked("ab", "bc", "xy"))
    found = [
        rows(session.push({"car": [at(n, place=place)]})["goes"]) for n, place in enumerate("axab")
    ]
    assert found == [{("a", "b"), ("a", "c")}, {("x", "y")}, {("a", "b"), ("a", "c")}, {("b", "c")}]
    assert searched == [1, 1, 0, 1]


def test_joins_remember_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    ask = Join.ask

    def noting(self: Join, seeds: Any) -> Any:
        found = ask(self, seeds)
        asked.append(len(found))
        return found

    monkeypatch.setattr(Join, "ask", noting)
    session = thence.compile(ROADS, without=["closure"]).session(tables=linked("ab", "bc", "xy"))
    for n, place in enumerate("aab"):
        session.push({"car": [at(n, place=place)]})
    assert asked == [3, 0, 0]  # what was asked on the way is there: from b, too


def test_events_that_a_session_remembers_ask_again_once_it_is_restored() -> None:
    program = thence.compile("""
        event a(p string); event b(p string);
        table linked(x string, y string);
        reachable(x, y) :- linked(x, y);
        reachable(x, z) :- linked(x, y), reachable(y, z);
        route(p, q) <- (a(p) seq b(q)) within 1 h where reachable(p, q);
    """)
    tables = linked("ab", "bc")
    session = program.session(tables=tables)
    session.push({"a": [at(1, p="a")]})
    again = program.session(tables=tables, state=session.save())
    assert rows(again.push({"b": [at(2, p="c")]})["route"]) == {("a", "c")}


# -- relations by themselves


def test_rows_of_a_relation() -> None:
    program = thence.compile(ROADS + "degree(x, count(y) as n) :- reachable(x, y);")
    tables = linked("ab", "bc", "ca", "xy")
    assert rows(program.rows("reachable", {"x": "x"}, tables=tables)) == {("x", "y")}
    both = program.rows("reachable", {"x": ["a", "x"], "y": ["b", "z"]}, tables=tables)
    assert rows(both) == {("a", "b")}
    assert program.rows("reachable", tables=tables).num_rows == 10
    assert rows(program.rows("degree", {"x": ["a"]}, tables=tables)) == {("a", 3)}
    assert rows(program.rows("linked", {"x": "x"}, tables=tables)) == {("x", "y")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reachabel",), "the program has no table or relation 'reachabel'. Did you mean"),
        (("reachable", {"z": "a"}), "'reachable' has no column 'z'."),
        (("reachable", {"x": [1]}), "given: the values of 'x' are not all string"),
        (("reachable", {"x": ["a"], "y": ["a", "b"]}), "the columns have 1 and 2 values"),
    ],
)
def test_rows_that_cannot_be_asked_for(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(thence.InputError) as caught:
        thence.compile(ROADS).rows(*arguments, tables=linked("ab"))
    assert message in str(caught.value)


# -- lineage and traces


def test_lineage_and_traces_show_rows_of_relations() -> None:
    program = thence.compile(ROADS)
    results = program.run(
        {"car": [at(1, place="a")]}, tables=linked("ab", "bc"), lineage=True, trace=True
    )
    (first, _) = results["goes"].to_pylist()
    events = [(entry["event"], entry["start"]) for entry in first["lineage"]]
    assert events[1] == ("reachable", None)
    assert "reachable" in str(results.trace("goes", {"p": "a", "y": "c"}))


# -- the same in Python


def test_relations_in_python() -> None:
    Linked = thence.table("linked", x=str, y=str)
    Car = thence.event("car", place=str)
    Reachable = thence.relation("reachable", "x", "y")
    link, more = Linked(), Reachable()
    first = link.select("reachable", x=link.x, y=link.y)
    further = (link & more).where(link.y == more.x).select("reachable", x=link.x, y=more.y)
    car = Car()
    stuck = (car & thence.absent(Reachable(x=car.place))).select("stuck", place=car.place)
    facts = [thence.fact(Linked, "a", "b"), thence.fact(Linked, y="c", x="b")]
    program = thence.build(*facts, first, further, stuck)
    assert rows(program.rows("reachable")) == {("a", "b"), ("b", "c"), ("a", "c")}
    found = program.run({"car": [at(1, place="a"), at(2, place="c")]})
    assert rows(found["stuck"]) == {("c",)}


@pytest.mark.parametrize(
    "made",
    [
        lambda: thence.fact("linked"),
        lambda: thence.fact("linked", x="a"),
        lambda: thence.fact(thence.table("t", x=int), y=1),
        lambda: thence.fact("linked", thence.var("x")),
        lambda: thence.fact(3, 4),
    ],
)
def test_what_is_no_fact(made: Any) -> None:
    with pytest.raises(thence.BuildError):
        made()


# -- what is shown


def test_explain_shows_relations() -> None:
    text = ROADS + "unused(x) :- reachable(x, x); known('a'); degree(x, count(y)) :- linked(x, y);"
    shown = thence.compile(text).explain()
    assert (
        "reachable(x string, y string)   -- closure, searched as a graph: x moves on, y stays"
        in (shown)
    )
    assert "stage 1 asks for it by x with what 'car' holds" in shown
    assert "unused(x string)   -- not used" in shown
    assert "linked(x string, y string)   -- in every place; read by reachable" in shown
    plain = thence.compile(text, without=["closure", "demand"]).explain()
    assert (
        "reachable(x string, y string)   -- derived by joins, to a fixpoint; from linked" in plain
    )
    assert "stage 1 asks for it as a whole" in plain
