"""One question in every way: the same answer, and how long each takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.figures.answers import Answer
from benchmarks.figures.ways import Way


@dataclass(frozen=True, slots=True)
class Effort:
    """How often: rounds that count, those before that do not, and for how long altogether.

    A way that has taken more than ``patience`` seconds for one question is not run again. The joins
    may take a minute where Thence takes a tenth of a second, and one such run says enough.
    """

    rounds: int
    warm_up: int
    patience: float


FULL = Effort(rounds=5, warm_up=2, patience=20.0)
QUICK = Effort(rounds=1, warm_up=0, patience=5.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """A way to ask, what it found, and the seconds of each run that counts."""

    name: str
    host: str
    ours: bool
    judged: bool
    answer: Answer
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)


def measured(ways: Sequence[Way], effort: Effort) -> list[Measured]:
    """Every way once for its answer, then all of them in turn, every other round backwards."""
    answers = [way.answer() for way in ways]
    runs: list[list[float]] = [[] for _ in ways]
    for place in range(effort.warm_up + effort.rounds):
        turns = list(zip(ways, runs, strict=True))
        for way, seconds in turns if place % 2 == 0 else reversed(turns):
            if sum(seconds) <= effort.patience:
                seconds.append(_timed(way))
    return [
        Measured(way.name, way.host, way.ours, way.judged, answer, counting(seconds, effort))
        for way, answer, seconds in zip(ways, answers, runs, strict=True)
    ]


def counting(seconds: Sequence[float], effort: Effort) -> tuple[float, ...]:
    """The runs that count: those after the warm-up, or the last one if it came to no more.

    >>> counting([9.0, 3.0, 2.0, 2.0], Effort(rounds=2, warm_up=2, patience=60.0))
    (2.0, 2.0)
    >>> counting([70.0], Effort(rounds=2, warm_up=2, patience=60.0))
    (70.0,)
    """
    return tuple(seconds[effort.warm_up :] or seconds[-1:])


def _timed(way: Way) -> float:
    """Seconds on the wall; what is returned is dropped only after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    kept = way.run()
    seconds = time.perf_counter() - start
    del kept
    return seconds
