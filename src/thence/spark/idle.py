"""Inputs of a stream that have gone quiet: which are idle, by a clock that replays agree on.

The wall clock of a trigger is the time that Spark has given its batch, in milliseconds. It is in
the checkpoint before the batch runs, so a batch that is run again has the same. All shards of the
first hop hear of the same inputs at the same times, and so agree on who is idle; the hops after it
are told horizons, and need not know why they moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from thence.engine.state.state import damaged
from thence.plan.horizons import NEVER
from thence.source_times import ONLY, Source, SourceTimes
from thence.spark.blocks import MEASURE, Block
from thence.spark.chain import Chain

COUNT, SINCE = "idle_count_", "idle_since_"
"""What the figures of an input are called, before its name: how often it was idle, and since when
it is."""


def went_on(
    chain: Chain,
    noted: Sequence[Any],
    horizons: Mapping[str, int],
    told: Mapping[str, int],
    now: int | None,
) -> SourceTimes:
    """The inputs after a trigger: those that are ``told`` have brought something, and those that
    have been quiet for long follow the furthest of the others.

    ``noted`` is what the shard remembers of them, ``horizons`` are those before the trigger. An
    input that is not known yet begins now. Without a clock (``now``), nothing has come; where
    inputs are never idle, there is nothing to know of them.
    """
    if chain.idle_after is None or chain.delays is None:
        return SourceTimes({}, {})
    known = dict(_read(noted))
    if now is not None:
        known = dict.fromkeys(chain.delays, Source(heard=now)) | known
    sources = {
        (name, ONLY): replace(known[name], horizon=horizons.get(name, NEVER))
        for name in chain.delays
        if name in known
    }
    times = SourceTimes(chain.delays, sources, chain.idle_after / 1000)
    if now is None:
        return times
    for name, horizon in told.items():
        times = times.advanced([(name, ONLY)], horizon, now)
    return times.idling(now)


def notes(times: SourceTimes) -> list[Any]:
    """What a shard remembers of the inputs, as JSON can say it; their horizons are in its state."""
    return [
        [name, each.heard, each.idle, each.idle_count, each.idle_since]
        for (name, _), each in times.sources.items()
    ]


def _read(noted: Sequence[Any]) -> Iterator[tuple[str, Source]]:
    for row in noted if isinstance(noted, list | tuple) else [None]:
        match row:
            case [
                str() as name,
                int() as heard,
                bool() as idle,
                int() as count,
                int() | None as since,
            ] if count >= idle and (since is not None or not count):
                yield name, Source(NEVER, heard, idle, count, since)
            case _:
                raise damaged("it does not say when it last heard of its inputs")


def figures(place: int, times: SourceTimes) -> Iterator[Block]:
    """What the metrics say of the inputs."""
    for (name, _), each in times.sources.items():
        if each.idle_count:
            yield Block(place, MEASURE, COUNT + name, each.idle_count, None)
        if each.idle and each.idle_since is not None:
            yield Block(place, MEASURE, SINCE + name, int(each.idle_since), None)
            yield Block(place, MEASURE, "idle", 1, None)


def idle_figures(chain: Chain) -> list[str]:
    """The names of the figures of all inputs that may be idle."""
    inputs = () if chain.idle_after is None else chain.delays or ()
    return [kind + name for name in inputs for kind in (COUNT, SINCE)]
