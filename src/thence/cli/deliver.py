"""What a run was asked for, and how its results reach whoever asked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thence.cli.common import NOTHING_DONE, Doing, Format
from thence.cli.exits import refuse

if TYPE_CHECKING:
    from thence.batches import Batches
    from thence.io.write import Writer


@dataclass(frozen=True, slots=True)
class Asked:
    """Which results, up to when, with how much about each, and where they go."""

    names: Sequence[str]
    until: int | None
    lineage: bool
    out: Path | None
    format: Format | None
    limit: int | None
    formulas: Literal["keep", "escape"] = "keep"
    memory_limit: int | str | None = None
    max_matches: int | None = None
    doing: Doing = NOTHING_DONE

    @property
    def is_folder(self) -> bool:
        """Whether results go to a directory, with files of each event."""
        from thence.io.write import is_folder

        return self.out is not None and is_folder(self.out)

    def check(self) -> None:
        """Refuse a name for the output that stands for no format, before anything is done."""
        from thence.io.write import refuse_ending

        if self.out is not None:
            refuse_ending(self.out)

    @property
    def kind(self) -> str:
        """The format of files in a directory."""
        from thence.io.write import known_format

        return "parquet" if self.format is None else known_format(self.format)


def refuse_input(asked: Asked, paths: Iterable[str]) -> None:
    """Refuse to write results over a file that is read: of events, or of a table."""
    from thence.io.files import find_files
    from thence.io.write import paths_in

    if asked.out is None:
        return
    out, names = asked.out, asked.names
    files = paths_in(out, names, asked.kind).values() if asked.is_folder else [out]
    written = {file.resolve() for file in files if file.exists()}
    if written:
        for file in (file for path in paths for file in find_files(path)):
            if file.resolve() in written:
                raise refuse(f"--out: '{file}' is read here, and would be written over.")


def deliver(results: Mapping[str, Any], asked: Asked) -> int:
    """Print or write tables of results; the answer is how many results there are."""
    if asked.out is None:
        _print(results, asked)
    else:
        _write(results, asked.out, asked)
    return sum(table.num_rows for table in results.values())


def write_batches(batches: Batches, out: Path, asked: Asked) -> Writer:
    """Write results while they are found; the answer is the writer, which knows how many."""
    from thence.io.write import writing

    kind = None if asked.format is None else str(asked.format)
    with batches, writing(batches.schemas, out, kind, asked.formulas) as writer:
        for event, batch in batches:
            writer.add(event, batch)
    return writer


def _print(results: Mapping[str, Any], asked: Asked) -> None:
    from thence.cli.show import send, show_results
    from thence.io.render import csv_text, json_text

    if asked.format is None and sys.stdout.isatty():
        show_results(results, asked.limit)
        return
    if not any(table.num_rows for table in results.values()):
        names = " and no ".join(f"'{name}'" for name in results)
        sys.stderr.write(f"nothing found: no {names}\n")
    for event, table in _cut(results, asked).items():
        as_csv = asked.format is Format.csv
        send(csv_text(table, formulas=asked.formulas) if as_csv else json_text(table, event))


def _write(results: Mapping[str, Any], out: Path, asked: Asked) -> None:
    from thence.io.write import write_results

    cut = _cut(results, asked)
    kind = None if asked.format is None else str(asked.format)
    paths = write_results(cut, out, kind, asked.formulas)
    say_written(paths, {event: table.num_rows for event, table in cut.items()})


def say_written(paths: Sequence[Path], counts: Mapping[str, int]) -> None:
    """Say which files were written, and how many results there are of each event."""
    for path in paths:
        sys.stderr.write(f"wrote {path}\n")
    for event, count in counts.items():
        sys.stderr.write(f"{event}: {count:,}\n")


def _cut(results: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    if asked.limit is None:
        return dict(results)
    return {event: table.slice(0, asked.limit) for event, table in results.items()}
