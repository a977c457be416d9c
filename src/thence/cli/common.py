"""What several commands share: the program's file, formats, names and settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from thence.cli.exits import refuse
from thence.model.suggestions import question

if TYPE_CHECKING:
    from thence.actions.settings import Delivery
    from thence.program import Program


Chosen = TypeVar("Chosen", bound=StrEnum)


def one_of(kind: type[Chosen]) -> dict[str, Any]:
    """How an option takes one of a few words: who slips is asked whether another was meant."""
    words = [str(each) for each in kind]

    def parse(text: str) -> Chosen:
        if text not in words:
            known = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
            raise typer.BadParameter(f"'{text}' is not {known}.{question(text, words)}")
        return kind(text)

    parser: Callable[[str], Chosen] = parse
    return {"parser": parser, "metavar": f"[{'|'.join(words)}]"}


class Format(StrEnum):
    """How results are written."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


class Acting(StrEnum):
    """What becomes of a program's reactions."""

    run = "run"
    show = "show"
    off = "off"


class CsvFormulas(StrEnum):
    """What becomes of texts that a spreadsheet would take for formulas."""

    keep = "keep"
    escape = "escape"


File = Annotated[Path, typer.Argument(metavar="FILE", help="The program; - is standard input.")]
Emit = Annotated[list[str] | None, typer.Option(metavar="NAME...", help="Only these results.")]
Lineage = Annotated[bool, typer.Option("--lineage", help="Add the events behind each result.")]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME=PATH...",
        help="The rows of a table that the program declares: Parquet, CSV or JSON lines.",
    ),
]
Formulas = Annotated[
    CsvFormulas | None,
    typer.Option(
        "--csv-formulas",
        **one_of(CsvFormulas),
        help="In CSV, put ' before texts that a spreadsheet would compute (=…), or keep them.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark's master, such as local[4] or spark://host:7077; by default all cores here.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
]
Packages = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Packages that Spark is to load, with commas between."),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory the work may take ('4 GB', or 'unlimited'), on Spark each task of "
        "it; else a share of what is free.",
    ),
]
MaxMatches = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="How many matches a rule may have at most."),
]
Shards = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Over how many shards Spark spreads the work."),
]


ActionsOption = Annotated[
    Acting,
    typer.Option(
        "--actions",
        **one_of(Acting),
        help="What the program does on results: run it, show what would be done, or off.",
    ),
]
DeadLetters = Annotated[
    Path,
    typer.Option(metavar="PATH", help="Where deliveries are kept that failed; JSON lines."),
]


class Doing(NamedTuple):
    """What is done on results: nothing, what the program says, or only to tell of it; and how."""

    actions: Callable[[str, Any], None] | bool
    delivery: Delivery | None


NOTHING_DONE = Doing(False, None)


def reactions(program: Program, acting: Acting, dead_letters: Path) -> Doing:
    """What becomes of a program's reactions. A program that cannot react as it says is refused
    before anything runs."""
    if acting is Acting.off or not program.reacted_to:
        return NOTHING_DONE
    from thence.actions.settings import Delivery
    from thence.cli.show import show_reaction
    from thence.logic.reactions import CallFunction
    from thence.reacting import check_reactions

    delivery = Delivery(dead_letters=dead_letters)
    if acting is Acting.show:
        return Doing(show_reaction, delivery)
    for reaction in program._checked.program.reactions:
        if isinstance(reaction.action, CallFunction):
            raise refuse(
                f"the program calls '{reaction.action.name}', a function of Python, which no "
                "command has: run the program from Python, or add --actions show or --actions off."
            )
    check_reactions(program, True, delivery)
    return Doing(True, delivery)


def need_spark() -> None:
    """Say what to install where PySpark is missing, before anything is begun that needs it."""
    import thence.spark.required  # noqa: F401


def load_program(file: Path, without: Sequence[str] = ()) -> Program:
    """The program in a file, or on standard input; some optimisations may be switched off."""
    import thence

    if str(file) == "-":
        return thence.compile(sys.stdin.read(), without=without)
    return thence.load(file, without=without)


def emitted(program: Program, emit: Sequence[str] | None, option: str = "--emit") -> list[str]:
    """The names of the results that are asked for: those given, or all."""
    derived = [schema.name for schema in program.derived]
    for name in emit or []:
        if name not in derived:
            known = ", ".join(f"'{known}'" for known in derived) or "none"
            raise refuse(
                f"{option}: the program derives no '{name}'.{question(name, derived)} "
                f"It derives: {known}."
            )
    return list(dict.fromkeys(emit or derived))


def parse_tables(program: Program, given: Sequence[str] | None) -> dict[str, list[str]]:
    """The files of each table; several of one name are one table together."""
    declared = [schema.name for schema in program.tables]
    found: dict[str, list[str]] = {}
    for text in given or []:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise refuse(f"--table {text}: write it as NAME=PATH.")
        if name not in declared:
            known = ", ".join(f"'{known}'" for known in declared) or "none"
            raise refuse(
                f"--table: the program declares no table '{name}'.{question(name, declared)} "
                f"It declares: {known}."
            )
        found.setdefault(name, []).append(path)
    return found


def files_of_tables(program: Program, given: Collection[str]) -> list[str]:
    """The files that a program reads tables from because it says so, and no others are given."""
    from thence.io.facts import table_path

    stated = {each.name: each.rows_from for each in program.tables}
    return [
        table_path(rows_from, program.folder)
        for name, rows_from in stated.items()
        if rows_from is not None
        and rows_from.kind == "file"
        and name in program.plan.columns
        and name not in given
    ]


def formulas_in(asked: CsvFormulas | None, as_csv: bool) -> Literal["keep", "escape"]:
    """What to do with formulas; refused where no CSV is written."""
    if asked is not None and not as_csv:
        raise refuse("--csv-formulas is for CSV: add --format csv, or leave it out.")
    return "escape" if asked is CsvFormulas.escape else "keep"


def instant(text: str, option: str) -> int:
    """The time that an option gives, in microseconds."""
    from thence.model.time import parse_timestamp

    try:
        return parse_timestamp(text)
    except ValueError as problem:
        raise refuse(f"{option}: {problem}") from None


def duration(text: str, option: str) -> int:
    """The length of time that an option gives, in microseconds."""
    from thence.model.time import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as problem:
        raise refuse(f"{option}: {problem}") from None
    if found < 0:
        raise refuse(f"{option}: '{text}' is less than nothing.")
    return found


def memory(text: str | None) -> int | str | None:
    """The size that an option gives, in bytes; or that there is no limit."""
    from thence.engine.limits.growth import UNLIMITED
    from thence.model.sizes import size

    return text if text is None or text == UNLIMITED else size(text, "--memory-limit")


def spark_settings(conf: Iterable[str] | None, packages: str | None = None) -> dict[str, str]:
    """The settings that ``--conf`` and ``--packages`` give.

    >>> spark_settings(["spark.ui.enabled=true"], "group:name:1.0")
    {'spark.ui.enabled': 'true', 'spark.jars.packages': 'group:name:1.0'}
    """
    settings = {}
    for text in conf or []:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise refuse(f"--conf {text}: write it as spark.NAME=VALUE.")
        settings[key] = value
    if packages is not None:
        settings["spark.jars.packages"] = packages
    return settings


def values_asked(given: Iterable[str]) -> dict[str, str]:
    """What ``--where`` asks for.

    >>> values_asked(["id=o2", "start=2026-01-01T09:00:00Z"])
    {'id': 'o2', 'start': '2026-01-01T09:00:00Z'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise refuse(f"--where {text}: write it as NAME=VALUE.")
        if found.setdefault(name, value) != value:
            raise refuse(f"--where: '{name}' cannot be both '{found[name]}' and '{value}'.")
    return found
