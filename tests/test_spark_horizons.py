"""On Spark: inputs that have DataFrames, and so horizons, of their own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hosts import Results, collect, oracle, rows_of
from hypothesis import given
from notation import Written, parse_events
from strategies import Example
from test_generated import accepted, seeds
from test_horizons_generated import arrivals

import thence

pytest.importorskip("pyspark")
from spark_hosts import Stream
from test_spark_generated import programs

from thence import spark as ts
from thence.spark.blocks import from_batch, horizons_in
from thence.spark.pack import Pack

TYPES = "event a(k int); event b(k int); event c(k int);\n"
LONELY = TYPES + "lonely(k) <- x: a(k), w: extend(x, 5 s), while w: not b(k);"
SECOND = 1_000_000


class Paced:
    """The tasks of a stream, and what has been seen of each input."""

    def __init__(self, stream: Stream, text: str) -> None:
        self.stream, self.text = stream, text
        self.horizons: dict[str, int | None] = dict.fromkeys(stream.delays or {})
        self.events: list[Written] = []
        self.found: Results = {}

    def push(self, events: Sequence[Written]) -> None:
        """A trigger: late is what ended by the horizon before it, of its own input."""
        seen = self.horizons
        in_time = [e for e in events if seen[e.type] is None or e.end > seen[e.type]]
        self.events += in_time
        moved = dict(seen)
        for event in in_time:
            horizon, known = event.end - self.stream.delays[event.type] - 1, moved[event.type]
            moved[event.type] = horizon if known is None else max(known, horizon)
        self.horizons = moved
        collect(self.found, rows_of(self.stream.push(events)))
        self.compare()

    def compare(self) -> None:
        """All that can be known by these horizons has been given, and no more."""
        expected = oracle(self.text, self.events, self.horizons)
        assert self.found == {name: expected[name] for name in self.stream.names}


@given(programs, seeds)
def test_the_tasks_of_a_stream_whose_inputs_have_their_own_paces(
    example: Example, seed: int
) -> None:
    program, chance = accepted(example), random.Random(seed)
    names = [schema.name for schema in program.events]
    delays = {name: chance.choice([0, 1, 3]) * example.unit for name in names}
    paced = Paced(Stream(program, chance, delays=delays), example.program)
    coming = arrivals(example.events, delays, chance)
    while coming:
        count = chance.randint(1, 4)
        paced.push(coming[:count])
        coming = coming[count:]
        if chance.random() < 0.3:
            collect(paced.found, rows_of(paced.stream.idle()))
            paced.compare()
    read = paced.stream.rows.read
    late = [e for e in example.events if e not in paced.events and e.type in read]
    assert paced.stream.late_count == len(late)


def test_a_quiet_frame_holds_up_only_what_depends_on_it() -> None:
    text = LONELY + "\nno_c(k) <- x: a(k), w: extend(x, 5 s), while w: not c(k);"
    stream = Stream(thence.compile(text), random.Random(3), delays={"a": 0, "b": 0, "c": 0})
    found: Results = {}
    for events in ("a(1) @ 1", "c(2) @ 6", "c(2) @ 6.000001"):
        collect(found, rows_of(stream.push(parse_events(events))))
    assert found == {"lonely": set(), "no_c": {((1,), SECOND, 6 * SECOND)}}
    collect(found, rows_of(stream.push(parse_events("b(2) @ 6.000001"))))
    assert found["lonely"] == {((1,), SECOND, 6 * SECOND)}


def test_an_input_without_a_frame_holds_nothing_up() -> None:
    stream = Stream(thence.compile(LONELY), random.Random(3), delays={"a": 0, "c": 0})
    found: Results = {}
    for events in ("a(1) @ 1", "c(2) @ 6.000001"):
        collect(found, rows_of(stream.push(parse_events(events))))
    assert found["lonely"] == {((1,), SECOND, 6 * SECOND)}


def test_rows_that_no_rule_reads_tell_how_far_their_input_has_come() -> None:
    stream = Stream(thence.compile(LONELY), random.Random(3), delays={"a": 0, "b": 2, "c": 5})
    rows = [stream.rows.batch(parse_events("c(1) @ 9\nb(1) @ 4\nb(1) @ 3"))]
    batches = list(Pack((stream.chain,), stream.rows.layout, tick=True)(rows))
    blocks = [block for batch in batches for block in from_batch(batch)]
    told = {"b": 4 * SECOND - 3, "c": 9 * SECOND - 6}
    for place in stream.chain.hops[0].places:
        assert horizons_in(block for block in blocks if block.place == place) == told
    assert {block.event for block in blocks if block.rows} == {"b"}


def frames(spark: Any, folder: Path) -> dict[str, Any]:
    """A stream of files for each of two inputs."""
    for name in "abc":
        (folder / name).mkdir(exist_ok=True)
    schema = "k int, time bigint"
    return {name: spark.readStream.schema(schema).json(str(folder / name)) for name in "abc"}


def test_a_watermark_per_frame(spark: Any, tmp_path: Path) -> None:
    """A frame that is slow by an hour holds up what looks at it; another one nothing."""
    text = LONELY + "\nno_c(k) <- x: a(k), w: extend(x, 5 s), while w: not (c(j) where j != 2);"
    program = thence.compile(text)
    found = ts.detect(
        program, frames(spark, tmp_path), max_delay={"b": "1 h", "c": "1 s"}, shards=2
    )
    query = (
        found.writeStream.format("memory")
        .queryName("per_frame")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        # The window ends at 6 s, which is seen once something has ended later, less the delay.
        c, b = 7 * SECOND, 3606 * SECOND
        steps = [("a", 1, SECOND), ("c", 2, c), ("c", 2, c + 1), ("b", 2, b), ("b", 2, b + 1)]
        seen = []
        for number, (name, k, time) in enumerate(steps):
            path = tmp_path / name / f"{number}.json"
            path.write_text(f'{{"k": {k}, "time": {time}}}\n')
            query.processAllAvailable()
            rows = spark.sql("select type, k from per_frame").collect()
            seen.append(sorted((row["type"], row["k"]) for row in rows))
        one = [("no_c", 1)]
        assert seen == [[], [], one, one, [("lonely", 1), *one]]
    finally:
        query.stop()


def test_delays_per_input_need_frames_of_their_own(spark: Any) -> None:
    rows = spark.readStream.format("rate").load()
    one = rows.selectExpr("'a' as type", "cast(value as int) as k", "timestamp as time")
    with pytest.raises(thence.InputError, match="only inputs that have DataFrames of their own"):
        ts.detect(thence.compile(LONELY), one, max_delay={"a": "1 s"})
    with pytest.raises(thence.InputError, match="max_delay: the program declares no input"):
        ts.detect(thence.compile(LONELY), one, max_delay={"z": "1 s"})
