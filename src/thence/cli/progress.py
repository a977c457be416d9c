"""``thence progress``: what is still open at the end of files."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from thence.cli.common import (
    File,
    MemoryLimit,
    Tables,
    instant,
    load_program,
    memory,
    parse_tables,
    values_asked,
)
from thence.cli.exits import told, warnings_said


def progress(
    file: File,
    events: Annotated[
        list[str],
        typer.Option(
            metavar="PATH...",
            help="Events: Parquet, CSV or JSON lines; files, directories or patterns with a column "
            "'type', or NAME=PATH for one event's.",
        ),
    ],
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Every event up to this time is there (ISO 8601)."),
    ] = None,
    rule: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the rules for this event.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE...", help="Only where the result will have this value."),
    ] = None,
    table: Tables = None,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON record a line, instead of text for people.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Refuse to tell of more than N.")
    ] = 10_000,
    memory_limit: MemoryLimit = None,
) -> None:
    """Show how far along rules are: what has begun, what is awaited, and until when.

    Of events in files, at the end of these or at a later time. Runs in this process.

    Examples:

    thence progress rules.thence --events events.jsonl

    thence progress rules.thence --events events.jsonl --rule completed --where id=o7 --json
    """
    with told():
        from thence.cli.event_arguments import parse_sources
        from thence.progress import UNTOLD
        from thence.progress_text import progress_json, progress_text

        horizon = None if until is None else instant(until, "--until")
        asked = values_asked(where or [])
        program = load_program(file)
        sources, tables = parse_sources(events), parse_tables(program, table)
        session = program.session(
            progress=True, allow_unbounded=True, tables=tables, memory_limit=memory(memory_limit)
        )
        with warnings_said():
            session.push(sources)
        session.finish()
        if horizon is not None:
            session.advance(horizon)
        found = session.progress(rule, asked, limit=limit)
        if json:
            for line in progress_json(found):
                sys.stdout.write(line + "\n")
        elif found.num_rows:
            sys.stdout.write(progress_text(found) + "\n")
        else:
            sys.stdout.write("nothing is in progress\n")
        untold = (found.schema.metadata or {}).get(UNTOLD)
        if untold:
            sys.stderr.write(f"not told: {untold.decode()}\n")
