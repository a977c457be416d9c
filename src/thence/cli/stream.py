"""``thence stream``: a program over events as they come, from a source to a sink."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    reactions,
    spark_settings,
)
from thence.cli.exits import INTERRUPTED, refuse, told

if TYPE_CHECKING:
    from thence.program import Program
    from thence.spark.generations import Replaced


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
        list[str] | None,
        typer.Option(
            metavar="[NAME=]DURATION",
            help="How far out of order events may come ('10 min'), or those of one input "
            "(order='2 s'), which may be said of several.",
        ),
    ] = None,
    idle_after: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="An input with a source of its own that has brought nothing for so long ('30 s'), "
            "while others went on, no longer holds anything up.",
        ),
    ] = None,
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
    replaces: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="The programs that ran from this checkpoint before, the first one first: equal "
            "rules go on, others begin.",
        ),
    ] = None,
    begin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME...",
            help="When the new rules begin: a time for each program that took another's place.",
        ),
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
    actions: ActionsOption = Acting.run,
    dead_letters: DeadLetters = Path("dead-letters.jsonl"),
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress lines.")] = False,
) -> None:
    """Run a program over events as they come, until it is stopped with Ctrl-C.

    Examples:

    thence stream rules.thence --source incoming --sink found --max-delay '10 min'

    thence stream rules.thence --source order=orders/ shipped=ships/ --sink console --available-now

    thence stream rules.thence --source kafka:host:9092/orders --sink kafka:host:9092/overdue

    thence stream new.thence --replaces old.thence --begin 2026-11-18T02:00:00Z --source incoming
    """
    with told():
        delay = _delays(max_delay or [])
        idle = None if idle_after is None else duration(idle_after, "--idle-after")
        interval = None if trigger is None else duration(trigger, "--trigger")
        if available_now and trigger is not None:
            raise refuse("--available-now takes what is there at once: leave --trigger out.")
        program = load_program(file)
        names = emitted(program, emit)
        settings = spark_settings(conf, packages)
        doing = reactions(program, actions, dead_letters)

        need_spark()
        given = _replaced(program, replaces or [], begin or [], emit)
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
            idle_after=idle,
            lineage=lineage,
            allow_unbounded=allow_unbounded,
            shards=shards,
            memory_limit=memory(memory_limit),
            max_matches=max_matches,
            doing=doing,
        )
        if not run_stream(given, asked, master, settings):
            raise typer.Exit(INTERRUPTED)


def _replaced(
    program: Program, earlier: Sequence[Path], begins: Sequence[str], emit: Sequence[str] | None
) -> Program | Replaced:
    """A program in the place of those before it. Of each of them those results were asked for that
    it has."""
    from thence.spark.generations import replaced

    if len(begins) > len(earlier):
        raise refuse("--begin: give one time for each program of --replaces.")
    given: Program | Replaced = program
    programs = [*map(load_program, earlier), program]
    for number, (before, after) in enumerate(pairwise(programs)):
        names = [schema.name for schema in before.derived]
        asked = [name for name in names if emit is None or name in emit]
        if not asked:
            raise refuse(f"--replaces: '{earlier[number]}' derives nothing that --emit names.")
        since = begins[number] if number < len(begins) else None
        given = replaced(before if number == 0 else given, after, begin=since, emit=asked)
    return given


def _delays(given: list[str]) -> int | dict[str, int]:
    """How late all inputs may come, or each of some."""
    named = {name: text for name, equal, text in (each.partition("=") for each in given) if equal}
    if len(given) == 1 and not named:
        return duration(given[0], "--max-delay")
    if len(named) < len(given):
        raise refuse("--max-delay: give one duration for all inputs, or NAME=DURATION for each.")
    return {name: duration(text, f"--max-delay {name}") for name, text in named.items()} or 0


def _kind(chosen: Format | SourceFormat) -> str:
    return "jsonl" if chosen == "json" else str(chosen)
