"""A driver with a cluster of two executors on this machine, whose Python does not have Thence.

Runs the query of ``recovery_query`` there and a few cases, as batches and as streams, and writes
what came of it into a folder. The environment says what the executors' Python is
(``PYSPARK_PYTHON``).
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import recovery_query
from case_files import Case, load_cases
from combined import CLOCK, Combined, spark_batch, spark_stream
from compiled_loops import loops, watched
from hosts import arrivals, batch, oracle
from notation import Written

from thence.logic.policy import CONTEXTS

SECOND = 1_000_000
UNTIL = 20 * SECOND
POLICIES = (*CONTEXTS, "first", "last", "exclusive", "greedy", "strict")
FEW = ("repetition", "seq", "tables", "while_collect", "while_not")
"""The files of cases of which a cluster runs one each: there, each task costs much."""


@cache
def kinds() -> list[Case]:
    """A case of every file, which is about an operator each, one for each policy by itself and for
    each set of them, and one for each compiled loop that large programs do not use.

    One horizon must do for all, so that those that are in another time are left out.
    """
    chosen: list[Case] = []
    known: set[str | frozenset[str]] = set()
    missing = set(loops()) - _used(large())
    for case in (case for case in load_cases() if case.plain):
        times = [case.until or 0, *(event.end for event in case.events)]
        if min(times) < 0 or max(times) > 100 * SECOND:
            continue
        file, _, _ = case.name.partition(":")
        found = missing & _used([case]) if missing else set()
        about = {file, *policies(case.program)}
        if found or about - known:
            chosen.append(case)
            known |= about
            missing -= found
    return chosen


def few() -> list[Case]:
    """A case each of some files."""
    plain = [case for case in load_cases() if case.plain and case.until is None]
    return [next(case for case in plain if case.name.startswith(f"{file}:")) for file in FEW]


def policies(program: str) -> Iterator[frozenset[str]]:
    """The policies of a program's rules, those of one rule together.

    >>> [sorted(each) for each in policies("a <- b using recent, greedy; c <- d using first;")]
    [['greedy', 'recent'], ['first']]
    """
    for asked in re.findall(r"\busing\b([^;)]*)", program, re.IGNORECASE):
        yield frozenset(re.findall("|".join(POLICIES), asked.lower()))


def _used(cases: Iterable[Case]) -> set[tuple[str, str]]:
    """The compiled loops that some cases use."""
    with watched() as used:
        for case in cases:
            batch(case.program, case.events, case.until)
    return used


def large() -> list[Case]:
    """Programs over so many events that loops are compiled which small cases do without."""
    count = 1000
    when = [UNTIL * number // count for number in range(count)]
    searching = tuple(
        Written("ab"[number % 2], (number * 7 % 10,), time, time)
        for number, time in enumerate(when)
    )
    sliding = tuple(
        Written("s", (number * 0.25, number % 11, f"t{number % 17}"), time, time)
        for number, time in enumerate(when)
    )
    searched = """
        event a(n int); event b(n int);
        m(x.start as x, y.start as y) <- x: a(_) seq y: b(_) where x.n + y.n > 15 using recent;
        c(x.start as x, y.start as y) <- x: a(_) seq y: b(_) using chronicle;
    """
    summed = """
        event s(v float, n int, t string);
        w(avg(y.v) as v, stddev(y.v) as d, max(y.n) as n, count(distinct y.t) as t) <-
            o: s(_, _, _), over 15 s of o: collect y: s(_, _, _);
    """
    return [
        Case("large: policies that search", searched, searching, UNTIL, ()),
        Case("large: wide windows", summed, sliding, UNTIL, ()),
    ]


def looking() -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function that tells what it finds where it runs: which Python, in which folder, and
    whether that has Thence. It is made here so that it travels as it is, not as a name."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import importlib.util
        import os
        import sys

        import pyarrow as pa

        for _ in batches:
            has = importlib.util.find_spec("thence") is not None
            here = {"python": [sys.prefix], "folder": [os.getcwd()], "has": [has]}  # noqa: PTH109
            yield pa.RecordBatch.from_pydict(here)

    return look


def cases_that_differ(spark: Any, folder: Path) -> dict[str, list[str]]:
    """The cases of which a batch or a stream found something else than the oracle."""
    cases = few()
    together = Combined(tuple(c.program for c in cases), tuple(c.events for c in cases))

    def differ(found: Iterable[Any], horizon: int) -> list[str]:
        return [
            case.name
            for case, results in zip(cases, found, strict=True)
            if results != oracle(case.program, case.events, horizon)
        ]

    together_found = spark_batch(spark, together, UNTIL, shards=1)
    events = arrivals(together.all_events, 0, random.Random(1))
    half = len(events) // 2
    parts = [events[:half], [*events[half:], Written(CLOCK, (), UNTIL, UNTIL)]]
    options = {"tables": together.tables, "allow_unbounded": True, "shards": 1}
    stream = spark_stream(spark, folder / "cases", together.program, parts, 0, **options)
    return {
        "batch": differ(together_found, UNTIL),
        "stream": differ(together.separated(stream.table), stream.horizon),
    }


def main(folder: Path) -> None:
    from thence import spark as ts

    settings = {
        "spark.driver.memory": "512m",
        # As for the driver: Java does without its second compiler, see conftest.py.
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
    }
    spark = ts.session(master="local-cluster[2,1,1024]", **settings)
    columns = "python string, folder string, has boolean"
    executors = spark.range(8).repartition(4).mapInArrow(looking(), columns)
    seen = executors.distinct().collect()
    given = recovery_query.made(files=4, seed=5)
    recovery_query.write(given, folder / "events")
    detected = recovery_query.detected(spark, folder / "events", given.horizon).collect()
    recovery_query.start(
        spark, folder / "events", folder / "results", folder / "checkpoint"
    ).awaitTermination()
    streamed = spark.read.parquet(str(folder / "results")).collect()
    told = {
        "driver": {"python": sys.prefix, "folder": os.getcwd()},  # noqa: PTH109
        "executors": [row.asDict() for row in seen],
        "batch is as expected": recovery_query.counted(detected) == recovery_query.expected(given),
        "stream is as expected": recovery_query.counted(streamed) == recovery_query.expected(given),
        "cases that differ": cases_that_differ(spark, folder),
    }
    (folder / "told.json").write_text(json.dumps(told))
    spark.stop()
