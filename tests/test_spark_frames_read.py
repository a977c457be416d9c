"""Input DataFrames: only what rules need is read, from tables and from streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import AB, EVERY, NONE, above, ends, failure, frame, plan, rows, wanted

from thence.logic.conjunct import Column
from thence.logic.expr import Call, Const, TimeOf
from thence.model.types import INT, TIMESTAMP

pytest.importorskip("pyspark")

from thence.spark.frames import Input, Requested, read_frames


@pytest.fixture(scope="module")
def stored(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A hundred events in Parquet files, of three types in turn."""
    path = str(tmp_path_factory.mktemp("stored") / "events")
    spark.range(100).selectExpr(
        "element_at(array('a', 'b', 'c'), cast(id % 3 + 1 as int)) as type",
        "cast(id as int) as id",
        "cast(id as double) as price",
        "'never read' as unused",
        "timestamp_micros(id) as time",
    ).coalesce(1).write.parquet(path)
    return path


PRICES = "event a(id int, price float); event b(id int, price float); event c(id int);"


def test_only_columns_that_rules_read_are_read_from_files(spark: Any, stored: str) -> None:
    a, *others = wanted(PRICES, b=NONE, c=NONE)
    events = spark.read.parquet(stored)
    found = read_frames({"a": events}, [Requested(a.schema, ("id",), EVERY), *others])
    assert "ReadSchema: struct<id:int,time:timestamp>" in plan(found.rows)
    assert "ReadSchema: struct<time:timestamp>" in plan(found.times)


def test_conditions_on_one_event_go_to_the_files(spark: Any, stored: str) -> None:
    events = spark.read.parquet(stored)
    found = read_frames({"a": events}, wanted(PRICES, a=((above("id", 95), above("id", 96)),)))
    assert "PushedFilters: [IsNotNull(id), GreaterThan(id,95), GreaterThan(id,96)]" in plan(
        found.rows
    )
    assert [row.v0 for row in found.rows.sort("end").collect()] == [97, 98, 99]
    assert found.times.count() == 100


def test_a_row_is_needed_if_one_alternative_needs_it(spark: Any, stored: str) -> None:
    ways = ((above("id", 98),), (Call("=", (Column(0, "id"), Const(3, INT))),))
    found = read_frames({"a": spark.read.parquet(stored)}, wanted(PRICES, a=ways))
    assert "PushedFilters: [Or(GreaterThan(id,98),EqualTo(id,3))]" in plan(found.rows)
    assert [row.v0 for row in found.rows.sort("end").collect()] == [3, 99]


def test_types_go_to_the_files_with_the_conditions_on_each(spark: Any, stored: str) -> None:
    found = read_frames(
        spark.read.parquet(stored), wanted(PRICES, a=((above("id", 95),),), b=EVERY, c=NONE)
    )
    assert "In(type, [a,b])" in plan(found.rows).partition("PushedFilters")[2]
    assert found.rows.where("event = 0").count() == 2  # 96 and 99
    assert found.rows.where("event = 1").count() == 33
    assert found.rows.where("event = 2").count() == 0
    assert found.times.count() == 100


def test_an_event_that_no_rule_reads_only_tells_the_time(spark: Any) -> None:
    a = frame(spark, [(1, 10)], "id int, time bigint")
    b = frame(spark, [("x", 30)], "word string, time bigint")
    found = read_frames({"a": a, "b": b}, wanted(AB, b=NONE))
    assert [row[:2] for row in rows(found)] == [(0, 10)]
    assert ends(found) == [10, 30]
    neither = read_frames({"a": a, "b": b}, wanted(AB, a=NONE, b=NONE))
    assert (rows(neither), ends(neither)) == ([], [10, 30])


def test_a_condition_on_the_time_does_not_hide_a_row_without_one(spark: Any) -> None:
    events = frame(spark, [(None,)], "time timestamp")
    after = Call(">", (TimeOf("", "start"), Const(5, TIMESTAMP)))
    found = read_frames({"a": events}, wanted("event a();", a=((after,),)))
    assert "'time' is null, and every event needs a time" in failure(found)


def test_everything_is_one_stage_of_generated_code(spark: Any, stored: str) -> None:
    text = plan(read_frames(spark.read.parquet(stored), wanted(PRICES)).rows)
    physical = text.partition("== Physical Plan ==")[2]
    assert "*(1) Project" in physical
    assert not any(word in physical for word in ("Sort", "Exchange", "Python", "*(2)"))


# -- streams


def streamed(spark: Any, stored: str) -> Any:
    schema = spark.read.parquet(stored).schema
    return spark.readStream.schema(schema).parquet(stored)


def run_once(found: Input, tmp_path: Path) -> tuple[int, str]:
    """How many rows come out of a stream, and its watermark at the end."""
    query = (
        found.rows.writeStream.format("memory")
        .queryName("frames")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.processAllAvailable()
        marks = [progress["eventTime"].get("max", "") for progress in query.recentProgress]
        return found.rows.sparkSession.table("frames").count(), max(marks)
    finally:
        query.stop()


def test_events_that_are_dropped_move_the_clock_of_a_stream(
    spark: Any, stored: str, tmp_path: Path
) -> None:
    columns = "type string, id int, price double, unused string, time timestamp"
    late = frame(spark, [("c", 1, 3.0, "", "2026-01-01T00:00:00Z")], columns)
    late.write.parquet(str(tmp_path / "late"))
    stream = streamed(spark, str(tmp_path / "late"))
    found = read_frames(stream, wanted(PRICES, a=((above("id", 95),),), c=NONE), 5000)
    assert found.streaming
    assert run_once(found, tmp_path) == (0, "2026-01-01T00:00:00.000Z")


def test_the_filter_of_a_stream_stays_above_its_watermark(
    spark: Any, stored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = read_frames(streamed(spark, stored), wanted(PRICES, a=NONE, b=NONE, c=NONE), 5000)
    found.rows.explain(True)
    optimised = capsys.readouterr().out.partition("== Optimized Logical Plan ==")[2]
    above_it, _, below = optimised.partition("EventTimeWatermark")
    assert "5 seconds" in below
    assert "Filter" in above_it
    assert "raise_error" in below


def test_a_stream_with_a_watermark_of_its_own_works(
    spark: Any, stored: str, tmp_path: Path
) -> None:
    stream = streamed(spark, stored).withWatermark("time", "1 hour")
    found = read_frames({"a": stream, "b": stream}, wanted(PRICES))
    assert run_once(found, tmp_path)[0] == 200
