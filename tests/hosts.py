"""The hosts: everything that can run a program over events, under one signature.

Each takes a program's text, events and an end of time (or None), and gives the rows of every
derived event as sets of (attributes, start, end), which must be equal on all hosts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any

import pyarrow as pa
from notation import Written
from oracle import Row, Until, meaning
from oracle_values import EPOCH, canonical
from run_sizes import chunk_sizes, drawn_run_sizes

import thence
from thence import batches
from thence.lang.parser import parse_program
from thence.logic.ops import LogicProgram
from thence.model.schema import EventSchema
from thence.model.source import Source

Results = dict[str, set[Row]]
Coverage = Mapping[str, Sequence[tuple[int, int | None]]]
Host = Callable[..., Results]
MICROSECOND = timedelta(microseconds=1)
INFINITY = float("inf")


@lru_cache(maxsize=4)
def compiled(text: str, without: tuple[str, ...] = ()) -> thence.Program:
    """A program. The same one for all hosts that are asked in turn: running it changes nothing."""
    return thence.compile(text, without=without)


@lru_cache(maxsize=4)
def parsed(text: str) -> LogicProgram:
    """What a program says."""
    return parse_program(Source(text))


def oracle(
    text: str,
    events: Sequence[Written],
    until: Until,
    coverage: Coverage | None = None,
) -> Results:
    """The specification itself."""
    program = parsed(text)
    schemas = {schema.name: schema for schema in program.declared}
    given: dict[str, list[tuple[dict[str, Any], int, int]]] = {name: [] for name in schemas}
    for event in events:
        attributes = dict(zip(schemas[event.type].names, event.values, strict=True))
        valid = () if event.valid is None else (event.valid,)
        given[event.type].append((attributes, event.start, event.end, *valid))
    found = meaning(program, given, until, gaps_of(coverage))
    hidden = {rule.event for rule in program.rules if rule.hidden}
    return {name: rows for name, rows in found.items() if name not in hidden}


def gaps_of(coverage: Coverage | None) -> dict[str, list[tuple[float, float]]]:
    """The times over which inputs are not known."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, stretches in (coverage or {}).items():
        ends = [-INFINITY, *(INFINITY if last is None else last for _, last in stretches)]
        starts = [*(first for first, _ in stretches), INFINITY]
        found[name] = [(a + 1, b - 1) for a, b in zip(ends, starts, strict=True) if a < INFINITY]
    return found


def batch(
    text: str,
    events: Sequence[Written],
    until: Until,
    without: Sequence[str] = (),
    emit: Sequence[str] | None = None,
    coverage: Coverage | None = None,
) -> Results:
    """The embedded engine, everything in one go."""
    program = compiled(text, tuple(without))
    given, rows = tables(text, events), facts(text, events)
    return rows_of(program.run(given, until=until, tables=rows, emit=emit, coverage=coverage))


def given_out(
    text: str,
    events: Sequence[Written],
    until: Until,
    coverage: Coverage | None = None,
    rows: int = 2,
    emit: Sequence[str] | None = None,
) -> Results:
    """The embedded engine, results given out in batches of a few rows that are made as few at a
    time."""
    program = compiled(text)
    given, known = tables(text, events), facts(text, events)
    with chunk_sizes(batches, 1):
        found = program.run_batches(
            given, until=until, tables=known, emit=emit, coverage=coverage, batch_rows=rows
        )
        parts: dict[str, list[Any]] = {name: [] for name in found.schemas}
        for name, some in found:
            assert 0 < some.num_rows <= rows
            parts[name].append(some)
    whole = {n: pa.Table.from_batches(some, found.schemas[n]) for n, some in parts.items()}
    return rows_of(whole)


def micro_batches(
    text: str, events: Sequence[Written], until: Until, coverage: Coverage | None = None
) -> Results:
    """A session that is given a few events at a time, shuffled within what it allows."""
    chance = random.Random(len(text))
    return in_a_session(text, events, until, chance, save=False, coverage=coverage)


def saved_and_restored(
    text: str, events: Sequence[Written], until: Until, coverage: Coverage | None = None
) -> Results:
    """A session that is saved to bytes and restored after every push."""
    chance = random.Random(len(text))
    return in_a_session(text, events, until, chance, save=True, coverage=coverage)


def in_a_session(
    text: str,
    events: Sequence[Written],
    until: Until,
    random: random.Random,
    save: bool,
    without: Sequence[str] = (),
    emit: Sequence[str] | None = None,
    coverage: Coverage | None = None,
) -> Results:
    """Push events cut anywhere, or one by one, and out of order by at most ``max_delay``; nothing
    comes twice.
    What is remembered makes runs of a few rows, merged as chance has it.

    A stated end of time is only reached by ``advance``, so ``max_delay`` must then be so long
    that the events alone do not lead past it.
    """
    program = compiled(text, tuple(without))
    rows = facts(text, events)
    events = [event for event in events if not event.is_row]
    delay = random.choice([0, 1, 2_000_000, 10_000_000])
    if until is not None and events:
        ends = until if isinstance(until, Mapping) else {event.type: until for event in events}
        delay = max([delay, *(event.end - ends[event.type] for event in events)])

    def session_of(state: bytes | None) -> thence.Session:
        return program.session(
            delay * MICROSECOND,
            tables=rows,
            state=state,
            allow_unbounded=True,
            emit=emit,
            coverage=coverage if state is None else None,
        )

    session = session_of(None)
    found: Results = {}
    with drawn_run_sizes(random):
        for part in cuts(arrivals(events, delay, random), random):
            if random.random() < 0.25:
                for event, record in records(text, part):
                    collect(found, rows_of(session.push_one(event, record)))
            else:
                collect(found, rows_of(session.push(tables(text, part))))
            if save:
                session = session_of(session.save())
        if isinstance(until, Mapping):
            for name, time in until.items():
                collect(found, rows_of(session.advance(time, name)))
        else:
            last = session.finish() if until is None else session.advance(until)
            collect(found, rows_of(last))
    assert session.late_count == 0, f"{session.late_count} events were late"
    return found


HOSTS: dict[str, Host] = {
    "oracle": oracle,
    "batch": batch,
    "given_out": given_out,
    "micro_batches": micro_batches,
    "saved_and_restored": saved_and_restored,
}


# --- order and cuts of arrival --------------------------------------------------------------------


def arrivals(events: Sequence[Written], delay: int, random: random.Random) -> list[Written]:
    """The events in an order in which none comes too late: by end, each held back a while.

    An event that ends at ``e`` comes before any that ends after ``e + delay``. Rows of tables do
    not arrive.
    """
    timed = [event for event in events if not event.is_row]
    return sorted(timed, key=lambda e: (e.end + random.randint(0, delay), random.random()))


def cuts(events: Sequence[Written], random: random.Random) -> list[Sequence[Written]]:
    """The events in consecutive parts, some of them empty."""
    places = sorted(random.randint(0, len(events)) for _ in range(random.randint(0, 4)))
    return [events[a:b] for a, b in zip([0, *places], [*places, len(events)], strict=True)]


# --- to and from tables ---------------------------------------------------------------------------


def tables(text: str, events: Iterable[Written]) -> dict[str, pa.Table]:
    """The events as one table for each declared type, with the declared column types."""
    schemas = parsed(text).events
    given = list(events)
    return {
        schema.name: table(schema, [event for event in given if event.type == schema.name])
        for schema in schemas
    }


def one_table(text: str, events: Iterable[Written]) -> list[dict[str, Any]]:
    """The events as one table with a column ``type``, in which all inputs come together."""
    return [{"type": event, **record} for event, record in records(text, events)]


def records(text: str, events: Iterable[Written]) -> list[tuple[str, dict[str, Any]]]:
    """The events of declared types, each as a record."""
    schemas = {schema.name: schema for schema in parsed(text).events}
    return [
        (
            event.type,
            {
                **dict(zip(schemas[event.type].names, event.values, strict=True)),
                "start": event.start,
                "end": event.end,
            },
        )
        for event in events
        if event.type in schemas
    ]


def facts(text: str, events: Iterable[Written]) -> dict[str, pa.Table]:
    """The rows of each static table, among what is given."""
    return facts_of(parsed(text).tables, events)


def facts_of(schemas: Iterable[EventSchema], events: Iterable[Written]) -> dict[str, pa.Table]:
    """The rows of some static tables."""
    given = list(events)
    found = {}
    for schema in schemas:
        rows = [row for row in given if row.type == schema.name]
        found[schema.name] = pa.table({**columns(schema, rows), **validity(schema, rows)})
    return found


def validity(schema: EventSchema, rows: Sequence[Written]) -> dict[str, Any]:
    """The columns that say when rows of a table are valid: a side without a bound is null."""
    if schema.valid is None:
        return {}
    bounds = [row.valid or (-INFINITY, INFINITY) for row in rows]
    return {
        column: pa.array([None if abs(each[side]) == INFINITY else each[side] for each in bounds])
        .cast(pa.int64())
        .cast(pa.timestamp("us", "UTC"))
        for side, column in enumerate((schema.valid.since, schema.valid.until))
        if column is not None
    }


def columns(schema: EventSchema, events: Sequence[Written]) -> dict[str, Any]:
    return {
        attribute.name: pa.array([event.values[i] for event in events], attribute.type.arrow)
        for i, attribute in enumerate(schema.attributes)
    }


def table(schema: EventSchema, events: Sequence[Written]) -> pa.Table:
    columns_ = columns(schema, events)
    columns_["start"] = pa.array([event.start for event in events], pa.int64())
    columns_["end"] = pa.array([event.end for event in events], pa.int64())
    return pa.table(columns_)


def rows_of(results: Mapping[str, pa.Table]) -> Results:
    """The rows of results, each of which must be there once."""
    found: Results = {}
    for name, result in results.items():
        rows = []
        for row in result.to_pylist():
            start, end = ((row.pop(side) - EPOCH) // MICROSECOND for side in ("start", "end"))
            rows.append((canonical(tuple(row.values())), start, end))
        found[name] = set(rows)
        assert len(found[name]) == len(rows), f"'{name}' has a row twice: {rows}"
    return found


def collect(found: Results, more: Results) -> None:
    """Add results of one step to those of earlier steps; none may come again."""
    for name, rows in more.items():
        known = found.setdefault(name, set())
        assert not known & rows, f"reported again: {name} {known & rows}"
        known |= rows
