"""The work of a hop in a stream: one shard at a time, with state that outlives the trigger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thence.engine.arrays.rows import select, take
from thence.engine.provenance.lineage import Provenance
from thence.engine.run.step import Options, distinct_step, step
from thence.engine.state.derivation_store import Store
from thence.engine.state.saved import Shape
from thence.engine.state.state import State
from thence.model.errors import StateError
from thence.model.events import Events
from thence.plan.horizons import NEVER, everywhere
from thence.spark.blocks import (
    LATE,
    MEASURE,
    Block,
    clock_in,
    decode_store,
    encode,
    events_in,
    horizons_in,
)
from thence.spark.chain import GENERATION, Chain, Hop
from thence.spark.compatibility import refusal
from thence.spark.facts import NO_FACTS, Facts, knowing
from thence.spark.idle import figures, notes, went_on
from thence.spark.progress import Asked
from thence.spark.route import forwarded, sent, ticks
from thence.spark.run_store import RunStore
from thence.spark.shard_generations import (
    Headers,
    heard_in,
    joined_headers,
    latest_in,
    refuse_early,
    runs_in,
    split_headers,
    taken_by,
)
from thence.spark.shard_state import Written, read_state, state_shape, write_state


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

    chains: tuple[Chain, ...]
    """One for each generation of rules; they run side by side, and know nothing of each other."""
    place: int
    """The hop of the query: 0 is the first."""
    facts: tuple[Facts, ...] = ()
    """The static tables of each chain here; none where nothing is said."""
    behind: int = 0
    """By how many milliseconds Spark's watermark is behind the latest event."""
    progress: Asked | None = None
    """Whose progress is told, where that is asked for."""
    handle: Any = field(default=None, repr=False)
    header: Any = field(default=None, repr=False)
    runs: RunStore | None = field(default=None, repr=False)
    seen: dict[int, int] = field(default_factory=dict)
    """The watermark up to which each shard has been worked on in this task."""
    shapes: dict[int, Shape] = field(default_factory=dict, repr=False)
    """What the state of a shard looks like for each hop that works here, once it was asked for."""

    def begin(self, handle: Any, header: Any, runs: Any) -> None:
        """Take what Spark gives: timers, and the shard's own entries in the state store, which are
        a value and a map."""
        self.handle, self.header, self.runs = handle, header, RunStore(runs)

    def rows(self, key: Any, rows: Iterable[Any], timers: Any) -> Iterator[dict[str, Any]]:
        """New blocks for a place: those for this hop's shard there, and those that only pass."""
        place = key[0]
        mine: dict[int, list[Block]] = {}
        found: list[Block] = []
        for origin, row in enumerate(rows):
            data = row["block"]
            block = Block(place, row["hop"], row["event"], row["rows"], data or None)
            chain = self.chains[max(block.hop, 0) // GENERATION]
            here = chain.first + self.place
            if block.hop == here:
                mine.setdefault(here, []).append(block)
            else:
                found += forwarded(chain, block, here, place + origin)
        if mine:
            found += self._worked(place, mine, timers.getCurrentWatermarkInMs())
        return _as_rows(found)

    def timer(self, key: Any, timers: Any) -> Iterator[dict[str, Any]]:
        """The watermark has moved on."""
        place, watermark = key[0], timers.getCurrentWatermarkInMs()
        if self.seen.get(place) == watermark:
            return iter(())  # its blocks came in this trigger as well
        return _as_rows(self._worked(place, {}, watermark))

    def _worked(
        self, place: int, blocks: Mapping[int, list[Block]], watermark: int
    ) -> Iterator[Block]:
        """One step of a shard, for each generation that is worked on there: its state is read and
        written, its timer set."""
        stored = split_headers(self.header.get())
        working = list(self._working(place, stored, watermark))
        for begin in stored.keys() - {each.chain.begin for each in working}:
            self._store.remove(runs_in(stored[begin]))
        headers: dict[int | None, bytes] = {}
        total, rows, new = 0, 0, 0
        for each in working:
            given = blocks.get(each.hop.number, [])
            written, found = self._stepped(place, each, given, watermark)
            headers[each.chain.begin] = written.header
            rows, total, new = rows + written.rows, total + written.size, new + written.new
            yield from found
        if not working:
            self.header.clear()
            return
        self.header.update((joined_headers(headers, rows),))
        self.handle.registerTimer(max(watermark, 0) + 1)
        self.seen[place] = watermark
        yield Block(place, MEASURE, "state_rows", rows, None)
        yield Block(place, MEASURE, "state_bytes", total, None)
        yield Block(place, MEASURE, "state_written", new, None)

    @property
    def _store(self) -> RunStore:
        assert self.runs is not None
        return self.runs

    def _working(self, place: int, stored: Headers, watermark: int) -> Iterator[_Working]:
        """The generations that are worked on at a place, with what is stored of each. A generation
        of which nothing is stored begins there, if it may."""
        for number, chain in enumerate(self.chains):
            hop = chain.hop_at(self.place)
            if hop is None:
                continue
            header = stored.get(chain.begin)
            if place not in hop.places:
                if header is not None:
                    raise _not_spread(hop)
                continue
            # All shards begin together, before there is a watermark, and are looked at ever after.
            if header is None and chain.begin is None and watermark > 0:
                raise _not_spread(hop)
            if header is None and chain.begin is not None:
                refuse_early(chain.begin, max(latest_in(stored), taken_by(watermark, self.behind)))
            facts = self.facts[number] if self.facts else NO_FACTS
            if header is None:
                yield _Working(chain, hop, facts, None, heard_in(stored))
            else:
                yield _Working(chain, hop, facts, (header,))

    def _stepped(
        self, place: int, each: _Working, blocks: Sequence[Block], watermark: int
    ) -> tuple[Written, list[Block]]:
        """One step of a generation in a shard: what was written, and what it sends on. Where inputs
        have horizons of their own, blocks tell those that have moved."""
        chain, hop = each.chain, each.hop
        events, told = events_in(blocks), horizons_in(blocks)
        if hop.number not in self.shapes:
            self.shapes[hop.number] = state_shape(chain, hop)
        shape = self.shapes[hop.number]
        before = read_state(chain, hop, each.stored, self._store, shape)
        state = before.state if each.stored is not None else _beginning(chain, hop)
        events, late = _in_time(hop, events, state.horizons)
        heard = before.heard if each.stored is not None else each.heard
        inputs = went_on(chain, heard, state.horizons, told, clock_in(blocks))
        if chain.delays is None:
            told = everywhere(horizon_of(watermark), hop.part.origins)
        elif told:
            told = {**told, **inputs.horizons}
            told = everywhere(max(told.values()), hop.part.origins - chain.delays.keys()) | told
        store = decode_store(blocks) if chain.tells else Store()
        again: dict[str, Events] = {}
        after, results = _step_of(each, state, events, store, told, again)
        written = write_state(chain, hop, after, before, self._store, shape, notes(inputs))
        provenance = None
        if chain.lineage or hop.part.carried:
            made = store if hop.how == "whole row" else after.store
            provenance = Provenance(made.indexed(), hop.part.rulebook)
        shard = hop.places.index(place)
        found = [
            block
            for event, rows in results.items()
            if len(rows)
            for carried in (provenance if hop.tells_of(event, chain.lineage) else None,)
            for block in sent(chain, event, rows, hop.number, shard, carried)
        ]
        for event, rows in again.items():
            found += sent(chain, event, rows, hop.number, shard, provenance, results=False)
        following = chain.hop_at(self.place + 1)
        if following is not None:
            known = None if chain.delays is None else after.horizons
            found += ticks(following, shard, len(hop.places), known)
        found += _reported(chain, hop, place, late)
        if self.progress is not None and hop.how != "whole row":
            tables = each.facts.read()
            found += self.progress.blocks(hop.part, after, tables, chain.limits, place)
        if shard == 0 and chain is self.chains[0]:
            found += figures(place, inputs)
        return written, found


@dataclass(frozen=True, slots=True)
class _Working:
    """A generation that is worked on in a shard, and what is stored of it there."""

    chain: Chain
    hop: Hop
    facts: Facts
    stored: tuple[bytes] | None
    heard: Sequence[Any] = ()
    """What the shard has noted of inputs that may be idle, for a generation that begins."""


def _not_spread(hop: Hop) -> StateError:
    return StateError(refusal([f"it is not spread over {len(hop.places)} shards"]))


def _beginning(chain: Chain, hop: Hop) -> State:
    """State in which nothing has come yet. What ended by the time at which rules begin is as good
    as seen: there is nothing to wait for."""
    horizons = {} if chain.begin is None else everywhere(chain.begin, hop.part.origins)
    return State(horizons, gaps=chain.gaps)


def _step_of(
    each: _Working,
    state: State,
    events: dict[str, Events],
    store: Store,
    horizons: dict[str, int],
    again: dict[str, Events],
) -> tuple[State, dict[str, Events]]:
    """A step of the engine; ``store`` is what is known of how new events were derived. What was
    sent before and rests on something new is put into ``again``."""
    hop, lineage = each.hop, each.chain.lineage
    if hop.how == "whole row":
        return distinct_step(hop.part, state, events, horizons)
    if not lineage:
        columns = hop.part.columns
        events = {
            name: select(found, [c for c in found.columns if c in columns[name]])
            for name, found in events.items()
        }
    limits = each.chain.limits
    options = Options(
        lineage,
        hop.retention,
        tables=each.facts.read(),
        limits=limits,
        arriving=store,
        further=again.__setitem__ if hop.part.carried else None,
        knows=knowing(hop.part, each.facts, limits),
    )
    return step(hop.part, state, events, horizons, options)


def _reported(chain: Chain, hop: Hop, place: int, late: dict[str, Events]) -> Iterator[Block]:
    """Latecomers: counted at one hop only, and given on where they are asked for."""
    for event, found in late.items():
        if event in hop.counts:
            yield Block(place, MEASURE, "late", len(found), None)
            if chain.late:
                yield Block(place, LATE, event, len(found), encode(found))


def _in_time(
    hop: Hop, events: dict[str, Events], horizons: Mapping[str, int]
) -> tuple[dict[str, Events], dict[str, Events]]:
    """Events that end after the horizon of their input, and input events that came too late."""
    in_time, late = dict(events), {}
    for event in hop.part.base & events.keys():
        missed = events[event].end <= horizons.get(event, NEVER)
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
