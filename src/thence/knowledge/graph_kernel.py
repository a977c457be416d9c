"""Compiled loops over graphs: edges by the node they leave, and what can be reached."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.engine.arrays.array_types import Codes, Index
from thence.engine.arrays.compiled import compiled

Nodes = npt.NDArray[np.int32]


def grouped(codes: Codes, values: Codes, count: int) -> tuple[Index, Nodes]:
    """Values by their code: where those of each begin, and the values themselves.

    >>> offsets, values = grouped(np.array([1, 0, 1]), np.array([7, 8, 9]), 3)
    >>> offsets.tolist(), values.tolist()
    ([0, 1, 3, 3], [8, 7, 9])
    """
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=count), out=offsets[1:])
    return offsets, _placed(np.ascontiguousarray(codes), np.ascontiguousarray(values), offsets)


@compiled("i4[::1](i8[::1], i8[::1], i8[::1])")
def _placed(codes: Codes, values: Codes, offsets: Index) -> Nodes:
    places = offsets[:-1].copy()
    found = np.empty(len(codes), dtype=np.int32)
    for row in range(len(codes)):
        code = codes[row]
        found[places[code]] = values[row]
        places[code] += 1
    return found


@compiled("i8(i8[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8, i4[::1], i8[::1])")
def nodes_found(
    offsets: Index,
    targets: Nodes,
    begins: Index,
    firsts: Nodes,
    seen: Nodes,
    source: int,
    found: Nodes,
    sizes: Index,
) -> int:
    """The nodes that each source reaches, one source after another, from ``source`` on and as long
    as there is room for all nodes. Gives the source that comes next."""
    nodes, filled = len(offsets) - 1, 0
    while source < len(begins) - 1 and filled + nodes <= len(found):
        mark, begin = source + 1, filled
        for place in range(begins[source], begins[source + 1]):
            node = firsts[place]
            if seen[node] != mark:
                seen[node] = mark
                found[filled] = node
                filled += 1
        at = begin
        while at < filled:
            node = found[at]
            at += 1
            for edge in range(offsets[node], offsets[node + 1]):
                target = targets[edge]
                if seen[target] != mark:
                    seen[target] = mark
                    found[filled] = target
                    filled += 1
        sizes[source] = filled - begin
        source += 1
    return source


@compiled(
    "i8(i8[::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1], i4[::1], i4[::1], i4[::1], i8, "
    "i4[::1], i8[::1])"
)
def images_found(
    offsets: Index,
    targets: Nodes,
    begins: Index,
    firsts: Nodes,
    image_offsets: Index,
    images: Nodes,
    seen: Nodes,
    marked: Nodes,
    queue: Nodes,
    source: int,
    found: Nodes,
    sizes: Index,
) -> int:
    """The images of the nodes that each source reaches, as :func:`nodes_found` gives nodes."""
    filled = 0
    while source < len(begins) - 1 and filled + len(marked) <= len(found):
        mark, begin, last = source + 1, filled, 0
        for place in range(begins[source], begins[source + 1]):
            node = firsts[place]
            if seen[node] != mark:
                seen[node] = mark
                queue[last] = node
                last += 1
        at = 0
        while at < last:
            node = queue[at]
            at += 1
            for place in range(image_offsets[node], image_offsets[node + 1]):
                image = images[place]
                if marked[image] != mark:
                    marked[image] = mark
                    found[filled] = image
                    filled += 1
            for edge in range(offsets[node], offsets[node + 1]):
                target = targets[edge]
                if seen[target] != mark:
                    seen[target] = mark
                    queue[last] = target
                    last += 1
        sizes[source] = filled - begin
        source += 1
    return source
