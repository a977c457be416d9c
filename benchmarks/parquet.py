"""Generated events as Parquet, in folders that are written once and used again.

The name of a folder says which events it holds. Several files with several row groups each, so
that two tasks can read at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench"

FILES = 4  # of a folder for batch queries: as many tasks, of equal size
ROW_GROUP = 250_000
FIRST_WRITTEN = 1_000_000_000  # a stream reads files by age: each is a second younger


def written(folder: Path, events: Callable[[int], Any], n: int, per_file: int) -> Path:
    """The folder, with ``n`` events in files of ``per_file``, unless it is there already."""
    return written_tables(folder, lambda: cut(events(n), per_file))


def cut(table: Any, rows: int) -> Iterator[Any]:
    """A table in pieces of so many rows."""
    return (table.slice(start, rows) for start in range(0, table.num_rows, rows))


def written_tables(folder: Path, tables: Callable[[], Iterable[Any]]) -> Path:
    """The folder, with a file for each of some tables, unless it is there already."""
    if folder.exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    for place, table in enumerate(tables()):
        _write(table, unfinished / f"part-{place:04}.parquet", place)
    try:
        unfinished.rename(folder)
    except OSError:  # another process was faster, with the same events
        if not folder.exists():
            raise
        shutil.rmtree(unfinished)
    return folder


def _write(table: Any, path: Path, place: int) -> None:
    pq.write_table(table, path, row_group_size=ROW_GROUP, coerce_timestamps="us")
    os.utime(path, (FIRST_WRITTEN + place, FIRST_WRITTEN + place))
