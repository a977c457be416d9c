"""From a simulated day to batches of records, at the pace at which somebody wants to watch."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from thence.demo.library.findings import OPENS, Finding, written
from thence.demo.library.sensors import Signal
from thence.demo.library.simulate import Day

_SHORTEST_BATCH = 5_000
_FAST_BATCH = 60_000
_SUBJECTS = {"Reading": "tag_id", "Motion": "sensor"}

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that arrive together, and when the last of them has arrived, in milliseconds."""

    due: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """How many times faster than life a day goes by; None is without waiting at all."""

    speed: float | None = None

    @property
    def span(self) -> int:
        """Milliseconds of the day in one batch: about a second for whoever watches."""
        if self.speed is None:
            return _FAST_BATCH
        return max(_SHORTEST_BATCH, round(self.speed * 1_000))

    def seconds(self, milliseconds: int) -> float:
        """How long a part of the day takes for whoever watches."""
        return 0.0 if self.speed is None else milliseconds / 1_000 / self.speed


def record(signal: Signal) -> Record:
    """A signal as an event of the program.

    >>> record(Signal(1_500, "Motion", "inner", "door-n"))["sensor"]
    'inner'
    """
    return {
        "type": signal.event,
        "time": written(signal.at),
        _SUBJECTS[signal.event]: signal.subject,
        "loc_id": signal.place,
    }


def batches(day: Day, span: int) -> Iterator[Batch]:
    """The signals of a day as they arrive, ``span`` milliseconds of the day at a time."""
    due, records = span, list[Record]()
    for arrived, signal in day.signals:
        while arrived >= due:
            if records:
                yield Batch(due, tuple(records))
            due, records = due + span, []
        records.append(record(signal))
    yield Batch(due, tuple(records))


class Clock:
    """Tells when a batch is due. It starts when it is made, at some millisecond of the day."""

    def __init__(self, pace: Pace, start: int = 0) -> None:
        self._pace = pace
        self._begin = time.monotonic() - pace.seconds(start)

    def wait(self, batch: Batch, stop: Event, most: float | None = None) -> bool:
        """Wait for a batch, for ``most`` seconds if given; whether it is due."""
        left = self._begin + self._pace.seconds(batch.due) - time.monotonic()
        stop.wait(max(0.0, left if most is None else min(left, most)))
        return most is None or left <= most


class Folder:
    """A folder of readings that grows file by file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = 0
        path.mkdir(parents=True)

    def add(self, batch: Batch) -> None:
        """One more file. It appears when it is complete, and is younger than those before."""
        hidden = self.path / f".{self._files:05}"
        lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in batch.records)
        hidden.write_text("".join(lines), encoding="utf-8")
        # Some file systems have coarse clocks; the order of files is the order of their times.
        modified = int(OPENS.timestamp()) + self._files
        os.utime(hidden, (modified, modified))
        hidden.rename(self.path / f"{self._files:05}.jsonl")
        self._files += 1


def write_findings(path: Path, findings: list[Finding]) -> None:
    """Findings as JSON lines, with their names in plain words."""
    with path.open("a", encoding="utf-8") as file:
        for finding in findings:
            fields = {
                "time": written(finding.at),
                "kind": finding.kind,
                "place": finding.place,
                "book": finding.book,
                "persons": list(finding.persons),
                "text": finding.sentence,
            }
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")
