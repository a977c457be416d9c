"""The work of a hop in a batch job: all events of a shard in, everything they give rise to out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thence.engine.arrays.rows import distinct, take
from thence.engine.provenance.lineage import Provenance
from thence.engine.run.given_out import given_out
from thence.engine.run.step import Options, step
from thence.engine.state.derivation_store import Store
from thence.engine.state.state import State
from thence.model.events import Events
from thence.spark.blocks import Block, decode, decode_store, events_in, from_batch, to_batches
from thence.spark.chain import Chain, Hop
from thence.spark.context import Context
from thence.spark.facts import NO_FACTS, Facts, knowing
from thence.spark.output import Output
from thence.spark.route import forwarded, sent

CHUNK_ROWS = 1 << 17
"""How many results a shard makes at a time, about, where it can."""


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
            blocks = shards.pop(place)
            events = events_in(blocks)
            store = decode_store(blocks) if self.chain.tells else Store()
            shard = self._hop.places.index(place)
            for event, found, provenance in self._found(context, shard, events, store):
                yield from self._given(context, event, found, shard, provenance)

    @property
    def _hop(self) -> Hop:
        return self.chain.hops[self.number]

    @property
    def _last(self) -> bool:
        return self.number + 1 == self.chain.end

    def _found(
        self, context: Context, shard: int, events: dict[str, Events], store: Store
    ) -> Iterator[tuple[str, Events, Provenance | None]]:
        """What the events of a shard give rise to, and this shard has to report; where it can be,
        a chunk at a time. And how they were derived, where that is kept."""
        hop, known = self._hop, None
        if hop.how == "whole row":
            if self.chain.lineage:
                known = Provenance(store.indexed(), hop.part.rulebook)
            for event, found in events.items():
                yield event, distinct(found), known
            return
        options = Options(
            self.chain.lineage,
            tables=self.facts.read(),
            limits=self.chain.limits,
            arriving=store,
            knows=knowing(hop.part, self.facts, self.chain.limits),
        )
        state, horizons = State(gaps=self.chain.gaps), self.chain.horizons(context.horizon)
        pieces: Iterable[tuple[str, Events]]
        if self.chain.lineage or hop.part.carried:
            after, results = step(hop.part, state, events, horizons, options)
            known, pieces = Provenance(after.store.indexed(), hop.part.rulebook), results.items()
        else:
            pieces = given_out(hop.part, state, events, horizons, options, CHUNK_ROWS)
        for event, found in pieces:
            if hop.slices is not None:
                found = take(found, hop.slices.owner(found.end) == shard)
            yield event, found, known if hop.tells_of(event, self.chain.lineage) else None

    def _passed(self, context: Context, blocks: list[Block]) -> Iterator[Any]:
        """Blocks that are not for this hop, one step further; there is none left afterwards."""
        for origin in range(len(blocks)):
            block = blocks.pop()
            if self._last:
                yield from self.output.batches(block.event, decode(block.data))
            else:
                further = forwarded(self.chain, block, self.number, origin)
                yield from map(context.added, to_batches(further))

    def _given(
        self,
        context: Context,
        event: str,
        found: Events,
        origin: int,
        provenance: Provenance | None,
    ) -> Iterator[Any]:
        """Results as what comes next: blocks for later hops, or rows."""
        if len(found) == 0:
            return
        if self._last:
            if provenance is not None:
                found = provenance.with_lineage(event, found)
            yield from self.output.batches(event, found)
            return
        blocks = sent(self.chain, event, found, self.number, origin, provenance)
        yield from map(context.added, to_batches(blocks))
