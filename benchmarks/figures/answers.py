"""What a way found, in two numbers, the same wherever they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

# A row is a number in base FACTOR, modulo PRIME, squared so that it matters which values stand
# together in a row. Products stay below 2**62 and sums of a billion rows below 2**63.
PRIME = 2_147_483_647
FACTOR = 1_000_003


@dataclass(frozen=True, slots=True)
class Answer:
    """How many results, and a number that changes with any value but not with the rows' order."""

    results: int
    checksum: int


def of_table(table: Any, columns: Sequence[str]) -> Answer:
    """The answer in some columns of an Arrow table: whole numbers, and times as microseconds.

    >>> of_table(pa.table({"x": [1, 2], "y": [3, 4]}), ["x", "y"]) == of_table(
    ...     pa.table({"y": [4, 3], "x": [2, 1]}), ["x", "y"]
    ... )
    True
    """
    rows = np.zeros(table.num_rows, np.int64)
    for name in columns:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz))
        rows = (rows * FACTOR + column.cast(pa.int64()).to_numpy() % PRIME) % PRIME
    return Answer(table.num_rows, int((rows * rows % PRIME).sum()))


def row_in_sql(columns: Sequence[str]) -> str:
    """A row as a number, before it is squared, in Spark SQL over whole numbers.

    >>> row_in_sql(["x"])
    '((0L * 1000003 + `x` % 2147483647) % 2147483647)'
    """
    row = "0L"
    for name in columns:
        row = f"(({row} * {FACTOR} + `{name}` % {PRIME}) % {PRIME})"
    return row


def sum_in_sql(row: str) -> str:
    """The checksum over a column of such numbers."""
    return f"coalesce(sum({row} * {row} % {PRIME}), 0L)"
