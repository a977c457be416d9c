"""W1, the events that the benchmarks run over.

One event each millisecond; ``id`` uniform in 1000, ``type`` uniform in ``a`` to ``t``, ``price``
uniform in [0, 1000). Seeded: the same size and seed give the same table everywhere.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pyarrow as pa

TYPES = tuple(string.ascii_lowercase[:20])
RARE = "z"
RARE_EVERY = 100_000
IDS = 1_000
STEP = 1_000  # microseconds from one event to the next
BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SEED = 1


def w1(n: int, *, rare_every: int | None = None, ids: int = IDS, seed: int = SEED) -> Any:
    """``n`` events as an Arrow table with the columns ``type``, ``time``, ``id`` and ``price``.

    With ``rare_every``, one event in so many, at even distances, becomes a ``z``.

    >>> w1(3).column_names
    ['type', 'time', 'id', 'price']
    >>> w1(1000, rare_every=100)["type"].to_pylist().count("z")
    10
    """
    random = np.random.default_rng(seed)
    codes = random.integers(0, len(TYPES), n, dtype=np.int32)
    keys = random.integers(0, ids, n, dtype=np.int64)
    prices = random.uniform(0, 1000, n)
    if rare_every is not None:
        codes[rare_every - 1 :: rare_every] = len(TYPES)
    names = pa.array([*TYPES, RARE])
    times = BEGIN + STEP * np.arange(n, dtype=np.int64)
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(codes, names).cast(pa.string()),
            "time": pa.array(times, type=pa.timestamp("us", "UTC")),
            "id": keys,
            "price": prices,
        }
    )
