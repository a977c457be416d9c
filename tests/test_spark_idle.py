"""On Spark: inputs that have gone quiet, by the wall clock that Spark keeps for a batch."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hosts import MICROSECOND, Results, collect, rows_of, tables
from hypothesis import given
from notation import parse_events
from strategies import Example
from test_generated import accepted, seeds
from test_horizons import Wall
from test_horizons_generated import arrivals

import thence

pytest.importorskip("pyspark")
from spark_hosts import Stream
from test_spark_generated import programs
from test_spark_horizons import LONELY, SECOND, frames

from thence import spark as ts
from thence.spark.idle import figures, notes, went_on
from thence.spark.query_progress import read_progress

START = 1_700_000_000_123
"""A wall clock, in milliseconds."""


def quiet_stream(idle_after: int | None = 30 * SECOND, text: str = LONELY) -> Stream:
    """A stream with a frame for each of three inputs."""
    delays = {"a": 0, "b": 0, "c": 0}
    program = thence.compile(text)
    return Stream(program, random.Random(3), delays=delays, idle_after=idle_after, wall=START)


def pushed(stream: Stream, wall: int, events: str) -> Results:
    """A trigger so many milliseconds after the first."""
    stream.wall = START + wall
    return rows_of(stream.push(parse_events(events)))


def idle_of(stream: Stream) -> dict[str, int]:
    return {name: value for name, value in stream.figures.items() if name.startswith("idle")}


FIRST = {"lonely": {((1,), SECOND, 6 * SECOND)}}
NOTHING: Results = {"lonely": set()}


def test_an_input_that_has_gone_quiet_holds_nothing_up() -> None:
    stream = quiet_stream()
    assert pushed(stream, 0, "a(1) @ 1\nb(2) @ 1\nc(2) @ 1") == NOTHING
    assert pushed(stream, 29_999, "a(3) @ 50") == NOTHING
    assert idle_of(stream) == {}
    assert pushed(stream, 30_000, "a(3) @ 51") == FIRST
    since = START + 30_000
    both = {"idle_count_b": 1, "idle_since_b": since, "idle_count_c": 1, "idle_since_c": since}
    assert idle_of(stream) == {"idle": 2} | both
    # A trigger without data says so too.
    stream.idle()
    assert idle_of(stream) == {"idle": 2} | both


def test_one_that_comes_back_is_late_up_to_its_horizon() -> None:
    stream = quiet_stream()
    pushed(stream, 0, "a(1) @ 1\nb(2) @ 1")
    pushed(stream, 30_000, "a(1) @ 51")
    # The horizon of b is that of a: just before 51.
    pushed(stream, 31_000, "b(1) @ 50.999999\nb(2) @ 51\nb(2) @ 7")
    assert stream.late_count == 2
    figures = idle_of(stream)
    assert (figures["idle"], figures["idle_count_b"]) == (1, 1)
    assert "idle_since_b" not in figures
    # Its clock has begun anew, and the next time is the second.
    assert pushed(stream, 60_999, "a(3) @ 90") == NOTHING
    assert pushed(stream, 61_000, "a(3) @ 91") == {"lonely": {((1,), 51 * SECOND, 56 * SECOND)}}
    assert idle_of(stream)["idle_count_b"] == 2


def test_without_idle_after_the_wall_clock_says_nothing() -> None:
    stream = quiet_stream(None)
    pushed(stream, 0, "a(1) @ 1\nb(2) @ 1")
    assert pushed(stream, 10**9, "a(3) @ 50") == NOTHING
    assert idle_of(stream) == {}
    assert all(b'"heard"' not in header for header in headers(stream))


def test_an_input_that_never_spoke_is_quiet_from_the_first_trigger_on() -> None:
    stream = quiet_stream()
    assert pushed(stream, 0, "a(1) @ 1") == NOTHING
    assert pushed(stream, 29_999, "a(3) @ 7") == NOTHING
    assert pushed(stream, 30_000, "a(3) @ 8") == FIRST


def test_a_clock_that_was_set_back_makes_nobody_idle() -> None:
    stream = quiet_stream()
    pushed(stream, 0, "a(1) @ 1\nb(2) @ 1\nc(2) @ 1")
    assert pushed(stream, -100_000, "a(3) @ 50") == NOTHING
    assert idle_of(stream) == {}


def test_later_hops_follow() -> None:
    """Rules over rules with another key: the hops after the first are told horizons only."""
    text = LONELY + "\nmany(count(k)) <- x: c(_), w: extend(x, 9 s), while w: collect lonely(k);"
    stream = quiet_stream(text=text)
    assert len(stream.chain.hops) > 1
    pushed(stream, 0, "a(1) @ 1\nb(2) @ 1\nc(2) @ 0.5")
    found = pushed(stream, 30_000, "a(3) @ 50")
    assert found["lonely"] == FIRST["lonely"]
    assert found["many"] == {((1,), SECOND // 2, 9 * SECOND + SECOND // 2)}


def switch(stream: Stream, idle_after: int | None) -> None:
    """A restart, with another option."""
    stream.idle_after = idle_after
    stream.chains = (replace(stream.chain, idle_after=idle_after),)


def test_idle_after_may_be_switched_on_and_off() -> None:
    stream = quiet_stream(None)
    pushed(stream, 0, "a(1) @ 1\nb(2) @ 1\nc(2) @ 1")
    switch(stream, 30 * SECOND)
    # What came before was not timed: clocks begin with the first trigger.
    assert pushed(stream, 10**6, "a(3) @ 50") == NOTHING
    assert pushed(stream, 10**6 + 30_000, "a(3) @ 51") == FIRST
    switch(stream, None)
    assert pushed(stream, 10**7, "a(3) @ 60") == NOTHING
    assert idle_of(stream) == {}
    # What it was taken to have seen stays seen.
    pushed(stream, 10**7, "b(3) @ 50.5")
    assert stream.late_count == 1


def headers(stream: Stream) -> list[bytes]:
    return [bytes(value[0]) for handle in stream.handles for value in handle.values.values()]


@pytest.mark.parametrize(
    "row",
    [
        None,
        "b",
        ["b", 1, True, 1],
        ["b", 1.5, False, 0, None],
        [7, 1, False, 0, None],
        ["b", 1, True, 0, None],
        ["b", 1, False, 1, None],
    ],
)
def test_damaged_notes_are_refused(row: Any) -> None:
    chain = quiet_stream().chain
    with pytest.raises(thence.ThenceError, match="when it last heard of its inputs"):
        went_on(chain, [row], {}, {}, START)


def test_what_is_noted_is_read_again() -> None:
    chain = quiet_stream().chain
    begun = went_on(chain, [], {}, {"a": 1, "b": 1, "c": 1}, START)
    later = went_on(chain, notes(begun), begun.horizons, {"a": 9, "c": 9}, START + 30_000)
    again = went_on(chain, json.loads(json.dumps(notes(later))), later.horizons, {}, None)
    assert again == later
    assert {block.event for block in figures(0, again)} == {"idle", "idle_count_b", "idle_since_b"}


@given(programs, seeds)
def test_the_tasks_of_a_stream_with_idle_inputs_are_as_a_session(
    example: Example, seed: int
) -> None:
    """The same events at the same times, by the same wall clock."""
    program, chance = accepted(example), random.Random(seed)
    names = [schema.name for schema in program.events]
    delays = {name: chance.choice([0, 1, 3]) * example.unit for name in names}
    wall = Wall()
    session = program.session(
        {name: delay * MICROSECOND for name, delay in delays.items()},
        allow_unbounded=True,
        idle_after="30 s",
        clock=wall,
    )
    stream = Stream(program, chance, delays=delays, idle_after=30 * SECOND)
    coming = arrivals(example.events, delays, chance)
    found: Results = {}
    expected: Results = {}
    while coming:
        count = chance.randint(1, 3)
        now, coming = coming[:count], coming[count:]
        stream.wall = int(wall.now * 1000)
        collect(found, rows_of(stream.push(now)))
        types = {event.type for event in now}
        given_now = {n: t for n, t in tables(example.program, now).items() if n in types}
        collect(expected, rows_of(session.push(given_now)))
        assert found == {name: expected[name] for name in stream.names}
        idle = [name for name, said in session.idle.items() if said["idle"]]
        assert stream.figures.get("idle", 0) == len(idle)
        wall.now += chance.choice([0, 10, 15, 30])
    read = stream.rows.read
    assert stream.late_count == sum(n for name, n in session.late_counts.items() if name in read)


# --- in Spark -------------------------------------------------------------------------------------


class Failed(Exception):
    """What ends a query after it has given its results, and before Spark knows."""


class Query:
    """A query over files, started anew for every trigger that has data."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self.files = spark, folder, 0
        self.rows: list[tuple[int, list[tuple[str, int]]]] = []
        self.frames = frames(spark, folder)

    def add(self, name: str, k: int, time: int) -> None:
        self.files += 1
        path = self.folder / name / f"{self.files}.json"
        path.write_text(f'{{"k": {k}, "time": {time}}}\n')

    def run(self, idle_after: str | None, fails: bool = False) -> list[Any]:
        """All that is there; what the batches said of themselves."""

        def write(frame: Any, number: int) -> None:
            rows = sorted((row["type"], row["k"]) for row in frame.collect())
            self.rows.append((number, rows))
            if fails and rows:
                raise Failed

        program = thence.compile(
            LONELY + "\nno_c(k) <- x: a(k), w: extend(x, 5 s), while w: not c(k);"
        )
        query = (
            ts.detect(program, self.frames, shards=2, idle_after=idle_after)
            .writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
            .foreachBatch(write)
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return [p for p in query.recentProgress if p.observedMetrics]

    def found(self) -> list[tuple[str, int]]:
        """What came, a batch that was run again counting once."""
        return sorted(row for rows in dict(self.rows).values() for row in rows)


def test_a_quiet_frame_holds_up_only_without_idle_after(spark: Any, tmp_path: Path) -> None:
    """Switched on between two starts; a batch that is run again decides as it did before."""
    query = Query(spark, tmp_path)
    for name, k in (("a", 1), ("b", 2), ("c", 2)):
        query.add(name, k, SECOND)
    query.run(None)
    query.add("a", 3, 50 * SECOND)
    query.add("c", 3, 50 * SECOND)
    last = query.run(None)
    assert query.found() == [("no_c", 1)]
    assert {p.observedMetrics["thence"]["idle"] for p in last} == {0}
    # An hour is not over, and the clock of b begins here.
    query.add("a", 3, 51 * SECOND)
    query.add("c", 3, 51 * SECOND)
    query.run("1 h")
    assert query.found() == [("no_c", 1)]
    # Triggers one after the other are a millisecond apart, whatever happens.
    query.add("a", 3, 52 * SECOND)
    query.add("c", 3, 52 * SECOND)
    with pytest.raises(Exception, match="Failed"):
        query.run("1 ms", fails=True)
    (number, rows), offsets = query.rows[-1], tmp_path / "checkpoint" / "offsets"
    assert rows == [("lonely", 1)]
    planned = json.loads((offsets / str(number)).read_text().splitlines()[1])["batchTimestampMs"]
    said = query.run("1 ms")
    assert [rows for again, rows in query.rows if again == number] == [rows, rows]
    batch = next(p for p in said if p.batchId == number)
    measured = batch.observedMetrics["thence"]
    assert (measured["idle"], measured["idle_count_b"], measured["idle_count_a"]) == (1, 1, 0)
    assert measured["idle_since_b"] == planned
    assert measured["idle_since_c"] is None
    assert read_progress(batch).idle == ("b",)
    assert "idle: b" in str(read_progress(batch))


def test_inputs_in_one_frame_cannot_be_idle(spark: Any) -> None:
    rows = spark.readStream.format("rate").load()
    one = rows.selectExpr("'a' as type", "cast(value as int) as k", "timestamp as time")
    for given_frames in (one, {"a": one.drop("type")}):
        with pytest.raises(thence.InputError, match="here all come in one DataFrame"):
            ts.detect(thence.compile(LONELY), given_frames, idle_after="30 s")
    with pytest.raises(thence.InputError, match="idle_after: '30' has no unit"):
        ts.detect(thence.compile(LONELY), one, idle_after="30")
