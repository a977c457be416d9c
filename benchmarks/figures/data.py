"""The base stream: one event each tick, of twenty types, with five attributes of growing domains.

A tick is a microsecond and the first event is at 0, so the time of an event is its place in the
stream, and a window of ``ws`` events is a window of ``ws`` ticks. Seeded: the same size and seed
give the same table everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.parquet import FILES, FOLDER, written

TYPES = tuple(f"e{number}" for number in range(1, 21))
DOMAINS = {"a1": 10, "a2": 50, "a3": 100, "a4": 500, "a5": 1000}
SEED = 1


def base(n: int, *, seed: int = SEED) -> Any:
    """``n`` events as an Arrow table: ``type``, ``time`` and the attributes ``a1`` to ``a5``.

    >>> base(3).column_names
    ['type', 'time', 'a1', 'a2', 'a3', 'a4', 'a5']
    >>> base(3)["time"].to_pylist()
    [0, 1, 2]
    """
    random = np.random.default_rng(seed)
    codes = random.integers(0, len(TYPES), n, dtype=np.int32)
    attributes = {name: random.integers(0, size, n) for name, size in DOMAINS.items()}
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(codes, pa.array(TYPES)).cast(pa.string()),
            "time": np.arange(n, dtype=np.int64),
            **attributes,
        }
    )


def base_folder(n: int, *, within: Path = FOLDER) -> Path:
    """A folder with the same events as Parquet, in some files."""
    return written(within / f"base-{n}-seed{SEED}", base, n, -(-n // FILES))
