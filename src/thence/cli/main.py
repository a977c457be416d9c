"""The command ``thence``.

Exit codes: 0 done; 1 the program has errors, or a demo found something else than was planted; 2 the
command or the input does not fit; 3 a value could not be computed; 4 something was found and
``--fail-if-found`` was given; 5 dead letters could not be delivered again; 130 interrupted; 143
ended by SIGTERM.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from thence.cli.common import Acting, DeadLetters, File, load_program, one_of, reactions
from thence.cli.demo import demo
from thence.cli.exits import PROGRAM, UNDELIVERED, told
from thence.cli.explain import explain
from thence.cli.progress import progress
from thence.cli.run import run
from thence.cli.signals import ends_at_once
from thence.cli.stream import stream
from thence.cli.trace import trace

app = typer.Typer(
    name="thence",
    help="Find complex events: situations that show in how events relate over time.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_REPEATED = ("--events", "--source", "--table", "--emit", "--where", "--without")


class Report(StrEnum):
    """How diagnostics are written."""

    text = "text"
    json = "json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with an exit code."""
    with ends_at_once():
        app(args=spread(sys.argv[1:] if arguments is None else arguments), prog_name="thence")


def _show_version(requested: bool) -> None:
    if requested:
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
        Report, typer.Option(**one_of(Report), help="Text for people, or JSON for editors.")
    ] = Report.text,
) -> None:
    """Check a program, and point at whatever is wrong with it."""
    with told():
        from thence.cli.show import diagnostics_as_json, show_diagnostics
        from thence.model.errors import ProgramError

        try:
            found = list(load_program(file).check())
        except ProgramError as problem:
            found = list(problem.diagnostics)
        if format is Report.json:
            sys.stdout.write(diagnostics_as_json(str(file), found) + "\n")
        else:
            show_diagnostics(str(file), found)
        if any(diagnostic.severity == "error" for diagnostic in found):
            raise typer.Exit(PROGRAM)


@app.command()
def text(file: File) -> None:
    """Print a program in the rule language, laid out in one agreed way."""
    with told():
        sys.stdout.write(str(load_program(file).text()) + "\n")


@app.command()
def replay(
    file: File,
    dead_letters: DeadLetters = Path("dead-letters.jsonl"),
) -> None:
    """Deliver again what a program's reactions could not deliver."""
    with told():
        program = load_program(file)
        reactions(program, Acting.run, dead_letters)
        delivered, dead = program.replay(dead_letters)
        sys.stdout.write(f"delivered: {delivered}; dead letters again: {dead}\n")
        if dead:
            raise typer.Exit(UNDELIVERED)


app.command()(explain)
app.command()(run)
app.command()(stream)
app.command()(trace)
app.command()(progress)
app.add_typer(demo)


def spread(arguments: Sequence[str]) -> list[str]:
    """Let options that may be repeated take several values at once, as a shell's pattern gives.

    Only after what the command must be told first (the program's file; for ``trace`` also the
    event), so that this cannot be mistaken for one of the values.

    >>> spread(["run", "p.thence", "--events", "a.csv", "b.csv", "--emit", "x"])
    ['run', 'p.thence', '--events', 'a.csv', '--events', 'b.csv', '--emit', 'x']
    >>> spread(["trace", "p.thence", "--events", "a.csv", "alarm"])
    ['trace', 'p.thence', '--events', 'a.csv', 'alarm']
    """
    spread: list[str] = []
    option, values, positionals = None, 0, 0
    told_first = 3 if "trace" in arguments[:1] else 2
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            option, values = argument, 0
        elif option in _REPEATED and (values == 0 or positionals >= told_first):
            spread += [option] if values else []
            values += 1
        elif option is None or option in _REPEATED:
            positionals += 1
        spread.append(argument)
    return spread
