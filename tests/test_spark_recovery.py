"""A query in its own process, killed again and again, gives what all events in one run give.

What is killed is the process group: Python and Spark's Java process, with no chance to tidy up.
The moments are random, but tied to the query's own progress, which is in its checkpoint: a batch is
in ``offsets`` from when it is begun, in ``commits`` from when it is done.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import PROFILE

pytest.importorskip("pyspark")
import recovery_query
import recovery_state

TESTS = Path(__file__).parent
LONG = PROFILE == "long"
KILLS = 36 if LONG else 2
FILES = 3 * KILLS if LONG else 4


@dataclass(frozen=True)
class Kill:
    """One kill: how the process ended, and whether a batch was begun and not done. On a busy
    machine a query may be through before it can be killed: then its code is 0."""

    code: int
    in_the_middle: bool


@dataclass(frozen=True)
class Places:
    """Where a query reads and writes."""

    events: Path
    results: Path
    checkpoint: Path

    def begun(self) -> set[int]:
        return numbers(self.checkpoint / "offsets")

    def done(self) -> set[int]:
        return numbers(self.checkpoint / "commits")


def numbers(folder: Path) -> set[int]:
    """The batches that a log has; what is half written has another name."""
    if not folder.exists():
        return set()
    return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}


@contextmanager
def launched(places: Places, script: str = "recovery_query.py") -> Iterator[subprocess.Popen[str]]:
    """The query in a process group of its own. What is left of that in the end is killed."""
    arguments = [places.events, places.results, places.checkpoint]
    process = subprocess.Popen(
        [sys.executable, str(TESTS / script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        # The Java process has the same standard output: its end is the end of both.
        process.communicate()


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, or the query has come to its end."""
    while not condition() and process.poll() is None:
        time.sleep(0.01)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def killed(places: Places, more: int, pause: float, script: str = "recovery_query.py") -> Kill:
    """Start the query, let it do ``more`` batches, and kill it some time after the next began."""
    before = len(places.done())
    with launched(places, script) as process:
        assert line(process) == "running"
        wait_for(lambda: len(places.done()) >= before + more, process)
        wait_for(lambda: bool(places.begun() - places.done()), process)
        time.sleep(pause)
    return Kill(process.returncode, bool(places.begun() - places.done()))


def results(spark: Any, places: Places) -> Counter[Any]:
    return recovery_query.counted(spark.read.parquet(str(places.results)).collect())


@pytest.mark.timeout(14400 if LONG else 3600)
def test_a_query_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing(
    spark: Any, tmp_path: Path
) -> None:
    given = recovery_query.made(FILES, seed=7)
    recovery_query.write(given, tmp_path / "events")

    rough = Places(tmp_path / "events", tmp_path / "rough", tmp_path / "rough-checkpoint")
    chance = random.Random()
    # The first kills do not wait, until one was in the middle of a batch.
    kills = [killed(rough, more=0, pause=0.0)]
    while not kills[-1].in_the_middle and kills[-1].code != 0:
        kills.append(killed(rough, more=0, pause=0.0))
    kills += [killed(rough, chance.choice([0, 1]), chance.uniform(0, 1)) for _ in range(1, KILLS)]
    with launched(rough) as last:
        said = [line(last), line(last)]
        last.wait()

    assert (said, last.returncode) == (["running", "done"], 0)
    assert {kill.code for kill in kills} <= {-signal.SIGKILL, 0}
    assert any(kill.in_the_middle for kill in kills), kills
    undisturbed = recovery_query.expected(given)
    assert {row[0] for row in undisturbed} == {"completed", "overdue", "slow", "quick"}
    assert results(spark, rough) == undisturbed


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rows", [100_000, pytest.param(10_000_000, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_a_query_that_remembers_much_is_killed_and_goes_on(
    spark: Any, tmp_path: Path, rows: int
) -> None:
    """Who goes on has none of its runs at hand, and reads them from the state store."""
    files = recovery_state.made(rows)
    recovery_state.write(files, tmp_path / "events")
    places = Places(tmp_path / "events", tmp_path / "found", tmp_path / "checkpoint")
    kill = killed(places, more=1, pause=0.1, script="recovery_state.py")
    assert kill.code in (-signal.SIGKILL, 0)
    query = recovery_state.start(spark, places.events, places.results, places.checkpoint)
    query.awaitTermination()
    assert len(places.done()) >= recovery_state.FILES
    assert results(spark, places) == recovery_state.expected(files)
    for progress in query.recentProgress:
        figures = progress.observedMetrics["thence"]
        assert figures["state_rows"] > rows
        assert figures["state_bytes"] > 24 * rows
        assert figures["state_written"] < 1_000_000
