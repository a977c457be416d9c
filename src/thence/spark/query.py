"""``detect``: a program over DataFrames, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from thence.engine.limits.growth import limits
from thence.input_times import delays_of, gaps_of, horizons_until
from thence.model.errors import InputError
from thence.model.instants import instant, length
from thence.plan.horizons import NEVER
from thence.plan.make import PROGRESS
from thence.program import Program
from thence.spark.batch import Known, batch_job
from thence.spark.facts import fetched_tables, given_tables, refuse_tables
from thence.spark.frames import read_frames
from thence.spark.generations import (
    Replaced,
    lineup,
    program_of,
    stream_chains,
    stream_requests,
)
from thence.spark.output import make_output
from thence.spark.progress import Asked, progress_output
from thence.spark.pushdown import requested, requested_together
from thence.spark.shards import check_shards, stream_partitions
from thence.spark.stream import Timing, stream_job


def detect(
    program: Program | Replaced,
    frames: Any,
    emit: Any = None,
    *,
    tables: Any = None,
    until: Any = None,
    coverage: Any = None,
    max_delay: Any = None,
    idle_after: Any = None,
    lineage: bool = False,
    shards: int | None = None,
    late: bool = False,
    allow_unbounded: bool = False,
    progress: bool = False,
    name: str = "thence",
    memory_limit: Any = None,
    max_matches: int | None = None,
) -> DataFrame:
    """Find every derived event in DataFrames of events, as a DataFrame.

    ``frames`` maps event names to DataFrames, or is one DataFrame with a column ``type``; all of
    them batch, or all streaming. Times are in a column ``time``, or in ``start`` and ``end``.

    ``tables`` maps the names of the program's static tables to batch DataFrames, or to whatever a
    program's ``run`` takes; what is not given is where the program says. They are read when
    ``detect`` is called, and again when a stream is started anew; a change in between is not seen.

    With one name as ``emit``, the result has that event's attributes, ``start`` and ``end``. With
    several names, or without, it has all those events: a column ``type``, all their attributes,
    ``start`` and ``end``. ``lineage`` adds a column that names the base events behind each result.

    In a batch, ``until`` is the time up to which everything has been seen, or a mapping from
    inputs to such times; without it, the latest event time. ``coverage`` are the times over which
    inputs are known, as in a program's ``run``. In a stream every input that has DataFrames of
    its own has a horizon of its own, which stays ``max_delay`` behind its latest event;
    ``max_delay`` may be a mapping from inputs to durations. One DataFrame with a column ``type``
    has Spark's watermark for all inputs. With ``idle_after`` (a duration), an input with DataFrames
    of its own that has brought nothing for so long, by the wall clock, while others went on, no
    longer holds anything up. A batch has no use for the two and ignores them.
    Events that come later still are counted in the query's progress, in the observed metrics
    called ``name``, together with ``results``, ``state_rows``, ``state_bytes``, ``state_written``
    and ``idle``. With ``late``, they are also part of the result, marked in a column ``late``.
    A program whose state has no bound is refused in a stream unless ``allow_unbounded`` is set.

    ``shards`` is over how many shards the work is spread. ``memory_limit`` and ``max_matches``
    bound what each task may take, as they do in a program's ``run``; without a limit it is a share
    of what is free on its machine, divided by the cores there. Nothing is computed until the
    result is used.

    With ``progress``, a stream tells how far along its rules are instead of what they give: in
    every trigger the rows of :meth:`Session.progress`, lists as JSON, and the horizon ``at`` which
    that was so.

    A stream that goes on from its checkpoint with another program may be given both, as
    :func:`replaced` puts them together: equal rules then go on, and new ones begin.
    """
    if not isinstance(program, Program | Replaced):
        raise InputError(
            f"detect: the program must come from thence.compile or thence.load, not be a "
            f"{type(program).__name__}"
        )
    if progress:
        program = _asked(program, is_streaming(frames), lineage or late)
    given_program, program = program, program_of(program)
    check_shards(shards)
    bounds = limits(memory_limit, max_matches, alone=False)
    names = program._emitted(emit)
    if not names:
        raise InputError("the program derives no event, so there is nothing to detect")
    plan = program.plan_for(names, lineage)
    refuse_tables(program, frames)
    quiet = None if idle_after is None else length(idle_after, "idle_after")
    gaps = gaps_of(coverage, plan.inputs)
    single = isinstance(emit, str)
    if is_streaming(frames):
        if until is not None:
            raise InputError(
                "until: a stream has no end; its watermark says up to when everything has been seen"
            )
        lined = lineup(given_program, names, lineage)
        parts = [generation.part for generation in lined.generations]
        asked = [
            stream_requests(generation, lineage or late, allow_unbounded)
            for generation in lined.generations
        ]
        delays = delays_of(max_delay, plan.inputs)
        behind = -(-max(delays.values(), default=0) // 1000)
        given = read_frames(frames, requested_together(program.events, asked), behind)
        fetched = fetched_tables(program, parts, tables, given.rows.sparkSession)
        facts = [given_tables(program, part, fetched, lineage) for part in parts]
        if isinstance(max_delay, Mapping) and not given.layout.clocks:
            raise InputError(
                "max_delay: only inputs that have DataFrames of their own may come late by "
                "different times; here all come in one, so give one duration"
            )
        if quiet is not None and not given.layout.clocks:
            raise InputError(
                "idle_after: an input can be idle only beside others that go on; here all come in "
                "one DataFrame: give each input a DataFrame of its own (--source NAME=…), or leave "
                "idle_after out"
            )
        read = sorted({event for part in parts for event in part.base})
        output = make_output(plan.schemas, names, single, read if late else (), lineage)
        asked_of = None
        if progress:
            output = progress_output(plan.schemas, names)
            asked_of = Asked(names, plan.assumed_lengths)
        own = {name: delays[name] for name in given.layout.clocks} or None
        count = shards or stream_partitions(given.rows.sparkSession)
        chains = stream_chains(lined, count, lineage, late, allow_unbounded)
        timing = Timing(own, gaps, behind, quiet)
        return stream_job(chains, given, output, name, facts, bounds, timing, asked_of)
    if late:
        raise InputError("late: a batch has all its events, so none of them is late")
    if given_program is not program:
        raise InputError(
            "replaced: one program takes the place of another on a stream; a batch has one program"
        )
    part = plan.part(plan.stages, names)
    if isinstance(until, Mapping):
        said = horizons_until(until, NEVER, plan.inputs)
        known = Known(None, {name: said[name] for name in until}, gaps)
    else:
        known = Known(None if until is None else instant(until, "until"), {}, gaps)
    given = read_frames(frames, requested(plan, part, lineage))
    fetched = fetched_tables(program, [part], tables, given.rows.sparkSession)
    rows_of_tables = given_tables(program, part, fetched, lineage)
    output = make_output(plan.schemas, names, single, (), lineage)
    return batch_job(plan, given, names, output, shards, lineage, known, rows_of_tables, bounds)


def _asked(program: Program | Replaced, streaming: bool, more: bool) -> Program:
    """A program that remembers what progress is told from."""
    if not streaming or more or not isinstance(program, Program):
        raise InputError(
            "progress: a stream tells it, of one program, and neither lineage nor late events with "
            "it; what is open at the end of files is told by thence progress"
        )
    off = PROGRESS.union(program.without)
    return Program(program._checked.program, program._name, without=off)


def is_streaming(frames: Any) -> bool:
    """Whether DataFrames are streams; the first one tells, since all have to be alike."""
    while isinstance(frames, (Mapping, list, tuple)):
        values = list(frames.values() if isinstance(frames, Mapping) else frames)
        if not values:
            return False
        frames = values[0]
    return bool(getattr(frames, "isStreaming", False))
