"""The command ``thence``.

Exit codes: 0 done; 1 the program has errors; 2 the command or the input does not fit; 3 a value
could not be computed; 4 something was found and ``--fail-if-found`` was given; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from thence.cli.exits import FOUND, PROGRAM, refuse, told, warnings_said

app = typer.Typer(
    name="thence",
    help="Find complex events: situations that show in how events relate over time.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Engine(StrEnum):
    """Where a program runs."""

    embedded = "embedded"
    spark = "spark"


class Format(StrEnum):
    """How results are written."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


class Report(StrEnum):
    """How diagnostics are written."""

    text = "text"
    json = "json"


File = Annotated[Path, typer.Argument(metavar="FILE", help="The program; - is standard input.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with an exit code."""
    app(args=spread(sys.argv[1:] if arguments is None else arguments), prog_name="thence")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"thence {version('thence')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
def check(
    file: File,
    format: Annotated[  # noqa: A002
        Report, typer.Option(help="Text for people, or JSON for editors.")
    ] = Report.text,
) -> None:
    """Check a program, and point at whatever is wrong with it."""
    with told():
        from thence.cli.show import diagnostics_as_json, show_diagnostics
        from thence.model.errors import ProgramError

        try:
            found = list(_load(file).check())
        except ProgramError as problem:
            found = list(problem.diagnostics)
        if format is Report.json:
            sys.stdout.write(diagnostics_as_json(str(file), found) + "\n")
        else:
            show_diagnostics(str(file), found)
        if any(diagnostic.severity == "error" for diagnostic in found):
            raise typer.Exit(PROGRAM)


@app.command()
def explain(file: File) -> None:
    """Show how a program runs: its plan, what it must remember, how it can be split."""
    with told():
        sys.stdout.write(str(_load(file).explain()).rstrip("\n") + "\n")


@app.command()
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
    engine: Annotated[Engine, typer.Option(help="Where to run.")] = Engine.embedded,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A file, or a directory for a file per event."),
    ] = None,
    format: Annotated[  # noqa: A002
        Format | None, typer.Option(help="The format of --out, or of standard output.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Every event up to this time is there (ISO 8601)."),
    ] = None,
    emit: Annotated[
        list[str] | None, typer.Option(metavar="NAME...", help="Only these results.")
    ] = None,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Add the events behind each result.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="At most N results of each event.")
    ] = None,
    fail_if_found: Annotated[
        bool, typer.Option("--fail-if-found", help="Exit with 4 if there is any result.")
    ] = False,
) -> None:
    """Run a program over files of events, and show or write what it finds."""
    with told():
        from thence.cli.sources import parse_sources, progress

        if engine is Engine.spark:
            raise refuse("--engine spark is not in this version. Use --engine embedded.")
        if out is None and format is Format.parquet:
            raise refuse("--format parquet needs a file: add --out PATH.")
        horizon = None if until is None else _instant(until)
        program = _load(file)
        derived = [schema.name for schema in program.derived]
        _check_names(emit or [], derived)
        names = emit or derived
        if out is None and format is Format.csv and len(names) > 1:
            known = ", ".join(names)
            raise refuse(f"CSV on standard output is one event's: add --emit, one of {known}.")
        sources = parse_sources(events)
        with warnings_said(), progress(sources, visible=sys.stderr.isatty()) as stages:
            results = program.run(
                sources, until=horizon, lineage=lineage, emit=names, progress=stages
            )
        if out is None:
            _print(results, format, limit)
        else:
            _write(results, out, format, limit)
        if fail_if_found and any(table.num_rows for table in results.values()):
            raise typer.Exit(FOUND)


def spread(arguments: Sequence[str]) -> list[str]:
    """Let options that may be repeated take several values at once, as a shell's pattern gives.

    Only after the program's file, so that a file name cannot be mistaken for one of them.

    >>> spread(["run", "p.thence", "--events", "a.csv", "b.csv", "--emit", "x"])
    ['run', 'p.thence', '--events', 'a.csv', '--events', 'b.csv', '--emit', 'x']
    """
    spread: list[str] = []
    option, values, positionals = None, 0, 0
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            option, values = argument, 0
        elif option in ("--events", "--emit") and (values == 0 or positionals > 1):
            spread += [option] if values else []
            values += 1
        elif option is None:
            positionals += 1
        spread.append(argument)
    return spread


def _load(file: Path) -> Any:
    import thence

    if str(file) == "-":
        return thence.compile(sys.stdin.read())
    return thence.load(file)


def _instant(text: str) -> int:
    from thence.model.time import parse_timestamp

    try:
        return parse_timestamp(text)
    except ValueError as problem:
        raise refuse(f"--until: {problem}") from None


def _check_names(emit: list[str], derived: list[str]) -> None:
    for name in emit:
        if name not in derived:
            close = get_close_matches(name, derived, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            known = ", ".join(f"'{known}'" for known in derived) or "none"
            raise refuse(f"--emit: the program derives no '{name}'.{hint} It derives: {known}.")


def _print(results: Mapping[str, Any], chosen: Format | None, limit: int | None) -> None:
    from thence.cli.show import send, show_results
    from thence.io.render import csv_text, json_text

    if chosen is None and sys.stdout.isatty():
        show_results(results, limit)
        return
    for event, table in results.items():
        shown = table if limit is None else table.slice(0, limit)
        send(csv_text(shown) if chosen is Format.csv else json_text(shown, event))


def _write(results: Mapping[str, Any], out: Path, chosen: Format | None, limit: int | None) -> None:
    from thence.io.write import write_results

    cut = {
        event: table if limit is None else table.slice(0, limit) for event, table in results.items()
    }
    for path in write_results(cut, out, None if chosen is None else str(chosen)):
        sys.stderr.write(f"wrote {path}\n")
    for event, table in cut.items():
        sys.stderr.write(f"{event}: {table.num_rows:,}\n")
