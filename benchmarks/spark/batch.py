"""Batch queries, Thence and Spark SQL in turn: the same answer, and how long each takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession

import thence
from benchmarks.queries import BY_NAME, DECLARATIONS
from benchmarks.spark import sql
from benchmarks.spark.answers import Answer, checks
from benchmarks.spark.resources import JOB_GROUP, cpu_used
from thence import spark as ts

OURS, PLAIN = "thence", "sql"
WARM_UP = 3  # rounds that do not count

# Rules over events of which there is none: of a type that does not occur, which Parquet's
# statistics tell, and with a price that no event has, for which every row must be looked at.
NOTHING = {
    "no_such_type": ("none(id) <- z(id=id);", "type = 'z'"),
    "no_such_price": (
        "none(id) <- x: a(id=id) where x.price * 2 < 0;",
        "type = 'a' AND price * 2 < 0",
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds on the wall, and of CPU in Java and in Python (None where unknown)."""

    wall: float
    java: float | None
    python: float | None


Query = Callable[[], object]


def queries(name: str, events: DataFrame) -> dict[str, DataFrame]:
    """Every way to ask a query, by name: Thence's, the plain join, the tuned ones."""
    program = thence.compile(BY_NAME[name].text)
    asked = {OURS: ts.detect(program, events, emit=BY_NAME[name].output)}
    asked[PLAIN] = sql.query(sql.PLAIN[name], events)
    asked |= {f"sql {how}": sql.query(text, events) for how, text in sql.TUNED[name].items()}
    return asked


def compare(
    spark: SparkSession, name: str, folder: Path, *, rounds: int, only_ours: bool = False
) -> dict[str, Any]:
    """Ask a query in each way, once to compare the answers, then ``rounds`` times."""
    events = spark.read.parquet(str(folder))
    asked = queries(name, events)
    if only_ours:
        asked = {OURS: asked[OURS]}
    loops = asked.pop(PLAIN, None) if name == "q5" else None
    answers = {way: answer(result) for way, result in asked.items()}
    samples = in_turn(
        spark, {way: _consuming(result) for way, result in asked.items()}, rounds, name
    )
    found = {
        way: {**asdict(answers[way]), "group": f"{name} {way}", **summary(samples[way])}
        for way in asked
    }
    return found if loops is None else found | {PLAIN: limited(spark, loops, sql.LIMIT)}


def limited(spark: SparkSession, result: DataFrame, limit: float) -> dict[str, Any]:
    """How long a query takes that may take very long: it is stopped after so many seconds.

    Cancelling stops the jobs that have begun, and a query may be just before its first job, or
    between two of them. So it is done again and again until the query has ended.
    """
    context = spark.sparkContext
    context.setJobGroup("limited", "a query that may take long", interruptOnCancel=True)
    ended = threading.Event()

    def stop() -> None:
        pause = limit
        while not ended.wait(pause):
            context.cancelJobGroup("limited")
            pause = 0.2

    stopping = threading.Thread(target=stop, daemon=True)
    start = time.perf_counter()
    stopping.start()
    try:
        _consume(result)
        finished = True
    except (PySparkException, Py4JError):  # it was cancelled
        finished = False
    finally:
        ended.set()
        stopping.join()
        context.setLocalProperty(JOB_GROUP, None)  # type: ignore[arg-type]
    wall = time.perf_counter() - start
    if not finished and wall < limit:
        raise AssertionError("the query failed before its time was over")
    return {"results": None, "wall": wall, "finished": finished, "java": None, "python": None}


def nothing(spark: SparkSession, name: str, folder: Path, *, rounds: int) -> dict[str, Any]:
    """Detect what does not occur, against counting with the same filter."""
    events = spark.read.parquet(str(folder))
    rule, condition = NOTHING[name]
    detected = ts.detect(thence.compile(DECLARATIONS + rule), events, emit="none")
    ways: dict[str, Query] = {
        OURS: _consuming(detected),
        PLAIN: lambda: events.filter(condition).count(),
    }
    answers = {OURS: answer(detected).results, PLAIN: events.filter(condition).count()}
    samples = in_turn(spark, ways, rounds, name)
    return {
        way: {"results": answers[way], "group": f"{name} {way}", **summary(samples[way])}
        for way in ways
    }


def answer(result: DataFrame) -> Answer:
    """What a query finds, all columns computed, and nothing brought to the driver."""
    found = Observation()
    _consume(result.observe(found, *checks(result)))
    return Answer(**found.get)


def in_turn(
    spark: SparkSession, ways: Mapping[str, Query], rounds: int, name: str
) -> dict[str, list[Sample]]:
    """Run every way once a round. Their order alternates, so that none always goes first.

    The first rounds do not count: Java compiles what it runs often, and takes a few runs to do so.
    """
    samples: dict[str, list[Sample]] = {way: [] for way in ways}
    for place in range(WARM_UP + rounds):
        for way in order(tuple(ways), place):
            with _job_group(spark, f"{name} {way}" if place >= WARM_UP else "warm-up"):
                samples[way].append(_timed(ways[way]))
    return {way: found[WARM_UP:] for way, found in samples.items()}


@contextmanager
def _job_group(spark: SparkSession, group: str) -> Iterator[None]:
    """Mark tasks in the log of events, so that those of one query can be told from others'."""
    context = spark.sparkContext
    context.setLocalProperty(JOB_GROUP, group)
    try:
        yield
    finally:
        context.setLocalProperty(JOB_GROUP, None)  # type: ignore[arg-type]


def order(ways: tuple[str, ...], place: int) -> tuple[str, ...]:
    """In which order a round goes; every other round goes backwards.

    >>> order(("thence", "sql"), 0), order(("thence", "sql"), 1)
    (('thence', 'sql'), ('sql', 'thence'))
    """
    return ways if place % 2 == 0 else ways[::-1]


def summary(samples: list[Sample]) -> dict[str, Any]:
    """The medians, and every sample."""
    return {
        "wall": median(sample.wall for sample in samples),
        "java": known_median(sample.java for sample in samples),
        "python": known_median(sample.python for sample in samples),
        "samples": [asdict(sample) for sample in samples],
    }


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _consuming(result: DataFrame) -> Query:
    return lambda: _consume(result)


def _consume(result: DataFrame) -> None:
    """Compute every column of every row, and throw it away."""
    result.write.format("noop").mode("overwrite").save()


def _timed(query: Query) -> Sample:
    before, start = cpu_used(), time.perf_counter()
    query()
    wall, after = time.perf_counter() - start, cpu_used()
    if before is None or after is None:
        return Sample(wall, None, None)
    used = after - before
    return Sample(wall, used.java, used.python)
