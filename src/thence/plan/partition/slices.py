"""Time slices: how a rule without a common key is worked on in several places at once.

A slice owns the results that end in its stretch of time. It is given every event that such a result
may depend on: those that end at most so long before, or after, as the closed bounds of the
rules allow. So each slice finds its own results complete, and each result has one owner. Slices
follow the clock, not the events: which ones need an event is known as soon as the event is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Conjunct, known_bounds
from thence.model.events import Times
from thence.plan.tree import Part, Stage

Shards = npt.NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction, of 2 to the 64th."""

_SLICES = 32
"""How many times what events reach over all shards together are wide; each is two at least."""

_NARROWEST = 1000


@dataclass(frozen=True, slots=True)
class Reach:
    """How long before a result's end the events that it depends on may end.

    Negative is after it. ``furthest`` is UNBOUNDED where nothing limits it.
    """

    nearest: int
    furthest: int

    @property
    def bounded(self) -> bool:
        return self.furthest < UNBOUNDED and self.nearest > -UNBOUNDED

    def __or__(self, other: Reach) -> Reach:
        return Reach(min(self.nearest, other.nearest), max(self.furthest, other.furthest))

    def __add__(self, other: Reach) -> Reach:
        nearest, furthest = self.nearest + other.nearest, self.furthest + other.furthest
        if not (self.bounded and other.bounded):
            return EVERYWHERE
        return Reach(nearest, furthest)


EVERYWHERE = Reach(-UNBOUNDED, UNBOUNDED)
ITSELF = Reach(0, 0)


def reaches(part: Part, lengths: Mapping[str, int]) -> dict[str, Reach]:
    """For every event that a part reads, how far before a result it may end.

    ``lengths`` says how long events last at most, where that is known.
    """
    found: dict[str, Reach] = dict.fromkeys(part.outputs, ITSELF)
    for stage in reversed(part.stages):
        # In a recursion the reach may grow with every round; where it does not settle, it is
        # without a bound.
        rounds = len(stage.events) + 1 if stage.recursive else 1
        before: dict[str, Reach] | None = None
        for _ in range(rounds):
            before = dict(found)
            _through(stage, lengths, found)
        if stage.recursive and before != found:
            found |= dict.fromkeys(_read(stage), EVERYWHERE)
    return {event: found.get(event, EVERYWHERE) for event in part.inputs}


def _through(stage: Stage, lengths: Mapping[str, int], found: dict[str, Reach]) -> None:
    for rule in stage.rules:
        for alternative in rule:
            conjunct = alternative.conjunct
            result = found.get(conjunct.event)
            if result is None:
                continue
            if conjunct.policy.consumes:
                # What was used up long ago decides what counts now.
                result = EVERYWHERE
            for atom, reach in enumerate(_of_atoms(conjunct, lengths)):
                event = conjunct.atoms[atom].event
                total = reach + result
                found[event] = found[event] | total if event in found else total


def _read(stage: Stage) -> set[str]:
    return {use.event for rule in stage.rules for alt in rule for use in alt.uses}


def _of_atoms(conjunct: Conjunct, lengths: Mapping[str, int]) -> list[Reach]:
    """How far before the result's end each atom's event may end."""
    match, windows = known_bounds(conjunct, lengths)
    found = []
    for atom, use in enumerate(conjunct.atoms):
        bounds = windows.get(atom, match)
        found.append(Reach(-bounds[use.end, conjunct.head.end], bounds[conjunct.head.end, use.end]))
    return found


@dataclass(frozen=True, slots=True)
class Slices:
    """Time cut into slices of one width, dealt to shards.

    No slice is narrower than what its events reach over, so an event is needed by two slices at
    most, and those are neighbours. Nothing has to be known of the events for that.
    """

    width: int
    shards: int

    def owner(self, ends: Times) -> Shards:
        """The shard that reports what ends at each of the given times.

        Slices are dealt out by the golden ratio: neighbours as well as every second, every
        seventh or every 86,400th slice then spread evenly.

        >>> Slices(10, 3).owner(np.array([0, 9, 10, 20, 30, 40])).tolist()
        [0, 0, 1, 0, 2, 1]
        """
        numbers = np.floor_divide(ends, self.width).astype(np.uint64)
        fractions = (numbers * _GOLDEN) >> np.uint64(32)
        return ((fractions * np.uint64(self.shards)) >> np.uint64(32)).astype(np.int64)

    def needed_by(self, ends: Times, reach: Reach) -> tuple[Shards, Shards]:
        """The two shards, or twice the one, that need an event which ends at each of the times."""
        return self.owner(ends + reach.nearest), self.owner(ends + reach.furthest)


def slices_for(reach: Mapping[str, Reach], shards: int) -> Slices:
    """Slices of a good width: what neighbours share is little, and there are enough for all.

    >>> slices_for({"a": Reach(0, 1000), "b": Reach(-500, 0)}, 2)
    Slices(width=24000, shards=2)
    """
    least = span(reach)
    return Slices(max(least * max(2, _SLICES // shards), _NARROWEST), shards)


def span(reach: Mapping[str, Reach]) -> int:
    """From the earliest to the latest event that a result may depend on."""
    nearest = min((one.nearest for one in reach.values()), default=0)
    return max((one.furthest for one in reach.values()), default=0) - nearest
