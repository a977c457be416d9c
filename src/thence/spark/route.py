"""Routing: which events go to which shard of a hop, as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import LINEAGE, is_points, select, take
from thence.model.events import Events
from thence.plan.partition.slices import Shards
from thence.spark.blocks import Block, decode, encode
from thence.spark.chain import Chain, Hop
from thence.spark.hashing import hash_columns

LARGEST = 1 << 17
"""How many bytes a block has at most, one event apart: ten thousand blocks, which Spark may hand
over at once, then stay below what one column may hold."""


def sent(chain: Chain, event: str, events: Events, after: int, origin: int) -> Iterator[Block]:
    """Events on their way to every hop after a given one that reads them.

    They are split by shard when their hop is the next one; otherwise they pass as they are, in a
    partition that ``origin`` (any number) chooses.
    """
    for target in chain.targets(event, after):
        if target == after + 1 < chain.end:
            yield from routed(chain.hops[target], event, events)
        else:
            yield from _whole(chain.spread[origin % len(chain.spread)], target, event, events)


def forwarded(chain: Chain, block: Block, after: int, origin: int) -> Iterator[Block]:
    """A block that is not for this hop, on its way: split by shard when its hop is the next one."""
    if block.data is None:
        yield block
    elif block.hop == after + 1 < chain.end:
        yield from routed(chain.hops[block.hop], block.event, decode(block.data))
    else:
        yield replace(block, place=chain.spread[origin % len(chain.spread)])


def routed(hop: Hop, event: str, events: Events) -> Iterator[Block]:
    """Events split by the shards of a hop."""
    events = narrowed(hop, event, events)
    count = len(hop.places)
    if hop.alone:
        yield from _whole(hop.places[0], hop.number, event, events)
    elif hop.slices is not None:
        first, last = hop.slices.needed_by(events.end, hop.reach[event])
        for shard, place in enumerate(hop.places):
            rows = np.flatnonzero((first == shard) | (last == shard))
            yield from _whole(place, hop.number, event, take(events, rows))
    else:
        shards = shards_of(hop, event, events)
        order = np.argsort(shards.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(shards, minlength=count)).tolist()
        events = take(events, order)
        for place, start, end in zip(hop.places, [0, *ends], ends, strict=False):
            yield from _whole(place, hop.number, event, sliced(events, start, end))


def shards_of(hop: Hop, event: str, events: Events) -> Shards:
    """The shard of each event, where the work is spread by key or by whole row."""
    if hop.key is not None:
        names = hop.key.columns[event]
        columns = [events.columns[name] for name in names]
        kinds = list(hop.key.kinds[event])
    else:
        columns, kinds = _identity(hop, event, events)
    return (hash_columns(columns, kinds, len(events)) % np.uint64(len(hop.places))).astype(np.int64)


def _identity(hop: Hop, event: str, events: Events) -> tuple[list[Any], list[str]]:
    """The columns that make an event what it is, lists apart."""
    attributes = [a for a in hop.part.schemas[event].attributes if a.type.kind != "list"]
    columns = [events.columns[a.name] for a in attributes]
    kinds = [a.type.kind for a in attributes]
    return [pa.array(events.start), pa.array(events.end), *columns], ["int", "int", *kinds]


def narrowed(hop: Hop, event: str, events: Events) -> Events:
    """Events with the columns that a hop reads, and their lineage if they carry one."""
    names = hop.reads[event]
    extra = [name for name in events.columns if name == LINEAGE]
    return select(events, [*names, *extra])


def sliced(events: Events, start: int, end: int) -> Events:
    """Consecutive events, without a copy."""
    times = events.end[start:end]
    starts = times if is_points(events) else events.start[start:end]
    columns = {n: c.slice(start, end - start) for n, c in events.columns.items()}
    return Events(starts, times, columns)


def _whole(place: int, hop: int, event: str, events: Events) -> Iterator[Block]:
    rows = rows_of_block(events)
    for start in range(0, len(events), rows):
        piece = events
        if len(events) > rows:
            piece = sliced(events, start, min(start + rows, len(events)))
        yield Block(place, hop, event, len(piece), encode(piece))


def rows_of_block(events: Events) -> int:
    """How many of some events fill a block.

    >>> times = np.arange(100)
    >>> rows_of_block(Events(times, times, {"id": pa.array(times)}))
    8192
    """
    times = 1 if is_points(events) else 2
    size = times * events.end.nbytes
    size += sum(int(column.nbytes) for column in events.columns.values())
    return max(1, len(events) * LARGEST // max(size, 1))


def ticks(hop: Hop, origin: int = 0, step: int = 1) -> Iterator[Block]:
    """Blocks without events for the shards of a hop: all, or those that ``origin`` sees to."""
    for place in hop.places[origin::step]:
        yield Block(place, hop.number, "", 0, None)
