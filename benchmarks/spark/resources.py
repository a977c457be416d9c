"""What a Spark query used besides time: CPU of Java and of Python, and bytes that were shuffled."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
JOB_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True, slots=True)
class Cpu:
    """Seconds of CPU, user's and system's: of Spark's Java process, and of its Python workers."""

    java: float
    python: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What each process has used up to a moment, by its number."""

    java: dict[int, float]
    python: dict[int, float]

    def __sub__(self, earlier: Snapshot) -> Cpu:
        """What was used since then, process by process.

        Sums would be wrong: Spark ends workers that are idle for a minute, and their time goes
        with them. What a worker used that both began and ended in between, or between the earlier
        moment and its end, is not known and not in the result. What a new one needs to start is.

        >>> Snapshot({1: 9.0}, {3: 0.5}) - Snapshot({1: 5.0}, {2: 7.0})
        Cpu(java=4.0, python=0.5)
        """
        return Cpu(_since(self.java, earlier.java), _since(self.python, earlier.python))


def _since(now: dict[int, float], then: dict[int, float]) -> float:
    return sum(max(0.0, used - then.get(pid, 0.0)) for pid, used in now.items())


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    name: str
    used: float


def cpu_used() -> Snapshot | None:
    """What the Java process that this process started, and its workers, have used so far.

    None where the system does not tell.
    """
    if not (_PROC / "self" / "stat").exists():
        return None
    processes = dict(_processes())
    java = {pid for pid in _below(os.getpid(), processes) if processes[pid].name == "java"}
    workers = {pid for parent in java for pid in _below(parent, processes)} - java
    return Snapshot(
        {pid: processes[pid].used for pid in java}, {pid: processes[pid].used for pid in workers}
    )


def _processes() -> Iterator[tuple[int, _Process]]:
    tick = os.sysconf("SC_CLK_TCK")
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has just ended
            continue
        head, _, tail = text.rpartition(")")
        fields = tail.split()
        user, system = (int(part) for part in fields[11:13])
        yield (
            int(folder.name),
            _Process(
                parent=int(fields[1]),
                name=head.partition("(")[2],
                used=(user + system) / tick,
            ),
        )


def _below(pid: int, processes: dict[int, _Process]) -> set[int]:
    """All processes that this one started, and that those started."""
    found = {child for child, process in processes.items() if process.parent == pid}
    for child in tuple(found):
        found |= _below(child, processes)
    return found


def event_log(folder: Path) -> dict[str, str]:
    """Settings with which a session writes down, in this folder, what its tasks did."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }


def bytes_shuffled(folder: Path) -> dict[str, int]:
    """For each job group, the bytes that its tasks wrote for a shuffle. Stop the session first.

    The group of a batch query is what the property ``JOB_GROUP`` was, that of a stream its run id.
    """
    groups: dict[int, str] = {}
    written: dict[str, int] = defaultdict(int)
    for event in _logged(folder):
        if event["Event"] == "SparkListenerStageSubmitted":
            group = (event.get("Properties") or {}).get(JOB_GROUP, "")
            groups[event["Stage Info"]["Stage ID"]] = group
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            shuffled = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            written[groups.get(event["Stage ID"], "")] += shuffled
    return dict(written)


def _logged(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines)
