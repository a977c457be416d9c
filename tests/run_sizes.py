"""Sizes of sorted runs, drawn: how much makes a run, how many are merged, when runs are searched;
and of the chunks in which results are made.

Examples of tests have few events, so with the sizes that are good for millions all would be recent,
and one chunk.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thence.engine.run import narrow
from thence.engine.state import relation


@contextmanager
def drawn_run_sizes(source: random.Random) -> Iterator[None]:
    """Let what runs inside have runs of a few rows, and search them however few there are."""
    sizes = relation.RECENT, relation.FAN, relation.MOST, narrow.FEW, narrow.FULL
    try:
        relation.RECENT = source.choice([1, 2, 3, 8])
        relation.FAN = source.choice([2, 4])
        relation.MOST = source.choice([4, 1000])
        narrow.FEW = source.choice([0, 0, 2])
        narrow.FULL = source.choice([0, 0, 1])
        yield
    finally:
        relation.RECENT, relation.FAN, relation.MOST, narrow.FEW, narrow.FULL = sizes


@contextmanager
def chunk_sizes(module: Any, rows: int) -> Iterator[None]:
    """Let what runs inside, by way of a module, make results about so many at a time."""
    before, module.CHUNK_ROWS = module.CHUNK_ROWS, rows
    try:
        yield
    finally:
        module.CHUNK_ROWS = before
