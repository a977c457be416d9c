"""Watching the library on Spark: a stream over a folder to which files of readings are added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from thence.demo.library.feed import Clock, Folder, Pace, batches
from thence.demo.library.findings import EVENTS, OPENS, found
from thence.demo.library.sensors import MAX_DELAY
from thence.demo.library.simulate import Day
from thence.demo.library.watch import Tell
from thence.model.time import parse_duration
from thence.program import Program
from thence.spark.query import detect
from thence.spark.query_progress import new_batches
from thence.spark.types import spark_type

_TRIGGER = "1 second"
_LOOK = 0.2
"""Seconds between two looks at the query."""

_FAST_BATCHES = 4
"""In how many batches the query takes a day for which nobody waits."""

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
    first, *waiting = batches(day, pace.span)
    folder.add(first)
    at_once = None
    if pace.speed is None:
        at_once = -(-(1 + len(waiting)) // _FAST_BATCHES)
        while waiting:
            folder.add(waiting.pop(0))
    given = _readings(spark, program, folder, at_once)
    results = detect(program, given, list(EVENTS), max_delay=MAX_DELAY)
    came: SimpleQueue[list[Row]] = SimpleQueue()

    def take(frame: DataFrame, _: int) -> None:
        came.put(frame.toArrow().to_pylist())

    writer = results.writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime=_TRIGGER)
    query = writer.start()
    try:
        # The day goes on when Spark has warmed up with the first file.
        judged = _Judged(query, _last_watermark(day))
        clock = None
        while not (judged.ended or stop.is_set()):
            if waiting and clock is not None:
                if clock.wait(waiting[0], stop, most=_LOOK) and not stop.is_set():
                    folder.add(waiting.pop(0))
            else:
                stop.wait(_LOOK)
            judged.look()
            if clock is None and judged.anything:
                clock = Clock(pace, first.due)
            for rows in _all_in(came):
                tell(found(rows))
        return judged.everything
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


class _Judged:
    """How far a query has come; ``last`` is the watermark at which everything is judged."""

    def __init__(self, query: Any, last: int) -> None:
        self._query, self._last = query, last
        self._batch = -1
        self.everything = False
        self.ended = False

    @property
    def anything(self) -> bool:
        """Whether a batch is done."""
        return self._batch >= 0

    def look(self) -> None:
        """See which batches are done. Raises what the query failed with."""
        if not self._query.isActive:
            self._query.awaitTermination()
            self.ended = True  # somebody else has stopped it
        for batch in new_batches(self._query, self._batch):
            self._batch = batch.number
            self.everything = batch.watermark is not None and batch.watermark >= self._last
        self.ended = self.ended or self.everything


def _all_in(came: SimpleQueue[list[Row]]) -> Iterator[list[Row]]:
    while True:
        try:
            yield came.get_nowait()
        except Empty:
            return
