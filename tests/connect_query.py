"""Spark Connect, from both ends, each in a process of its own.

``python connect_query.py serve`` is a server that says its port, until its standard input ends.
``python connect_query.py query PORT FOLDER`` is a client that has no Java process: it runs the
query of ``recovery_query`` over the events in a folder, as a batch and as a stream, and writes
what came of it into the folder.
"""

from __future__ import annotations

import json
import queue
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import recovery_query

import thence

PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"


def serve() -> None:
    from thence import spark as ts

    settings = {"spark.plugins": PLUGIN, "spark.connect.grpc.binding.port": "0"}
    spark = ts.session(master="local[2]", name="server", **settings)
    services = spark.sparkContext._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    print("ready", service.localPort(), flush=True)
    sys.stdin.read()
    spark.stop()


LOOKUP = """
    event checkout(id string);
    table catalogue(book string, title string);
    lent(id, t) <- checkout(id), catalogue(id, t);
"""


def looked_up(spark: Any, folder: Path) -> list[list[Any]]:
    """What a batch and a stream find in a table that travels as a file."""
    from thence import spark as ts
    from thence.spark import facts

    facts.INSIDE = 0
    path = str(folder / "checkouts")
    spark.createDataFrame([("b1", 1), ("b2", 2)], "id string, time long").write.parquet(path)
    tables = {"catalogue": spark.createDataFrame([("b2", "Emma")], "book string, title string")}
    program, schema = thence.compile(LOOKUP), "id string, time long"
    batch = ts.detect(program, {"checkout": spark.read.parquet(path)}, tables=tables)
    stream = {"checkout": spark.readStream.schema(schema).parquet(path)}
    query = (
        ts.detect(program, stream, tables=tables)
        .writeStream.option("checkpointLocation", str(folder / "lookups"))
        .trigger(availableNow=True)
        .start(str(folder / "lent"), "parquet")
    )
    query.awaitTermination()
    streamed = spark.read.parquet(str(folder / "lent"))
    return [[row["t"] for row in found.collect()] for found in (batch, streamed)]


def query(port: str, folder: Path) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    from thence import spark as ts
    from thence.spark.query_progress import read_progress

    heard: queue.Queue[Any] = queue.Queue()

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None: ...

        def onQueryProgress(self, event: Any) -> None:
            heard.put(event.progress.observedMetrics["thence"].asDict())

        def onQueryIdle(self, event: Any) -> None: ...

        def onQueryTerminated(self, event: Any) -> None:
            heard.put(None)

    spark = ts.session(master=f"sc://localhost:{port}")
    listener = Listener()
    spark.streams.addListener(listener)
    try:
        given = recovery_query.made(files=4, seed=3)
        recovery_query.write(given, folder / "events")
        expected = recovery_query.expected(given)
        batch = recovery_query.detected(spark, folder / "events", given.horizon).collect()
        stream = recovery_query.start(
            spark, folder / "events", folder / "results", folder / "checkpoint"
        )
        stream.awaitTermination()
        streamed = spark.read.parquet(str(folder / "results")).collect()
        told = {
            "session": type(spark).__module__,
            "late given": len(given.late),
            "expected": len(expected),
            "batch is as expected": recovery_query.counted(batch) == expected,
            "stream is as expected": recovery_query.counted(streamed) == expected,
            "looked up": looked_up(spark, folder),
            "progress": [asdict(read_progress(progress)) for progress in stream.recentProgress],
            "heard": list(iter(heard.get, None)),
        }
    finally:
        # Its thread would keep the process alive.
        spark.streams.removeListener(listener)
        spark.stop()
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        query(sys.argv[2], Path(sys.argv[3]))
