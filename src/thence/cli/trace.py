"""``thence trace``: what results were made of, as trees."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from thence.cli.common import (
    File,
    Tables,
    emitted,
    instant,
    load_program,
    one_of,
    parse_tables,
    values_asked,
)
from thence.cli.exits import refuse, told, warnings_said

if TYPE_CHECKING:
    from thence.causes import Cause

_STYLES = {"derived": "bold", "base": "", "absent": "yellow", "heading": "cyan", "note": "dim"}


class TreeFormat(StrEnum):
    """How trees are written."""

    text = "text"
    json = "json"


def trace(
    file: File,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The derived event to explain.")],
    events: Annotated[
        list[str], typer.Option(metavar="PATH...", help="Events, as for thence run.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE...",
            help="Only results with this value of an attribute, of 'start' or of 'end'.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most N results.")] = 10,
    derivations: Annotated[
        int, typer.Option(min=1, metavar="N", help="At most N derivations of each event.")
    ] = 10,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most N levels below a result.")
    ] = None,
    table: Tables = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Every event up to this time is there (ISO 8601)."),
    ] = None,
    format: Annotated[  # noqa: A002
        TreeFormat,
        typer.Option(**one_of(TreeFormat), help="Trees for people, or a JSON record a line."),
    ] = TreeFormat.text,
) -> None:
    """Show what results were made of: their causes, and those of these, down to the input.

    Runs in this process.

    Examples:

    thence trace rules.thence overdue --events events.jsonl

    thence trace rules.thence overdue --events events.jsonl --where id=o2 --format json
    """
    with told():
        from thence.cli.event_arguments import parse_sources, progress

        horizon = None if until is None else instant(until, "--until")
        chosen = values_asked(where or [])
        program = load_program(file)
        emitted(program, [event], "EVENT")
        sources = parse_sources(events)
        tables = parse_tables(program, table)
        with warnings_said(), progress(sources, visible=sys.stderr.isatty()) as stages:
            results = program.run(
                sources,
                until=horizon,
                tables=tables,
                trace=True,
                emit=event,
                progress=stages,
                actions=False,
            )
        trees = results.traces(event, chosen, first=limit + 1, limit=derivations, depth=depth)
        if format is TreeFormat.json:
            _write_json(trees[:limit])
        else:
            _show(trees[:limit])
        if len(trees) > limit:
            sys.stderr.write(
                f"there are more results of '{event}': --limit shows more, --where chooses\n"
            )


def _write_json(trees: Sequence[Cause]) -> None:
    for tree in trees:
        try:
            text = json.dumps(tree.to_dict(), ensure_ascii=False, allow_nan=False)
        except RecursionError:
            raise refuse("a tree is too deep for JSON: cut it with --depth, say 100.") from None
        sys.stdout.write(text + "\n")


def _show(trees: Sequence[Cause]) -> None:
    """The trees with a blank line between them; in colours on a terminal."""
    from rich.console import Console
    from rich.text import Text

    from thence.causes_text import leads, rows_of

    console = Console(highlight=False) if sys.stdout.isatty() else None
    for number, tree in enumerate(trees):
        if number:
            sys.stdout.write("\n")
        if console is None:
            sys.stdout.write(f"{tree}\n")
            continue
        rows = list(rows_of(tree))
        for lead, row in zip(leads(rows), rows, strict=True):
            line = Text.assemble((lead, "dim"), (row.text, _STYLES[row.kind]))
            console.print(line, soft_wrap=True)
