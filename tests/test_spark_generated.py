"""Generated programs on Spark: batch jobs and streams find exactly what the oracle finds.

Most go through the tasks of jobs and streams in this process, one by one; some through Spark
itself, many programs to a job. ``THENCE_PROFILE=long`` tries many more of both.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import PROFILE
from hosts import Results, arrivals, collect, cuts, oracle, rows_of, tables
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from notation import Written
from pattern_writer import BASE, DECIMAL, UNITS
from strategies import LATEST, Example, events_, examples
from test_generated import accepted, seeds

import thence

pytest.importorskip("pyspark")
from combined import CLOCK, Combined, one_table, parted, spark_batch, spark_stream
from spark_hosts import MILLISECOND, Stream, batch_results

from thence import spark as ts

SECOND = UNITS["s"]


# --- programs whose work can be spread ------------------------------------------------------------


class KeyedWriter:
    """Writes programs whose rules join on columns, over several stages.

    Of the programs of ``strategies.py`` most have no key. Here, every rule joins on something; what
    differs is on which columns, of which types, and whether a head hands them on. Or no rule does
    (``apart``), but durations bound them all, so that the work can be spread by time.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.choose: Callable[[Sequence[Any]], Any] = lambda options: draw(st.sampled_from(options))
        self.columns: dict[str, list[tuple[str, str]]] = {
            name: list(columns) for name, columns in BASE.items() if columns
        }
        self.unit = self.choose(list(UNITS))
        self.apart = self.choose([False, False, True])

    def program(self) -> str:
        lines = [
            f"event {name}({', '.join(f'{c} {t}' for c, t in columns)});"
            for name, columns in BASE.items()
        ]
        kinds = [self.pair, self.pair, self.absence, self.between, self.total, self.total]
        kinds += [self.choice, self.copy, self.window]
        kinds += [] if self.apart else [self.copy, self.recursion]
        for number in range(1, self.choose([2, 3, 4, 5]) + 1):
            lines += self.choose(kinds)(f"r{number}")
        return "\n".join(lines)

    def duration(self) -> str:
        return f"{self.choose([1, 2, 4, 8])} {self.unit}"

    def atom(self, kind: str, **names: str) -> str:
        """An event that has a column of a kind, which is called x; another column may be y."""
        having = [e for e, columns in self.columns.items() if any(t == kind for _, t in columns)]
        event = self.choose(having)
        key = self.choose([name for name, t in self.columns[event] if t == kind])
        more = ""
        others = [name for name, t in self.columns[event] if t == "int" and name != key]
        if "y" in names and others:
            more = f", {self.choose(others)}={names['y']}"
        return f"{event}({key}=x{more})"

    def other(self, kind: str) -> str:
        """A further event of a rule: one that agrees in x, or any at all."""
        return f"{self.choose(list(self.columns))}()" if self.apart else self.atom(kind)

    def kind(self) -> str:
        found: str = self.choose(["int"] * 6 + ["float", "string", DECIMAL, "timestamp"])
        return found

    def head(self, name: str, *columns: tuple[str, str]) -> str:
        self.columns[name] = [(f"c{i}", kind) for i, (_, kind) in enumerate(columns, 1)]
        if not columns:
            del self.columns[name]
        return f"{name}({', '.join(f'{v} as c{i}' for i, (v, _) in enumerate(columns, 1))})"

    def columns_of(self, kind: str, y: bool) -> list[tuple[str, str]]:
        """What a head tells: the key, another value, both in some order, or nothing."""
        x, other = ("x", kind), ("y", "int")
        options = [[x], [x], [x, x], []]
        return self.choose([*options, [x, other], [other, x], [other]] if y else options)

    def pair(self, name: str) -> list[str]:
        kind = self.kind()
        left, right = self.atom(kind, y="y"), self.other(kind)
        operator = self.choose(["seq", "and", "seq", "before", "meets", "par", "during"])
        text = f"({left} {operator} {right})"
        if self.apart or self.choose([True, True, False]):
            text += f" within {self.duration()}"
        return [f"{self.head(name, *self.columns_of(kind, '=y' in left))} <- {text};"]

    def absence(self, name: str) -> list[str]:
        kind = self.kind()
        first, absent = self.atom(kind, y="y"), self.other(kind)
        head = self.head(name, *self.columns_of(kind, "=y" in first))
        timer = self.choose(["extend", "from_end", "extend_backward", "shift"])
        return [f"{head} <- l: {first}, w: {timer}(l, {self.duration()}), while w: not {absent};"]

    def between(self, name: str) -> list[str]:
        kind = self.kind()
        first, last, absent = self.atom(kind, y="y"), self.other(kind), self.other(kind)
        head = self.head(name, *self.columns_of(kind, "=y" in first))
        return [f"{head} <- not({absent}).[{first}, {last}] within {self.duration()};"]

    def total(self, name: str) -> list[str]:
        """Aggregates, whose groups may span several keys, and several branches."""
        kind = self.kind()
        first, second = self.atom(kind, y="y"), self.atom(kind, y="y")
        key = "" if self.apart or kind != "int" else "k=x, "
        collected = f"{self.choose(['a', 'c'])}({key}v=z)"
        columns = self.columns_of(kind, "=y" in first)
        of = self.choose([("sum(z)", "int"), ("count()", "int"), ("max(z)", "int")])
        branch = f"({first} or {second})" if self.choose([True, False, False]) else first
        if branch != first and "y" in dict(columns) and "=y" not in second:
            branch = first
        head = self.head(name, *columns, of)
        timer = self.choose(["extend", "extend_backward"])
        return [
            f"{head} <- l: {branch}, w: {timer}(l, {self.duration()}), "
            f"while w: collect {collected};"
        ]

    def choice(self, name: str) -> list[str]:
        kind = self.kind()
        body = f"{self.atom(kind)} or {self.atom(kind)}"
        return [f"{self.head(name, ('x', kind))} <- {body};"]

    def copy(self, name: str) -> list[str]:
        """One or two rules that hand columns on, each in its own order."""
        head = self.head(name, ("x", "int"), ("y", "int"))
        source = self.choose(["a(x, y)", "c(x, y, _)", "a(y, x)", "c(k=y, v=x)"])
        again = self.choose(["a(y, x)", "c(x, y, 'x')", "a(x, y) seq b(x, _)", ""])
        return [f"{head} <- {source};"] + ([f"{name}(x, y) <- {again};"] if again else [])

    def recursion(self, name: str) -> list[str]:
        step = self.atom("int")
        start = self.atom("int", y="y")
        second = "y" if "=y" in start else "x"
        again = self.choose(["x, y", "x, _", "_, x"])
        head = self.head(name, ("x", "int"), (second, "int"))
        result = f"{name}(x, {'y' if 'y' in again else 'x'})"
        return [
            f"{head} <- {start};",
            f"{result} <- ({name}({again}) seq {step}) within {self.duration()};",
        ]

    def window(self, name: str) -> list[str]:
        kind = self.kind()
        operator = self.choose(["follows", "notfollows", "precedes", "notprecedes", "both"])
        first, second = self.atom(kind, y="y"), self.other(kind)
        head = self.head(name, *self.columns_of(kind, "=y" in first))
        return [f"{head} <- {operator}({first}, {second}, {self.duration()});"]


@st.composite
def keyed(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Example:
    """A program that joins on columns, events for it, and perhaps an end of time."""
    writer = KeyedWriter(draw)
    program, unit = writer.program(), UNITS[writer.unit]
    events = draw(st.lists(events_(unit), min_size=8, max_size=18))
    until = draw(st.sampled_from([None, 3 * LATEST * unit, LATEST * unit]))
    return Example(program, tuple(events), until, unit)


programs = keyed() | examples()


# --- one by one, without Spark --------------------------------------------------------------------


def some_of(program: thence.Program, chance: random.Random) -> tuple[str, ...]:
    """All derived events or, sometimes, a few of them."""
    names = program._emitted(None)
    if chance.random() < 0.7:
        return names
    return tuple(chance.sample(names, chance.randint(1, len(names))))


def expected(example: Example, events: Sequence[Written], until: int | None, of: Any) -> Results:
    found = oracle(example.program, events, until)
    return {name: found[name] for name in of}


def clock(example: Example) -> int:
    """How finely a simulated watermark counts: as Spark's, unless the program would not notice."""
    return min(MILLISECOND, example.unit)


@given(programs, seeds)
def test_the_tasks_of_a_batch_job(example: Example, seed: int) -> None:
    program, chance = accepted(example), random.Random(seed)
    emit, events = some_of(program, chance), example.events
    if chance.random() < 0.5:  # where nothing lasts, more rules are bounded in time
        events = tuple(event._replace(end=event.start) for event in events)
    found = rows_of(batch_results(program, events, example.until, chance, emit=emit))
    assert found == expected(example, events, example.until, emit)


@given(programs, seeds)
def test_the_tasks_of_a_stream(example: Example, seed: int) -> None:
    program, chance = accepted(example), random.Random(seed)
    delay = chance.choice([0, 1, 2, 4, 10]) * example.unit
    stream = Stream(program, chance, delay, some_of(program, chance), tick=clock(example))
    found = streamed(stream, example.events, example.unit)
    assert found == expected(example, example.events, stream.horizon, stream.names)


@given(programs, seeds)
def test_the_tasks_of_a_stream_that_forgets(example: Example, seed: int) -> None:
    """Where state has a bound, events are dropped as soon as nothing can need them any more."""
    program, chance = accepted(example), random.Random(seed)
    instants = [event._replace(end=event.start) for event in example.events]
    delay = chance.choice([0, 0, 1, 2]) * example.unit
    try:
        stream = Stream(program, chance, delay, allow_unbounded=False, tick=clock(example))
    except thence.StateError:
        return
    found = streamed(stream, instants, example.unit)
    assert found == expected(example, instants, stream.horizon, stream.names)


def streamed(stream: Stream, events: Sequence[Written], unit: int) -> Results:
    """All results of a stream; some time passes after the last event, in one or more steps."""
    chance = stream.chance
    found: Results = {}
    for part in cuts(arrivals(events, stream.delay, chance), chance):
        collect(found, rows_of(stream.push(part)))
    for later in chance.choices([0, 1, 2, 20], k=chance.randint(1, 3)):
        collect(found, rows_of(stream.idle(max(stream.latest, 0) + later * unit)))
    assert stream.late_count == 0
    return found


@given(programs, seeds)
def test_late_events_are_counted_and_change_nothing(example: Example, seed: int) -> None:
    """Late is what ended by the horizon of the trigger before, if some rule reads it."""
    program, chance = accepted(example), random.Random(seed)
    delay = chance.choice([0, 1, 2, 4]) * example.unit
    stream = Stream(program, chance, delay, late=True, tick=clock(example))
    found: Results = {}
    in_time: list[Written] = []
    late: list[Written] = []
    for part in cuts(chance.sample(example.events, len(example.events)), chance):
        horizon = stream.horizon
        in_time += [event for event in part if event.end > horizon]
        late += [e for e in part if e.end <= horizon and e.type in stream.rows.read]
        collect(found, rows_of(stream.push(part)))
    collect(found, rows_of(stream.idle(3 * LATEST * example.unit)))
    assert stream.late_count == len(late)
    given_back = [(event, end) for event, ends in stream.latecomers for end in ends.end.tolist()]
    assert sorted(given_back) == sorted((event.type, event.end) for event in late)
    assert found == oracle(example.program, in_time, stream.horizon)


@given(programs, seeds)
def test_the_lineage_that_a_batch_job_gives(example: Example, seed: int) -> None:
    program, chance = accepted(example), random.Random(seed)
    found = batch_results(program, example.events, example.until, chance, lineage=True)
    events = tables(example.program, example.events)
    assert lineage(found) == lineage(program.run(events, until=example.until, lineage=True))


@given(programs, seeds)
def test_the_lineage_that_a_stream_gives(example: Example, seed: int) -> None:
    """A result comes when the horizon has passed it, since only then is its lineage complete."""
    program, chance = accepted(example), random.Random(seed)
    delay = chance.choice([0, 1, 2, 4]) * example.unit
    stream = Stream(program, chance, delay, lineage=True, tick=clock(example))
    found: dict[str, list[str]] = {name: [] for name in stream.names}

    def add(results: Mapping[str, pa.Table]) -> None:
        for name, rows in lineage(results).items():
            found[name] += rows

    for part in cuts(arrivals(example.events, delay, chance), chance):
        add(stream.push(part))
    add(stream.idle(max(stream.latest, 0) + delay + 3 * LATEST * example.unit))
    events = tables(example.program, example.events)
    expected = lineage(program.run(events, until=stream.horizon, lineage=True))
    assert {name: sorted(rows) for name, rows in found.items()} == expected


def lineage(results: Mapping[str, pa.Table]) -> dict[str, list[str]]:
    """Every result with its lineage, as text, in an order of its own."""
    return {
        name: sorted(
            repr({**row, "lineage": sorted(map(repr, row.get("lineage", [])))})
            for row in table.to_pylist()
        )
        for name, table in results.items()
    }


# --- on Spark -------------------------------------------------------------------------------------


def on_spark(dev: int, long: int) -> settings:
    """So many jobs. A job that fails is not tried again with less: that would take too long."""
    return settings(
        max_examples=long if PROFILE == "long" else dev,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


many = st.lists(programs, min_size=8, max_size=20)


def of_one_unit(found: Sequence[Example], unit: int) -> list[Example]:
    """Programs that go together: those in microseconds would go on for ages in one in seconds."""
    kept = []
    for example in found:
        try:
            thence.compile(example.program)
        except thence.ProgramError:
            continue
        if example.unit == unit:
            kept.append(example)
    return kept


def together(found: Sequence[Example]) -> Combined:
    return Combined(tuple(e.program for e in found), tuple(e.events for e in found))


@on_spark(dev=4, long=150)
@given(many, seeds, st.sampled_from(sorted(UNITS.values())))
def test_batch_jobs(spark: Any, found: list[Example], seed: int, unit: int) -> None:
    kept, chance = of_one_unit(found, unit), random.Random(seed)
    if not kept:
        return
    until = chance.choice([1, 2, 3]) * LATEST * unit
    results = spark_batch(spark, together(kept), until, shards=chance.choice([1, 2, 3, 5]))
    for example, own in zip(kept, results, strict=True):
        note(example.program)
        assert own == oracle(example.program, example.events, until)


@on_spark(dev=2, long=100)
@given(many, seeds)
def test_streams(spark: Any, found: list[Example], seed: int) -> None:
    """Programs in seconds: a watermark in milliseconds says nothing to one in microseconds."""
    kept, chance = of_one_unit(found, SECOND), random.Random(seed)
    if not kept:
        return
    assert_streamed(spark, kept, chance, allow_unbounded=True)


@on_spark(dev=2, long=50)
@given(many, seeds)
def test_streams_that_forget(spark: Any, found: list[Example], seed: int) -> None:
    """Programs whose state has a bound if events are instants, without leave to do without one."""
    kept = []
    for example in of_one_unit(found, SECOND):
        if not thence.compile(example.program).plan.needs.unbounded:
            instants = tuple(event._replace(end=event.start) for event in example.events)
            kept.append(example._replace(events=instants))
    if not kept:
        return
    assert_streamed(spark, kept, random.Random(seed), allow_unbounded=False)


def assert_streamed(
    spark: Any, kept: Sequence[Example], chance: random.Random, allow_unbounded: bool
) -> None:
    combined = together(kept)
    delay = chance.choice([0, 1, 2, 5]) * SECOND
    end = chance.choice([1, 2, 3]) * LATEST * SECOND + delay
    parts = parted(combined.all_events, delay, chance)
    parts[-1].append(Written(CLOCK, (), end, end))
    with TemporaryDirectory() as folder:
        results = spark_stream(
            spark,
            Path(folder),
            combined.program,
            parts,
            delay,
            allow_unbounded=allow_unbounded,
            shards=chance.choice([1, 2, 3, 5]),
        )
    assert results.late == 0
    for example, own in zip(kept, combined.separated(results.table), strict=True):
        note(example.program)
        assert own == oracle(example.program, example.events, results.horizon)


@on_spark(dev=3, long=30)
@given(many, seeds)
def test_lineage_of_batch_jobs(spark: Any, found: list[Example], seed: int) -> None:
    kept = of_one_unit(found, SECOND)
    if not kept:
        return
    combined = together(kept)
    frame = spark.createDataFrame(one_table(combined.program, combined.all_events))
    until = 3 * LATEST * SECOND
    job = ts.detect(combined.program, frame, until=until, lineage=True, shards=3)
    everything = job.toArrow()
    given_events = tables(combined.program.source.text, combined.all_events)
    expected = combined.program.run(given_events, until=until, lineage=True)
    for schema in combined.program.derived:
        own = everything.filter(pc.equal(everything["type"], schema.name))
        own = own.select([*schema.names, "start", "end", "lineage"])
        assert lineage({schema.name: own}) == lineage({schema.name: expected[schema.name]})
