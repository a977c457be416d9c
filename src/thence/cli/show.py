"""Results and diagnostics for the eye, and results for the next program in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thence.model.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from thence.model.errors import Diagnostic

ROWS_SHOWN = 50
_COLOURS = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def show_reaction(reaction: str, payload: Mapping[str, Any]) -> None:
    """What would be done, on standard error."""
    from thence.io.render import plain

    sent = json.dumps(plain(dict(payload)), ensure_ascii=False)
    sys.stderr.write(f"would do: {reaction} {sent}\n")


def show_results(results: Mapping[str, Any], limit: int | None) -> None:
    """A table per result event on the terminal; long ones are cut, and say so."""
    from rich.console import Console

    console = Console(highlight=False)
    for event, table in results.items():
        shown = table.slice(0, ROWS_SHOWN if limit is None else limit)
        _show_table(console, event, shown, table.num_rows)


def _show_table(console: Console, event: str, shown: Any, found: int) -> None:
    from rich.table import Table
    from rich.text import Text

    title = Text(f"{event}: {found:,} {'event' if found == 1 else 'events'}", style="bold")
    if not shown.num_rows:
        console.print(title)
        return
    grid = Table(title=title, title_justify="left", header_style="bold")
    columns = []
    for name, column in zip(shown.column_names, shown.columns, strict=True):
        grid.add_column(Text(name), justify="right" if _is_number(column.type) else "left")
        columns.append(_texts(column))
    for row in zip(*columns, strict=True):
        grid.add_row(*(Text(text) for text in row))
    console.print(grid)
    if shown.num_rows < found:
        rest = found - shown.num_rows
        console.print(f"… and {rest:,} more; --limit shows more here, --out writes all to a file.")


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _texts(column: Any) -> list[str]:
    """Values as the eye wants them; what a terminal would act on is spelled out."""
    import pyarrow as pa

    from thence.io.render import texts
    from thence.model.time import format_duration

    if pa.types.is_duration(column.type):
        lengths = column.cast(pa.int64()).to_pylist()
        return ["" if length is None else format_duration(length) for length in lengths]
    values = texts(column.combine_chunks()).to_pylist()
    return ["" if value is None else printable(value) for value in values]


def send(pieces: Iterable[bytes]) -> None:
    """Write all of each piece to standard output, which may take only a part at a time."""
    sys.stdout.flush()
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]


def show_diagnostics(file: str, diagnostics: Sequence[Diagnostic]) -> None:
    """Each diagnostic with its place and a caret, then how many there are."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False) if sys.stdout.isatty() else None
    for found in diagnostics:
        place = f"{file}:{found.line}:{found.column}: "
        rest = f": {found.message}\n"
        if found.excerpt:
            rest += f"{found.excerpt}\n"
        if found.hint:
            rest += f"  hint: {found.hint}\n"
        if console is None:
            sys.stdout.write(f"{place}{found.severity}{rest}")
        else:
            severity = Text(found.severity, style=_COLOURS[found.severity])
            console.print(Text(place) + severity + Text(rest), soft_wrap=True, end="")
    sys.stdout.write(f"{file}: {_summary(diagnostics)}\n")


def _summary(diagnostics: Sequence[Diagnostic]) -> str:
    counts = []
    for severity in ("error", "warning"):
        count = sum(1 for found in diagnostics if found.severity == severity)
        if count:
            counts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    return ", ".join(counts) or "no problems"


def diagnostics_as_json(file: str, diagnostics: Sequence[Diagnostic]) -> str:
    """The diagnostics for an editor: a JSON array of records."""
    return json.dumps(
        [
            {
                "file": file,
                "severity": found.severity,
                "message": found.message,
                "line": found.line,
                "column": found.column,
                "hint": found.hint,
            }
            for found in diagnostics
        ],
        indent=2,
    )
