"""``thence stream`` on Spark: opens the sources, starts the query, and tells how it goes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.cli.common import NOTHING_DONE, Doing
from thence.cli.show import send, show_results
from thence.cli.signals import patient
from thence.cli.spark_run import doing, explained_as_files
from thence.io.files import is_address
from thence.io.render import Formulas, json_text
from thence.io.temporary import temporary_folder
from thence.io.write import make_folder
from thence.model.errors import InputError
from thence.program import Program
from thence.spark.facts import check_tables, refuse_tables
from thence.spark.generations import Replaced, program_of
from thence.spark.query import detect
from thence.spark.query_progress import Totals, new_batches
from thence.spark.reactions import react
from thence.spark.restart import check_restart
from thence.spark.sessions import session
from thence.spark.sinks import Columns, Folder, Sink, parse_sink, to_kafka
from thence.spark.stream_sources import (
    Reading,
    check_folder,
    check_kafka,
    open_sources,
    parse_source,
)

_LOOK = 0.3
"""Seconds between two looks at a query."""

Writer = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True)
class Writing:
    """Where results go, and late events if they are asked for; and what files look like."""

    sink: str
    late: str | None
    format: str
    formulas: Formulas


@dataclass(frozen=True, slots=True)
class Running:
    """From where and how often, and whether it is told how it goes."""

    checkpoint: str | None
    available_now: bool
    trigger: int | None
    quiet: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a stream was asked for; durations are in microseconds.

    ``alone`` says that results are rows of one event, without a column ``type``.
    """

    names: list[str]
    alone: bool
    sources: tuple[str, ...]
    reading: Reading
    tables: Mapping[str, list[str]]
    writing: Writing
    running: Running
    max_delay: int | Mapping[str, int]
    idle_after: int | None
    lineage: bool
    allow_unbounded: bool
    shards: int | None
    memory_limit: int | str | None = None
    max_matches: int | None = None
    doing: Doing = NOTHING_DONE


def run_stream(
    given_program: Program | Replaced,
    asked: Asked,
    master: str | None,
    settings: Mapping[str, str],
) -> bool:
    """Run a stream to its end; False if it was interrupted."""
    program = program_of(given_program)
    sources = [parse_source(text) for text in asked.sources]
    sink = parse_sink(asked.writing.sink)
    late = None if asked.writing.late is None else parse_sink(asked.writing.late, "--late")
    if late is not None and late.kind == "kafka":
        raise InputError("--late: late events go to a folder or to the console.")
    if late is not None and late.kind == sink.kind == "files" and _same(late.where, sink.where):
        raise InputError("--late: late events need a folder of their own, beside that of --sink.")
    for source in sources:
        check_folder(source)
    checkpoint = _checkpoint(asked, sink)
    refuse_tables(program, {source.event: source for source in sources})
    check_tables(program, asked.names, asked.tables)
    with doing("starting Spark"):
        spark = session(master, **settings)
    with explained_as_files() as name_files:
        schemas = {each.name: each for each in program.events}
        given = open_sources(spark, schemas, sources, asked.reading)
        name_files(given)
        emit = asked.names[0] if asked.alone and late is None else asked.names
        options: dict[str, Any] = {
            "lineage": asked.lineage,
            "shards": asked.shards,
            "late": late is not None,
            "allow_unbounded": asked.allow_unbounded,
        }
        frame = detect(
            given_program,
            given.frames,
            emit,
            tables=asked.tables,
            max_delay=asked.max_delay,
            idle_after=asked.idle_after,
            memory_limit=asked.memory_limit,
            max_matches=asked.max_matches,
            **options,
        )
        if sink.kind == "kafka":
            check_kafka(spark, sink.where)
        gone = threading.Event()
        write = _writer(program, asked, sink, late, checkpoint, gone)
        if not is_address(checkpoint):
            delay = asked.max_delay
            check_restart(checkpoint, given_program, emit, spark=spark, max_delay=delay, **options)
        query = _start(frame, write, checkpoint, asked)
        return _watch(query, gone, asked.running.quiet, _restart(asked, sink, checkpoint))


def _same(one: str, other: str) -> bool:
    if is_address(one) or is_address(other):
        return one.rstrip("/") == other.rstrip("/")
    return Path(one).resolve() == Path(other).resolve()


def _checkpoint(asked: Asked, sink: Sink) -> str:
    """Where the query keeps what it needs to go on after a restart."""
    if asked.running.checkpoint is not None:
        given = asked.running.checkpoint
        return given if is_address(given) else str(Path(given).absolute())
    if sink.kind == "files":
        if is_address(sink.where):
            return sink.where.rstrip("/") + ".checkpoint"
        return str(Path(sink.where).absolute()) + ".checkpoint"
    return str(temporary_folder("thence-checkpoint-"))


def _restart(asked: Asked, sink: Sink, checkpoint: str) -> str:
    """What happens when the same command is given again."""
    if asked.running.checkpoint is None and sink.kind != "files":
        return "started again, it begins anew (--checkpoint DIR lets it go on)"
    return f"started again, it goes on from {checkpoint}"


# -- where results go


def _writer(
    program: Program,
    asked: Asked,
    sink: Sink,
    late: Sink | None,
    checkpoint: str,
    gone: threading.Event,
) -> Writer:
    """What writes a batch; it sets ``gone`` when whoever reads standard output has left."""
    columns = _columns(program, asked, late is not None)
    writers = [_writer_to(sink, asked, columns, checkpoint, gone)]
    if late is not None:
        of_results, of_late = writers[0], _writer_to(late, asked, columns, checkpoint, gone)
        writers = [
            lambda frame, batch: of_results(frame.where(~F.col("late")).drop("late"), batch),
            lambda frame, batch: of_late(frame.where(F.col("late")).drop("late"), batch),
        ]
    if asked.doing.actions is not False:
        event = asked.names[0] if columns is None else None
        actions, delivery = asked.doing
        writers.append(
            lambda frame, _: react(program, frame, event, actions=actions, delivery=delivery)
        )
    if len(writers) == 1:
        return writers[0]

    def all_of_them(frame: DataFrame, batch: int) -> None:
        # The batch is computed once, and read by each.
        kept = frame.persist()
        try:
            for write in writers:
                write(kept, batch)
        finally:
            kept.unpersist()

    return all_of_them


def _columns(program: Program, asked: Asked, late: bool) -> Columns | None:
    """The columns of each event, where rows are of several."""
    if asked.alone and not late:
        return None
    last = ("start", "end", *(["lineage"] if asked.lineage else []))
    results = [each for each in program.derived if each.name in asked.names]
    return {
        each.name: (*each.names, *last) for each in (*results, *(program.events if late else ()))
    }


def _writer_to(
    sink: Sink, asked: Asked, columns: Columns | None, checkpoint: str, gone: threading.Event
) -> Writer:
    if sink.kind == "console":
        return _console(columns, asked.names[0], gone)
    if sink.kind == "kafka":
        return lambda frame, _: to_kafka(frame, sink.where, columns)
    folder = Folder(sink.where, asked.writing.format, columns, asked.writing.formulas)
    folder.check_unused(checkpoint)
    if not is_address(sink.where):
        make_folder(Path(sink.where))
    return folder.write


def _console(columns: Columns | None, event: str, gone: threading.Event) -> Writer:
    """Results on standard output: tables on a terminal, JSON lines in a pipe."""

    def write(frame: DataFrame, _: int) -> None:
        table = frame.toArrow()
        if columns is None:
            tables = {event: table}
        else:
            kinds = table.column("type").to_pylist()
            tables = {
                name: table.filter([kind == name for kind in kinds]).select(list(chosen))
                for name, chosen in columns.items()
                if name in kinds
            }
        if sys.stdout.isatty():
            show_results({name: found for name, found in tables.items() if found.num_rows}, None)
            return
        try:
            for name, found in tables.items():
                send(json_text(found.sort_by("start"), name))
            sys.stdout.flush()
        except BrokenPipeError:
            gone.set()

    return write


# -- the query


def _start(frame: DataFrame, write: Writer, checkpoint: str, asked: Asked) -> Any:
    writer = frame.writeStream.outputMode("append").queryName("thence")
    writer = writer.option("checkpointLocation", checkpoint).foreachBatch(write)
    if asked.running.available_now:
        writer = writer.trigger(availableNow=True)
    elif asked.running.trigger is not None:
        milliseconds = max(1, asked.running.trigger // 1000)
        writer = writer.trigger(processingTime=f"{milliseconds} milliseconds")
    return writer.start()


def _watch(query: Any, gone: threading.Event, quiet: bool, restart: str) -> bool:
    """Tell of each batch until the query ends; False if it was interrupted."""
    totals, last = Totals(), -1
    with interruptible() as interrupted, _stopped_by_a_signal(query):
        while query.isActive and not interrupted.wait(_LOOK) and not gone.is_set():
            totals, last = _tell_batches(query, totals, last, quiet)
        if gone.is_set():
            query.stop()
            raise BrokenPipeError
        stopped = interrupted.is_set() and query.isActive
        if stopped:
            query.stop()
        else:
            query.awaitTermination()  # raises what the query failed with
        totals, last = _tell_batches(query, totals, last, quiet)
    if not quiet:
        _tell(f"{'stopped' if stopped else 'done'}: {totals}; {restart}")
    return not stopped


@contextmanager
def _stopped_by_a_signal(query: Any) -> Iterator[None]:
    """Stop a query before a signal ends the process: a thread that still wrote its results when
    Python shuts down would make it abort."""
    try:
        yield
    except SystemExit:
        query.stop()
        raise


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C. A second Ctrl-C ends the process as usual.

    The usual way, an exception, would come out in the middle of a call to Spark.
    """
    interrupted = threading.Event()

    def interrupt(number: int, frame: Any) -> None:
        if interrupted.is_set():
            signal.default_int_handler(number, frame)
        interrupted.set()

    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread gets signals
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with patient():
            yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _tell_batches(query: Any, totals: Totals, last: int, quiet: bool) -> tuple[Totals, int]:
    for batch in new_batches(query, last):
        totals, last = totals.plus(batch), batch.number
        if not (quiet or batch.empty):
            _tell(str(batch))
    return totals, last


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
