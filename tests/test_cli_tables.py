"""``--table NAME=PATH``: the rows of static tables on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

PROGRAM = """
event checkout(id string);
table catalogue(book string, title string);
lent(id, t) <- checkout(id), catalogue(id, t);
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a program, events and a table."""
    (tmp_path / "rules.thence").write_text(PROGRAM)
    (tmp_path / "checkout.jsonl").write_text(
        '{"id": "b1", "time": "2026-01-01T08:00:00Z"}\n'
        '{"id": "b2", "time": "2026-01-01T09:00:00Z"}\n'
    )
    (tmp_path / "books.csv").write_text("book,title\nb1,Emma\n")
    (tmp_path / "more.csv").write_text("book,title\nb2,Ulysses\n")
    return tmp_path


def titles(out: str) -> list[str]:
    return [json.loads(line)["t"] for line in out.splitlines()]


def run(thence: Command, desk: Path, *options: object) -> Any:
    return thence("run", desk / "rules.thence", "--events", desk / "checkout.jsonl", *options)


def test_a_table_is_given_by_its_name(thence: Command, desk: Path) -> None:
    done = run(thence, desk, "--table", f"catalogue={desk / 'books.csv'}")
    assert (done.code, titles(done.out)) == (0, ["Emma"])


def test_files_of_one_name_are_one_table(thence: Command, desk: Path) -> None:
    files = [f"catalogue={desk / name}" for name in ("books.csv", "more.csv")]
    assert titles(run(thence, desk, "--table", *files).out) == ["Emma", "Ulysses"]


def test_a_trace_shows_the_row(thence: Command, desk: Path) -> None:
    table = f"catalogue={desk / 'books.csv'}"
    events = ("--events", desk / "checkout.jsonl")
    done = thence("trace", desk / "rules.thence", "lent", *events, "--table", table)
    assert done.out.splitlines()[-1] == "└─ catalogue(book='b1', title='Emma') in the table"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "looks into catalogue(book string, title string), which is not given"),
        (("--table", "books.csv"), "--table books.csv: write it as NAME=PATH."),
        (("--table", "catalog=books.csv"), "no table 'catalog'. Did you mean 'catalogue'?"),
        (("--table", "catalogue=nowhere.csv"), "nowhere.csv"),
    ],
)
@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_what_is_wrong_with_tables_is_said_at_once(
    thence: Command, desk: Path, engine: str, options: tuple[str, ...], expected: str
) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark")
    done = run(thence, desk, "--engine", engine, *options)
    assert done.code == 2
    assert expected in done.err


@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_a_table_among_the_events_is_sent_to_its_place(
    thence: Command, desk: Path, engine: str
) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark")
    named = [f"checkout={desk / 'checkout.jsonl'}", f"catalogue={desk / 'books.csv'}"]
    done = thence("run", desk / "rules.thence", "--engine", engine, "--events", *named)
    assert done.code == 2
    assert "--table catalogue=PATH" in done.err


def test_on_spark(spark: Any, thence: Command, desk: Path) -> None:
    done = run(thence, desk, "--engine", "spark", "--table", f"catalogue={desk / 'books.csv'}")
    assert titles(done.out) == ["Emma"]


def test_in_a_stream(spark: Any, thence: Command, desk: Path) -> None:
    (desk / "in").mkdir()
    (desk / "checkout.jsonl").rename(desk / "in" / "0.jsonl")
    table = ("--table", f"catalogue={desk / 'books.csv'}")
    source = ("--source", f"checkout={desk / 'in'}")
    done = thence("stream", desk / "rules.thence", *source, *table, "--available-now")
    assert titles(done.out) == ["Emma"]
