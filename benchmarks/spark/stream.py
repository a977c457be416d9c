"""Q2 as a stream over a folder of files, one a trigger: Thence and Spark's stream–stream join."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import thence
from benchmarks.queries import BY_NAME
from benchmarks.spark import sql
from benchmarks.spark.answers import Answer, checks
from benchmarks.spark.batch import OURS, known_median, order
from benchmarks.spark.data import SCHEMA
from benchmarks.spark.resources import cpu_used
from thence import spark as ts

QUERY = "q2"
MAX_DELAY = "1 second"  # of both sides
UNSETTLED = 3  # triggers at the beginning that do not count

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STORES = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = f"{_STORES}.RocksDBStateStoreProvider"
HDFS = f"{_STORES}.HDFSBackedStateStoreProvider"  # keeps the whole state in memory
_JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"

# Each way to run the stream, with the settings of its query.
JOIN = "join rocksdb"
JOIN_IN_MEMORY = "join hdfs"
WAYS: dict[str, dict[str, str]] = {
    OURS: {_PROVIDER: ROCKSDB},
    JOIN: {_PROVIDER: ROCKSDB},
    JOIN_IN_MEMORY: {_PROVIDER: HDFS},
    "join rocksdb v4": {_PROVIDER: ROCKSDB, _JOIN_FORMAT: "4"},
}


@dataclass(frozen=True, slots=True)
class Run:
    """One query from the first file to the last."""

    answer: Answer
    seconds: tuple[float, ...]  # of each trigger that had a file
    java: float | None
    python: float | None
    state_rows: int
    run_id: str


def compare(
    spark: SparkSession, folder: Path, *, per_trigger: int, rounds: int, ways: tuple[str, ...]
) -> dict[str, Any]:
    """Run the stream in each way, once to warm up, then ``rounds`` times in turn."""
    runs: dict[str, list[Run]] = {way: [] for way in ways}
    for place in range(rounds + 1):
        for way in order(ways, place):
            runs[way].append(run(spark, folder, way))
    return {way: _summary(runs[way], per_trigger) for way in ways}


def run(spark: SparkSession, folder: Path, way: str) -> Run:
    """Read all files, one a trigger, and throw the results away after they were counted."""
    with settings_of(spark, WAYS[way]):
        result = detected(files(spark, folder), way)
        return _run(result.observe("check", *checks(result)))


@contextmanager
def settings_of(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session for a while, then those from before."""
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)


def files(spark: SparkSession, folder: Path, *, one_by_one: bool = True) -> DataFrame:
    """The events of a folder that files may be added to; a file a trigger, or all that are new."""
    reader = spark.readStream.schema(SCHEMA)
    if one_by_one:
        reader = reader.option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def detected(events: DataFrame, way: str) -> DataFrame:
    """The query's results in a stream of events, as Thence or as a join."""
    if way == OURS:
        query = BY_NAME[QUERY]
        program = thence.compile(query.text)
        return ts.detect(program, events, emit=query.output, max_delay=MAX_DELAY)
    # Written so that Spark sees how long it has to keep events.
    return sql.query(sql.TUNED[QUERY]["plus"], events.withWatermark("time", MAX_DELAY))


def _run(result: DataFrame) -> Run:
    # Spark's maintenance of state stores may still be at work there.
    with tempfile.TemporaryDirectory(
        prefix="thence-bench-", ignore_cleanup_errors=True
    ) as checkpoint:
        before = cpu_used()
        writer = result.writeStream.format("noop").outputMode("append")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        after, progress = cpu_used(), query.recentProgress
    used = after - before if before is not None and after is not None else None
    observed = [batch.observedMetrics["check"] for batch in progress]
    triggers = [batch for batch in progress if batch.numInputRows]
    return Run(
        Answer(
            sum(found["results"] for found in observed),
            sum(found["checksum"] for found in observed),
        ),
        tuple(batch.durationMs["triggerExecution"] / 1000 for batch in triggers),
        None if used is None else used.java,
        None if used is None else used.python,
        max(sum(op.numRowsTotal for op in batch.stateOperators) for batch in triggers),
        str(query.runId),
    )


def _summary(runs: list[Run], per_trigger: int) -> dict[str, Any]:
    """Of all but the first run; the first ``UNSETTLED`` triggers of each do not count either."""
    counted = runs[1:]
    rates = [per_trigger / median(run.seconds[UNSETTLED:]) for run in counted]
    answers = {run.answer for run in runs}
    if len(answers) > 1:
        raise AssertionError(f"one stream, several answers: {sorted(map(str, answers))}")
    return {
        "results": runs[0].answer.results,
        "checksum": runs[0].answer.checksum,
        "group": counted[-1].run_id,
        "events_per_second": median(rates),
        "seconds_per_trigger": median(s for run in counted for s in run.seconds[UNSETTLED:]),
        "java": known_median(run.java for run in counted),
        "python": known_median(run.python for run in counted),
        "state_rows": counted[-1].state_rows,
        "samples": [list(run.seconds) for run in counted],
    }
