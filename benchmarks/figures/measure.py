"""One question in every way: the same answer, and how long each takes."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures.answers import Answer
from benchmarks.figures.ways import Kind, Way


@dataclass(frozen=True, slots=True)
class Effort:
    """How often: rounds that count, those before that do not, and for how long altogether.

    A way that has taken more than ``patience`` seconds for one question is not run again. The joins
    may take a minute where Thence takes a tenth of a second, and one such run says enough. The very
    first question is asked ``settling`` times more: Java compiles while it runs, and the first
    point of a figure would look slower than it is.
    """

    rounds: int
    warm_up: int
    patience: float
    settling: int = 0

    @property
    def first(self) -> Effort:
        """The effort for the first question of all."""
        return replace(
            self, warm_up=self.warm_up + self.settling, patience=self.patience * (1 + self.settling)
        )


FULL = Effort(rounds=5, warm_up=1, patience=40.0, settling=9)
QUICK = Effort(rounds=1, warm_up=0, patience=5.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """A way to ask, what it found, and the seconds of each run that counts: on the wall, and of
    work on all cores and in all processes together."""

    name: str
    host: str
    kind: Kind
    answer: Answer
    seconds: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def work(self) -> float:
        """Seconds of work; those on the wall, where no others are known."""
        return median(self.cpu or self.seconds)


def measured(ways: Sequence[Way], effort: Effort) -> list[Measured]:
    """All ways in turn, every other round backwards; what each found is looked at once."""
    runs: dict[Way, list[float]] = {way: [] for way in ways}
    work: dict[Way, list[float]] = {way: [] for way in ways}
    answers: dict[Way, Answer] = {}
    for place in range(effort.warm_up + effort.rounds):
        for way in ways if place % 2 == 0 else ways[::-1]:
            if sum(runs[way]) > effort.patience:
                continue
            seconds, cpu, found = _timed(way)
            runs[way].append(seconds)
            work[way].append(cpu)
            if way not in answers:
                answers[way] = way.answer(found)
            del found
    return [
        Measured(
            way.name,
            way.host,
            way.kind,
            answers[way],
            counting(runs[way], effort),
            counting(work[way], effort),
        )
        for way in ways
    ]


def counting(seconds: Sequence[float], effort: Effort) -> tuple[float, ...]:
    """The runs that count: those after the warm-up, or the last one if it came to no more.

    >>> counting([9.0, 3.0, 2.0, 2.0], Effort(rounds=2, warm_up=2, patience=60.0))
    (2.0, 2.0)
    >>> counting([70.0], Effort(rounds=2, warm_up=2, patience=60.0))
    (70.0,)
    """
    return tuple(seconds[effort.warm_up :] or seconds[-1:])


def _timed(way: Way) -> tuple[float, float, Any]:
    """Seconds on the wall, seconds of work, and what was found: it is dropped only after the clocks
    have stopped."""
    gc.collect()
    start, before = time.perf_counter(), _work()
    found = way.run()
    return time.perf_counter() - start, _work() - before, found


def _work() -> float:
    """Seconds of CPU that this process and those it started have used: Spark is one of them."""
    own = time.process_time()
    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended by now
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    family, here = 0.0, os.getpid()
    for process, (parent, seconds) in parents.items():
        while parent not in (0, 1, here) and parent in parents:
            parent = parents[parent][0]
        family += seconds if parent == here and process != here else 0.0
    return own + family
