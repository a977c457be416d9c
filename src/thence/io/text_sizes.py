"""How much text there is, where only so much fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

MOST_TEXT = 2**31 - 2
"""Bytes that the texts of one column take at most: an Arrow array of texts has room for no more."""


def text_bytes(array: Any) -> int:
    """Bytes that the texts of an Arrow array take, also those in lists; 0 where it has none.

    >>> text_bytes(pa.array(["ab", None, "é"])), text_bytes(pa.array([["abc"], []]))
    (4, 3)
    >>> text_bytes(pa.array(["ab", "c"]).slice(1)), text_bytes(pa.array([1, 2]))
    (1, 0)
    """
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return text_bytes(array.flatten())
    width = _WIDTHS.get(kind)
    if width is None or not len(array):
        return 0
    offsets = np.frombuffer(array.buffers()[1], width)
    return int(offsets[array.offset + len(array)]) - int(offsets[array.offset])


_WIDTHS = {pa.string(): np.int32, pa.large_string(): np.int64}
