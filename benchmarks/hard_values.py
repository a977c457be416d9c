"""Programs that are hard on values: aggregates over wide sliding windows, and sessions in which few
of many events can ever be used.

Each entry of :data:`PROGRAMS` is a name, the text of a program, and a function that makes its
events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

Tables: TypeAlias = dict[str, pa.Table]
_SECOND = 1_000_000
_DECLARED = "event q(k int, v float, n int, s string);"


def readings(count: int = 100_000) -> Tables:
    """One reading a second, each with a float, an int and a text of few values."""
    random = np.random.default_rng(10)
    return {
        "q": pa.table(
            {
                "time": pa.array(np.arange(count) * _SECOND),
                "k": pa.array(np.arange(count)),
                "v": pa.array(np.round(random.normal(100, 15, count), 3)),
                "n": pa.array(random.integers(0, 1000, count)),
                "s": pa.array([f"s{each}" for each in random.integers(0, 400, count)]),
            }
        )
    }


def alarms(count: int = 262_200) -> Tables:
    """Readings of which about one in fifteen is above ten, and switches between them."""
    random = np.random.default_rng(11)
    kinds = random.random(count) < 0.9
    times = np.sort(random.integers(0, count * _SECOND, count))
    return {
        "q": pa.table(
            {
                "time": pa.array(times[kinds]),
                "k": pa.array(random.integers(0, 100, int(kinds.sum()))),
                "v": pa.array(np.round(random.exponential(3.7, int(kinds.sum())), 3)),
            }
        ),
        "b": pa.table(
            {
                "time": pa.array(times[~kinds]),
                "k": pa.array(random.integers(0, 100, int((~kinds).sum()))),
            }
        ),
    }


def _sliding(aggregate: str) -> str:
    return f"{_DECLARED} r(o.k, {aggregate} as x) <- o: q, over 500 s of o: collect y: q;"


PROGRAMS: tuple[tuple[str, str, Callable[[], Tables]], ...] = (
    *(
        (f"{aggregate} over 500 of 100,000", _sliding(aggregate), readings)
        for aggregate in (
            "avg(y.v)", "sum(y.v)", "min(y.v)", "max(y.v)", "max(y.s)", "count(distinct y.s)",
            "first(y.v)", "last(y.s)", "avg(y.n)", "sum(y.v * 1.5)", "sum(y.n * 1.5)",
        )
    ),
    (
        "a session that needs v > 10 only",
        "event q(k int, v float); event b(k int);"
        "r(k, v) <- (q(k, v) seq b(k)) within 1 day where v > 10;",
        alarms,
    ),
)  # fmt: skip
