"""Watching the library on Spark: a stream over a folder to which files of readings are added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from thence.demo.library.feed import Batch, Clock, Folder, Pace, batches
from thence.demo.library.findings import EVENTS, OPENS, found
from thence.demo.library.sensors import MAX_DELAY
from thence.demo.library.simulate import Day
from thence.demo.library.watch import Tell
from thence.model.time import parse_duration
from thence.program import Program
from thence.spark.progress import new_batches
from thence.spark.query import detect
from thence.spark.types import spark_type

_TRIGGER = "1 second"
_LOOK = 0.2
"""Seconds between two looks at the query."""

_FAST_FILES = 4
"""Files in a batch of the query when nobody waits."""

Row = dict[str, Any]


def watch_on_spark(
    spark: SparkSession,
    program: Program,
    day: Day,
    tell: Tell,
    pace: Pace,
    folder: Folder,
    checkpoint: Path,
    stop: Event,
) -> bool:
    """Run the program as a stream while files of readings are added to a folder.

    It ends when everything has been judged, or when ``stop`` is set; whether it came to its end.
    """
    waiting = list(batches(day, pace.span))
    fast = pace.speed is None
    while fast and waiting:
        folder.add(waiting.pop(0))
    given = _readings(spark, program, folder, _FAST_FILES if fast else None)
    results = detect(program, given, list(EVENTS), max_delay=MAX_DELAY)
    came: SimpleQueue[list[Row]] = SimpleQueue()

    def take(frame: DataFrame, _: int) -> None:
        came.put(frame.toArrow().to_pylist())

    writer = results.writeStream.queryName("library").foreachBatch(take)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime=_TRIGGER)
    query = writer.start()
    try:
        return _follow(query, waiting, Clock(pace), folder, came, tell, _last_watermark(day), stop)
    finally:
        query.stop()


def _readings(
    spark: SparkSession, program: Program, folder: Folder, files: int | None
) -> DataFrame:
    columns = {a.name: spark_type(a.type) for each in program.events for a in each.attributes}
    attributes = ", ".join(f"`{name}` {kind.simpleString()}" for name, kind in columns.items())
    reader = spark.readStream.schema(f"type string, time timestamp, {attributes}")
    if files is not None:
        reader = reader.option("maxFilesPerTrigger", files)
    return reader.json(str(folder.path.absolute()))


def _last_watermark(day: Day) -> int:
    """The watermark after the last signal, in microseconds."""
    return (int(OPENS.timestamp() * 1_000) + day.ends) * 1_000 - parse_duration(MAX_DELAY)


def _follow(
    query: Any,
    waiting: list[Batch],
    clock: Clock,
    folder: Folder,
    came: SimpleQueue[list[Row]],
    tell: Tell,
    last_watermark: int,
    stop: Event,
) -> bool:
    """Add each file when it is due, and tell what came, until all is judged."""
    judged = False
    number = -1
    while not (judged or stop.is_set()):
        if waiting:
            if clock.wait(waiting[0], stop, most=_LOOK) and not stop.is_set():
                folder.add(waiting.pop(0))
        else:
            stop.wait(_LOOK)
        if not query.isActive:
            query.awaitTermination()  # raises what the query failed with
        for batch in new_batches(query, number):
            number = batch.number
            judged = batch.watermark is not None and batch.watermark >= last_watermark
        for rows in _all_in(came):
            tell(found(rows))
    return judged


def _all_in(came: SimpleQueue[list[Row]]) -> Iterator[list[Row]]:
    while True:
        try:
            yield came.get_nowait()
        except Empty:
            return
