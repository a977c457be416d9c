"""``detect``: a program over DataFrames, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from thence.engine.limits.growth import limits
from thence.model.errors import InputError
from thence.model.instants import instant, length
from thence.program import Program
from thence.spark.batch import batch_job
from thence.spark.facts import given_tables, refuse_tables
from thence.spark.frames import read_frames
from thence.spark.output import make_output
from thence.spark.pushdown import requested
from thence.spark.shards import check_shards
from thence.spark.stream import stream_job, stream_needs


def detect(
    program: Program,
    frames: Any,
    emit: Any = None,
    *,
    tables: Any = None,
    until: Any = None,
    max_delay: Any = None,
    lineage: bool = False,
    shards: int | None = None,
    late: bool = False,
    allow_unbounded: bool = False,
    name: str = "thence",
    memory_limit: Any = None,
    max_matches: int | None = None,
) -> DataFrame:
    """Find every derived event in DataFrames of events, as a DataFrame.

    ``frames`` maps event names to DataFrames, or is one DataFrame with a column ``type``; all of
    them batch, or all streaming. Times are in a column ``time``, or in ``start`` and ``end``.

    ``tables`` maps the names of the program's static tables to batch DataFrames, or to whatever a
    program's ``run`` takes. They are read when ``detect`` is called, and again when a stream is
    started anew; a change in between is not seen.

    With one name as ``emit``, the result has that event's attributes, ``start`` and ``end``. With
    several names, or without, it has all those events: a column ``type``, all their attributes,
    ``start`` and ``end``. ``lineage`` adds a column that names the base events behind each result.

    In a batch, ``until`` is the time up to which everything has been seen; without it, the latest
    event time. In a stream that is the watermark, which stays ``max_delay`` behind the latest
    event; a batch has no use for ``max_delay`` and ignores it. Events that come later still are
    counted in the query's progress, in the observed metrics called ``name``, together with
    ``results``, ``state_rows`` and ``state_bytes``. With ``late``, they are also part of the
    result, marked in a column ``late``. A program whose state has no bound is refused in a stream
    unless ``allow_unbounded`` is set.

    ``shards`` is over how many shards the work is spread. ``memory_limit`` and ``max_matches``
    bound what each task may take, as they do in a program's ``run``; without a limit it is a share
    of what is free on its machine, divided by the cores there. Nothing is computed until the
    result is used.
    """
    if not isinstance(program, Program):
        raise InputError(
            f"detect: the program must come from thence.compile or thence.load, not be a "
            f"{type(program).__name__}"
        )
    check_shards(shards)
    bounds = limits(memory_limit, max_matches, alone=False)
    names = program._emitted(emit)
    if not names:
        raise InputError("the program derives no event, so there is nothing to detect")
    plan = program.plan_for(names, lineage)
    part = plan.part(plan.stages, names)
    refuse_tables(program, frames)
    facts = given_tables(program, part, tables, lineage)
    streaming = is_streaming(frames)
    single = isinstance(emit, str)
    if streaming:
        if until is not None:
            raise InputError(
                "until: a stream has no end; its watermark says up to when everything has been seen"
            )
        needs = stream_needs(plan, allow_unbounded)
        delay = 0 if max_delay is None else length(max_delay, "max_delay")
        given = read_frames(
            frames, requested(plan, part, lineage or late, needs.instants), -(-delay // 1000)
        )
        output = make_output(
            plan.schemas, names, single, sorted(part.base) if late else (), lineage
        )
        return stream_job(
            plan, needs, given, names, output, shards, lineage, late, name, facts, bounds
        )
    if late:
        raise InputError("late: a batch has all its events, so none of them is late")
    horizon = None if until is None else instant(until, "until")
    given = read_frames(frames, requested(plan, part, lineage))
    output = make_output(plan.schemas, names, single, (), lineage)
    return batch_job(plan, given, names, output, shards, lineage, horizon, facts, bounds)


def is_streaming(frames: Any) -> bool:
    """Whether DataFrames are streams; the first one tells, since all have to be alike."""
    while isinstance(frames, (Mapping, list, tuple)):
        values = list(frames.values() if isinstance(frames, Mapping) else frames)
        if not values:
            return False
        frames = values[0]
    return bool(getattr(frames, "isStreaming", False))
