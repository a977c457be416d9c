"""Running queries, timing them, and the facts about a machine that belong to a measurement."""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import thence
from benchmarks import reference
from benchmarks.generate import RARE_EVERY, w1
from benchmarks.queries import Query

RESULTS = Path(__file__).resolve().parent / "results"

CHECK_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One timing, in seconds: of CPU over all threads, the system's share of it, and on the wall.

    The system's share is nearly all for memory that is touched for the first time.
    """

    cpu: float
    system: float
    wall: float


def timed(action: Callable[[], object]) -> Sample:
    """Time one call; what it returns is dropped only after the clocks have stopped."""
    gc.collect()
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    wall, cpu = time.perf_counter(), time.process_time()
    kept = action()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime - system
    del kept
    return Sample(cpu, system, wall)


def middle(samples: Sequence[Sample]) -> Sample:
    """The median of each of the times."""
    return Sample(
        median(s.cpu for s in samples),
        median(s.system for s in samples),
        median(s.wall for s in samples),
    )


def sort(table: Any) -> Any:
    """The unit S is the time of this."""
    return table.sort_by([("id", "ascending"), ("time", "ascending")])


def tables(n: int) -> dict[bool, Any]:
    """The events without and with rare ones."""
    return {False: w1(n), True: w1(n, rare_every=RARE_EVERY)}


def cut(table: Any, batches: int) -> list[Any]:
    """A table in so many slices of about one size, in order."""
    size = -(-table.num_rows // batches)
    return [table.slice(start, size) for start in range(0, table.num_rows, size)]


def answer(query: Query, program: thence.Program, batches: list[Any]) -> Any:
    """The query's results as one table: from a run, or from all pushes of a session together."""
    if query.batches == 1:
        return program.run(batches[0])[query.output]
    session = program.session()
    parts = [session.push(batch)[query.output] for batch in batches]
    parts.append(session.finish()[query.output])
    return pa.concat_tables(parts)


def prepare(query: Query, table: Any) -> Callable[[], Any]:
    """A call that answers the query; compiling and cutting are done beforehand."""
    program = thence.compile(query.text)
    batches = cut(table, query.batches)
    return lambda: answer(query, program, batches)


def wrong(query: Query) -> str | None:
    """Compare every result on a small table with the reference; say what differs, if anything."""
    table = w1(CHECK_EVENTS, ids=200, rare_every=500 if query.rare else None)
    found = as_rows(prepare(query, table)())
    expected = reference.rows(query.name, table)
    if found == expected:
        return None
    missing, surplus = set(expected) - set(found), set(found) - set(expected)
    return (
        f"{query.name}: {len(found)} results instead of {len(expected)} on {table.num_rows} events;"
        f" missing {sorted(missing)[:2]}, surplus {sorted(surplus)[:2]}"
    )


def as_rows(table: Any) -> list[tuple[Any, ...]]:
    """A result table as sorted tuples, times as integer microseconds."""
    columns = [
        column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True))


def machine() -> dict[str, Any]:
    """What the numbers depend on. No names of hosts or users, no paths."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "pyarrow", "pyspark")},
    }


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """The short name of the commit, with ``-changed`` if files differ from it."""
    root = Path(__file__).resolve().parent.parent

    def git(*arguments: str) -> str | None:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else None

    name = git("rev-parse", "--short", "HEAD")
    if name is None:
        return "uncommitted"
    return f"{name}-changed" if git("status", "--porcelain", "--untracked-files=no") else name


def write(name: str, part: Mapping[str, Any]) -> None:
    """Put one part of the measurements into the file of this day and commit, beside the others."""
    now, measured = datetime.now(UTC), commit()
    path = RESULTS / f"{now:%Y-%m-%d}-{measured}.json"
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    report |= {"commit": measured, "machine": machine()}
    report[name] = {"date": now.isoformat(timespec="seconds"), **part}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten to {path.relative_to(RESULTS.parent.parent)}")
