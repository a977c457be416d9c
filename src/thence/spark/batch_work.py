"""The work of a hop in a batch job: all events of a shard in, everything they give rise to out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thence.engine.arrays.rows import distinct, take
from thence.engine.output.lineage import merged
from thence.engine.run.step import Options, step
from thence.engine.state.state import State
from thence.model.events import Events
from thence.spark.blocks import Block, decode, events_in, from_batch, to_batch
from thence.spark.chain import Chain, Hop
from thence.spark.context import Context
from thence.spark.facts import NO_FACTS, Facts
from thence.spark.output import Output
from thence.spark.route import forwarded, sent


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The task of one partition of a hop: each of its shards in turn.

    The last hop of a chain gives rows of results, the others blocks for the next hop.
    """

    chain: Chain
    number: int
    output: Output
    facts: Facts = NO_FACTS

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shards: dict[int, list[Block]] = {}
        passing: list[Block] = []
        context: Context | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            context = context or Context.read(self.chain, batch)
            for block in from_batch(batch):
                if block.hop == self.number:
                    shards.setdefault(block.place, []).append(block)
                else:
                    passing.append(block)
        if context is None:
            return
        yield from self._passed(context, passing)
        for place in list(shards):
            events = events_in(shards.pop(place))
            shard = self._hop.places.index(place)
            for event, found in self._found(context, shard, events).items():
                yield from self._given(context, event, found, shard)

    @property
    def _hop(self) -> Hop:
        return self.chain.hops[self.number]

    @property
    def _last(self) -> bool:
        return self.number + 1 == self.chain.end

    def _found(self, context: Context, shard: int, events: dict[str, Events]) -> dict[str, Events]:
        """What the events of a shard give rise to, and this shard has to report."""
        hop = self._hop
        if hop.how == "whole row":
            each_once = merged if self.chain.lineage else distinct
            return {event: each_once(found) for event, found in events.items()}
        options = Options(self.chain.lineage, tables=self.facts.read(), limits=self.chain.limits)
        _, results = step(hop.part, State(), events, context.horizon, options)
        if hop.slices is None:
            return results
        owned = {event: hop.slices.owner(found.end) == shard for event, found in results.items()}
        return {event: take(found, owned[event]) for event, found in results.items()}

    def _passed(self, context: Context, blocks: list[Block]) -> Iterator[Any]:
        """Blocks that are not for this hop, one step further; there is none left afterwards."""
        for origin in range(len(blocks)):
            block = blocks.pop()
            if self._last:
                yield from self.output.batches(block.event, decode(block.data))
            else:
                further = forwarded(self.chain, block, self.number, origin)
                yield context.added(to_batch(list(further)))

    def _given(self, context: Context, event: str, found: Events, origin: int) -> Iterator[Any]:
        """Results as what comes next: blocks for later hops, or rows."""
        if len(found) == 0:
            return
        if self._last:
            yield from self.output.batches(event, found)
            return
        blocks = list(sent(self.chain, event, found, self.number, origin))
        if blocks:
            yield context.added(to_batch(blocks))
