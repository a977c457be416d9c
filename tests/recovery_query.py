"""The query that is killed: files of events in a folder, a program, Parquet files of results.

``python recovery_query.py EVENTS RESULTS CHECKPOINT`` runs it until every file has been read, one
file in each trigger. Its output, line by line: ``running`` when the query has started, ``done``
when it is through. The events are made here as well, the same ones from the same seed; tests of
other places in which a query can run use them too.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import thence

PROGRAM = """
    event order(id int, shop string);
    event shipped(id int);
    event clock();

    completed(id, shop) <- (order(id, shop) seq shipped(id)) within 20 s;
    overdue(id, shop)   <- o: order(id, shop), w: extend(o, 8 s), while w: not shipped(id);
    -- another key: what was derived by id is collected by shop
    slow(shop, count() as orders, last(id) as latest)
                        <- o: overdue(_, shop), w: extend_backward(o, 30 s),
                           while w: collect c: completed(id, shop);
    -- no key at all: found on several shards, and still one event
    quick()             <- (order(id, _) seq shipped(id)) within 3 s;
"""
COLUMNS = "type string, id int, shop string, time timestamp"
MAX_DELAY = timedelta(seconds=5)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS_PER_FILE = 10
LATE = 100_000
"""Ids from here on are of orders that come too late."""


@dataclass(frozen=True, slots=True)
class Given:
    """The events of each file, in the order of arrival, and those of them that come too late."""

    files: tuple[tuple[dict[str, Any], ...], ...]
    late: tuple[dict[str, Any], ...]

    @property
    def in_time(self) -> list[dict[str, Any]]:
        return [event for file in self.files for event in file if event not in self.late]

    @property
    def horizon(self) -> datetime:
        """Up to when the query has judged in the end: just before its watermark."""
        latest: datetime = max(event["time"] for event in self.in_time)
        return latest - MAX_DELAY - timedelta(microseconds=1)


def made(files: int, seed: int) -> Given:
    """Orders and most of their shipments, out of order by less than the delay that is allowed.

    Every third file has orders from half a minute ago, which is too late. Two files with nothing
    but the time end the stream: the first moves the watermark beyond all windows, the second is
    judged with it, so that nothing is left for after the last file.
    """
    chance = random.Random(seed)
    events = []
    for number in range(files * 20):
        at = BEGIN + timedelta(seconds=chance.randrange(files * SECONDS_PER_FILE))
        shop = chance.choice(["north", "south", "west"])
        events.append({"type": "order", "id": number, "shop": shop, "time": at})
        if chance.random() < 0.8:
            later = timedelta(seconds=chance.choice([1, 1, 2, 2, 5, 8, 12, 20, 25]))
            events.append({"type": "shipped", "id": number, "shop": None, "time": at + later})
    held_back = MAX_DELAY / timedelta(seconds=1)
    events.sort(key=lambda e: e["time"] + timedelta(seconds=chance.uniform(0, held_back)))
    cut: list[list[dict[str, Any]]] = [[] for _ in range(files)]
    for place, event in enumerate(events):
        cut[place * files // len(events)].append(event)
    late = []
    for number in range(3, files, 3):
        ago = max(e["time"] for e in cut[number - 3]) - timedelta(seconds=30)
        late.append({"type": "order", "id": LATE + number, "shop": "north", "time": ago})
        cut[number].append(late[-1])
    end = max(e["time"] for e in events) + timedelta(minutes=1)
    closing = [[{"type": "clock", "id": None, "shop": None, "time": end}] for _ in range(2)]
    return Given(tuple(tuple(file) for file in [*cut, *closing]), tuple(late))


def write(given: Given, folder: Path) -> None:
    """The files of a stream; it takes them in the order of their times of writing."""
    folder.mkdir()
    for number, events in enumerate(given.files):
        lines = [json.dumps({**e, "time": e["time"].isoformat()}) + "\n" for e in events]
        path = folder / f"{number:04}.json"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def start(spark: Any, events: Path, results: Path, checkpoint: Path) -> Any:
    """The query, started."""
    from thence import spark as ts

    given = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events))
    found = ts.detect(thence.compile(PROGRAM), given, max_delay=MAX_DELAY)
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start(str(results))


def detected(spark: Any, events: Path, until: datetime) -> Any:
    """The same in one go: what the stream is to find, from all events that are not late."""
    from thence import spark as ts

    given = spark.read.schema(COLUMNS).json(str(events)).where(f"id is null or id < {LATE}")
    return ts.detect(thence.compile(PROGRAM), given, until=until)


def expected(given: Given) -> Counter[Any]:
    """The rows that a query is to give, each as often as it is to be there, from a run without
    Spark."""
    columns = ("id", "shop", "orders", "latest", "start", "end")
    found = thence.compile(PROGRAM).run(given.in_time, until=given.horizon)
    return counted(
        (event, *(row.get(name) for name in columns))
        for event, table in found.items()
        for row in table.to_pylist()
    )


def counted(rows: Iterable[Iterable[Any]]) -> Counter[Any]:
    """Rows, each as often as it is there."""
    return Counter(tuple(map(_in_utc, row)) for row in rows)


def _in_utc(value: Any) -> Any:
    """A value; a time, which PySpark gives in local time, in the one form in which to compare."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def main(arguments: Sequence[str], begin: Callable[..., Any] = start) -> None:
    from thence import spark as ts

    spark = ts.session(master="local[2]", name="recovery")
    query = begin(spark, *(Path(argument) for argument in arguments))
    print("running", flush=True)
    query.awaitTermination()
    spark.stop()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
