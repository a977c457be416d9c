"""Rows as numbers: equal rows have one, and a number stands for its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.engine.arrays.array_types import Codes, Index
from thence.engine.arrays.codes import combine, identity_codes


@dataclass(frozen=True, slots=True)
class Numbered:
    """Rows of several parts, numbered by their values: ``codes`` for each part, and a row of
    ``columns`` for each number."""

    codes: list[Codes]
    columns: list[Any]
    first: Index

    @property
    def count(self) -> int:
        return len(self.first)

    def values(self, numbers: npt.NDArray[Any]) -> list[Any]:
        """The values that some numbers stand for, column by column."""
        rows, asked = pa.array(self.first), pa.array(numbers)
        return [column.take(rows).take(asked) for column in self.columns]


def numbered(parts: Sequence[Sequence[Any]]) -> Numbered:
    """Number the rows of several parts of the same columns: equal rows have one number."""
    columns = [pa.concat_arrays(list(each)) for each in zip(*parts, strict=True)]
    codes, size = combine([identity_codes(column) for column in columns])
    if size > 4 * len(codes) + 1024:
        _, codes = np.unique(codes, return_inverse=True)
        size = int(codes.max()) + 1 if len(codes) else 0
    first = np.full(size, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    present = first >= 0
    codes = (np.cumsum(present) - 1)[codes] if not present.all() else codes
    cuts = np.cumsum([len(part[0]) for part in parts])[:-1]
    return Numbered(np.split(codes, cuts), columns, first[present])


def complete(columns: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Which rows have a value in all columns: null equals nothing, so nothing goes on from it."""
    found = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        if column.null_count:
            found &= column.is_valid().to_numpy(zero_copy_only=False)
    return found


def among(rows: Sequence[Any], asked: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Which rows equal one of those asked for."""
    both = numbered([rows, asked])
    hit = np.zeros(both.count, dtype=np.bool_)
    hit[both.codes[1][complete(asked)]] = True
    return hit[both.codes[0]]


def found_in(nodes: Numbered, asked: Sequence[Any]) -> Codes:
    """The numbers of the nodes with some values; -1 where there is none, or a null."""
    known = [column.take(pa.array(nodes.first)) for column in nodes.columns]
    both = numbered([known, asked])
    place = np.full(both.count, -1, dtype=np.int64)
    place[both.codes[0]] = np.arange(nodes.count)
    return np.where(complete(asked), place[both.codes[1]], -1)
