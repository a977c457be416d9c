"""Runs tasks with a Thence that came as bytes: a program for a Python that does not have it.

``python carried_tasks.py FOLDER`` reads what brings Thence along, and the tasks of batch jobs with
their input, from files that ``test_spark_carried.py`` wrote; it writes what each task gives.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Kept:
    """In the place of an output of rows: results as plain lists."""

    def batches(self, event: str, events: Any) -> Iterator[Any]:
        columns = [column.to_pylist() for column in events.columns.values()]
        yield event, sorted(map(repr, zip(events.start, events.end, *columns, strict=True)))


def results(task: Any, batches: list[Any]) -> list[Any]:
    """What a task gives: rows of results as they are, blocks for others by what is in them."""
    return [
        found if isinstance(found, tuple) else found.drop_columns("block").to_pylist()
        for found in task(batches)
    ]


def main(folder: Path) -> None:
    assert importlib.util.find_spec("thence") is None
    ready = pickle.loads((folder / "installer").read_bytes())  # noqa: S301 (a test wrote it)
    tasks = ready((folder / "tasks").read_bytes())
    assert importlib.import_module("thence").__spec__.origin == "<carried>"
    importlib.import_module("thence.spark.processor")
    from thence.spark.batch_work import Evaluate

    found = [
        results(Evaluate(chain, number, Kept(), facts), batches)  # type: ignore[arg-type]
        for chain, number, facts, batches in tasks
    ]
    (folder / "found").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
