"""``thence demo``: small worlds that are simulated, and what Thence finds in them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thence.cli.common import need_spark, one_of
from thence.cli.exits import DIFFERENT, INTERRUPTED, refuse, told
from thence.cli.run import Engine
from thence.io.temporary import temporary

if TYPE_CHECKING:
    from thence.demo.library.feed import Pace
    from thence.demo.library.findings import Comparison, Finding
    from thence.demo.library.simulate import Day
    from thence.demo.library.watch import Tell

demo = typer.Typer(
    name="demo", help="Show Thence at work in a simulated world.", invoke_without_command=True
)

DEFAULT_SPEED = 30.0


@demo.callback()
def _list(context: typer.Context) -> None:
    """Show Thence at work in a simulated world. Without a name: which demos there are."""
    if context.invoked_subcommand is not None:
        return
    group = context.command
    for name in group.list_commands(context):  # type: ignore[attr-defined]
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        sys.stdout.write(f"thence demo {name}: {command.get_short_help_str(limit=100)}\n")


@demo.command()
def library(
    seed: Annotated[int, typer.Option(metavar="N", help="Another number, another day.")] = 1,
    visitors: Annotated[int, typer.Option(metavar="N", help="How many visits there are.")] = 24,
    minutes: Annotated[int, typer.Option(metavar="N", help="How long the library is open.")] = 15,
    speed: Annotated[
        float | None,
        typer.Option(metavar="X", help="How many times faster than life it goes; else 30."),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as it goes.")] = False,
    engine: Annotated[
        Engine,
        typer.Option(**one_of(Engine), help="A stream on Spark, or a session in this process."),
    ] = Engine.spark,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the program, the readings and what was found."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Print the program, and end.")] = False,
) -> None:
    """A library with radio tags: checkouts, books that are lifted, and confusions at the doors.

    Examples:

    thence demo library

    thence demo library --engine embedded --fast --seed 7

    thence demo library --rules
    """
    with told():
        from thence.demo.library.feed import Pace, write_findings
        from thence.demo.library.findings import compare
        from thence.demo.library.simulate import simulate
        from thence.demo.library.watch import program_text

        if rules:
            sys.stdout.write(program_text())
            return
        if fast and speed is not None:
            raise refuse("--fast does not wait at all: leave --speed out.")
        if speed is not None and not 0 < speed < float("inf"):
            raise refuse(f"--speed {speed:g}: give a number above 0.")
        if engine is Engine.spark:
            need_spark()
        day = simulate(seed, visitors, minutes)
        pace = Pace(None if fast else speed or DEFAULT_SPEED)
        found: list[Finding] = []

        def tell(findings: list[Finding]) -> None:
            for finding in findings:
                _show(finding)
            found.extend(findings)
            if out is not None:
                write_findings(out / "found.jsonl", findings)

        with _kept(out, day) as folder:
            _say(f"{visitors} visits in {minutes} minutes, seed {seed}, {_told_pace(pace)}")
            finished = _watch(day, tell, pace, engine, folder, keep=out is not None)
        if not finished:
            _say("stopped")
            raise typer.Exit(INTERRUPTED)
        comparison = compare(day.planted, found)
        _show_comparison(comparison)
        if not comparison.equal:
            raise typer.Exit(DIFFERENT)


def _watch(day: Day, tell: Tell, pace: Pace, engine: Engine, folder: Path, keep: bool) -> bool:
    """Let the program watch the day; False if it was interrupted."""
    from thence.demo.library.feed import Folder
    from thence.demo.library.watch import load_program, watch

    program = load_program()
    if engine is Engine.embedded:
        watch(program, day, tell, pace, Folder(folder / "readings") if keep else None)
        return True

    from thence.cli.spark_run import doing, explained_as_files
    from thence.cli.spark_stream import interruptible
    from thence.demo.library.on_spark import watch_on_spark
    from thence.spark.sessions import session

    with doing("starting Spark"):
        spark = session()
    with (
        temporary(Path(tempfile.mkdtemp(prefix="thence-checkpoint-"))) as checkpoint,
        explained_as_files(),
        interruptible() as stop,
    ):
        readings = Folder(folder / "readings")
        return watch_on_spark(spark, program, day, tell, pace, readings, checkpoint, stop)


@contextmanager
def _kept(out: Path | None, day: Day) -> Iterator[Path]:
    """The folder of a run; without ``--out``, one that is gone afterwards."""
    from thence.demo.library.feed import write_findings
    from thence.demo.library.watch import PROGRAM, program_text

    if out is None:
        with temporary(Path(tempfile.mkdtemp(prefix="thence-library-"))) as folder:
            yield folder
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise refuse(f"--out '{out}' is there already: give a folder that is new or empty.")
    out.mkdir(parents=True, exist_ok=True)
    (out / PROGRAM).write_text(program_text(), encoding="utf-8")
    write_findings(out / "planted.jsonl", list(day.planted))
    yield out
    _say(f"the program, the readings and what was found are in {out}")


# -- what a person sees


def _told_pace(pace: Pace) -> str:
    return "as fast as it goes" if pace.speed is None else f"{pace.speed:g} times as fast as life"


def _show(finding: Finding, before: str = "") -> None:
    from thence.demo.library.findings import KINDS

    _line(f"{before}{finding.clock} ", f"{finding.kind}:", KINDS[finding.kind].colour)
    _line(f" {finding.sentence}\n")


def _show_comparison(comparison: Comparison) -> None:
    """What was planted and what was found, side by side, and every difference."""
    from thence.demo.library.findings import KINDS

    width = max(len(kind.many) for kind in KINDS.values())
    _line(f"\n{'':{width}}  planted  found\n")
    for name, kind in KINDS.items():
        planted, found = comparison.planted[name], comparison.found[name]
        _line(f"{kind.many:{width}}  {planted:7}  {found:5}\n")
    _line("\n")
    for finding in comparison.missed:
        _show(finding, "not found:   ")
    for finding in comparison.unexpected:
        _show(finding, "not planted: ")
    if comparison.equal:
        _line("", "Everything that was planted was found, and nothing else.\n", "green")
    else:
        _line("", "What was found is not what was planted.\n", "bold red")


def _line(plain: str, coloured: str = "", colour: str = "") -> None:
    """Text on standard output, a part of it in colour on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(plain + coloured)
        sys.stdout.flush()
        return
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble(plain, (coloured, colour))
    Console(highlight=False).print(text, end="", soft_wrap=True)


def _say(text: str) -> None:
    """What is not a result goes to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
