"""Many programs as one, so that a single Spark job answers for all of them.

Every event of program ``i`` gets a name of its own (``p3_order``), so that the programs have
nothing to do with each other; besides, there is an event ``clock`` that no rule reads. Columns get
their type as part of their name (``id_string``), because the results of all programs lie in one
table.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import PROFILE
from hosts import MICROSECOND, Results, arrivals, facts_of, rows_of, table
from notation import Written

import thence
from thence import spark as ts
from thence.engine.state.state import NEVER
from thence.lang.parser import parse_program
from thence.lang.text import format_program
from thence.logic.check import check_program
from thence.logic.check.typing import _labelled_atoms
from thence.logic.expr import Attr
from thence.logic.ops import Atom, Change, HeadTerm, Label, LogicProgram, Pattern, Rule, walk
from thence.model.schema import Attribute, EventSchema, Validity
from thence.model.source import Source
from thence.model.types import Type

CLOCK = "clock"
MOST_CUTS = 5 if PROFILE == "long" else 3
MILLISECOND = 1000
_NUMBERS = count()
Schemas = Mapping[str, EventSchema]


@dataclass(frozen=True)
class Combined:
    """Several programs, each with its events, as one program with all of their events."""

    programs: tuple[str, ...]
    events: tuple[tuple[Written, ...], ...]

    @cached_property
    def program(self) -> thence.Program:
        """The one program; that it compiles shows that renaming and writing it lost nothing."""
        parts = [renamed(text, f"p{i}_") for i, text in enumerate(self.programs)]
        whole = LogicProgram(
            (EventSchema(CLOCK, ()), *(event for part in parts for event in part.events)),
            tuple(rule for part in parts for rule in part.rules),
            tables=tuple(each for part in parts for each in part.tables),
            changes=tuple(change for part in parts for change in part.changes),
            deductions=tuple(rule for part in parts for rule in part.deductions),
            facts=tuple(fact for part in parts for fact in part.facts),
        )
        return thence.compile(format_program(whole))

    @cached_property
    def _public(self) -> list[set[str]]:
        """The events that each program derives under a name of their own."""
        return [{s.name for s in thence.compile(text).derived} for text in self.programs]

    @property
    def all_events(self) -> list[Written]:
        """The events of all programs, and the rows of their tables, under their new names."""
        return [
            event._replace(type=f"p{i}_{event.type}")
            for i, events in enumerate(self.events)
            for event in events
        ]

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The static tables of all programs. Durations are microseconds here too."""
        return {
            name: pa.table({n: _parquet(c) for n, c in zip(t.column_names, t.columns, strict=True)})
            for name, t in facts_of(self.program.tables, self.all_events).items()
        }

    def separated(self, results: pa.Table) -> list[Results]:
        """One table of results by program: what each program alone would have given."""
        derived = self.program.derived
        found: list[Results] = [{} for _ in self.programs]
        by_type: dict[str, list[int]] = {schema.name: [] for schema in derived}
        for row, name in enumerate(results.column("type").to_pylist()):
            by_type[name].append(row)
        for schema in derived:
            rows = results.take(pa.array(by_type[schema.name], pa.int64()))
            number, _, name = schema.name.removeprefix("p").partition("_")
            if name not in self._public[int(number)]:  # a query inside another, written as a rule
                continue
            own = rows.select([*schema.names, "start", "end"])
            found[int(number)][name] = rows_of({name: own})[name]
        return found


def one_table(program: thence.Program, events: Sequence[Written]) -> pa.Table:
    """Events of all types in one table: ``type``, every attribute, ``start`` and ``end`` in
    microseconds. Durations are microseconds too, since Parquet has no type for them."""
    parts = [pa.table({"type": pa.array([], pa.string())})]
    for schema in program.events:
        own = [event for event in events if event.type == schema.name]
        part = table(schema, own)
        part = part.add_column(0, "type", pa.array([schema.name] * len(own), pa.string()))
        names = part.column_names
        parts.append(pa.table([_parquet(column) for column in part.columns], names=names))
    return pa.concat_tables(parts, promote_options="default").combine_chunks()


def _parquet(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


# --- renaming -------------------------------------------------------------------------------------


def renamed(text: str, prefix: str) -> LogicProgram:
    """A program whose events begin with a prefix, and whose columns end with their type."""
    program = parse_program(Source(text))
    schemas = check_program(program).schemas

    def renew(event: EventSchema) -> EventSchema:
        columns = [
            Attribute(_column(schemas, event.name, a.name), a.type) for a in event.attributes
        ]
        valid = event.valid and Validity(
            *(
                side if side not in event.names else _column(schemas, event.name, side)
                for side in (event.valid.since, event.valid.until)
            )
        )
        name = _event(prefix, event.name)
        return replace(event, name=name, attributes=tuple(columns), valid=valid)

    # Columns that only facts say have no names that could be written: they are declared here.
    heads = {schema.name for schema in program.tables} | {r.event for r in program.deductions}
    said = dict.fromkeys(fact.relation for fact in program.facts if fact.relation not in heads)
    return LogicProgram(
        tuple(map(renew, program.events)),
        tuple(_rule(rule, schemas, prefix) for rule in program.rules),
        tables=tuple(map(renew, (*program.tables, *(schemas[name] for name in said)))),
        deductions=tuple(_rule(rule, schemas, prefix) for rule in program.deductions),
        facts=tuple(
            replace(fact, relation=_event(prefix, fact.relation)) for fact in program.facts
        ),
        changes=tuple(_change(change, schemas, prefix) for change in program.changes),
    )


def _change(change: Change, schemas: Schemas, prefix: str) -> Change:
    # Its rule has the columns of the table that it changes, or some of them.
    named = {**schemas, change.rule.event: schemas[change.table]}
    rule = _rule(change.rule, named, prefix)
    return replace(change, table=_event(prefix, change.table), rule=rule)


def _rule(rule: Rule, schemas: Schemas, prefix: str) -> Rule:
    labels: dict[str, list[str]] = {}
    for node in walk(rule.body):
        if isinstance(node, Label):
            atoms = _labelled_atoms(node.pattern)
            labels.setdefault(node.name, []).extend(atom.event for atom in atoms)

    def renew(node: Any) -> Any:
        match node:
            case Atom(event, args):
                named = tuple((_column(schemas, event, n), renew(value)) for n, value in args)
                return Atom(_event(prefix, event), named)
            case Attr(label, name):
                owner = next(e for e in labels[label] if schemas[e].type_of(name) is not None)
                return Attr(label, _column(schemas, owner, name))
            case tuple():
                return tuple(renew(item) for item in node)
        if is_dataclass(node) and not isinstance(node, (Type, type)):
            changed = {f.name: renew(getattr(node, f.name)) for f in fields(node)}
            return replace(node, **changed)
        return node

    terms = tuple(
        HeadTerm(_column(schemas, rule.event, name), renew(term.value))
        for name, term in zip(_names(rule, schemas), rule.terms, strict=True)
    )
    body: Pattern = renew(rule.body)
    event = _event(prefix, rule.event)
    return Rule(event, terms, body, policy=rule.policy, hidden=rule.hidden)


def _names(rule: Rule, schemas: Schemas) -> tuple[str, ...]:
    """The columns of a rule: those of its event, unless it is of a change, which says its own."""
    names = schemas[rule.event].names
    return names if len(names) == len(rule.terms) else tuple(term.name for term in rule.terms)


def _event(prefix: str, event: str) -> str:
    """The new name of an event."""
    return prefix + event


def _column(schemas: Schemas, event: str, name: str) -> str:
    """The name of a column with its type, so that one name has one type everywhere; and in small
    letters, since in Spark ``Loc`` and ``loc`` would be one column."""
    kind = "".join(c if c.isalnum() else "_" for c in str(schemas[event].type_of(name)))
    capitals = "".join(f"_cap{at}" for at, letter in enumerate(name) if letter.isupper())
    return f"{name.lower()}{capitals}_{kind}"


# --- on Spark -------------------------------------------------------------------------------------


def spark_batch(
    spark: Any, combined: Combined, until: int | None, shards: int | None = None
) -> list[Results]:
    """Many programs as one batch job. Where no event lasts, the frame says so: it has a column
    ``time``."""
    events = [event for event in combined.all_events if not event.is_row]
    rows = one_table(combined.program, events)
    if all(event.start == event.end for event in events):
        rows = rows.drop_columns(["start"]).rename_columns({"end": "time"})
    frame = spark.createDataFrame(rows)
    tables = {name: spark.createDataFrame(each) for name, each in combined.tables.items()}
    found = ts.detect(combined.program, frame, tables=tables, until=until, shards=shards)
    return combined.separated(found.toArrow())


def parted(events: Sequence[Written], delay: int, chance: random.Random) -> list[list[Written]]:
    """Events for three or more triggers, in an order in which none comes too late."""
    ordered = arrivals(events, delay, chance)
    places = sorted(chance.randint(0, len(ordered)) for _ in range(chance.randint(2, MOST_CUTS)))
    ends = [*places, len(ordered)]
    return [ordered[a:b] for a, b in zip([0, *places], ends, strict=True)]


@dataclass(frozen=True)
class Streamed:
    """What a streaming query gave over all its triggers."""

    table: pa.Table
    horizon: int
    late: int
    triggers: int


def spark_stream(
    spark: Any,
    folder: Path,
    program: thence.Program,
    parts: Sequence[Sequence[Written]],
    delay: int,
    **options: Any,
) -> Streamed:
    """A query over a folder of Parquet files, one a trigger, to its end.

    Spark's watermark counts in whole milliseconds, and begins at zero, which says nothing.
    """
    source = folder / "events"
    source.mkdir(parents=True)
    for number, part in enumerate(parts):
        path = source / f"{number}.parquet"
        pq.write_table(one_table(program, part), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes the oldest file first
    schema = spark.read.parquet(str(source / "0.parquet")).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    name = f"found_{next(_NUMBERS)}"
    query = (
        ts.detect(program, frame, max_delay=delay * MICROSECOND, **options)
        .writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    metrics = [p.observedMetrics["thence"] for p in query.recentProgress if p.observedMetrics]
    latest = max(event.end for part in parts for event in part)
    watermark = latest // MILLISECOND - -(-delay // MILLISECOND)
    found = spark.table(name).toArrow()
    spark.catalog.dropTempView(name)
    return Streamed(
        found,
        watermark * MILLISECOND - 1 if watermark > 0 else NEVER,
        sum(each.late for each in metrics),
        len(metrics),
    )
