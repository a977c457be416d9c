"""One work in a process of its own, with a Spark session of its own: run.py starts it.

``python -m benchmarks.spark.child TASK OUT``, both as run.py writes them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks import reference
from benchmarks.generate import w1
from benchmarks.parquet import FOLDER
from benchmarks.spark import batch, latency, stream
from benchmarks.spark.data import batch_folder, stream_folder
from benchmarks.spark.resources import bytes_shuffled, event_log
from benchmarks.spark.works import BY_NAME, Sizes
from thence import spark as ts


@dataclass(frozen=True, slots=True)
class Task:
    """A work, on a master, in some sizes."""

    work: str
    sizes: Sizes
    master: str = "local[2]"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Task:
        """
        >>> Task.from_json(Task("q2", Sizes(events=7)).to_json()).sizes.events
        7
        """
        fields = json.loads(text)
        return Task(**{**fields, "sizes": Sizes(**fields["sizes"])})


def measured(task: Task, spark: SparkSession, folder: Path = FOLDER) -> dict[str, Any]:
    """The figures of a work, by the way it was done; and the number of results there must be."""
    work, sizes = BY_NAME[task.work], task.sizes
    if work.kind in ("batch", "cores"):
        only_ours = work.kind == "cores"
        name = "q5" if only_ours else work.name
        n = sizes.unkeyed if name == "q5" else sizes.events
        events = batch_folder(n, within=folder)
        found = batch.compare(spark, name, events, rounds=sizes.rounds, only_ours=only_ours)
        return {"events": n, "expected": reference.count(name, w1(n)), "ways": found}
    if work.kind == "stream":
        return _stream(task, spark, folder, tuple(stream.WAYS), many=False)
    if work.kind == "triggers":
        few, many = (
            _stream(task, spark, folder, (batch.OURS,), many=many) for many in (False, True)
        )
        return {"few": few, "many": many}
    if work.kind == "nothing":
        events = batch_folder(sizes.events, within=folder)
        found = batch.nothing(spark, work.name, events, rounds=sizes.rounds)
        return {"events": sizes.events, "expected": 0, "ways": found}
    found = latency.measure(spark, seconds=sizes.seconds, unsettled=sizes.unsettled)
    return {"ways": {batch.OURS: found}}


def _stream(
    task: Task, spark: SparkSession, folder: Path, ways: tuple[str, ...], *, many: bool
) -> dict[str, Any]:
    sizes = task.sizes
    per_trigger = sizes.many_per_trigger if many else sizes.per_trigger
    triggers = sizes.many_triggers if many else sizes.triggers
    files = stream_folder(per_trigger, triggers, within=folder)
    found = stream.compare(spark, files, per_trigger=per_trigger, rounds=sizes.rounds, ways=ways)
    events = per_trigger * triggers
    expected = reference.count(stream.QUERY, w1(events))
    return {"events": events, "per_trigger": per_trigger, "expected": expected, "ways": found}


def with_bytes(figures: dict[str, Any], written: dict[str, int], rounds: int) -> dict[str, Any]:
    """The figures, with the bytes that each way shuffled in one run, where that is known."""
    if "ways" not in figures:
        return {
            name: with_bytes(part, written, rounds) if isinstance(part, dict) else part
            for name, part in figures.items()
        }
    ways = {}
    for way, found in figures["ways"].items():
        group = found.get("group")
        if group in written:
            runs = 1 if "state_rows" in found else rounds  # a stream's group is one run of it
            found = {**found, "shuffled": written[group] // runs}
        ways[way] = {key: value for key, value in found.items() if key != "group"}
    return {**figures, "ways": ways}


def main(arguments: list[str] | None = None) -> int:
    text, out = arguments if arguments is not None else sys.argv[1:]
    task = Task.from_json(text)
    with tempfile.TemporaryDirectory(prefix="thence-bench-") as logs:
        spark = ts.session(task.master, "thence-bench", **event_log(Path(logs)))
        try:
            figures = measured(task, spark)
            figures["spark"] = spark.version
        finally:
            spark.stop()
        figures = with_bytes(figures, bytes_shuffled(Path(logs)), task.sizes.rounds)
    Path(out).write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
