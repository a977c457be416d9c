"""Looking things up: in sorted arrays, and among rows of which more and more are used up.

For the latter there is a tree over the rows. Its nodes are numbered as in a heap, node 1 on top and
the leaves from ``width`` on, and each says whether some row below is alive. So the next one that is
costs as many steps as the tree is high.
"""

from __future__ import annotations

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.compiled import compiled


@compiled(inner=True)
def lower(values: Index, low: int, high: int, value: int) -> int:
    """The first place in ``low .. high`` with a value not below the given one."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(inner=True)
def next_alive(alive: Mask, tree: int, width: int, place: int) -> int:
    """The first leaf from ``place`` on that is alive; the width if there is none."""
    if place >= width:
        return width
    node = place + width
    if alive[tree + node]:
        return place
    while True:
        while node & 1:
            node >>= 1
            if node == 0:
                return width
        node += 1
        if alive[tree + node]:
            break
    while node < width:
        node <<= 1
        if not alive[tree + node]:
            node += 1
    return node - width


@compiled(inner=True)
def last_alive(alive: Mask, tree: int, width: int, place: int) -> int:
    """The last leaf up to ``place`` that is alive; -1 if there is none."""
    if place < 0:
        return -1
    node = place + width
    if alive[tree + node]:
        return place
    while True:
        while node % 2 == 0:
            node >>= 1
        if node == 1:
            return -1
        node -= 1
        if alive[tree + node]:
            break
    while node < width:
        node = (node << 1) + 1
        if not alive[tree + node]:
            node -= 1
    return node - width


@compiled(inner=True)
def take_away(alive: Mask, tree: int, width: int, place: int) -> None:
    """Mark a row as used up."""
    node = place + width
    alive[tree + node] = False
    node >>= 1
    while node and not (alive[tree + 2 * node] or alive[tree + 2 * node + 1]):
        alive[tree + node] = False
        node >>= 1
