"""Reactions on Spark: to the rows of a batch, to each batch of a stream, and by the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from receivers import Receiver, receiver

import thence as th
from thence import spark as ts

pytestmark = pytest.mark.spark

RULES = """
event a(x int, d decimal(9, 2), t timestamp);
b(x, d, t, 5 s as l) <- a(x, d, t) where x > 1;
c(x) <- a(x, _, _);
"""
COLUMNS = "type string, x bigint, d decimal(9, 2), t timestamp, time timestamp"
ROWS = [("a", n, None, None, None) for n in (1, 2, 3)]


@pytest.fixture
def alerts() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def events(spark: Any) -> Any:
    from pyspark.sql import functions as F

    frame = spark.createDataFrame(ROWS, COLUMNS)
    return frame.withColumn("time", F.timestamp_seconds("x")).withColumn("t", F.col("time"))


def test_a_batch_is_reacted_to_as_in_one_process(spark: Any) -> None:
    program = th.compile(RULES + "on b(x, _, t, l) where x > 2: call f(x, t, l);")
    on_spark: list[Any] = []
    program.on("b", on_spark.append, name="f")
    frame = events(spark)
    out = ts.detect(program, frame, emit=["b", "c"])
    ts.react(program, out, actions={"f": on_spark.append})
    alone = ts.detect(program, frame, emit="b")
    ts.react(program, alone, "b", actions={"f": on_spark.append})
    embedded: list[Any] = []
    same = th.compile(RULES + "on b(x, _, t, l) where x > 2: call f(x, t, l);")
    same.on("b", embedded.append, name="f")
    rows = [{k: v for k, v in row.asDict().items() if k != "type"} for row in frame.collect()]
    same.run({"a": rows}, actions={"f": embedded.append})

    def keys(got: list[Any]) -> list[str]:
        return sorted(each["idempotency_key"] for each in got)

    assert len(embedded) == 3
    assert keys(on_spark) == sorted(keys(embedded) * 2)


@pytest.mark.parametrize(
    ("event", "message"), [("nope", "derives no event"), (None, "no column 'type'")]
)
def test_rows_that_cannot_be_reacted_to_are_refused(
    spark: Any, event: str | None, message: str
) -> None:
    program = th.compile(RULES)
    with pytest.raises(th.InputError, match=message):
        ts.react(program, spark.createDataFrame([(1,)], "x bigint"), event)


def test_a_stream_itself_cannot_be_reacted_to(spark: Any) -> None:
    rows = spark.readStream.format("rate").load()
    with pytest.raises(th.InputError, match="foreachBatch"):
        ts.react(th.compile(RULES), rows, "b")


class Desk:
    """A program that posts, a folder of incoming files, and the commands."""

    def __init__(self, folder: Path, thence: Command, alerts: Receiver) -> None:
        self.folder, self.thence = folder, thence
        self.rules = folder / "rules.thence"
        self.rules.write_text(
            f"event a(x int); b(x) <- a(x) where x > 1; c(x) <- a(x);"
            f"on b(x): post '{alerts.url}' with (x);"
        )
        self.incoming = folder / "in"
        self.incoming.mkdir()

    def add(self, *values: int) -> None:
        lines = [json.dumps({"type": "a", "x": n, "time": n}) for n in values]
        (self.incoming / f"{values[0]:03}.jsonl").write_text("\n".join(lines) + "\n")

    def stream(self, *options: object) -> Any:
        fixed = ("--source", self.incoming, "--sink", self.folder / "out", "--available-now")
        dead = ("--dead-letters", self.folder / "dead.jsonl")
        return self.thence("stream", self.rules, *fixed, *dead, "--quiet", *options)


def test_a_stream_reacts_to_each_batch_and_a_batch_that_is_repeated_repeats_its_ids(
    spark: Any, tmp_path: Path, thence: Command, alerts: Receiver
) -> None:
    desk = Desk(tmp_path, thence, alerts)
    desk.add(1, 2, 3)
    assert desk.stream("--late", tmp_path / "late").code == 0
    assert sorted(each["x"] for each in alerts.payloads) == [2, 3]
    # Without the note that the batch was done, Spark repeats it.
    commits = sorted((tmp_path / "out.checkpoint" / "commits").glob("[0-9]*"))
    for commit in commits:
        commit.unlink()
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    before = list(alerts.ids)
    assert desk.stream("--late", tmp_path / "late").code == 0
    assert sorted(alerts.ids[len(before) :]) == sorted(before)
    desk.add(4)
    assert (
        "would do: on b(x=x): post"
        in desk.stream("--late", tmp_path / "late", "--actions", "show").err
    )
    assert len(alerts.got) == 2 * len(before)


def test_run_on_spark_reacts_to_tables_and_to_folders(
    spark: Any, tmp_path: Path, thence: Command, alerts: Receiver
) -> None:
    desk = Desk(tmp_path, thence, alerts)
    desk.add(1, 2, 3)
    command = ("run", desk.rules, "--events", desk.incoming, "--engine", "spark")
    assert thence(*command).code == 0
    assert thence(*command, "--out", tmp_path / "found").code == 0
    assert sorted(each["x"] for each in alerts.payloads) == [2, 2, 3, 3]
    assert len(set(alerts.ids)) == 2
