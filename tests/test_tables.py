"""Static tables: how their rows are given, and what is refused because a row has no time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thence

PROGRAM = """
event checkout(id string);
table catalogue(book string, title string);
lent(id, t) <- checkout(id), catalogue(id, t);
"""
EVENTS = {"checkout": [{"id": "b1", "time": 1}, {"id": "b2", "time": 2}]}
ROWS = [{"book": "b1", "title": "Emma"}, {"book": "b9", "title": "Ulysses"}]


def titles(results: Any) -> list[str]:
    return results["lent"]["t"].to_pylist()  # type: ignore[no-any-return]


def error_of(text: str) -> str:
    with pytest.raises(thence.ProgramError) as raised:
        thence.compile(text)
    return str(raised.value)


# --- giving tables --------------------------------------------------------------------------------


def test_a_table_is_whatever_events_can_be(tmp_path: Path) -> None:
    program = thence.compile(PROGRAM)
    path = tmp_path / "books.csv"
    path.write_text("book,title,shelf\nb1,Emma,3\nb9,Ulysses,4\n")
    columns = {"book": ["b1", "b9"], "title": ["Emma", "Ulysses"]}
    for table in (ROWS, columns, pa.table(columns), path, pa.table(columns).to_pandas()):
        assert titles(program.run(EVENTS, tables={"catalogue": table})) == ["Emma"]


def test_a_table_in_several_files_is_one(tmp_path: Path) -> None:
    for name, row in (("a", "b1,Emma"), ("b", "b2,Ulysses")):
        (tmp_path / f"{name}.csv").write_text(f"book,title\n{row}\n")
    found = thence.compile(PROGRAM).run(EVENTS, tables={"catalogue": tmp_path})
    assert titles(found) == ["Emma", "Ulysses"]


def test_a_session_has_its_tables_from_the_beginning() -> None:
    session = thence.compile(PROGRAM).session(tables={"catalogue": ROWS})
    assert titles(session.push({"checkout": [{"id": "b1", "time": 1}]})) == ["Emma"]
    assert titles(session.push({"checkout": [{"id": "b9", "time": 2}]})) == ["Ulysses"]


def test_a_restored_session_is_given_its_tables_again() -> None:
    program = thence.compile(PROGRAM)
    session = program.session(tables={"catalogue": ROWS})
    session.push({"checkout": [{"id": "b1", "time": 1}]})
    restored = program.session(
        state=session.save(), tables={"catalogue": [{"book": "b2", "title": "Dubliners"}]}
    )
    assert titles(restored.push({"checkout": [{"id": "b2", "time": 2}]})) == ["Dubliners"]


def test_a_table_that_no_rule_looks_into_need_not_be_given() -> None:
    program = thence.compile("event a(x int); table t(x int); r(x) <- a(x);")
    assert program.run({"a": [{"x": 1, "time": 1}]})["r"].num_rows == 1


def test_a_table_that_is_missing_is_named_with_its_columns() -> None:
    program = thence.compile(PROGRAM)
    for run in (lambda: program.run(EVENTS), program.session):
        with pytest.raises(thence.InputError, match=r"into catalogue\(book string, title string\)"):
            run()


def test_a_table_that_is_not_declared_is_refused() -> None:
    with pytest.raises(thence.InputError, match=r"no table 'catalog'\. Did you mean 'catalogue'"):
        thence.compile(PROGRAM).run(EVENTS, tables={"catalog": ROWS})


def test_tables_have_names() -> None:
    with pytest.raises(thence.InputError, match="does not say which table is which"):
        thence.compile(PROGRAM).run(EVENTS, tables=ROWS)


def test_a_table_among_the_events_is_sent_to_its_place() -> None:
    with pytest.raises(thence.InputError, match=r"beside the events: tables=\{'catalogue': …\}"):
        thence.compile(PROGRAM).run({**EVENTS, "catalogue": ROWS})


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(thence.InputError) as raised:
        thence.compile(PROGRAM).run(EVENTS, tables={"catalogue": [{"book": "b1", "titel": "x"}]})
    assert str(raised.value) == (
        "tables['catalogue']: table 'catalogue' has no column 'title'. Did you mean 'titel'? Its "
        "columns are: 'book', 'titel'. It is declared as catalogue(book string, title string)."
    )


def test_a_value_of_the_wrong_type_is_shown() -> None:
    program = thence.compile("event a(x int); table t(x int); r(x) <- a(x), t(x);")
    with pytest.raises(thence.InputError, match=r"tables\['t'\]: table 't', column 'x', row 2: "):
        program.run({"a": []}, tables={"t": [{"x": 1}, {"x": "two"}]})


# --- what a row has not ---------------------------------------------------------------------------

DECLARED = "event a(x int); event b(x int); table t(x int); table u(x int);\n"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("r(x) <- a(x) seq t(x);", "`seq` cannot be about it"),
        ("r(x) <- t(x) par a(x);", "`par` cannot be about it"),
        ("r(x) <- a(x) seq b(x)+ until t(x);", "`until` cannot be about it"),
        ("r(x) <- a(x) seq t(x)+;", "'t' is a table"),
        ("r(x) <- a(x) seq (t(x) and u(x))+;", "`+` cannot be about it"),
        (
            "p(x) <- a(x), t(x); r(x) <- q: p(x), l: t(x), caused_by(q, l);",
            "'l' is a row of the table 't', and no event",
        ),
        ("r(x) <- a(x) and (t(x) using recent);", "nothing in this part of a rule occurs"),
        ("r(x) <- periodic(a(x), 2 s, t(x));", "`periodic` cannot be about it"),
        ("r(x) <- l: t(x), o: a(x), l before o;", "`before` cannot be about it"),
        ("r(x) <- a(x), (t(x) within 3 s);", "`within` cannot be about it"),
        ("r(x) <- anyone(a(x), t(x));", "`anyone` cannot be about it"),
        ("r(x) <- follows(a(x), t(x), 3 s);", "`follows` cannot be about it"),
        ("r(x) <- notfollows(a(x), t(x), 3 s);", "`notfollows` cannot be about it"),
        ("r(x) <- aperiodic(a(x), b(x), t(x));", "`aperiodic` cannot be about it"),
        ("r(x) <- not(t(x)).[a(x), b(x)];", "`not(…).[…]` cannot be about it"),
        ("r(x) <- a(x) seq (t(x) and u(x));", "`seq` cannot be about it"),
        ("r(x) <- a(x) seq not t(x);", "`seq` cannot be about it"),
        ("r(x) <- o: a(x), w: extend(o, 3 s), while w: not t(x);", "write `not t(…)` instead"),
        (
            "r(count(x)) <- o: a(_), w: extend(o, 3 s), while w: collect t(x);",
            "collect (event(…) and t(…))",
        ),
        ("r(x) <- a(x), l: t(x), w: extend(l, 3 s);", "`extend` cannot be relative to it"),
        ("r(x) <- a(x), l: t(x), while l: not b(x);", "`while` cannot be relative to it"),
        ("r(x) <- o: a(x), l: t(x), l.start < o.start;", "'l' is a row of the table 't'"),
        ("r(l.end as e) <- a(x), l: t(x);", "which has no end"),
        ("r(x) <- a(x), l: t(x), duration(l) > 3 s;", "which has no end"),
        ("r(x) <- a(x) or t(x);", "a branch of this `or` is a row of the table 't'"),
        ("r(x) <- t(x);", "the table 't' has rows, which are true at all times, and no events"),
        ("r(x) <- t(x), u(x), not t(x);", "nothing in the body of 'r' occurs"),
        ("r(x) <- a(x), l: t(x) using first(l);", "the policy chooses 'l', which is a row"),
        ("r(x) <- a(x), not b(x);", "an absence needs the time in which nothing happens"),
        ("r(x) <- a(x), not (t(x), u(x));", "`not` takes one row of one table"),
        ("t(x) <- a(x);", "'t' is declared with `table`, so no rule can derive it"),
        ("table t(y int);", "the table 't' is declared twice"),
        ("table count(y int);", "a table cannot be called 'count'"),
        ("table v;", "unexpected ';'"),
    ],
)
def test_what_needs_a_time_is_refused(rule: str, expected: str) -> None:
    assert expected in error_of(DECLARED + rule)


def test_a_refusal_points_at_the_row() -> None:
    assert error_of("event a(x int);\ntable t(x int);\nr(x) <- a(x) seq t(x);") == (
        "error: a row of the table 't' has no time, so `seq` cannot be about it "
        "(line 3, column 18)\n"
        "  3 | r(x) <- a(x) seq t(x);\n"
        "    |                  ^^^^\n"
        "  hint: look it up beside the event, after a comma or with `and`: event(…) and t(…)"
    )


def test_table_stays_a_name_elsewhere() -> None:
    program = thence.compile("event table(table int); r(table) <- table(table); table q(x int);")
    assert [schema.name for schema in program.tables] == ["q"]
    assert program.run({"table": [{"table": 1, "time": 1}]})["r"].num_rows == 1


# --- what tables do to the rest -------------------------------------------------------------------


def test_nothing_is_kept_because_of_a_table() -> None:
    program = thence.compile(PROGRAM)
    session = program.session(tables={"catalogue": ROWS})  # bounded, or it would be refused
    session.push(EVENTS)
    session.advance(10)
    assert session.state_rows == 0


def test_a_bound_between_events_is_still_needed() -> None:
    program = thence.compile(
        "event a(x int); event b(y int); table t(x int, y int); r(x) <- a(x), b(y), t(x, y);"
    )
    with pytest.raises(thence.StateError, match="nothing bounds how long after 'a' 'b' may come"):
        program.session(tables={"t": []})


def test_explain_shows_a_table_as_what_it_is() -> None:
    shown = thence.compile(PROGRAM).explain()
    assert (
        "tables\n  catalogue(book string, title string)"
        "   -- true at all times, in every place; columns read: book, title\n"
    ) in shown
    assert "    catalogue   -- table\n" in shown


def test_a_cause_that_is_a_row_says_so() -> None:
    results = thence.compile(PROGRAM).run(EVENTS, tables={"catalogue": ROWS}, trace=True)
    tree = results.trace("lent", 0)
    assert str(tree).splitlines()[-1] == "└─ catalogue(book='b1', title='Emma') in the table"
    fact = tree.base()[-1]
    assert fact.is_fact and fact.start is None and fact.to_dict()["start"] is None


def test_an_absent_row_is_told() -> None:
    program = thence.compile(
        "event a(x int); table t(x int); r(x) <- a(x), not (t(y) where y > x);"
    )
    found = program.run({"a": [{"x": 1, "time": 1}]}, tables={"t": [{"x": 1}]}, trace=True)
    assert str(found.trace("r", 0)).splitlines()[-1] == (
        "└─ not t() where (t.x > a.x) in the table: there is no such row"
    )


def test_lineage_names_rows_without_a_time() -> None:
    results = thence.compile(PROGRAM).run(EVENTS, tables={"catalogue": ROWS}, lineage=True)
    (row,) = results["lent"].to_pylist()
    assert [(each["event"], each["start"] is None) for each in row["lineage"]] == [
        ("checkout", False),
        ("catalogue", True),
    ]


# --- in queries -----------------------------------------------------------------------------------

STREAMS = "event a(x int); event b(x int); table t(x int, y int);\n"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM a, t EVENT SEQ(a, t)", "'t' is a row of the table 't', which has no time"),
        ("SELECT t.start FROM a, t", "'t' is a row of the table 't', which has no time"),
        ("SELECT a.x FROM a, t WHERE DURATION(t) > 3 s", "which has no time"),
        ("SELECT a.x FROM a, t WHERE t.z = 1", "'t' has no column 'z'"),
        ("SELECT t.x FROM t", "nothing occurs in this query"),
        ("SELECT a.x FROM a, b, t", "does not say how its events relate in time"),
        ("SELECT a.x FROM a, b, t PARTITION BY y EVENT SEQ(a, b)", "'a' (a) has no column 'y'"),
        ("SELECT x FROM a, t", "'x' could be a column of several aliases"),
    ],
)
def test_what_a_query_cannot_do_with_a_table(query: str, expected: str) -> None:
    assert expected in error_of(f"{STREAMS}CREATE EVENT r AS {query};")


def test_times_without_an_alias_are_those_of_the_stream() -> None:
    program = thence.compile(STREAMS + "CREATE EVENT r AS SELECT start AS s FROM a, t;")
    found = program.run({"a": [{"x": 1, "time": 5}]}, tables={"t": [{"x": 1, "y": 2}]})
    assert found["r"].num_rows == 1


def test_what_is_not_in_a_large_table_is_not_looked_for_row_by_row() -> None:
    """Ten billion pairs of an event and a row would not fit into memory."""
    program = thence.compile(
        "event a(x int); table t(y int);"
        "CREATE EVENT r AS SELECT x FROM a WHERE x NOT IN (SELECT y FROM t);"
    )
    count = 100_000
    events = pa.table({"time": pa.array(range(count)), "x": pa.array(range(count))})
    rows = pa.table({"y": pa.array(range(1, count))})
    found = program.run({"a": events}, tables={"t": rows})["r"].to_pylist()
    assert [row["x"] for row in found] == [0]
