"""The work that Spark's executors do, without Spark: the same tasks, handed blocks by plain loops.

A Spark job takes a second, this a few milliseconds, so that every case and very many generated
programs can go through packing, routing, shards, slices, state and timers one by one. What Spark
itself adds (its expressions, its shuffles, its watermark) is shown by the tests that start it; what
these run is in ``combined.py``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hosts import facts_of, table
from notation import Written
from run_sizes import chunk_sizes, drawn_run_sizes

import thence
from thence.engine.arrays.rows import concat, select
from thence.engine.provenance.lineage import LINEAGE
from thence.engine.state.state import NEVER
from thence.model.events import Events
from thence.plan.partition.parts import cut
from thence.plan.partition.slices import span
from thence.results import as_table
from thence.spark import batch_work
from thence.spark.batch_work import Evaluate
from thence.spark.blocks import HORIZONS, LATE, MEASURE, Block, decode, from_batch, to_batch
from thence.spark.chain import Chain, Hop, make_chain
from thence.spark.facts import given_tables, shipped
from thence.spark.frames import Requested, _shape
from thence.spark.generations import (
    Replaced,
    lineup,
    program_of,
    stream_chains,
    stream_requests,
)
from thence.spark.pack import Pack
from thence.spark.placing import partition_of
from thence.spark.processor import ShardWork
from thence.spark.pushdown import requested, requested_together
from thence.spark.route import ticks
from thence.spark.row_layout import Layout
from thence.spark.run_cache import RunCache
from thence.spark.run_store import RunStore
from thence.spark.stream import _gaps

Emit = tuple[str, ...]
MILLISECOND = 1000


@dataclass(frozen=True)
class Rows:
    """Events as Spark would hand them to Python: ``frames.read_frames`` without its DataFrames."""

    layout: Layout
    kinds: Mapping[str, Any]
    read: frozenset[str]
    schemas: Mapping[str, Any]

    @staticmethod
    def of(wants: Sequence[Requested], points: bool) -> Rows:
        shape = _shape([SimpleNamespace(start=None if points else "start")], wants)  # type: ignore[list-item]
        read = frozenset(each.schema.name for each in wants if each.alternatives)
        return Rows(
            shape.layout, shape.kinds, read, {each.schema.name: each.schema for each in wants}
        )

    def batch(self, events: Sequence[Written]) -> pa.RecordBatch:
        """The events that some rule reads, as rows."""
        clocks = self.layout.clocks
        events = [event for event in events if clocks or event.type in self.read]
        columns: dict[str, Any] = {
            "event": pa.array([self._number(event) for event in events], pa.int16())
        }
        if not self.layout.points:
            columns["start"] = pa.array([e.start for e in events], pa.int64())
        columns["end"] = pa.array([e.end for e in events], pa.int64())
        for slot, kind in self.kinds.items():
            values = [self._value(event, slot) for event in events]
            columns[slot] = pa.array(values, kind.arrow)
        return pa.record_batch(columns)

    def _number(self, event: Written) -> int:
        """The number of an event's type; of one that no rule reads, counted on from the last."""
        more = 0 if event.type in self.read else len(self.layout.events)
        return self.layout.events.index(event.type) + more

    def _value(self, event: Written, slot: str) -> Any:
        for name, used in self.layout.slots[event.type].items():
            if used == slot:
                return event.values[self.schemas[event.type].names.index(name)]
        return None


# --- batch ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kept:
    """In the place of an output of rows: results as they are, whatever types their columns have."""

    def batches(self, event: str, events: Events, late: bool = False) -> Iterator[Any]:
        assert not late
        yield event, events


def batch_results(
    program: thence.Program,
    events: Sequence[Written],
    until: int | None,
    chance: random.Random,
    *,
    emit: Emit | None = None,
    shards: int | None = None,
    lineage: bool = False,
) -> dict[str, pa.Table]:
    """What the tasks of a batch job find: ``batch.batch_job`` in loops.

    Events lie in several input partitions, and time slices are of any width that is not too
    narrow: how wide is a matter of speed only.
    """
    names = emit or program._emitted(None)
    plan = program.plan_for(names, lineage)
    part = plan.part(plan.stages, names)
    tables = given_tables(program, part, facts_of(program.tables, events), lineage)
    events = [event for event in events if not event.is_row]
    instants = _given_as_instants(program, events, chance)
    declared = {s.name: s.longest for s in program.events if s.longest is not None}
    pieces = cut(plan, declared | dict.fromkeys(instants, 0), slices=True)
    count = shards or chance.choice([1, 2, 3, 5])
    chain = make_chain(pieces, plan.schemas, names, count, lineage, until)
    chain = replace(chain, hops=tuple(_sliced_anyhow(hop, chance) for hop in chain.hops))
    points = len(instants) == len(program.events)
    rows = Rows.of(requested(plan, part, lineage), points)

    context = _context(chain, events)
    blocks: list[pa.RecordBatch] = []
    for task in _dealt(events, chance):
        blocks += Pack((chain,), rows.layout, tick=False)(_in_batches(rows, task, chance))
    always = [block for hop in chain.hops if hop.always for block in ticks(hop)]
    if always:
        blocks.append(to_batch(always))
    blocks = [_with_columns(batch, context) for batch in blocks]
    for hop in chain.hops:
        facts = shipped(tables, hop.part.looked_into, None)
        task_of = Evaluate(chain, hop.number, _Kept(), facts)  # type: ignore[arg-type]
        parts = _shuffled(blocks, len(hop.places), chance)
        with chunk_sizes(batch_work, chance.choice([1, 3, 1000])):
            blocks = [found for part in parts for found in task_of(part)]
    return _tables(program, names, blocks, lineage)


def _sliced_anyhow(hop: Hop, chance: random.Random) -> Hop:
    """A hop whose slices are as narrow as they may be, or somewhat wider."""
    if hop.slices is None:
        return hop
    width = max(1, span(hop.reach) + chance.choice([0, 0, 1, 1000, 1_000_000]))
    return replace(hop, slices=replace(hop.slices, width=width))


def _given_as_instants(
    program: thence.Program, events: Sequence[Written], chance: random.Random
) -> frozenset[str]:
    """Event types whose frames have a column ``time``: some of those of which no event lasts."""
    lasting = {event.type for event in events if event.start != event.end}
    names = [schema.name for schema in program.events if schema.name not in lasting]
    everything = chance.random() < 0.5
    return frozenset(name for name in names if everything or chance.random() < 0.5)


def _context(chain: Chain, events: Sequence[Written]) -> dict[str, Any]:
    """What all events together tell: the same columns as in a job."""
    found: dict[str, Any] = {}
    if chain.waits and chain.horizon is None:
        latest = max((event.end for event in events), default=None)
        found["horizon"] = pa.scalar(latest, pa.int64())
    return found


def _with_columns(batch: pa.RecordBatch, context: Mapping[str, Any]) -> pa.RecordBatch:
    for name, value in context.items():
        batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
    return batch


def _dealt(events: Sequence[Written], chance: random.Random) -> list[list[Written]]:
    """The events over some input partitions, of which some are empty."""
    tasks: list[list[Written]] = [[] for _ in range(chance.randint(1, 3))]
    for event in events:
        chance.choice(tasks).append(event)
    return tasks


def _in_batches(
    rows: Rows, events: Sequence[Written], chance: random.Random
) -> list[pa.RecordBatch]:
    """The rows of a partition in one or two batches."""
    middle = chance.randint(0, len(events))
    return [rows.batch(events[:middle]), rows.batch(events[middle:])]


def _shuffled(
    batches: Iterable[pa.RecordBatch], partitions: int, chance: random.Random
) -> list[list[pa.RecordBatch]]:
    """Blocks by Spark's partition of their place, in any order."""
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(partitions)]
    for batch in batches:
        for row in range(batch.num_rows):
            place = batch.column("place")[row].as_py()
            parts[partition_of(place, partitions)].append(batch.slice(row, 1))
    for part in parts:
        chance.shuffle(part)
    return parts


def _tables(
    program: thence.Program,
    names: Iterable[str],
    found: Iterable[tuple[str, Events]],
    lineage: bool,
) -> dict[str, pa.Table]:
    """Results as tables, the columns in the order of the head; empty where there is none."""
    parts: dict[str, list[Events]] = {name: [] for name in names}
    for event, events in found:
        parts[event].append(events)
    schemas = {schema.name: schema for schema in program.derived}
    tables = {}
    for name, pieces in parts.items():
        if pieces:
            columns = [*schemas[name].names, *([LINEAGE] if lineage else [])]
            tables[name] = as_table(select(concat(pieces), columns))
        else:
            tables[name] = table(schemas[name], [])
    return tables


# --- streams --------------------------------------------------------------------------------------


@dataclass
class _Handle:
    """In the place of Spark's handle, its value and its map: state and timers of one hop, by
    place."""

    place: int = 0
    values: dict[int, Any] = field(default_factory=dict)
    entries: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    timers: dict[int, set[int]] = field(default_factory=dict)

    def get(self) -> Any:
        return self.values.get(self.place)

    def update(self, value: Any) -> None:
        self.values[self.place] = value

    def clear(self) -> None:
        del self.values[self.place]

    def getValue(self, key: tuple[Any, ...]) -> Any:
        return self.entries.get((self.place, *key))

    def updateValue(self, key: tuple[Any, ...], value: Any) -> None:
        self.entries[self.place, *key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:
        del self.entries[self.place, *key]

    def registerTimer(self, time: int) -> None:
        self.timers.setdefault(self.place, set()).add(time)

    def due(self, watermark: int) -> list[int]:
        """The places with a timer at or before the watermark, which are then forgotten."""
        found = []
        for place, times in self.timers.items():
            passed = {time for time in times if time <= watermark}
            found += [place] * len(passed)
            times -= passed
        return found


@dataclass
class Stream:
    """A streaming query trigger by trigger: ``stream.stream_job`` in loops.

    As in Spark, the watermark of a trigger is that of the events of the triggers before. It counts
    in ``tick`` microseconds, which are a thousand in Spark.
    """

    given: thence.Program | Replaced
    chance: random.Random
    delay: int = 0
    emit: Emit | None = None
    shards: int | None = None
    lineage: bool = False
    late: bool = False
    allow_unbounded: bool = True
    tick: int = MILLISECOND
    rows_of_tables: Sequence[Written] = ()
    delays: Mapping[str, int] | None = None
    """How late each input may come, where each has a frame of its own."""
    idle_after: int | None = None
    wall: int = 0
    """The wall clock, in milliseconds."""

    watermark: int = field(default=0, init=False)
    late_count: int = field(default=0, init=False)
    state_rows: int = field(default=0, init=False)
    latecomers: list[tuple[str, Events]] = field(default_factory=list, init=False)
    figures: dict[str, int] = field(default_factory=dict, init=False)
    """What the last trigger said of itself."""
    latest: int = field(default=NEVER, init=False)

    def __post_init__(self) -> None:
        self.partitions = self.chance.choice([1, 2, 3])
        self.count = self.shards or self.chance.choice([1, 2, 3, 5])
        self.workers = [RunCache(most) for most in (0, 1000, 1 << 30)]
        self._started()
        self.handles = [_Handle() for _ in range(self.chain.end)]

    def restart(self, given: thence.Program | Replaced, emit: Emit | None = None) -> None:
        """Go on from the checkpoint with another program."""
        self.given, self.emit = given, emit
        self._started()
        assert len(self.handles) == self.chain.end, "Spark would refuse"

    def _started(self) -> None:
        self.program = program_of(self.given)
        self.names = self.emit or self.program._emitted(None)
        lined = lineup(self.given, self.names, self.lineage)
        wants, self.tables = [], []
        given = facts_of(self.program.tables, self.rows_of_tables)
        for each in lined.generations:
            wants.append(stream_requests(each, self.lineage or self.late, self.allow_unbounded))
            self.tables.append(given_tables(self.program, each.part, given, self.lineage))
        wanted = requested_together(self.program.events, wants)
        self.rows = Rows.of(wanted, all(each.instants for each in wanted))
        if self.delays is not None:
            layout = replace(self.rows.layout, clocks=tuple(self.delays))
            self.rows = replace(self.rows, layout=layout)
        chains = stream_chains(lined, self.count, self.lineage, self.late, self.allow_unbounded)
        self.chains = tuple(
            replace(chain, delays=self.delays, gaps=_gaps(chain, {}), idle_after=self.idle_after)
            for chain in chains
        )

    @property
    def chain(self) -> Chain:
        """The chain of the generation that began first."""
        return self.chains[0]

    @property
    def horizon(self) -> int:
        """Up to when everything has been seen, for the last trigger that ran."""
        return self.watermark * self.tick - 1 if self.watermark > 0 else NEVER

    def push(self, events: Sequence[Written]) -> dict[str, pa.Table]:
        """A trigger with new events."""
        self._move()
        packed: list[pa.RecordBatch] = []
        for task in _dealt(events, self.chance):
            pack = Pack(self.chains, self.rows.layout, tick=True)
            packed += pack(_in_batches(self.rows, task, self.chance))
        self.latest = max([self.latest, *(event.end for event in events)])
        return self._through([self._clocked(b) for batch in packed for b in from_batch(batch)])

    def _clocked(self, block: Block) -> Block:
        """What Spark adds to a block on its way."""
        tells = self.idle_after is not None and block.event == HORIZONS
        return replace(block, rows=self.wall) if tells else block

    def idle(self, latest: int = NEVER) -> dict[str, pa.Table]:
        """A trigger without data, as Spark starts one when the watermark has moved. ``latest`` is
        the end of an event that no rule reads."""
        self.latest = max(self.latest, latest)
        self._move()
        return self._through([])

    def _move(self) -> None:
        delay = -(-self.delay // self.tick)
        self.watermark = max(self.watermark, self.latest // self.tick - delay)

    def _taken(self, watermark: int, behind: int) -> int:
        """``shard_generations.taken_by`` in the unit of this watermark."""
        return (watermark + behind + 1) * self.tick - 1 if watermark > 0 else NEVER

    def _through(self, blocks: list[Block]) -> dict[str, pa.Table]:
        """Blocks through every hop, to what they give."""
        for place, handle in enumerate(self.handles):
            hops = [chain.hop_at(place) for chain in self.chains]
            facts = tuple(
                shipped(tables, () if hop is None else hop.part.looked_into, None)
                for hop, tables in zip(hops, self.tables, strict=True)
            )
            blocks = self._worked(
                ShardWork(self.chains, place, facts, -(-self.delay // self.tick)), handle, blocks
            )
        self.state_rows = 0
        self.figures = {}
        for block in blocks:
            if block.hop == MEASURE:
                self.figures[block.event] = self.figures.get(block.event, 0) + block.rows
            if block.hop == MEASURE and block.event == "late":
                self.late_count += block.rows
            elif block.hop == MEASURE and block.event == "state_rows":
                self.state_rows += block.rows
            elif block.hop == LATE:
                self.latecomers.append((block.event, decode(block.data)))
        found = [(b.event, decode(b.data)) for b in blocks if b.hop == self.chain.end]
        return _tables(self.program, self.names, found, self.lineage)

    def _worked(self, work: ShardWork, handle: _Handle, blocks: list[Block]) -> list[Block]:
        """One hop in one trigger: a task per partition, first its rows, then the timers due."""
        places: dict[int, list[Block]] = {}
        for block in self.chance.sample(blocks, len(blocks)):
            places.setdefault(block.place, []).append(block)
        due = handle.due(self.watermark)
        timers = SimpleNamespace(getCurrentWatermarkInMs=lambda: self.watermark)
        found: list[dict[str, Any]] = []
        with pytest.MonkeyPatch.context() as patch, drawn_run_sizes(self.chance):
            patch.setattr("thence.spark.processor.horizon_of", lambda _: self.horizon)
            patch.setattr("thence.spark.processor.taken_by", self._taken)
            for partition in range(self.partitions):
                task = ShardWork(work.chains, work.place, work.facts, work.behind)
                task.begin(handle, handle, handle)
                # Spark hands a shard now to one worker, now to another.
                task.runs = RunStore(handle, self.chance.choice(self.workers), None)
                for handle.place, given in places.items():
                    if partition_of(handle.place, self.partitions) == partition:
                        rows = [_as_row(block) for block in given]
                        found += task.rows((handle.place,), iter(rows), timers)
                for handle.place in due:
                    if partition_of(handle.place, self.partitions) == partition:
                        found += task.timer((handle.place,), timers)
        return [
            Block(r["place"], r["hop"], r["event"], r["rows"], r["block"] or None) for r in found
        ]


def _as_row(block: Block) -> dict[str, Any]:
    data = b"" if block.data is None else bytes(block.data)
    return {"hop": block.hop, "event": block.event, "rows": block.rows, "block": data}
