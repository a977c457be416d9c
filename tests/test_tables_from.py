"""``table t(…) from '…'``: where the rows of static tables are, if nobody gives others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Command

import thence
from thence.lang.python import Table, event, table

RULE = "event seen(id string);\nplace(id, loc) <- seen(id), store(id, loc, _);"
DECLARED = "table store(id string, loc string, rank int) from 'stores.csv';"
EVENTS = {"seen": [{"id": "s1", "time": 1}, {"id": "s2", "time": 2}]}
CSV = "id,note,loc,rank\ns1,x,Ulm,3\ns2,y,Bonn,4\n"


def program_in(folder: Path, declared: str = DECLARED, rows: str | None = CSV) -> thence.Program:
    (folder / "rules.thence").write_text(f"{declared}\n{RULE}")
    if rows is not None:
        (folder / "stores.csv").write_text(rows)
    return thence.load(folder / "rules.thence")


def places(results: Any) -> list[str]:
    return results["place"]["loc"].to_pylist()  # type: ignore[no-any-return]


def error_of(program: thence.Program) -> str:
    with pytest.raises(thence.InputError) as raised:
        program.run(EVENTS)
    return str(raised.value)


# --- files ----------------------------------------------------------------------------------------


def test_a_path_begins_at_the_folder_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_in(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert places(program.run(EVENTS)) == ["Ulm", "Bonn"]


def test_of_a_text_it_begins_at_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert places(thence.compile(DECLARED + RULE).run(EVENTS)) == ["Ulm", "Bonn"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv"])
def test_every_kind_of_file_is_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"stores.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"id": ["s1"], "loc": ["Ulm"], "rank": [3]}), path)
    elif kind == "jsonl":
        path.write_text('{"id": "s1", "loc": "Ulm", "rank": 3}\n')
    else:
        path.write_text(CSV)
    program = program_in(tmp_path, DECLARED.replace(".csv", f".{kind}"), None)
    assert places(program.run(EVENTS))[0] == "Ulm"


def test_rows_that_are_given_come_first(tmp_path: Path) -> None:
    program = program_in(tmp_path, rows=None)  # there is no such file, and nobody asks for it
    given = [{"id": "s1", "loc": "Rome", "rank": 1}]
    assert places(program.run(EVENTS, tables={"store": given})) == ["Rome"]


def test_a_file_that_no_rule_needs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rules.thence").write_text(DECLARED + "event a(x int); b(x) <- a(x);")
    program = thence.load(tmp_path / "rules.thence")
    assert program.run({"a": [{"x": 1, "time": 1}]})["b"].num_rows == 1


def test_a_session_reads_its_rows_once(tmp_path: Path) -> None:
    program = program_in(tmp_path)
    session = program.session()
    (tmp_path / "stores.csv").write_text("id,loc,rank\ns1,Rome,1\n")
    assert places(session.push({"seen": [{"id": "s1", "time": 1}]})) == ["Ulm"]
    restored = program.session(state=session.save())
    assert places(restored.push({"seen": [{"id": "s1", "time": 2}]})) == ["Rome"]


def test_another_place_is_a_change_of_the_rules_that_look_there(tmp_path: Path) -> None:
    program = program_in(tmp_path)
    session = program.session()
    (tmp_path / "others.csv").write_text("id,loc,rank\ns1,Rome,1\n")
    changed = program_in(tmp_path, DECLARED.replace("stores", "others"))
    assert session.replace(changed).begun == ("place",)
    assert places(session.push({"seen": [{"id": "s1", "time": 1}]})) == ["Rome"]


# --- what is wrong --------------------------------------------------------------------------------


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    assert error_of(program_in(tmp_path, rows=None)) == (
        f"There is no file '{tmp_path / 'stores.csv'}'."
    )


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    program = program_in(tmp_path, rows="id,locality,rank\ns1,Ulm,3\n")
    assert error_of(program) == (
        f"'{tmp_path / 'stores.csv'}': table 'store' has no column 'loc'. Its columns are: 'id', "
        "'locality', 'rank'. It is declared as store(id string, loc string, rank int)."
    )


def test_a_value_of_the_wrong_type_is_named_with_its_row(tmp_path: Path) -> None:
    program = program_in(tmp_path, rows="id,loc,rank\ns1,Ulm,3\ns2,Bonn,high\n")
    assert error_of(program).startswith(
        f"'{tmp_path / 'stores.csv'}': table 'store', column 'rank', row 2: 'high' cannot be used;"
    )


def test_an_address_is_for_spark(tmp_path: Path) -> None:
    program = program_in(tmp_path, DECLARED.replace("stores.csv", "s3a://bucket/stores.parquet"))
    assert "'s3a://bucket/stores.parquet' is not in this file system" in error_of(program)


def test_a_table_of_spark_is_for_spark(tmp_path: Path) -> None:
    program = program_in(tmp_path, DECLARED.replace("'stores.csv'", "spark 'db.stores'"))
    assert error_of(program).startswith(
        "the rows of the table 'store' are in Spark's 'db.stores', and this does not run on Spark: "
    )


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("from mysql 'db.stores'", "rows cannot come from 'mysql'"),
        ("from ''", "rows come from somewhere, and this is empty"),
        ("from stores", "unexpected ';'"),
        ("from postgres 'stores; drop table x'", "this is no name of a table of PostgreSQL"),
    ],
)
def test_a_clause_that_says_nothing_is_refused(clause: str, expected: str) -> None:
    with pytest.raises(thence.ProgramError, match=expected):
        thence.compile(f"table store(id string) {clause};")


def test_a_password_in_a_program_is_refused_and_not_shown() -> None:
    with pytest.raises(thence.ProgramError) as raised:
        thence.compile("table t(x int) from postgres 'postgresql://ann:hunter2@db/shop';")
    assert "hunter2" not in str(raised.value)
    assert "told by the environment alone (THENCE_POSTGRES" in str(raised.value)


# --- the clause in all its forms ------------------------------------------------------------------

WRITTEN = [
    ("from 'stores.parquet'", "stores.parquet"),
    ("from 'it''s \"here\".csv'", 'it\'s "here".csv'),
    ("from spark 'db.stores'", ("spark", "db.stores")),
    ("from postgres 'public.\"My stores\"'", ("postgres", 'public."My stores"')),
]


@pytest.mark.parametrize(("clause", "source"), WRITTEN)
def test_text_and_python_say_the_same(clause: str, source: Any) -> None:
    text = f"table store(id string) {clause};"
    assert thence.compile(text).text() == text
    assert thence.build(table("store", id=str, source=source)).text() == text


def test_a_class_has_a_source(tmp_path: Path) -> None:
    class Store(Table, name="store", source=Path("stores.csv")):
        id: str

    assert thence.build(Store).text() == "table store(id string) from 'stores.csv';"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (3, "must be a path"),
        (("mysql", "x"), "must be a path"),
        ("", "must be one line"),
        (("postgres", "postgresql://ann:hunter2@db/shop"), "is no name of a table"),
    ],
)
def test_a_source_that_is_none_is_refused(source: Any, expected: str) -> None:
    with pytest.raises(thence.BuildError, match=expected) as raised:
        table("store", id=str, source=source)
    assert "hunter2" not in str(raised.value)


def test_events_have_no_source() -> None:
    with pytest.raises(thence.BuildError, match="is an event, whose rows are given"):

        class Seen(event("seen", id=str), source="x.csv"):  # type: ignore[misc, call-arg]
            pass


def test_explain_and_json_say_where_rows_are(tmp_path: Path) -> None:
    program = program_in(tmp_path)
    assert (
        "  store(id string, loc string, rank int) from 'stores.csv'   -- true at all times"
    ) in program.explain()
    (told,) = program.plan.to_json()["tables"]
    assert told["from"] == {"kind": "file", "name": "stores.csv"}


# --- the command line -----------------------------------------------------------------------------


def test_check_needs_no_file_and_run_reads_it(thence: Command, tmp_path: Path) -> None:
    program_in(tmp_path, rows=None)
    rules = tmp_path / "rules.thence"
    (tmp_path / "seen.csv").write_text("id,time\ns1,1\n")
    assert thence("check", rules).code == 0
    options = ("run", rules, "--engine", "embedded", "--events", tmp_path / "seen.csv")
    missing = thence(*options)
    assert missing.code != 0 and "There is no file" in missing.err
    (tmp_path / "stores.csv").write_text(CSV)
    assert '"loc":"Ulm"' in thence(*options).out.replace(" ", "")
    over = thence(*options, "--out", tmp_path / "stores.csv")
    assert over.code != 0 and "is read here, and would be written over" in over.err
    (tmp_path / "mine.csv").write_text("id,loc,rank\ns1,Rome,1\n")
    given = thence(*options, "--table", f"store={tmp_path / 'mine.csv'}")
    assert '"loc":"Rome"' in given.out.replace(" ", "")
