"""A program as a chain of hops: what every task of a query is told, and all it needs to know.

A hop is a shuffle and the work after it. Blocks of events travel along the chain; each says at
which hop it is to be read, and passes the hops before that unopened. The chain is data: it
travels to the executors inside the query.

A query whose program was changed has a chain for each generation of rules that began together. They
run side by side, hop by hop; the number of a hop says to which of them it belongs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thence.engine.limits.growth import DEFAULT, Limits
from thence.model.schema import EventSchema
from thence.plan.horizons import CLOCK
from thence.plan.partition.keys import Key
from thence.plan.partition.parts import How, Piece
from thence.plan.partition.slices import Reach, Slices, slices_for
from thence.plan.retention import Kept, retention_of
from thence.plan.tree import Part
from thence.spark.placing import places

GENERATION = 1 << 16
"""How far the numbers of the hops of two chains are apart that run side by side."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One piece of a program at its place in the chain.

    ``places`` are the numbers that lead to its shards. ``reads`` are the columns it needs of each
    event. ``always`` says that its rules may find something where there is no event at all.
    ``counts`` are the input events whose latecomers are counted here.
    """

    number: int
    part: Part
    how: How
    key: Key | None
    reach: Mapping[str, Reach]
    places: tuple[int, ...]
    reads: Mapping[str, tuple[str, ...]]
    always: bool
    counts: frozenset[str] = frozenset()
    retention: Mapping[str, Kept] = field(default_factory=dict)
    slices: Slices | None = None
    """How time is cut, where the work is spread by time over several shards."""

    def tells_of(self, event: str, lineage: bool) -> bool:
        """Whether it says how events of a type were derived."""
        return lineage or event in self.part.carried

    @property
    def alone(self) -> bool:
        """Whether there is one shard only."""
        return len(self.places) == 1


@dataclass(frozen=True, slots=True)
class Chain:
    """The hops of a program, and what it gives in the end.

    ``spread`` are numbers that lead to all partitions alike, for blocks that only pass. ``horizon``
    is the time up to which everything is there, where that is known beforehand.
    """

    hops: tuple[Hop, ...]
    schemas: Mapping[str, EventSchema]
    emit: tuple[str, ...]
    repeats: frozenset[str]
    spread: tuple[int, ...]
    lineage: bool
    horizon: int | None = None
    late: bool = False
    holds: tuple[Mapping[str, Any], ...] = ()
    """What the state of each hop holds (``compatibility.py``); empty in a batch."""
    limits: Limits = DEFAULT
    """What each task may take."""
    delays: Mapping[str, int] | None = None
    """How late the events of each input may come, in a stream whose inputs have frames, and so
    horizons, of their own; otherwise all go by Spark's watermark. Of an input that has no frame
    nothing ever comes, so it follows the furthest of the others."""
    idle_after: int | None = None
    """After how many microseconds an input that has a frame of its own and brings nothing no longer
    holds anything up (``idle.py``)."""
    until: Mapping[str, int] = field(default_factory=dict)
    """Up to when inputs are there in a batch, of those for which it is said one by one."""
    gaps: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """The times over which inputs are not known."""
    first: int = 0
    """The number of the first hop."""
    length: int | None = None
    """How many hops the query has, where this chain may have fewer: its results pass the rest."""
    begin: int | None = None
    """The time at which its rules begin: they see nothing that ended by then. None is the beginning
    of the query."""

    def horizons(self, latest: int) -> dict[str, int]:
        """The horizons of a batch's inputs, of which all is there up to a time unless it is said
        otherwise."""
        inputs = {name: self.until.get(name, latest) for name in self.hops[0].part.origins}
        return {**inputs, CLOCK: max(inputs.values(), default=latest)}

    @property
    def tells(self) -> bool:
        """Whether blocks may say how their events were derived."""
        return self.lineage or any(hop.part.carried for hop in self.hops)

    @property
    def end(self) -> int:
        """The number after that of the query's last hop: where results go."""
        return len(self.hops) if self.length is None else self.length

    def hop(self, number: int) -> Hop:
        """The hop that has a number."""
        return self.hops[number - self.first]

    def hop_at(self, place: int) -> Hop | None:
        """The hop that works in the query's hop at some place; None where blocks only pass."""
        return self.hops[place] if place < len(self.hops) else None

    def holds_of(self, hop: Hop) -> Mapping[str, Any]:
        """What the state of a hop holds."""
        return self.holds[hop.number - self.first]

    def targets(self, event: str, after: int) -> tuple[int, ...]:
        """The numbers of the hops after a given one that read an event; the end counts as one."""
        later = after + 1 - self.first
        found = [hop.number for hop in self.hops[later:] if event in hop.part.inputs]
        distinct = event not in self.repeats or self.hops[later - 1].how == "whole row"
        return (*found, self.end) if event in self.emit and distinct else tuple(found)

    @property
    def waits(self) -> bool:
        """Whether some rule has to know up to when everything has been seen."""
        return any(rule.conjunct.completions for hop in self.hops for rule in hop.part.prepared)


def make_chain(
    pieces: Sequence[Piece],
    schemas: Mapping[str, EventSchema],
    emit: tuple[str, ...],
    shards: int,
    lineage: bool,
    horizon: int | None = None,
    late: bool = False,
    lengths: Mapping[str, int] | None = None,
    first: int = 0,
) -> Chain:
    """The chain of some pieces of a program, each on so many shards, numbered from ``first`` on.

    ``lengths`` says how long events last at most, from which follows how long a stream
    has to keep them. Where latecomers or lineage are asked for, events come with all attributes.
    """
    counted: set[str] = set()
    hops = []
    for number, piece in enumerate(pieces, first):
        count = 1 if piece.how == "one place" else shards
        part = piece.part
        hops.append(
            Hop(
                number,
                part,
                piece.how,
                piece.key,
                piece.reach,
                places(count),
                _reads(piece, late or lineage),
                any(not rule.conjunct.events for rule in part.prepared),
                part.base - counted,
                {} if lengths is None else retention_of(part, lengths),
                slices_for(piece.reach, count) if piece.how == "time" and count > 1 else None,
            )
        )
        counted |= part.base
    return Chain(
        tuple(hops),
        {event: schemas[event] for hop in hops for event in hop.part.schemas},
        emit,
        frozenset(event for piece in pieces for event in piece.repeats),
        places(shards),
        lineage,
        horizon,
        late,
        first=first,
    )


def _reads(piece: Piece, whole: bool) -> dict[str, tuple[str, ...]]:
    """The columns that a piece needs of each event that it is given, in the schema's order."""
    part = piece.part
    columns = part.columns
    found = {}
    for event in part.inputs:
        names = part.schemas[event].names
        everything = whole or piece.how == "whole row"
        needed = set(names) if everything else set(columns.get(event, ()))
        if piece.key is not None:
            needed |= set(piece.key.columns.get(event, ()))
        found[event] = tuple(name for name in names if name in needed)
    return found
