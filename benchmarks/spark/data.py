"""W1 as Parquet: a folder for batch queries, and folders in which each file is one trigger.

A folder is written once and used again; its name says which events it holds. Several files with
several row groups each, so that two tasks can read at once.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.generate import SEED, w1

FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "bench"
SCHEMA = "type string, time timestamp, id long, price double"

FILES = 4  # of a batch folder: as many tasks, of equal size
ROW_GROUP = 250_000
FIRST_WRITTEN = 1_000_000_000  # a stream reads files by age: each is a second younger


def batch_folder(n: int, *, within: Path = FOLDER) -> Path:
    """A folder with ``n`` events of W1 in some files."""
    return _written(within / f"w1-{n}-seed{SEED}", n, -(-n // FILES))


def stream_folder(per_trigger: int, triggers: int, *, within: Path = FOLDER) -> Path:
    """A folder with a file for each trigger, to be read in the order of the events."""
    name = f"w1-{triggers}x{per_trigger}-seed{SEED}"
    return _written(within / name, per_trigger * triggers, per_trigger)


def _written(folder: Path, n: int, per_file: int) -> Path:
    """The folder, with ``n`` events in files of ``per_file``, unless it is there already."""
    if folder.exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    table = w1(n)
    for place, start in enumerate(range(0, n, per_file)):
        _write(table.slice(start, per_file), unfinished / f"part-{place:04}.parquet", place)
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
