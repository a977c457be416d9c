"""``thence stream``: a program over events as they come, from a source to a sink."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from thence.cli.common import (
    Emit,
    File,
    Format,
    Formulas,
    Lineage,
    Master,
    MaxMatches,
    MemoryLimit,
    Packages,
    Settings,
    Shards,
    Tables,
    duration,
    emitted,
    formulas_in,
    load_program,
    memory,
    need_spark,
    one_of,
    parse_tables,
    spark_settings,
)
from thence.cli.exits import INTERRUPTED, refuse, told


class SourceFormat(StrEnum):
    """What the files of a source are."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


def stream(
    file: File,
    source: Annotated[
        list[str],
        typer.Option(
            metavar="SOURCE...",
            help="A folder to which files are added (files:DIR, or DIR alone), kafka:SERVERS/TOPIC,"
            " or rate:N for N made-up events a second. Rows have a column 'type', or NAME=SOURCE "
            "says which event they are.",
        ),
    ],
    sink: Annotated[
        str,
        typer.Option(
            metavar="SINK", help="files:DIR (or DIR alone), kafka:SERVERS/TOPIC, console."
        ),
    ] = "console",
    format: Annotated[  # noqa: A002
        Format | None,
        typer.Option(**one_of(Format), help="The format of files that are written; else Parquet."),
    ] = None,
    csv_formulas: Formulas = None,
    source_format: Annotated[
        SourceFormat | None,
        typer.Option(
            **one_of(SourceFormat),
            help="The format of files that are read, where none is there to tell.",
        ),
    ] = None,
    max_delay: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How far out of order events may come ('10 min')."),
    ] = "0 s",
    late: Annotated[
        str | None,
        typer.Option(metavar="DIR|console", help="Write the events that came too late there."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where a restart goes on from; else beside the sink."),
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Take what is there, and end.")
    ] = False,
    trigger: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="A batch so often ('1 s'); else one after another."),
    ] = None,
    max_files_per_trigger: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most N new files in a batch.")
    ] = None,
    table: Tables = None,
    emit: Emit = None,
    lineage: Lineage = False,
    allow_unbounded: Annotated[
        bool,
        typer.Option("--allow-unbounded", help="Run even if what is remembered has no bound."),
    ] = False,
    shards: Shards = None,
    master: Master = None,
    conf: Settings = None,
    packages: Packages = None,
    memory_limit: MemoryLimit = None,
    max_matches: MaxMatches = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress lines.")] = False,
) -> None:
    """Run a program over events as they come, until it is stopped with Ctrl-C.

    Examples:

    thence stream rules.thence --source incoming --sink found --max-delay '10 min'

    thence stream rules.thence --source order=orders/ shipped=ships/ --sink console --available-now

    thence stream rules.thence --source kafka:host:9092/orders --sink kafka:host:9092/overdue
    """
    with told():
        delay = duration(max_delay, "--max-delay")
        interval = None if trigger is None else duration(trigger, "--trigger")
        if available_now and trigger is not None:
            raise refuse("--available-now takes what is there at once: leave --trigger out.")
        program = load_program(file)
        names = emitted(program, emit)
        settings = spark_settings(conf, packages)

        need_spark()
        from thence.cli.spark_stream import Asked, Running, Writing, run_stream
        from thence.spark.stream_sources import Reading

        asked = Asked(
            names=names,
            alone=emit is not None and len(names) == 1,
            sources=tuple(source),
            reading=Reading(
                None if source_format is None else _kind(source_format), max_files_per_trigger
            ),
            tables=parse_tables(program, table),
            writing=Writing(
                sink,
                late,
                "parquet" if format is None else _kind(format),
                formulas_in(csv_formulas, format is Format.csv),
            ),
            running=Running(checkpoint, available_now, interval, quiet),
            max_delay=delay,
            lineage=lineage,
            allow_unbounded=allow_unbounded,
            shards=shards,
            memory_limit=memory(memory_limit),
            max_matches=max_matches,
        )
        if not run_stream(program, asked, master, settings):
            raise typer.Exit(INTERRUPTED)


def _kind(chosen: Format | SourceFormat) -> str:
    return "jsonl" if chosen == "json" else str(chosen)
