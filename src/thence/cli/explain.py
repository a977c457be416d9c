"""``thence explain``: how a program runs, and how it ran."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from thence.cli.common import File, Tables, instant, load_program, parse_tables
from thence.cli.exits import refuse, told, warnings_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thence.program import Program
    from thence.results import Results


def explain(
    file: File,
    hierarchy: Annotated[
        bool,
        typer.Option("--hierarchy", help="Show its layers instead: what is built on what."),
    ] = False,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", help="Run it, and show what every operator did as well."),
    ] = False,
    events: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH...", help="Events for --analyze, as for 'thence run'."),
    ] = None,
    table: Tables = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Every event up to this time is there (ISO 8601)."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="Optimisations to switch off."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the plan as JSON.")] = False,
) -> None:
    """Show how a program runs: its plan, what it must remember, how it can be split.

    Examples:

    thence explain rules.thence

    thence explain rules.thence --events events.jsonl --analyze

    thence explain rules.thence --without join_order --json
    """
    with told():
        if hierarchy and (analyze or json):
            raise refuse("--hierarchy shows layers, not a plan: leave out --analyze and --json.")
        if analyze != bool(events):
            raise refuse("--analyze runs the program over events: give both it and --events PATH.")
        if not analyze and (table or until):
            raise refuse("--table and --until are for --analyze --events PATH.")
        program = load_program(file, without or ())
        results = _run(program, events or [], table, until) if analyze else None
        if hierarchy:
            text = str(program.hierarchy())
        else:
            text = program.explain(results, format="json" if json else "text")
        sys.stdout.write(text.rstrip("\n") + "\n")


def _run(
    program: Program, events: Sequence[str], table: Sequence[str] | None, until: str | None
) -> Results:
    from thence.cli.event_arguments import parse_sources, progress

    horizon = None if until is None else instant(until, "--until")
    sources = parse_sources(events)
    tables = parse_tables(program, table)
    with warnings_said(), progress(sources, visible=sys.stderr.isatty()) as stages:
        return program.run(sources, until=horizon, tables=tables, progress=stages, actions=False)
