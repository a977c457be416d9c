"""The stream in a process of its own: ``… -m benchmarks.state.spark_child TASK FILES CHECKPOINT``.

It prints a line of JSON for each trigger that had a file, as soon as it is through, so that whoever
started it can kill it between two of them.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import thence
from benchmarks.spark.data import SCHEMA
from benchmarks.state.spark_events import SHARDS, Retained
from thence import spark as ts

MAX_DELAY = "1 second"


def started(spark: Any, task: Retained, files: Path, checkpoint: Path) -> Any:
    """The query, one file a trigger, its results counted and thrown away."""
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files))
    found = ts.detect(
        thence.compile(task.text), events, emit="q2", max_delay=MAX_DELAY, shards=SHARDS
    )
    writer = found.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def trigger(progress: Any) -> dict[str, Any]:
    """What is measured of a trigger."""
    observed = progress.observedMetrics["thence"].asDict()
    seconds = progress.durationMs["triggerExecution"] / 1000
    return {
        "batch": progress.batchId,
        "rows": progress.numInputRows,
        "seconds": seconds,
        **observed,
    }


def main(arguments: list[str] | None = None) -> int:
    text, files, checkpoint = arguments if arguments is not None else sys.argv[1:]
    task = Retained(**json.loads(text))
    spark = ts.session(f"local[{SHARDS}]", "thence-bench")
    query = started(spark, task, Path(files), Path(checkpoint))
    shown = -1
    running = True
    while running:
        running = query.isActive
        for progress in query.recentProgress:
            if progress.batchId > shown and progress.numInputRows:
                shown = progress.batchId
                print(json.dumps(trigger(progress)), flush=True)
        time.sleep(0.05)
    query.awaitTermination()
    spark.stop()
    return 0


def told(task: Retained) -> str:
    """A task as an argument."""
    return json.dumps(asdict(task))


if __name__ == "__main__":
    sys.exit(main())
