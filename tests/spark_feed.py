"""Streams that a test feeds by hand: it gives some events, and sees what came of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import thence

if TYPE_CHECKING:
    from thence.spark.query_progress import Batch

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]


def at(seconds: float) -> datetime:
    """An instant, in seconds (to the microsecond) after the beginning of the stream."""
    return BEGIN + timedelta(microseconds=round(seconds * 1_000_000))


def event(kind: str, seconds: float, **attributes: Any) -> dict[str, Any]:
    """An event of some type at an instant."""
    return {"type": kind, "time": at(seconds), **attributes}


def readable(rows: Any) -> list[Row]:
    """Rows in a certain order, with times as seconds after the beginning."""
    return sorted((tuple(_second(value) for value in row) for row in rows), key=repr)


def _second(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return (value.astimezone(UTC) - BEGIN) / timedelta(seconds=1)  # PySpark gives local time


class Folder:
    """A folder of events that grows file by file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = 0
        path.mkdir()

    def add(self, *events: dict[str, Any]) -> None:
        """One more file. It appears whole, and later than those before."""
        lines = [json.dumps({**e, "time": e["time"].isoformat()}) + "\n" for e in events]
        hidden = self.path / f".{self.files}"
        hidden.write_text("".join(lines))
        written = 1_700_000_000 + self.files
        os.utime(hidden, (written, written))
        hidden.rename(self.path / f"{self.files:04}.json")
        self.files += 1

    def stream(self, spark: Any, columns: str) -> Any:
        """The events as a stream, one file in each trigger."""
        reader = spark.readStream.schema(f"type string, time timestamp, {columns}")
        return reader.option("maxFilesPerTrigger", 1).json(str(self.path))


class Feed:
    """A running query. Each push waits until Spark has nothing left to do with it."""

    def __init__(self, spark: Any, folder: Folder, found: Any) -> None:
        self._spark = spark
        self._folder = folder
        self._name = f"feed_{uuid4().hex}"
        self._seen: Counter[Row] = Counter()
        self._last = -1
        self.query = found.writeStream.format("memory").queryName(self._name).start()

    def push(self, *events: dict[str, Any]) -> list[Row]:
        """Give some events, and get the rows that the query gave since the last time."""
        self._folder.add(*events)
        self.query.processAllAvailable()
        rows = Counter(map(tuple, self._spark.table(self._name).collect()))
        new = rows - self._seen
        self._seen = rows
        return readable(new.elements())

    def batches(self) -> list[Batch]:
        """What the query has reported about its batches since the last time."""
        from thence.spark.query_progress import new_batches

        found = list(new_batches(self.query, self._last))
        self._last = max((batch.number for batch in found), default=self._last)
        return found


@contextmanager
def fed(
    spark: Any, path: Path, text: str, columns: str, emit: Any, **options: Any
) -> Iterator[Feed]:
    """A program as a running query over events with these columns, stopped in the end."""
    from thence import spark as ts

    folder = Folder(path / "events")
    given = folder.stream(spark, columns)
    feed = Feed(spark, folder, ts.detect(thence.compile(text), given, emit, **options))
    try:
        yield feed
    finally:
        feed.query.stop()
