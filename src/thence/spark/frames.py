"""Input DataFrames as rows for Python: only the rows and columns that rules need.

Everything here is a Spark expression: a frame is filtered and projected once, without a function in
Python, and the filter stands directly on what the caller gave, so that Spark can hand it to the
source of the data.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from thence.logic.expr import Call, Expr
from thence.model.errors import InputError
from thence.model.schema import EventSchema
from thence.model.time import EARLIEST, LATEST, format_duration
from thence.model.types import Type
from thence.spark import time_columns as times
from thence.spark.expressions import condition
from thence.spark.frames_sources import Source, read_sources
from thence.spark.row_layout import Layout
from thence.spark.types import Converted, converted, nothing

_KEEP, _CLOCK = "keep", "clock"


@dataclass(frozen=True, slots=True)
class Requested:
    """What a program wants of one declared input event.

    A row is needed if all predicates of one of ``alternatives`` hold: ``((),)`` asks for every
    row, ``()`` for none, for an event that no rule reads and that only moves the clock.
    ``columns`` are the attributes that rules read. ``instants`` says that an event that lasts is
    to be refused, because the state of a stream has a bound only without them.
    """

    schema: EventSchema
    columns: tuple[str, ...]
    alternatives: tuple[tuple[Expr, ...], ...]
    instants: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """The events that were given.

    ``rows`` has the relevant ones: ``event`` (short), ``start`` where events may last, ``end``
    (both microseconds), and the slots. ``times`` has the ``end`` of every declared event, relevant
    or not. ``instants`` are the events that are certain to be instants.
    """

    rows: DataFrame
    layout: Layout
    times: DataFrame
    streaming: bool
    instants: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """One source, with what is to be computed of its rows."""

    source: Source
    requested: tuple[Requested, ...]
    start: Column | None
    end: Column
    attributes: Mapping[str, Mapping[str, Converted]]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The layout, with the types of its slots."""

    layout: Layout
    kinds: Mapping[str, Type]


def read_frames(frames: Any, requested: Sequence[Requested], max_delay_ms: int = 0) -> Input:
    """The relevant rows of some DataFrames, and the times of all.

    ``frames`` is a mapping from event name to DataFrame (or a list of them), or one DataFrame with
    a column ``type``. Streams get a watermark that is ``max_delay_ms`` behind the latest event of
    any declared type. Columns that are missing or have unusable types are refused here; rows that
    have no usable time, or a value that does not fit, when the query runs.
    """
    sources = read_sources(frames, {each.schema.name: each.schema for each in requested})
    parts = [_part(source, requested) for source in sources]
    shape = _shape(parts, requested)
    lasting = {w.schema.name for part in parts if part.start is not None for w in part.requested}
    instants = frozenset(w.schema.name for w in requested if w.schema.name not in lasting)
    if sources[0].frame.isStreaming:
        clocks = dict.fromkeys(source.event for source in sources)
        if None not in clocks and len(clocks) > 1:
            own = tuple(name for name in shape.layout.events if name in clocks)
            shape = replace(shape, layout=replace(shape.layout, clocks=own))
        rows = _streamed(parts, shape, max_delay_ms)
        return Input(rows, shape.layout, rows.select("end"), True, instants)
    read = [part for part in parts if any(each.alternatives for each in part.requested)]
    rows = reduce(DataFrame.union, [_batch(part, shape) for part in read or parts[:1]])
    ends = [_declared(part).select(part.end.alias("end")) for part in parts]
    return Input(rows, shape.layout, reduce(DataFrame.union, ends), False, instants)


def _shape(parts: Sequence[_Part], requested: Sequence[Requested]) -> _Shape:
    kinds: dict[str, Type] = {}
    shared: dict[tuple[str, Type], str] = {}
    slots: dict[str, dict[str, str]] = {}
    for each in requested:
        found = slots.setdefault(each.schema.name, {})
        for name in each.columns:
            kind = _declared_type(each.schema, name)
            found[name] = shared.setdefault((name, kind), f"v{len(shared)}")
            kinds[found[name]] = kind
    points = all(part.start is None for part in parts)
    return _Shape(Layout(tuple(slots), points, slots), kinds)


# -- one source


def _part(source: Source, requested: Sequence[Requested]) -> _Part:
    """What a source's rows become. A problem with one of several events in a frame is one only if
    there are rows of it, so that the message waits until the query meets one."""
    held = tuple(each for each in requested if source.holds(each.schema.name))
    problems: dict[str, str] = {}
    attributes: dict[str, dict[str, Converted]] = {}
    for each in held:
        try:
            attributes[each.schema.name] = _attributes(source, each)
        except InputError as problem:
            if source.event is not None:
                raise
            problems[each.schema.name] = str(problem)
    start, end = _interval(source, held)
    if source.event is None:
        unknown = F.lit(
            f"{source.label}: in some row 'type' is null; it must name the event that the row is."
        )
        wrong = source.name.isNull()
        if problems:
            wrong = wrong | source.name.isin(*problems)
            said = [([event], F.lit(problem)) for event, problem in problems.items()]
            unknown = F.coalesce(source.choose(said), unknown)
        end = F.when(wrong, F.raise_error(unknown)).otherwise(end)
    return _Part(source, held, start, end, attributes)


def _attributes(source: Source, requested: Requested) -> dict[str, Converted]:
    """The columns that rules read of an event, in the declared types."""
    schema = requested.schema
    missing = source.problem(schema)
    if missing is not None:
        raise InputError(missing)
    found = {}
    for name in requested.columns:
        field, declared = source.fields[name], _declared_type(schema, name)
        each = converted(field.column, field.kind, declared, name, source.place)
        if each is None:
            raise InputError(
                f"{source.label}: event '{schema.name}', column '{name}' holds "
                f"{field.kind.simpleString()} where {declared} is declared (declare '{name}' with "
                "another type, or convert the column first)."
            )
        found[name] = each
    return found


def _interval(source: Source, held: Sequence[Requested]) -> tuple[Column | None, Column]:
    """Start and checked end of a source's rows; no start where all are instants."""
    fields = source.fields
    bounds = [name for name in ("end", "start") if name in fields]
    if len(bounds) == 1:
        given = " and ".join(f"'{n}'" for n in (*bounds, "time") if n in fields)
        raise InputError(
            f"{source.label}: {_events(held)} has {given} for its time. "
            "Give 'time' alone, or both 'start' and 'end'."
        )
    if not bounds:
        if "time" not in fields:
            have = ", ".join(f"'{name}'" for name in sorted(fields)) or "none"
            raise InputError(
                f"{source.label}: {_events(held)} has no column 'time', nor 'start' and 'end'. "
                f"Its columns are: {have}."
            )
        return None, times.checked_instant(_micros(source, "time"), "time", source.place)
    start, end = _micros(source, "start"), _micros(source, "end")
    missing = "'start' or 'end' is"
    if "time" in fields:
        start, end = times.merged(_micros(source, "time"), start, end, source.place)
        missing = "'time', or 'start' or 'end', is"
    checked = times.checked_end(start, end, _limit(source, held), missing, source.place)
    return (None if all(each.instants for each in held) else start), checked


def _micros(source: Source, name: str) -> Column:
    field = source.fields[name]
    found = times.micros(field.column, field.kind, name, source.place)
    if found is None:
        raise InputError(
            f"{source.label}: column '{name}' holds {field.kind.simpleString()} where a time is "
            f"asked for: {times.TIMES_IN_WORDS}."
        )
    return found


def _limit(source: Source, held: Sequence[Requested]) -> times.Limit | None:
    """How long the events of a source may last."""
    longest: list[tuple[list[str], Column]] = []
    messages: list[tuple[list[str], Column]] = []
    for each in held:
        name, most = each.schema.name, each.schema.longest
        if each.instants:
            most = 0
            message = (
                f"but this program's state has a bound only if '{name}' events are instants; say "
                f"how long one may last: event {name}(…) within <duration>;"
            )
        elif most is not None:
            message = f"and the program declares at most {format_duration(most)}."
        else:
            continue
        longest.append(([name], F.lit(min(most, LATEST - EARLIEST)).cast("bigint")))
        messages.append(([name], F.lit(message)))
    if not longest:
        return None
    anything = F.lit(LATEST - EARLIEST)
    return times.Limit(F.coalesce(source.choose(longest), anything), source.choose(messages))


# -- rows


def _batch(part: _Part, shape: _Shape) -> DataFrame:
    needed = _needed(part)
    frame = part.source.frame
    readers = [each for each in part.requested if each.alternatives]
    return _projected(part, shape, frame if needed is None else frame.where(needed), readers)


def _declared(part: _Part) -> DataFrame:
    """The rows of declared events; one that says no type stays, for the query to fail on it."""
    source = part.source
    if source.event is not None:
        return source.frame
    declared = source.name.isin(*(each.schema.name for each in part.requested))
    return source.frame.where(declared | source.name.isNull())


def _streamed(parts: Sequence[_Part], shape: _Shape, max_delay_ms: int) -> DataFrame:
    """All declared events move the watermark; only then are the irrelevant ones dropped. Where
    inputs have clocks of their own they are not: their times are still to be read.

    The filter mentions the watermark's column, with a condition that is never true, because Spark
    would otherwise move it below the watermark.
    """
    frames = []
    for part in parts:
        needed = _needed(part)
        keep = F.lit(True) if needed is None else F.coalesce(needed, F.lit(False))
        frame = _projected(part, shape, _declared(part), part.requested, keep.alias(_KEEP))
        frames.append(_clocked(part, shape, frame) if shape.layout.clocks else frame)
    marked = (
        reduce(DataFrame.union, frames)
        .withColumn(_CLOCK, F.timestamp_micros(F.col("end")))
        .withWatermark(_CLOCK, f"{max_delay_ms} milliseconds")
    )
    if not shape.layout.clocks:
        never = F.col(_CLOCK) < F.timestamp_micros(F.lit(EARLIEST))
        marked = marked.where(F.col(_KEEP) | never)
    return marked.drop(_KEEP, _CLOCK)


def _clocked(part: _Part, shape: _Shape, frame: DataFrame) -> DataFrame:
    """Rows of one event, of which those that no rule can use are there for their times alone."""
    events, kept = shape.layout.events, F.col(_KEEP)
    assert part.source.event is not None
    clock = F.lit(len(events) + events.index(part.source.event)).cast("short")
    shown = {
        "event": F.coalesce(F.when(kept, F.col("event")), clock),
        **{slot: F.when(kept, F.col(slot)) for slot in shape.kinds},
    }
    columns = [shown.get(name, F.col(name)).alias(name) for name in frame.columns]
    return frame.select(*columns)


def _projected(
    part: _Part, shape: _Shape, frame: DataFrame, present: Sequence[Requested], *more: Column
) -> DataFrame:
    """Rows in their layout. ``present`` are the events that the frame's rows can still be; one that
    no rule reads has no number, since its rows go no further."""
    source, layout = part.source, shape.layout
    read = [each.schema.name for each in present if each.alternatives]
    numbers = [([name], F.lit(layout.events.index(name)).cast("short")) for name in read]
    columns = [source.choose(numbers).cast("short").alias("event")]
    if not layout.points:
        columns.append((part.end if part.start is None else part.start).alias("start"))
    columns.append(part.end.alias("end"))
    slots = [
        _slot(part, layout, slot, kind, present).alias(slot) for slot, kind in shape.kinds.items()
    ]
    return frame.select(*columns, *more, *slots)


def _slot(
    part: _Part, layout: Layout, slot: str, kind: Type, present: Sequence[Requested]
) -> Column:
    users = {
        event: found.value
        for event, attributes in part.attributes.items()
        for name, found in attributes.items()
        if layout.slots[event][name] == slot
    }
    if not users:
        return nothing(kind)
    # Events that share a slot have the same column in it, converted in the same way.
    value = next(iter(users.values()))
    if all(each.schema.name in users for each in present):
        return value
    return part.source.choose([(tuple(users), value)])


def _needed(part: _Part) -> Column | None:
    """The filter of a source: rows that some rule needs, and those on which the query must fail.
    None where every row is needed."""
    source = part.source
    if source.event is not None:
        return _condition(part, part.requested[0])
    # A row that says no type stays, for the query to fail on it.
    needed = source.name.isNull()
    some: list[Column] = []
    whole: list[str] = []
    for each in part.requested:
        found = _condition(part, each)
        if found is None:
            whole.append(each.schema.name)
        elif each.alternatives:
            some.append((source.name == F.lit(each.schema.name)) & found)
    events = [each.schema.name for each in part.requested if each.alternatives]
    # The events alone come first: that much a source of data understands, whatever else is said.
    known = source.name.isin(*events) | needed
    if not some:
        return known
    needed = source.name.isin(*whole) | needed if whole else needed
    return known & reduce(operator.or_, some, needed)


def _condition(part: _Part, requested: Requested) -> Column | None:
    """What Spark can say about which rows of an event rules need; None where it may be all."""
    if not requested.alternatives:
        return F.lit(False)
    name = requested.schema.name
    attributes = {
        attribute: found.bare
        for attribute, found in part.attributes.get(name, {}).items()
        if found.bare is not None
    }
    types = {attribute.name: attribute.type for attribute in requested.schema.attributes}
    # Reading a start goes through the checked end, so that no row without a time is filtered out.
    end = part.end
    start = end if part.start is None else F.when(end.isNotNull(), part.start)
    found: Column | None = None
    for predicates in requested.alternatives:
        every = Call("and", predicates) if len(predicates) > 1 else next(iter(predicates), None)
        one = None if every is None else condition(every, attributes, types, start, end)
        if one is None:
            return None
        found = one if found is None else found | one
    return found


def _events(held: Sequence[Requested]) -> str:
    names = ", ".join(f"'{each.schema.name}'" for each in held)
    return f"event {names}" if len(held) == 1 else f"every one of the events {names}"


def _declared_type(schema: EventSchema, name: str) -> Type:
    found = schema.type_of(name)
    assert found is not None
    return found
