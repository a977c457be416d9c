"""Which rows of a table with a ``type`` column are which event's.

A million types are looked through in a few milliseconds: names are compared as whole words of
bytes in the column's own buffers, and nothing is copied but the numbers of the rows found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rows = npt.NDArray[np.int64]


def rows_by_name(column: Any, names: Collection[str]) -> dict[str, Rows]:
    """The positions of each name in a column of texts. Names that do not occur have none.

    >>> rows_by_name(pa.array(["a", "bb", "a", "c"]), ["a", "bb", "d"])
    {'a': array([0, 2]), 'bb': array([1]), 'd': array([], dtype=int64)}
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found: dict[str, list[Rows]] = {name: [] for name in names}
    offset = 0
    for chunk in chunks:
        for name, rows in _find(chunk, names):
            if len(rows):
                found[name].append(rows + offset if offset else rows)
        offset += len(chunk)
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _find(chunk: pa.Array, names: Collection[str]) -> Iterator[tuple[str, Rows]]:
    if pa.types.is_dictionary(chunk.type):
        return _find_in_dictionary(chunk, names)
    if pa.types.is_string(chunk.type) or pa.types.is_large_string(chunk.type):
        return _find_in_text(chunk, names)
    return _find_in_text(chunk.cast(pa.large_string()), names)


def _find_in_dictionary(chunk: pa.Array, names: Collection[str]) -> Iterator[tuple[str, Rows]]:
    indices = chunk.indices
    codes = (indices.cast(pa.int64()).fill_null(-1) if indices.null_count else indices).to_numpy()
    words = chunk.dictionary.to_pylist()
    for name in names:
        matching = [code for code, word in enumerate(words) if word == name]
        if len(matching) == 1:
            yield name, np.flatnonzero(codes == matching[0])
        elif matching:
            yield name, np.flatnonzero(np.isin(codes, matching))


def _find_in_text(chunk: pa.Array, names: Collection[str]) -> Iterator[tuple[str, Rows]]:
    if len(chunk) == 0:
        return
    if chunk.null_count:
        # What lies behind a null is undefined: let Arrow look.
        for name in names:
            mask = pc.equal(chunk, name).fill_null(False)
            yield name, np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        return
    width = np.int32 if pa.types.is_string(chunk.type) else np.int64
    _, offset_buffer, data_buffer = chunk.buffers()
    offsets = np.frombuffer(offset_buffer, width)[chunk.offset : chunk.offset + len(chunk) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer else np.empty(0, np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    shortest, longest = int(lengths.min()), int(lengths.max())
    of_length: dict[int, Rows] = {}
    for name in names:
        word = name.encode()
        if not shortest <= len(word) <= longest or not word:
            continue
        if shortest == longest:
            yield name, _find_in_grid(data[int(offsets[0]) : int(offsets[-1])], word)
        else:
            if len(word) not in of_length:
                of_length[len(word)] = np.flatnonzero(lengths == len(word))
            rows = of_length[len(word)]
            for place, size in _pieces(len(word)):
                if not len(rows):
                    break
                pieces = _overlapping(data, size)[starts[rows] + place]
                rows = rows[pieces == _number(word, place, size)]
            yield name, rows


def _find_in_grid(data: npt.NDArray[np.uint8], word: bytes) -> Rows:
    """The rows equal to ``word`` where all words have its length."""
    size = len(word)
    if size in (1, 2, 4, 8):
        return np.flatnonzero(data.view(f"<u{size}") == _number(word, 0, size))
    rows: Rows | None = None
    for place, width in _pieces(size):
        column = np.ndarray(
            (len(data) // size,), f"<u{width}", buffer=data, offset=place, strides=(size,)
        )
        requested = _number(word, place, width)
        rows = (
            np.flatnonzero(column == requested) if rows is None else rows[column[rows] == requested]
        )
    assert rows is not None
    return rows


def _pieces(length: int) -> Iterator[tuple[int, int]]:
    """Places and sizes of machine words that cover a text of this length; two may overlap.

    From the end, because names in one table tend to begin alike.

    >>> list(_pieces(11)), list(_pieces(3))
    ([(3, 8), (0, 8)], [(1, 2), (0, 2)])
    """
    size = next(s for s in (8, 4, 2, 1) if s <= length)
    yield from ((place, size) for place in range(length - size, -1, -size))
    if length % size:
        yield 0, size


def _overlapping(data: npt.NDArray[np.uint8], size: int) -> npt.NDArray[Any]:
    """The machine word that begins at each byte."""
    count = max(0, len(data) - size + 1)
    return np.ndarray((count,), f"<u{size}", buffer=data, strides=(1,))


def _number(word: bytes, place: int, size: int) -> int:
    return int.from_bytes(word[place : place + size], "little")
