"""Routing: which events go to which shard of a hop, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.hashing import hash_columns
from thence.engine.arrays.rows import bytes_of, select, sliced, take
from thence.engine.provenance.lineage import Provenance
from thence.model.events import Events
from thence.plan.partition.slices import Shards
from thence.spark.blocks import Block, decode, decode_store, encode, horizons_block
from thence.spark.chain import Chain, Hop

LARGEST = 1 << 17
"""How many bytes a block has at most, one event apart: ten thousand blocks, which Spark may hand
over at once, then stay below what one column may hold."""


def sent(
    chain: Chain,
    event: str,
    events: Events,
    after: int,
    origin: int,
    provenance: Provenance | None = None,
    results: bool = True,
) -> Iterator[Block]:
    """Events on their way to every hop after a given one that reads them.

    They are split by shard when their hop is the next one; otherwise they pass as they are, in a
    partition that ``origin`` (any number) chooses. What ``provenance`` knows of how they were
    derived goes with them; results have it as their lineage, if that is asked for. Without
    ``results`` they were given as such before, and only other hops are told of them once more.
    """
    for target in chain.targets(event, after):
        place = chain.spread[origin % len(chain.spread)]
        if target == after + 1 and target != chain.end:
            yield from routed(chain.hop(target), event, events, provenance)
        elif target == chain.end:
            if not results:
                continue
            if chain.lineage and provenance is not None:
                events = provenance.with_lineage(event, events)
            yield from _whole(place, target, event, events)
        else:
            yield from _whole(place, target, event, events, provenance)


def forwarded(chain: Chain, block: Block, after: int, origin: int) -> Iterator[Block]:
    """A block that is not for this hop, on its way: split by shard when its hop is the next one."""
    if block.data is None:
        yield block
    elif block.hop == after + 1 and block.hop != chain.end:
        hop, provenance = chain.hop(block.hop), None
        if block.event in hop.part.rulebook.recording(chain.lineage).alternatives:
            provenance = Provenance(decode_store([block]), hop.part.rulebook)
        yield from routed(hop, block.event, decode(block.data), provenance)
    else:
        yield replace(block, place=chain.spread[origin % len(chain.spread)])


def routed(
    hop: Hop, event: str, events: Events, provenance: Provenance | None = None
) -> Iterator[Block]:
    """Events split by the shards of a hop, with what is known of how they were derived."""
    events = narrowed(hop, event, events)
    count = len(hop.places)
    if hop.alone:
        yield from _whole(hop.places[0], hop.number, event, events, provenance)
    elif hop.slices is not None:
        first, last = hop.slices.needed_by(events.end, hop.reach[event])
        for shard, place in enumerate(hop.places):
            rows = np.flatnonzero((first == shard) | (last == shard))
            yield from _whole(place, hop.number, event, take(events, rows), provenance)
    else:
        shards = shards_of(hop, event, events)
        order = np.argsort(shards.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(shards, minlength=count)).tolist()
        events = take(events, order)
        for place, start, end in zip(hop.places, [0, *ends], ends, strict=False):
            own = sliced(events, start, end)
            yield from _whole(place, hop.number, event, own, provenance)


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
    """Events with the columns that a hop reads."""
    return select(events, hop.reads[event])


def _whole(
    place: int, hop: int, event: str, events: Events, provenance: Provenance | None = None
) -> Iterator[Block]:
    rows = rows_of_block(events)
    for start in range(0, len(events), rows):
        piece = events
        if len(events) > rows:
            piece = sliced(events, start, min(start + rows, len(events)))
        store = None
        if provenance is not None and event in provenance.rulebook.alternatives:
            store = provenance.of({event: piece}).store
        yield Block(place, hop, event, len(piece), encode(piece, store))


def rows_of_block(events: Events) -> int:
    """How many of some events fill a block.

    >>> times = np.arange(100)
    >>> rows_of_block(Events(times, times, {"id": pa.array(times)}))
    8192
    """
    return max(1, len(events) * LARGEST // max(bytes_of(events), 1))


def ticks(
    hop: Hop, origin: int = 0, step: int = 1, horizons: Mapping[str, int] | None = None
) -> Iterator[Block]:
    """Blocks without events for the shards of a hop: all, or those that ``origin`` sees to. They
    may tell them the horizons of inputs."""
    for place in hop.places[origin::step]:
        if horizons is None:
            yield Block(place, hop.number, "", 0, None)
        else:
            yield horizons_block(place, hop.number, horizons)
