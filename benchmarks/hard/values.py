"""Programs that are hard on values: aggregates over wide sliding windows, and sessions in which few
of many events can ever be used.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa

import thence
from benchmarks.hard.rows import Row

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


def _kept(program: thence.Program, events: Tables) -> int:
    """Push all events; how many the session keeps, which are those that can still be used."""
    session = program.session()
    session.push(events)
    values, times = (events["q"][name].to_numpy() for name in ("v", "time"))
    latest = int(
        events["b"]["time"].to_numpy().max()
    )  # how far that has been seen which is awaited
    usable = int(((values > 10) & (times >= latest - 86_400 * _SECOND)).sum())
    assert session.state_rows == usable, f"{session.state_rows} rows are kept, {usable} of use"
    return session.state_rows


ROWS = (
    *(
        Row(f"{aggregate} over 500 of 100,000", _sliding(aggregate), readings, bar=0.3)
        for aggregate in (
            "avg(y.v)", "sum(y.v)", "min(y.v)", "max(y.v)", "max(y.s)", "count(distinct y.s)",
            "first(y.v)", "last(y.s)", "avg(y.n)", "sum(y.v * 1.5)", "sum(y.n * 1.5)",
        )
    ),
    Row(
        "a session that needs v > 10 only: rows kept",
        "event q(k int, v float); event b(k int);"
        "r(k, v) <- (q(k, v) seq b(k)) within 1 day where v > 10;",
        alarms,
        act=_kept,
    ),
)  # fmt: skip
