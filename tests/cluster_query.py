"""A driver with a cluster of two executors on this machine, whose Python does not have Thence.

Runs the query of ``recovery_query`` there, as a batch and as a stream, and writes what came of it
into a folder. The environment says what the executors' Python is (``PYSPARK_PYTHON``).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import recovery_query


def looking() -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function that tells what it finds where it runs: which Python, in which folder, and
    whether that has Thence. It is made here so that it travels as it is, not as a name."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import importlib.util
        import os
        import sys

        import pyarrow as pa

        for _ in batches:
            has = importlib.util.find_spec("thence") is not None
            here = {"python": [sys.prefix], "folder": [os.getcwd()], "has": [has]}  # noqa: PTH109
            yield pa.RecordBatch.from_pydict(here)

    return look


def main(folder: Path) -> None:
    from thence import spark as ts

    spark = ts.session(master="local-cluster[2,1,1024]", **{"spark.driver.memory": "512m"})
    columns = "python string, folder string, has boolean"
    executors = spark.range(8).repartition(4).mapInArrow(looking(), columns)
    seen = executors.distinct().collect()
    given = recovery_query.made(files=4, seed=5)
    recovery_query.write(given, folder / "events")
    batch = recovery_query.detected(spark, folder / "events", given.horizon).collect()
    recovery_query.start(
        spark, folder / "events", folder / "results", folder / "checkpoint"
    ).awaitTermination()
    streamed = spark.read.parquet(str(folder / "results")).collect()
    told = {
        "driver": {"python": sys.prefix, "folder": os.getcwd()},  # noqa: PTH109
        "executors": [row.asDict() for row in seen],
        "batch is as expected": recovery_query.counted(batch) == recovery_query.expected(given),
        "stream is as expected": recovery_query.counted(streamed) == recovery_query.expected(given),
    }
    (folder / "told.json").write_text(json.dumps(told))
    spark.stop()
