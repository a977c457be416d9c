"""Hard programs: joins, ticks and recursions that no machine can hold, and some that it can."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import thence
from benchmarks.hard.rows import Made, Row, every
from thence.io.write import writing

MEGABYTE = 1_000_000
FAR = "2030-01-01T00:00:00Z"

PAIRS = 200_000
HOPS = 1_000
EACH = 333
PERIODS = 100_000


def _pairs() -> Made:
    key = pa.array([1] * PAIRS, pa.int64())
    return {"a": every(PAIRS, 2, k=key), "b": every(PAIRS, 2, 1, k=key)}


def _one() -> Made:
    return {"a": every(1, 1)}


def _hops() -> Made:
    names = [f"stop {i}" for i in range(HOPS + 1)]
    return {"a": every(HOPS, 1, x=names[:-1], y=names[1:])}


def _three() -> Made:
    return {name: every(EACH, 3, i) for i, name in enumerate("abc")}


def _until(time: Any) -> Any:
    def run(program: thence.Program, events: Made) -> int:
        return sum(table.num_rows for table in program.run(events, until=time).values())

    return run


def _to_parquet(program: thence.Program, events: Made) -> int:
    """Write all results to a file, and none of them keep; how many there are."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "found.parquet"
        found = program.run_batches(events, memory_limit="150 MB")
        with found, writing(found.schemas, path) as writer:
            for event, batch in found:
                writer.add(event, batch)
        return sum(writer.counts.values())


ROWS = (
    Row(
        "a seq b, one key, 200,000 each, no window",
        "event a(k int); event b(k int); r(k) <- a(k) seq b(k);",
        _pairs,
        bar=0.5,
        memory=300 * MEGABYTE,
        refused=thence.LimitError,
    ),
    Row(
        "a seq b within 200 us, 20 million pairs to Parquet",
        "event a(k int); event b(k int); r(k) <- (a(k) seq b(k)) within 200 us;",
        _pairs,
        bar=15.0,
        results=100 * PAIRS - 99 * 100 // 2,
        memory=150 * MEGABYTE,
        act=_to_parquet,
    ),
    Row(
        "periodic(a, 1 us, b) with a far horizon",
        "event a(); event b(); r() <- periodic(a, 1 us, b);",
        _one,
        bar=0.1,
        memory=100 * MEGABYTE,
        act=_until(FAR),
        refused=thence.LimitError,
    ),
    Row(
        "a recursive shift(x, 1 us) with a far horizon",
        "event a(); m() <- a; m() <- x: m, w: shift(x, 1 us);",
        _one,
        bar=0.1,
        memory=100 * MEGABYTE,
        act=_until(FAR),
        refused=thence.LimitError,
    ),
    Row(
        "a chain of 1,000 hops (rule 11)",
        "event a(x string, y string); tc(x, y) <- a(x, y); tc(x, y) <- tc(x, z) seq a(z, y);",
        _hops,
        bar=3.0,
        results=HOPS * (HOPS + 1) // 2,
    ),
    Row(
        "a and b and c, no key, no window, 1,000 events",
        "event a(); event b(); event c(); r() <- a and b and c;",
        _three,
        bar=0.2,
        results=331_669,
    ),
    Row(
        "periodic every 10 ms over 1,000 s",
        "event a(); event b(); r() <- periodic(a, 10 ms, b);",
        _one,
        bar=0.1,
        results=PERIODS,
        act=_until(PERIODS * 10_000),
    ),
)
