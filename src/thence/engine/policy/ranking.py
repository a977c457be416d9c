"""The order of events by time, type and attributes, and numbers that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thence.engine.aggregates.aggregate import collection_order
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, is_points, take
from thence.model.events import Events


def ranks(events: Events) -> Index:
    """The rank of each event by (start, end, attributes); copies of one event have one rank.

    Only where times are equal are attributes looked at.

    >>> none: dict[str, object] = {}
    >>> ranks(Events(np.array([5, 1, 5]), np.array([6, 2, 5]), none)).tolist()
    [2, 0, 1]
    """
    count = len(events)
    if count == 0 or (is_points(events) and bool((events.start[1:] > events.start[:-1]).all())):
        return np.arange(count)
    order = np.lexsort((events.start,) if is_points(events) else (events.end, events.start))
    start, end = events.start[order], events.end[order]
    same = (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    fresh = np.append(True, ~same)
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        inner = collection_order([take(events, order[tied])])
        # In the order of ranks the tied ones stay behind whatever comes earlier.
        along = np.argsort(inner, kind="stable")
        order[tied] = order[tied][along]
        inner = inner[along]
        fresh[tied[1:]] |= inner[1:] != inner[:-1]
    found = np.empty(count, dtype=np.int64)
    found[order] = np.cumsum(fresh) - 1
    return found


def numbered(
    rels: Mapping[str, Sequence[Events]], used: Mapping[str, Events]
) -> tuple[dict[int, Index], Mask]:
    """Numbers for the events of some relations of each type, by the identity of the relation, and
    which numbers are of events that are used up."""
    names = sorted(rels)
    whole = {name: concat([*rels[name], *_used(used, name)]) for name in names}
    lengths = [len(whole[name]) for name in names]
    rank = np.concatenate([ranks(whole[name]) for name in names])
    kinds = np.repeat(np.arange(len(names)), lengths)
    if len(names) == 1:
        numbers, size = rank, int(rank.max(initial=-1)) + 1
    else:
        starts = np.concatenate([whole[name].start for name in names])
        ends = np.concatenate([whole[name].end for name in names])
        order = np.lexsort((rank, kinds, ends, starts))
        rank, kinds = rank[order], kinds[order]
        fresh = np.append(True, (rank[1:] != rank[:-1]) | (kinds[1:] != kinds[:-1]))
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = np.cumsum(fresh) - 1
        size = int(numbers.max(initial=-1)) + 1
    spent = np.zeros(size, dtype=np.bool_)
    found: dict[int, Index] = {}
    begin = 0
    for name in names:
        for rel in rels[name]:
            found[id(rel)] = numbers[begin : begin + len(rel)]
            begin += len(rel)
        for rel in _used(used, name):
            spent[numbers[begin : begin + len(rel)]] = True
            begin += len(rel)
    return found, spent


def _used(used: Mapping[str, Events], name: str) -> list[Events]:
    return [used[name]] if name in used else []
