"""Every case of ``cases/*.yaml`` on Spark: batch jobs and streams find what is written there.

Each case goes through the tasks of a job and of a stream, in this process. Then Spark runs them,
many cases in one job; there, what each must find is asked of the oracle, for the time up to which
the job has seen everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from case_files import Case, load_cases
from hosts import arrivals, collect, cuts, oracle, rows_of
from notation import Written

import thence

pytest.importorskip("pyspark")
from combined import CLOCK, Combined, parted, spark_batch, spark_stream
from spark_hosts import Stream, batch_results

from thence.plan.partition.parts import cut

CASES = [case for case in load_cases() if case.plain]
SECOND = 1_000_000
SEEDS = range(3)


def latest(case: Case) -> int:
    """The last time that a case mentions."""
    return max([case.until or 0, *(event.end for event in case.events)])


def streamable(case: Case) -> bool:
    """Spark's watermark begins at 1970, so that it says nothing about events before that."""
    return all(event.end >= 0 for event in case.events if not event.is_row)


# Where one horizon is right for many cases: recursion may go on up to the horizon, so that a case
# in the first seconds of 1970 must not wait for one in 2026.
EARLY = [case for case in CASES if latest(case) <= 100 * SECOND]
OTHERS = [case for case in CASES if latest(case) > 100 * SECOND]

# --- one by one, without Spark --------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_as_the_tasks_of_a_batch_job(case: Case) -> None:
    """As it is written, and up to another end of time."""
    program = thence.compile(case.program)
    for seed in SEEDS:
        found = rows_of(batch_results(program, case.events, case.until, random.Random(seed)))
        assert found == case.expected(found)
    until = 20 * SECOND
    found = rows_of(batch_results(program, case.events, until, random.Random(len(SEEDS))))
    assert found == oracle(case.program, case.events, until)


@pytest.mark.parametrize("case", list(filter(streamable, CASES)), ids=lambda case: case.name)
def test_a_case_as_the_tasks_of_a_stream(case: Case) -> None:
    """All that is found trigger by trigger, up to some horizon, is what the oracle finds."""
    program = thence.compile(case.program)
    for seed in SEEDS:
        chance = random.Random(seed)
        delay = chance.choice([0, 1, 2 * SECOND, 10 * SECOND])
        rows = [event for event in case.events if event.is_row]
        tick = chance.choice([1, 1000])
        stream = Stream(program, chance, delay, tick=tick, rows_of_tables=rows)
        found: dict[str, Any] = {}
        for part in cuts(arrivals(case.events, delay, chance), chance):
            collect(found, rows_of(stream.push(part)))
        for later in (0, chance.choice([1, delay, delay + 10 * SECOND])):
            collect(found, rows_of(stream.idle(max(stream.latest, 0) + later)))
        assert stream.late_count == 0
        assert found == oracle(case.program, case.events, stream.horizon)


def test_few_cases_cannot_be_streamed() -> None:
    assert len([case for case in CASES if not streamable(case)]) < 0.05 * len(CASES)


# --- on Spark -------------------------------------------------------------------------------------


def lasts(case: Case) -> bool:
    """Whether some event of a case is more than an instant."""
    return any(event.start < event.end for event in case.events)


compiled_program = cache(thence.compile)


def shape(case: Case, slices: bool) -> tuple[str, ...]:
    """How the work of a case is spread, hop by hop: by key, by time, …

    Cases of one shape keep it when they are put together, if nothing lasts in any or in all.
    """
    compiled = compiled_program(case.program).plan
    declared = {s.name: s.longest for s in compiled.checked.program.events if s.longest is not None}
    lengths = declared if lasts(case) else dict.fromkeys(compiled.inputs, 0)
    return tuple(piece.how for piece in cut(compiled, lengths, slices))


def groups(cases: Iterable[Case], name: Callable[[Case], str]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(name(case), []).append(case)
    return found


def batch_group(case: Case) -> str:
    return ", ".join([*shape(case, slices=True), "intervals" if lasts(case) else "instants"])


def stream_group(case: Case) -> str:
    """A query takes longer than a job, so that those of several hops are put together."""
    first, *more = shape(case, slices=False)
    return f"{first} and more" if more else first


def combined(cases: Sequence[Case]) -> Combined:
    return Combined(tuple(c.program for c in cases), tuple(c.events for c in cases))


def assert_as_the_oracle(cases: Sequence[Case], found: Sequence[Any], horizon: int) -> None:
    for case, results in zip(cases, found, strict=True):
        assert results == oracle(case.program, case.events, horizon), case.name


BATCH_GROUPS = groups(EARLY, batch_group)
STREAM_GROUPS = groups(filter(streamable, EARLY), stream_group)


@pytest.mark.parametrize("group", BATCH_GROUPS)
def test_cases_together_as_a_batch_job(spark: Any, group: str) -> None:
    cases = BATCH_GROUPS[group]
    until = random.Random(len(cases)).choice([5, 10, 30, 100]) * SECOND
    found = spark_batch(spark, combined(cases), until, shards=3)
    assert_as_the_oracle(cases, found, until)


def test_without_an_end_of_time_the_latest_event_of_all_is_it(spark: Any) -> None:
    cases = EARLY[::10]
    found = spark_batch(spark, combined(cases), until=None)
    assert_as_the_oracle(cases, found, max(event.end for c in cases for event in c.events))


# One case of every shape, and those that are about time itself, exactly as they are written.
ALONE = [*{shape(case, slices=True): case for case in EARLY}.values(), *OTHERS[:4]]


@pytest.mark.parametrize("case", ALONE, ids=lambda case: case.name)
def test_a_case_alone_as_a_batch_job(spark: Any, case: Case) -> None:
    (found,) = spark_batch(spark, combined([case]), case.until)
    assert found == case.expected(found)


@pytest.mark.parametrize("group", STREAM_GROUPS)
def test_cases_together_as_a_stream(spark: Any, tmp_path: Path, group: str) -> None:
    cases = STREAM_GROUPS[group]
    together, chance = combined(cases), random.Random(len(cases))
    delay = chance.choice([0, 1500, 2 * SECOND, 7 * SECOND])
    end = chance.choice([8, 20, 100]) * SECOND + delay
    parts = parted(together.all_events, delay, chance)
    parts[-1].append(Written(CLOCK, (), end, end))
    found = spark_stream(
        spark,
        tmp_path,
        together.program,
        parts,
        delay,
        tables=together.tables,
        allow_unbounded=True,
        shards=3,
    )
    assert found.late == 0
    assert found.triggers >= len(parts)
    assert_as_the_oracle(cases, together.separated(found.table), found.horizon)


# --- latecomers -----------------------------------------------------------------------------------

LATE = """
    event a(k int);
    event b(k int, v int);
    event unread(k int);
    big(k)   <- a(k) seq b(k, v) within 10 s where v > 5;
    alone(k) <- x: a(k), w: extend(x, 3 s), while w: not b(k, 9);
"""


def test_latecomers_that_rules_could_use_are_counted_and_given_back(
    spark: Any, tmp_path: Path
) -> None:
    """The first trigger knows no horizon, the second not yet the one that the first leads to;
    what comes then must end after the horizon of the trigger before."""

    def at(name: str, second: float, *values: int) -> Written:
        time = int(second * SECOND)
        return Written(name, values, time, time)

    parts = [
        [at("a", 10, 1)],
        [at("a", 5, 2), at("b", 20, 1, 9)],  # not late: nothing was known to be over before
        [
            at("b", 6, 2, 7),  # late: the trigger before was at 8 s
            at("b", 7.5, 2, 1),  # late, but no rule has a use for it
            at("unread", 1, 1),  # late, but no rule reads it
            at("b", 9, 2, 9),  # in time
        ],
        [at("a", 7, 3), at("a", 60, 4)],  # the first one is late: the trigger before was at 18 s
    ]
    program = thence.compile(LATE)
    found = spark_stream(spark, tmp_path, program, parts, 2 * SECOND, late=True, shards=2)
    rows = found.table.to_pylist()
    late = [(row["type"], row["k"], row["v"]) for row in rows if row["late"]]
    assert sorted(late) == [("a", 3, None), ("b", 2, 7)]
    assert found.late == 2

    too_late = {parts[2][0], parts[2][1], parts[3][0]}
    in_time = [event for part in parts for event in part if event not in too_late]
    derived = pa.Table.from_pylist([row for row in rows if not row["late"]], found.table.schema)
    for name, expected in oracle(LATE, in_time, found.horizon).items():
        own = derived.filter(pc.equal(derived["type"], name)).select(["k", "start", "end"])
        assert rows_of({name: own})[name] == expected
