"""How long after an event its result is there, where a trigger fires every second.

A thread writes a small file each second, with events of that moment; the time of a result's last
event is compared with the clock when the result arrives at a sink.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.batch import OURS
from benchmarks.spark.stream import WAYS, detected, files, settings_of

TRIGGER = "1 second"
EVENTS = 1_000  # a second, half a and half b
IDS = 1_000
MICROS = 1_000_000


def measure(spark: SparkSession, *, seconds: int, unsettled: int) -> dict[str, Any]:
    """Seconds from event to result, of Thence; those of the first files do not count."""
    with tempfile.TemporaryDirectory(prefix="thence-bench-", ignore_cleanup_errors=True) as folder:
        incoming, checkpoint = Path(folder, "in"), Path(folder, "checkpoint")
        incoming.mkdir()
        delays: list[float] = []
        counts_from = time.time() + unsettled

        def arrived(batch: DataFrame, _: int) -> None:
            ends = [row["end"].timestamp() for row in batch.select("end").collect()]
            now = time.time()
            delays.extend(now - end for end in ends if end >= counts_from)

        with settings_of(spark, WAYS[OURS]):
            result = detected(files(spark, incoming, one_by_one=False), OURS)
            query = (
                result.writeStream.foreachBatch(arrived)
                .option("checkpointLocation", str(checkpoint))
                .trigger(processingTime=TRIGGER)
                .start()
            )
            writer = threading.Thread(target=_write_each_second, args=(incoming, seconds))
            writer.start()
            writer.join()
            query.processAllAvailable()
            query.stop()
    return {
        "results": len(delays),
        "median": median(delays),
        "p95": quantiles(delays, n=20)[-1],
        "longest": max(delays),
    }


def _write_each_second(folder: Path, seconds: int) -> None:
    """Files that appear whole: written under a hidden name, then renamed."""
    random = np.random.default_rng(0)
    begin = time.time()
    for place in range(seconds):
        time.sleep(max(0.0, begin + place - time.time()))
        hidden = folder / f".{place:04}.parquet"
        pq.write_table(_events(random), hidden, coerce_timestamps="us")
        hidden.rename(folder / f"part-{place:04}.parquet")


def _events(random: np.random.Generator) -> Any:
    """Events of the last millisecond."""
    now = int(time.time() * MICROS)
    return pa.table(
        {
            "type": pa.array(random.choice(["a", "b"], EVENTS)),
            "time": pa.array(now - EVENTS + np.arange(EVENTS), type=pa.timestamp("us", "UTC")),
            "id": random.integers(0, IDS, EVENTS),
            "price": random.uniform(0, 1000, EVENTS),
        }
    )
