"""What ``--events`` names: one table of all events, or a table per event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from thence.model.errors import InputError

_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
Sources = list[str] | dict[str, list[str]]


def parse_sources(given: Iterable[str]) -> Sources:
    """The value that a run takes as its events.

    >>> parse_sources(["day1.csv", "day2.csv"])
    ['day1.csv', 'day2.csv']
    >>> parse_sources(["order=orders.parquet", "shipped=a.csv", "shipped=b.csv"])
    {'order': ['orders.parquet'], 'shipped': ['a.csv', 'b.csv']}
    """
    plain: list[str] = []
    named: dict[str, list[str]] = {}
    for text in given:
        found = None if Path(text).exists() else _NAMED.fullmatch(text)
        if found is None:
            plain.append(text)
        else:
            named.setdefault(found[1], []).append(found[2])
    if plain and named:
        raise InputError(
            f"--events has both a path ('{plain[0]}') and a named one "
            f"('{next(iter(named))}=…'). Name every path, or none."
        )
    return named or plain


def paths_in(sources: Sources) -> list[str]:
    """All the paths, in order."""
    if isinstance(sources, list):
        return sources
    return [path for paths in sources.values() for path in paths]


Stages = Callable[[int, int], None]
"""Told how many stages of a program are done, and how many there are."""


@contextmanager
def progress(sources: Sources, visible: bool) -> Iterator[Stages | None]:
    """Show on standard error how much has been read, and then how far the rules have come."""
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from thence.io.files import find_files
    from thence.io.reading_progress import watching

    files = [file for path in paths_in(sources) for file in find_files(path)]
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        # A single file gives no fraction to show: the bar only moves.
        total = sum(file.stat().st_size for file in files) if len(files) > 1 else None
        reading = bar.add_task("reading events", total=total)
        unread = len(files)

        def advance(file: Path) -> None:
            nonlocal unread
            unread -= 1
            bar.advance(reading, file.stat().st_size)
            if unread == 0:
                bar.update(reading, visible=False)
                bar.update(running, visible=True)

        running = bar.add_task("running rules", total=None, visible=False)

        def stage(done: int, count: int) -> None:
            bar.update(running, completed=done, total=count)

        with watching(advance):
            yield stage
