"""One question in every way: the same answer, and how long each takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.figures.answers import Answer
from benchmarks.figures.ways import Kind, Way


@dataclass(frozen=True, slots=True)
class Effort:
    """How often: rounds that count, those before that do not, and for how long altogether.

    A way that has taken more than ``patience`` seconds for one question is not run again. The joins
    may take a minute where Thence takes a tenth of a second, and one such run says enough.
    """

    rounds: int
    warm_up: int
    patience: float


FULL = Effort(rounds=5, warm_up=1, patience=40.0)
QUICK = Effort(rounds=1, warm_up=0, patience=5.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """A way to ask, what it found, and the seconds of each run that counts."""

    name: str
    host: str
    kind: Kind
    answer: Answer
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)


def measured(ways: Sequence[Way], effort: Effort) -> list[Measured]:
    """All ways in turn, every other round backwards; what each found is looked at once."""
    runs: dict[Way, list[float]] = {way: [] for way in ways}
    answers: dict[Way, Answer] = {}
    for place in range(effort.warm_up + effort.rounds):
        for way in ways if place % 2 == 0 else ways[::-1]:
            if sum(runs[way]) > effort.patience:
                continue
            seconds, found = _timed(way)
            runs[way].append(seconds)
            if way not in answers:
                answers[way] = way.answer(found)
            del found
    return [
        Measured(way.name, way.host, way.kind, answers[way], counting(runs[way], effort))
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


def _timed(way: Way) -> tuple[float, Any]:
    """Seconds on the wall, and what was found: it is dropped only after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    found = way.run()
    return time.perf_counter() - start, found
