"""`thence run` on Spark, which is the default: the same results as the embedded engine, from the
same files, with the same messages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Command
from test_cli import events, rules

from thence.spark import files
from thence.spark.query_progress import Totals, read_progress
from thence.spark.sinks import parse_sink
from thence.spark.stream_sources import parse_source

__all__ = ["events", "rules"]  # fixtures

SPARK = ("--engine", "spark")
ORDERS = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def on_spark(spark: Any, thence: Command) -> Command:
    """Run `thence run` on the session of the tests."""
    return lambda *arguments: thence("run", *arguments, *SPARK)


def test_results_are_those_of_the_embedded_engine(
    on_spark: Command, thence: Command, rules: Path, events: Path
) -> None:
    asked = (rules, "--events", events, "--lineage", "--until", "2026-01-02T06:00:00Z")
    found = on_spark(*asked)
    assert (found.code, found.err) == (0, "")
    assert len(found.records) == 3
    assert found.out == thence("run", *asked).out


@pytest.mark.parametrize("name", ["ssh", "fraud", "rooms", "library"])
def test_the_examples_give_the_same_on_both_engines(
    on_spark: Command, thence: Command, name: str
) -> None:
    example = ORDERS / name
    asked = (example / f"{name}.thence", "--events", example / "events.jsonl")
    found = on_spark(*asked).out.splitlines()
    assert found
    assert sorted(found) == sorted(thence("run", *asked).out.splitlines())


def test_files_of_every_format_are_read_together(
    on_spark: Command, rules: Path, tmp_path: Path
) -> None:
    """A directory: CSV with a line break in a value, JSON lines, and two kinds of Parquet, of
    which Spark cannot read the one with nanoseconds."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "order.csv").write_text('id,qty,time\n"two\nlines",1,1970-01-01\nb,2,1\nd,4,1\n')
    (folder / "more.jsonl").write_text('{"type": "order", "id": "c", "qty": 3, "time": 1}\n')
    times = pa.array([5_000], pa.timestamp("us"))
    pq.write_table(pa.table({"id": ["two\nlines"], "time": times}), folder / "shipped.parquet")
    typed = {"type": ["shipped"] * 2, "id": ["b", "c"], "time": [6_000_000, 7_000_000]}
    times = pa.array(typed["time"], pa.timestamp("ns"))
    pq.write_table(pa.table({**typed, "time": times}), folder / "rest.parquet")
    found = on_spark(rules, "--events", folder, "--emit", "done").records
    assert [(row["id"], row["qty"]) for row in found] == [("two\nlines", 1), ("b", 2), ("c", 3)]


def test_a_name_may_have_two_types_in_two_events(on_spark: Command, tmp_path: Path) -> None:
    (tmp_path / "p.thence").write_text(
        "event a(v int); event b(v string);\nnumber(v) <- a(v); word(v) <- b(v);"
    )
    (tmp_path / "e.csv").write_text("type,v,time\na,1,1\nb,x,2\n")
    found = on_spark(tmp_path / "p.thence", "--events", tmp_path / "e.csv").records
    assert [(row["type"], row["v"]) for row in found] == [("number", 1), ("word", "x")]


def test_a_large_file_of_json_lines_is_read_in_pieces(
    on_spark: Command, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    lines = [{"type": "order", "id": str(n), "qty": n, "time": n} for n in range(100)]
    lines += [{"type": "shipped", "id": str(n), "time": 1000 + n} for n in range(100)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(files, "PIECE_BYTES", 1000)
    assert len(files.split(str(path), None)) > 5
    found = on_spark(rules, "--events", path, "--emit", "done").records
    assert sorted(row["qty"] for row in found) == list(range(100))


def test_a_bad_value_is_named_with_its_file_column_and_row(
    on_spark: Command, rules: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text("type,id,qty,time\norder,a,1,1\norder,b,many,1\n")
    done = on_spark(rules, "--events", tmp_path / "bad.csv")
    assert (done.code, done.out) == (2, "")
    assert f"'{tmp_path}/bad.csv': event 'order', column 'qty', row 2: 'many'" in done.err
    assert done.err.count("\n") == 1


def test_a_parquet_column_of_another_type_is_named_with_its_file(
    on_spark: Command, rules: Path, tmp_path: Path
) -> None:
    times = pa.array([1], pa.timestamp("us"))
    path = tmp_path / "order.parquet"
    pq.write_table(pa.table({"id": ["a"], "qty": ["many"], "time": times}), path)
    done = on_spark(rules, "--events", path)
    assert done.code == 2
    assert f"'{path}': event 'order', column 'qty' holds string where int is declared" in done.err


def test_a_missing_file_is_told_before_spark_starts(
    thence: Command, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thence.cli.spark_run.session", None)
    done = thence("run", rules, "--events", "nowhere.csv", *SPARK)
    assert (done.code, done.err) == (2, "error: There is no file 'nowhere.csv'.\n")
    assert "Did you mean 'order'?" in thence("run", rules, "--events", "ordr=x.csv", *SPARK).err


def test_an_overflow_in_a_worker_ends_with_3(on_spark: Command, tmp_path: Path) -> None:
    (tmp_path / "p.thence").write_text(
        "event e(n int);\nhuge(m) <- e(n) where m = n * 9223372036854775807;"
    )
    (tmp_path / "e.csv").write_text("n,time\n2,1\n")
    done = on_spark(tmp_path / "p.thence", "--events", tmp_path / "e.csv")
    assert done.code == 3
    assert done.err.startswith("error: cannot compute 2 * 9223372036854775807")
    assert done.err.count("\n") == 1


def test_out_is_one_file_or_a_directory_as_with_the_other_engine(
    on_spark: Command, rules: Path, events: Path, tmp_path: Path
) -> None:
    one = on_spark(rules, "--events", events, "--emit", "done", "--out", tmp_path / "done.csv")
    assert (one.code, one.out) == (0, "")
    assert (tmp_path / "done.csv").read_text().startswith("id,qty,start,end\na,1,2026-01-01")
    folder = tmp_path / "found"
    for _ in range(2):  # the second time replaces the first
        many = on_spark(rules, "--events", events, "--out", folder)
        assert many.err.endswith("done: 1\noverdue: 1\n")
        assert sorted(path.name for path in folder.iterdir()) == ["done.parquet", "overdue.parquet"]
    found = pq.read_table(folder / "overdue.parquet")
    assert found["id"].to_pylist() == ["b"]
    assert found["start"].type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("form", ["json", "csv"])
def test_text_in_a_directory_is_written_as_by_the_other_engine(
    on_spark: Command, thence: Command, rules: Path, events: Path, tmp_path: Path, form: str
) -> None:
    asked = (rules, "--events", events, "--format", form, "--out")
    on_spark(*asked, tmp_path / "spark")
    thence("run", *asked, tmp_path / "embedded")
    for path in (tmp_path / "embedded").iterdir():
        assert (tmp_path / "spark" / path.name).read_text() == path.read_text()


@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_formulas_in_csv_are_escaped_where_asked(
    spark: Any, thence: Command, tmp_path: Path, engine: str
) -> None:
    (tmp_path / "p.thence").write_text("event e(s string);\nfound(s) <- e(s);")
    (tmp_path / "e.jsonl").write_text('{"s": "=1+2", "time": 1}\n{"s": "@x", "time": 2}\n')
    run = ("run", tmp_path / "p.thence", "--events", tmp_path / "e.jsonl", "--engine", engine)
    asked = ("--format", "csv", "--csv-formulas", "escape")
    found = [line.partition(",")[0] for line in thence(*run, *asked).out.splitlines()]
    assert found == ["s", "'=1+2", "'@x"]
    thence(*run, *asked, "--out", tmp_path / "out")
    lines = (tmp_path / "out" / "found.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == found
    kept = thence(*run, "--format", "csv").out.splitlines()
    assert [line.partition(",")[0] for line in kept] == ["s", "=1+2", "@x"]
    assert "--csv-formulas is for CSV" in thence(*run, "--csv-formulas", "escape").err


def test_many_results_are_several_files_in_order(
    on_spark: Command, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"order,{n},1,{n}\nshipped,{n},,{n + 1000}\n" for n in range(100))
    (tmp_path / "many.csv").write_text("type,id,qty,time\n" + rows)
    monkeypatch.setattr("thence.spark.sinks.ROWS_PER_FILE", 40)
    on_spark(rules, "--events", tmp_path / "many.csv", "--emit", "done", "--out", tmp_path / "out")
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written][:2] == ["done.00000.parquet", "done.00001.parquet"]
    starts = [start for path in written for start in pq.read_table(path)["start"].to_pylist()]
    assert len(starts) == 100
    assert starts == sorted(starts)


def test_fail_if_found_and_limit(on_spark: Command, rules: Path, events: Path) -> None:
    assert on_spark(rules, "--events", events, "--limit", "0", "--fail-if-found").code == 4


def test_no_declared_event_is_warned_of(on_spark: Command, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,id,qty,time\nordr,a,1,2026-01-01T00:00:00Z\n")
    done = on_spark(rules, "--events", tmp_path / "e.csv")
    assert (done.code, done.out) == (0, "")
    assert "no row is an event that the program declares. Did you mean 'order'?" in done.err


def test_a_setting_of_spark_is_checked(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--conf", "threads", *SPARK)
    assert done.code == 2
    assert "write it as spark.NAME=VALUE" in done.err


# -- what sources, sinks and progress mean


def test_sources_and_sinks_are_read_as_they_are_written() -> None:
    assert parse_source("order=kafka:a:1,b:2/t").where == "a:1,b:2/t"
    assert parse_source("s3a://bucket/in").kind == "files"
    assert parse_sink("s3a://bucket/out").where == "s3a://bucket/out"


def test_a_batch_is_told_in_one_line() -> None:
    progress = {
        "batchId": 3,
        "numInputRows": 2,
        "durationMs": {"triggerExecution": 500, "addBatch": 400},
        "eventTime": {"watermark": "2026-01-01T10:00:00.000Z"},
        "observedMetrics": {
            "thence": {"results": 7, "late": 1, "state_rows": 20, "state_bytes": 4_000},
            "thence_files_0": {"count": 2},
            "thence_events_0": {"count": 1500},
        },
    }
    batch = read_progress(progress)
    assert str(batch) == (
        "batch 3: 1,500 events (3,000/s), 7 results, 1 late, watermark 2026-01-01T10:00:00Z, "
        "state 20 rows, 4.0 kB"
    )
    assert str(Totals().plus(batch)) == "1,500 events in 1 batch, 7 results, 1 late"
