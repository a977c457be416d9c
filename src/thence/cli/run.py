"""``thence run``: a program over files that are complete."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.common import (
    Acting,
    ActionsOption,
    DeadLetters,
    Emit,
    File,
    Format,
    Formulas,
    Lineage,
    Master,
    MaxMatches,
    MemoryLimit,
    Settings,
    Shards,
    Tables,
    emitted,
    files_of_tables,
    formulas_in,
    instant,
    load_program,
    memory,
    need_spark,
    one_of,
    parse_tables,
    reactions,
    spark_settings,
)
from thence.cli.deliver import Asked, deliver, refuse_input, say_written, write_batches
from thence.cli.exits import FOUND, refuse, told, warnings_said

if TYPE_CHECKING:
    from thence.cli.event_arguments import Sources
    from thence.program import Program


class Engine(StrEnum):
    """Where a program runs."""

    spark = "spark"
    embedded = "embedded"


def run(
    file: File,
    events: Annotated[
        list[str],
        typer.Option(
            metavar="PATH...",
            help="Events: Parquet, CSV or JSON lines; files, directories or patterns with a column "
            "'type', or NAME=PATH for one event's.",
        ),
    ],
    engine: Annotated[
        Engine,
        typer.Option(
            **one_of(Engine),
            help="Spark, or this process: embedded starts at once, for smaller files.",
        ),
    ] = Engine.spark,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A file, or a directory with files of each event."),
    ] = None,
    format: Annotated[  # noqa: A002
        Format | None,
        typer.Option(**one_of(Format), help="The format of --out, or of standard output."),
    ] = None,
    csv_formulas: Formulas = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Every event up to this time is there (ISO 8601)."),
    ] = None,
    table: Tables = None,
    emit: Emit = None,
    lineage: Lineage = False,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="At most N results of each event.")
    ] = None,
    fail_if_found: Annotated[
        bool, typer.Option("--fail-if-found", help="Exit with 4 if there is any result.")
    ] = False,
    master: Master = None,
    conf: Settings = None,
    shards: Shards = None,
    memory_limit: MemoryLimit = None,
    max_matches: MaxMatches = None,
    actions: ActionsOption = Acting.run,
    dead_letters: DeadLetters = Path("dead-letters.jsonl"),
) -> None:
    """Run a program over files of events, and show or write what it finds.

    Examples:

    thence run rules.thence --events events.parquet

    thence run rules.thence --events order=orders.csv shipped=ships.jsonl --out found

    thence run rules.thence --events 'logs/*.jsonl' --engine embedded --fail-if-found

    thence run rules.thence --events events.parquet --table catalogue=books.csv
    """
    with told():
        from thence.cli.event_arguments import parse_sources, paths_in
        from thence.io.files import is_address

        if out is None and format is Format.parquet:
            raise refuse("--format parquet needs a file: add --out PATH.")
        if engine is Engine.embedded:
            _refuse_settings({"--master": master, "--conf": conf, "--shards": shards})
        horizon = None if until is None else instant(until, "--until")
        program = load_program(file)
        names = emitted(program, emit)
        if out is None and format is Format.csv and len(names) > 1:
            known = ", ".join(names)
            raise refuse(f"CSV on standard output is one event's: add --emit, one of {known}.")
        as_csv = format is Format.csv or (out is not None and out.suffix.lower() == ".csv")
        formulas = formulas_in(csv_formulas, as_csv)
        allowed = memory(memory_limit)
        doing = reactions(program, actions, dead_letters)
        asked = Asked(
            names, horizon, lineage, out, format, limit, formulas, allowed, max_matches, doing
        )
        asked.check()
        sources = parse_sources(events)
        tables = parse_tables(program, table)
        read = [*paths_in(sources), *(path for paths in tables.values() for path in paths)]
        read += files_of_tables(program, tables)
        refuse_input(asked, (path for path in read if not is_address(path)))
        if engine is Engine.embedded:
            found = _in_process(program, sources, tables, asked)
        else:
            need_spark()
            from thence.cli.spark_run import run_on_spark

            settings = spark_settings(conf)
            found = run_on_spark(program, sources, tables, asked, master, settings, shards)
        if fail_if_found and found:
            raise typer.Exit(FOUND)


def _in_process(
    program: Program, sources: Sources, tables: dict[str, list[str]], asked: Asked
) -> int:
    from thence.cli.event_arguments import progress

    with warnings_said(), progress(sources, visible=sys.stderr.isatty()) as stages:
        options: dict[str, Any] = {
            "until": asked.until,
            "tables": tables,
            "lineage": asked.lineage,
            "emit": asked.names,
            "progress": stages,
            "memory_limit": asked.memory_limit,
            "max_matches": asked.max_matches,
        }
        written = results = None
        if asked.out is not None and asked.limit is None:
            reacting = asked.doing._asdict()
            found = program.run_batches(sources, **options, **reacting)
            written = write_batches(found, asked.out, asked)
        else:  # which results are the first of an event is known once all are there
            results = program.run(sources, **options, actions=False)
    if results is not None:
        count = deliver(results, asked)
        if asked.doing.actions is not False:
            from thence.reacting import react_to

            react_to(program, results, *asked.doing)
        return count
    assert written is not None
    say_written(written.paths, written.counts)
    return sum(written.counts.values())


def _refuse_settings(options: dict[str, Any]) -> None:
    for option, value in options.items():
        if value is not None:
            raise refuse(f"{option} is for Spark: leave it out, or use --engine spark.")
