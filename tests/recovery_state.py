"""A query with much state that is killed: many events to remember, then a few that meet them.

``python recovery_state.py EVENTS RESULTS CHECKPOINT`` runs it, as ``recovery_query.py`` does.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import recovery_query

import thence

PROGRAM = """
    event a(k int, n int);
    event b(k int);
    pair(k, n) <- (a(k, n) seq b(k)) within 10 days;
"""
COLUMNS = "type string, k long, n long, time timestamp"
SECOND = 1_000_000
FILES = 4
"""How many files there are, of which the first has nearly all events."""
FEW = 300
"""How many ``a``, and as many ``b``, each of the other files has: enough for a run."""


def made(rows: int) -> list[pa.Table]:
    """The events of each file: so many ``a`` of as many keys, then some ``a`` and ``b`` more."""
    random = np.random.default_rng(5)
    files = [table("a", np.arange(rows), np.arange(rows) * 1000)]
    for number in range(1, FILES):
        times = rows * 1000 + number * 60 * SECOND + np.arange(FEW)
        earlier = random.choice(rows + (number - 1) * FEW, FEW, replace=False)
        new = rows + (number - 1) * FEW + np.arange(FEW)
        files.append(pa.concat_tables([table("a", new, times), table("b", earlier, times)]))
    return files


def table(event: str, keys: Any, times: Any) -> pa.Table:
    return pa.table(
        {
            "type": pa.repeat(pa.scalar(event), len(keys)),
            "k": pa.array(keys, pa.int64()),
            "n": pa.array(keys * 7, pa.int64()),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def write(files: list[pa.Table], folder: Path) -> None:
    """The files of a stream; it takes them in the order of their times of writing."""
    folder.mkdir()
    for number, rows in enumerate(files):
        path = folder / f"{number:04}.parquet"
        pq.write_table(rows, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def start(spark: Any, events: Path, results: Path, checkpoint: Path) -> Any:
    """The query, started."""
    from thence import spark as ts

    given = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(events))
    found = ts.detect(thence.compile(PROGRAM), given, emit="pair")
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start(str(results))


def expected(files: list[pa.Table]) -> Counter[Any]:
    """The rows that the query is to give, from a run without Spark."""
    found = thence.compile(PROGRAM).run(pa.concat_tables(files))["pair"]
    return recovery_query.counted(tuple(row.values()) for row in found.to_pylist())


if __name__ == "__main__":
    recovery_query.main(sys.argv[1:], start)
