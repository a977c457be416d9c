"""W1 as Parquet: a folder for batch queries, and folders in which each file is one trigger."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generate import SEED, w1
from benchmarks.parquet import FILES, FOLDER, written

SCHEMA = "type string, time timestamp, id long, price double"


def batch_folder(n: int, *, within: Path = FOLDER) -> Path:
    """A folder with ``n`` events of W1 in some files."""
    return written(within / f"w1-{n}-seed{SEED}", w1, n, -(-n // FILES))


def stream_folder(per_trigger: int, triggers: int, *, within: Path = FOLDER) -> Path:
    """A folder with a file for each trigger, to be read in the order of the events."""
    name = f"w1-{triggers}x{per_trigger}-seed{SEED}"
    return written(within / name, w1, per_trigger * triggers, per_trigger)
