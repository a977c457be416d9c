"""A stream on Spark that remembers much: ``python -m benchmarks.state.spark``.

Q2 of W1 on two cores and two shards, with windows that retain more and more (``spark_events.py``):
the median trigger, and what a trigger adds to the checkpoint. With the largest, the processes are
killed and the query is started again. Ends with exit code 1 if results are missing, or if a trigger
with the largest state takes more than 1.5 times as long as with the smallest.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks import measure
from benchmarks.state.spark_child import told
from benchmarks.state.spark_events import Retained

ROOT = Path(__file__).resolve().parents[2]
MEGABYTES = (10, 100, 500)
QUICK = (1, 10)
BAR = 1.5
UNSETTLED = 10
"""Triggers that do not count once the state is full: each Python worker indexes it when it first
sees it."""
AFTER = 2
"""Triggers after the kill."""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    sizes = sorted(QUICK if options.quick else options.megabytes)
    tasks = [Retained(size, options.events, UNSETTLED + options.triggers + AFTER) for size in sizes]
    print(
        f"{'a shard':>8} {'median':>8} {'longest':>8} {'changelog':>10} {'snapshots':>10} results"
    )
    report: list[dict[str, Any]] = []
    for task in tasks:
        found = measured(task, kill=task is tasks[-1])
        report.append(found)
        print(_line(found), flush=True)
    ratio = report[-1]["median"] / report[0]["median"]
    restart = report[-1]["restart"]
    print(f"\nmedian with {sizes[-1]} MB to {sizes[0]} MB: {ratio:.2f}; asked: {BAR}")
    print(f"first trigger after a kill with {sizes[-1]} MB: {restart:.1f} s")
    right = all(found["results"] == found["expected"] for found in report)
    held = right and (options.quick or ratio <= BAR)
    if not options.quick:
        measure.write("state-spark", {"held": held, "ratio": ratio, "sizes": report})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state.spark", description=__doc__)
    parser.add_argument("--megabytes", nargs="+", type=int, default=MEGABYTES, help="a shard")
    parser.add_argument("--events", type=int, default=100_000, help="of a trigger")
    parser.add_argument("--triggers", type=int, default=21, help="that are measured")
    parser.add_argument("--quick", action="store_true", help="small states, without a bar")
    return parser.parse_args(arguments)


def measured(task: Retained, *, kill: bool) -> dict[str, Any]:
    """The figures of one size of state."""
    files = task.folder()
    first = task.filling + UNSETTLED
    last = task.filling + task.triggers - AFTER
    with tempfile.TemporaryDirectory(prefix="thence-bench-", ignore_cleanup_errors=True) as folder:
        checkpoint = Path(folder) / "checkpoint"
        with _child(task, files, checkpoint) as lines:
            triggers = list(_until(lines, last if kill else None))
        written = _changelog(checkpoint, first, last)
        snapshots = _snapshots(checkpoint)
        after: list[dict[str, Any]] = []
        if kill:
            with _child(task, files, checkpoint) as lines:
                after = list(lines)
    done = {each["batch"]: each for each in (*triggers, *after)}
    counted = [done[batch]["seconds"] for batch in range(first, last)]
    return {
        "megabytes": task.megabytes,
        "state_bytes": max(each["state_bytes"] for each in triggers),
        "median": median(counted),
        "longest": max(counted),
        "seconds": counted,
        "state_written": mean(done[batch]["state_written"] for batch in range(first, last)),
        "changelog": written / (last - first),
        "snapshots": snapshots,
        "restart": after[0]["seconds"] if after else None,
        "results": sum(each["results"] for each in done.values()),
        "expected": task.expected(task.triggers),
    }


@contextmanager
def _child(task: Retained, files: Path, checkpoint: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """The stream in a process group of its own, and what it says; killed in the end."""
    command = [sys.executable, "-m", "benchmarks.state.spark_child"]
    process = subprocess.Popen(
        [*command, told(task), str(files), str(checkpoint)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield (json.loads(line) for line in process.stdout)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(1)  # the Java process ends a moment later


def _until(lines: Iterator[dict[str, Any]], batch: int | None) -> Iterator[dict[str, Any]]:
    """What is said up to a batch, or all of it."""
    for line in lines:
        yield line
        if batch is not None and line["batch"] + 1 >= batch:
            return


def _changelog(checkpoint: Path, first: int, last: int) -> int:
    """The bytes that batches from one to before another added to the logs of the state stores."""
    found = 0
    for path in (checkpoint / "state").rglob("*.changelog"):
        version = int(path.name.partition(".")[0].partition("_")[0])
        if first < version <= last:  # version 1 is that of batch 0
            found += path.stat().st_size
    return found


def _snapshots(checkpoint: Path) -> int:
    """The bytes of all snapshots of the state stores."""
    kinds = (".zip", ".sst")
    return sum(p.stat().st_size for p in (checkpoint / "state").rglob("*") if p.suffix in kinds)


def _line(found: Mapping[str, Any]) -> str:
    right = "ok" if found["results"] == found["expected"] else f"not {found['expected']:,}"
    return (
        f"{found['megabytes']:>7} MB {found['median']:>8.2f} s {found['longest']:>8.2f} s "
        f"{found['changelog'] / 1e6:>7.2f} MB {found['snapshots'] / 1e6:>7.0f} MB "
        f"{found['results']:,} {right}"
    )


if __name__ == "__main__":
    sys.exit(main())
