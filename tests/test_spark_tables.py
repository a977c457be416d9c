"""Static tables in batch jobs and streams: where they come from, and how they reach the tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thence

pytest.importorskip("pyspark")
from thence import spark as ts
from thence.engine.state.state import State, encode
from thence.plan.tree import Part
from thence.spark.facts import Facts, given_tables, shipped

PROGRAM = thence.compile("""
    event checkout(id string);
    event back(id string);
    table catalogue(book string, title string);
    table lost(book string);
    lent(id, t)    <- (checkout(id) seq back(id)) within 10 s, catalogue(id, t);
    unknown(id)    <- checkout(id), not catalogue(id, _);
    missing(id, t) <- c: checkout(id), catalogue(id, t), lost(id);
""")
CHECKOUTS = pa.table({"id": ["b1", "b2", "b3"], "time": pa.array([1, 2, 3], pa.int64())})
BACK = pa.table({"id": ["b1", "b2", "b3"], "time": pa.array([4, 5, 6], pa.int64())})
CATALOGUE = pa.table({"book": ["b1", "b2"], "title": ["Emma", "Ulysses"]})
LOST = pa.table({"book": ["b2"], "since": ["May"]})
TABLES = {"catalogue": CATALOGUE, "lost": LOST}
FOUND = [
    ("lent", "b1", "Emma"),
    ("lent", "b2", "Ulysses"),
    ("missing", "b2", "Ulysses"),
    ("unknown", "b3", None),
]


def rows(table: Any) -> list[Any]:
    return sorted((row["type"], row["id"], row["t"]) for row in table.to_pylist())


def frames(spark: Any) -> dict[str, Any]:
    return {"checkout": spark.createDataFrame(CHECKOUTS), "back": spark.createDataFrame(BACK)}


def test_a_table_is_a_dataframe_or_what_a_run_takes(spark: Any) -> None:
    tables = {"catalogue": spark.createDataFrame(CATALOGUE), "lost": [{"book": "b2"}]}
    assert rows(ts.detect(PROGRAM, frames(spark), tables=tables).toArrow()) == FOUND


FROM_SPARK = thence.compile("""
    event checkout(id string);
    table catalogue(book string, title string) from spark 'stock';
    lent(id, t) <- checkout(id), catalogue(id, t);
""")


def test_rows_are_where_the_program_says(spark: Any, tmp_path: Path) -> None:
    stock = CATALOGUE.append_column("note", pa.array([None, None], pa.string()))
    spark.createDataFrame(stock).createOrReplaceTempView("stock")
    (tmp_path / "lost.csv").write_text("book,since\nb2,May\n")
    (tmp_path / "rules.thence").write_text("""
        event checkout(id string);
        table catalogue(book string, title string) from spark 'stock';
        table lost(book string) from 'lost.csv';
        missing(id, t) <- checkout(id), catalogue(id, t), lost(id);
    """)
    program = thence.load(tmp_path / "rules.thence")
    found = ts.detect(program, {"checkout": frames(spark)["checkout"]}, "missing").toArrow()
    assert found["t"].to_pylist() == ["Ulysses"]
    given = ts.detect(
        program, {"checkout": frames(spark)["checkout"]}, "missing", tables={"lost": []}
    )
    assert given.toArrow().num_rows == 0


def test_a_table_of_spark_that_does_not_fit_is_named(spark: Any) -> None:
    spark.catalog.dropTempView("stock")
    checkouts = {"checkout": frames(spark)["checkout"]}
    with pytest.raises(thence.InputError, match=r"Spark's 'stock', which cannot be read: .*stock"):
        ts.detect(FROM_SPARK, checkouts)
    spark.createDataFrame(pa.table({"book": ["b1"]})).createOrReplaceTempView("stock")
    with pytest.raises(thence.InputError, match="table 'catalogue' has no column 'title'"):
        ts.detect(FROM_SPARK, checkouts)


def test_lineage_names_rows_without_a_time(spark: Any) -> None:
    found = ts.detect(PROGRAM, frames(spark), "missing", tables=TABLES, lineage=True).toArrow()
    (lineage,) = found["lineage"].to_pylist()
    assert [(each["label"], each["event"], each["start"] is None) for each in lineage] == [
        ("c", "checkout", False),
        (None, "catalogue", True),
        (None, "lost", True),
    ]


@pytest.fixture
def as_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are too large to travel inside tasks."""
    monkeypatch.setattr("thence.spark.facts.INSIDE", 0)


@pytest.mark.usefixtures("as_files")
def test_large_tables_travel_as_files_of_a_batch_job(spark: Any) -> None:
    assert rows(ts.detect(PROGRAM, frames(spark), tables=TABLES).toArrow()) == FOUND
    assert rows(ts.detect(PROGRAM, frames(spark), tables=TABLES).toArrow()) == FOUND


def streamed(spark: Any, folder: Path, tables: Any) -> list[Any]:
    """All that a stream has found once it has gone through the files of a folder, one a trigger."""
    frame = spark.readStream.schema("type string, id string, time long")
    events = frame.option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    query = (
        ts.detect(PROGRAM, events, tables=tables, shards=2)
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "results"), "parquet")
    )
    query.awaitTermination()
    return rows(spark.read.parquet(str(folder / "results")).toArrow())


def write(folder: Path, number: int, kind: str, events: pa.Table) -> None:
    path = folder / "events" / f"{number}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(events.append_column("type", pa.array([kind] * len(events))), path)
    os.utime(path, (number + 1, number + 1))


@pytest.mark.usefixtures("as_files")
def test_large_tables_travel_as_files_of_a_stream(spark: Any, tmp_path: Path) -> None:
    write(tmp_path, 0, "checkout", CHECKOUTS)
    write(tmp_path, 1, "back", BACK)
    assert streamed(spark, tmp_path, TABLES) == FOUND


def test_a_stream_that_is_started_anew_sees_its_tables_as_they_are_then(
    spark: Any, tmp_path: Path
) -> None:
    write(tmp_path, 0, "checkout", CHECKOUTS)
    before = streamed(spark, tmp_path, {**TABLES, "lost": LOST.slice(0, 0)})
    assert before == [("unknown", "b3", None)]
    write(tmp_path, 1, "back", BACK)
    changed = {**TABLES, "catalogue": CATALOGUE.slice(1)}
    assert streamed(spark, tmp_path, changed) == [("lent", "b2", "Ulysses"), *before]


def test_a_stream_is_no_table(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(thence.InputError, match=r"tables\['lost'\] is a stream, and a table is"):
        ts.detect(PROGRAM, frames(spark), tables={**TABLES, "lost": stream})


def test_a_table_among_the_events_is_sent_to_its_place(spark: Any) -> None:
    with pytest.raises(thence.InputError, match="beside the events"):
        ts.detect(PROGRAM, {**frames(spark), "lost": spark.createDataFrame(LOST)})


def test_only_the_tables_that_are_looked_into_must_be_given(spark: Any) -> None:
    with pytest.raises(thence.InputError, match=r"looks into lost\(book string\), which is not"):
        ts.detect(PROGRAM, frames(spark), tables={"catalogue": CATALOGUE})
    found = ts.detect(PROGRAM, frames(spark), "unknown", tables={"catalogue": CATALOGUE})
    assert [row["id"] for row in found.toArrow().to_pylist()] == ["b3"]


# --- without Spark --------------------------------------------------------------------------------


def part_of(*names: str) -> Part:
    compiled = PROGRAM.plan
    stages = tuple(stage for stage in compiled.stages if set(stage.events) & set(names))
    return compiled.part(stages, names)


def test_only_columns_that_rules_read_travel() -> None:
    found = given_tables(PROGRAM, part_of("unknown"), TABLES, whole=False)
    assert {name: list(each.columns) for name, each in found.items()} == {"catalogue": ["book"]}


def test_a_small_table_travels_inside_the_task() -> None:
    found = given_tables(PROGRAM, part_of("lent"), TABLES, whole=True)
    facts = shipped(found, ["catalogue"], spark=None)
    assert facts.data and not facts.file
    assert facts.read()["catalogue"].whole().columns["title"].to_pylist() == ["Emma", "Ulysses"]


def test_what_looks_nothing_up_carries_nothing() -> None:
    assert shipped({}, [], spark=None) == Facts()
    assert Facts().read() == {}


def test_state_does_not_hold_tables() -> None:
    session = PROGRAM.session(tables=TABLES)
    session.push({"checkout": CHECKOUTS})
    assert b"Ulysses" not in encode(session._generations[0].state, {}) != encode(State(), {})


def test_a_table_keeps_no_rule_from_a_key() -> None:
    assert ts.explain(PROGRAM, "lent") == (
        "stage 1, spread by key: lent\n"
        "  checkout by id\n"
        "  back by id\n"
        "  catalogue, a table, whole in every place\n"
    )
