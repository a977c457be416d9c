"""The work of a hop in a stream: one shard at a time, with state that outlives the trigger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from thence.engine.arrays.rows import select, take
from thence.engine.run.step import Options, distinct_step, step
from thence.engine.state.saved import Shape
from thence.engine.state.state import NEVER, State
from thence.model.errors import StateError
from thence.model.events import Events
from thence.spark.blocks import LATE, MEASURE, Block, encode, events_in
from thence.spark.chain import Chain, Hop
from thence.spark.facts import NO_FACTS, Facts
from thence.spark.route import forwarded, sent, ticks
from thence.spark.shard_state import read_state, refusal, state_shape, write_state


def horizon_of(watermark_ms: int) -> int:
    """The time up to which everything has been seen: just before the watermark.

    Spark's watermark begins at zero, which says nothing.

    >>> horizon_of(5)
    4999
    """
    return watermark_ms * 1000 - 1 if watermark_ms > 0 else NEVER


@dataclass
class ShardWork:
    """What Spark calls for each shard of a hop that has new blocks or a timer that is due.

    Every shard is looked at in every trigger: packing sends each a block, if only an empty one,
    and each hop does the same for the next. When no data comes but the watermark has moved on, the
    timers see to it. So all shards know the same horizon, and agree on what is late.
    """

    chain: Chain
    number: int
    facts: Facts = NO_FACTS
    handle: Any = field(default=None, repr=False)
    content: Any = field(default=None, repr=False)
    seen: dict[int, int] = field(default_factory=dict)
    """The watermark up to which each shard has been worked on in this task."""
    shape: Shape | None = field(default=None, repr=False)
    """What the state of a shard looks like, once it has been asked for."""

    def begin(self, handle: Any, content: Any) -> None:
        """Take what Spark gives: timers, and the shard's own value in the state store."""
        self.handle, self.content = handle, content

    def rows(self, key: Any, rows: Iterable[Any], timers: Any) -> Iterator[dict[str, Any]]:
        """New blocks for a place: those for this hop's shard there, and those that only pass."""
        place, mine = key[0], []
        found: list[Block] = []
        for origin, row in enumerate(rows):
            data = row["block"]
            block = Block(place, row["hop"], row["event"], row["rows"], data or None)
            if block.hop == self.number:
                mine.append(block)
            else:
                found += forwarded(self.chain, block, self.number, place + origin)
        if mine:
            found += self._worked(place, events_in(mine), timers.getCurrentWatermarkInMs())
        return _as_rows(found)

    def timer(self, key: Any, timers: Any) -> Iterator[dict[str, Any]]:
        """The watermark has moved on."""
        place, watermark = key[0], timers.getCurrentWatermarkInMs()
        if self.seen.get(place) == watermark:
            return iter(())  # its blocks came in this trigger as well
        return _as_rows(self._worked(place, {}, watermark))

    @property
    def _hop(self) -> Hop:
        return self.chain.hops[self.number]

    def _worked(self, place: int, events: dict[str, Events], watermark: int) -> Iterator[Block]:
        """One step of a shard: its state is read and written, its timer set."""
        hop, chain = self._hop, self.chain
        stored = self.content.get()
        # All shards begin together, before there is a watermark, and are looked at ever after.
        if place not in hop.places or (stored is None and watermark > 0):
            raise StateError(refusal([f"it is not spread over {len(hop.places)} shards"]))
        shard = hop.places.index(place)
        if self.shape is None:
            self.shape = state_shape(chain, hop)
        state = read_state(chain, hop, stored, self.shape)
        events, late = _in_time(hop, events, state.horizon)
        after, results = self._stepped(state, events, horizon_of(watermark))
        written = write_state(chain, hop, after)
        self.content.update((written,))
        self.handle.registerTimer(max(watermark, 0) + 1)
        self.seen[place] = watermark
        for event, found in results.items():
            if len(found):
                yield from sent(chain, event, found, self.number, shard)
        if self.number + 1 < chain.end:
            yield from ticks(chain.hops[self.number + 1], shard, len(hop.places))
        yield from self._reported(place, late)
        yield Block(place, MEASURE, "state_rows", after.rows, None)
        yield Block(place, MEASURE, "state_bytes", len(written), None)

    def _stepped(
        self, state: State, events: dict[str, Events], horizon: int
    ) -> tuple[State, dict[str, Events]]:
        hop, lineage = self._hop, self.chain.lineage
        if hop.how == "whole row":
            return distinct_step(state, events, horizon, lineage)
        if not lineage:
            columns = hop.part.columns
            events = {
                name: select(found, [c for c in found.columns if c in columns[name]])
                for name, found in events.items()
            }
        limits = self.chain.limits
        options = Options(lineage, hop.retention, tables=self.facts.read(), limits=limits)
        return step(hop.part, state, events, horizon, options)

    def _reported(self, place: int, late: dict[str, Events]) -> Iterator[Block]:
        """Latecomers: counted at one hop only, and given on where they are asked for."""
        for event, found in late.items():
            if event in self._hop.counts:
                yield Block(place, MEASURE, "late", len(found), None)
                if self.chain.late:
                    yield Block(place, LATE, event, len(found), encode(found))


def _in_time(
    hop: Hop, events: dict[str, Events], horizon: int
) -> tuple[dict[str, Events], dict[str, Events]]:
    """Events that end after the horizon, and input events that came too late for that."""
    in_time, late = dict(events), {}
    for event in hop.part.base & events.keys():
        missed = events[event].end <= horizon
        if missed.any():
            late[event] = take(events[event], missed)
            in_time[event] = take(events[event], ~missed)
    return in_time, late


def _as_rows(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """Blocks as rows. All at once: Spark may take them when the shard's turn is over."""
    return iter(
        [
            {
                "place": block.place,
                "hop": block.hop,
                "event": block.event,
                "rows": block.rows,
                "block": b"" if block.data is None else bytes(block.data),
            }
            for block in blocks
        ]
    )
