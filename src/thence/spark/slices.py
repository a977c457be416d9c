"""Time slices: how a rule without a common key is worked on in several places at once.

A slice owns the results that end in its stretch of time. It is given every event that such a result
may depend on: those that end at most so long before, or after, as the closed bounds of the
rules allow. So each slice finds its own results complete, and each result has one owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.engine.program import Part, Stage
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Conjunct, lengths_of
from thence.model.events import Times

Slices = npt.NDArray[np.int64]


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
            for atom, reach in enumerate(_of_atoms(conjunct, lengths)):
                event = conjunct.atoms[atom].event
                total = reach + result
                found[event] = found[event] | total if event in found else total


def _read(stage: Stage) -> set[str]:
    return {use.event for rule in stage.rules for alt in rule for use in alt.uses}


def _of_atoms(conjunct: Conjunct, lengths: Mapping[str, int]) -> list[Reach]:
    """How far before the result's end each atom's event may end."""
    known = lengths_of(conjunct, lengths)
    match = conjunct.bounds.with_constraints(known)
    windows = {w.atom: w.bounds.with_constraints(known) for w in conjunct.windows}
    found = []
    for atom, use in enumerate(conjunct.atoms):
        bounds = windows.get(atom, match)
        found.append(Reach(-bounds[use.end, conjunct.end], bounds[conjunct.end, use.end]))
    return found


def owner(ends: Times, boundaries: Times) -> Slices:
    """The slice in which each time lies. A boundary is the first instant of the slice after it.

    >>> owner(np.array([5, 10, 11]), np.array([10])).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(boundaries, ends, side="right")


def needed_by(ends: Times, boundaries: Times, reach: Reach) -> tuple[Slices, Slices]:
    """The first and the last slice that needs an event which ends at each of the given times."""
    if not reach.bounded:
        return np.zeros(len(ends), np.int64), np.full(len(ends), len(boundaries), np.int64)
    return owner(ends + reach.nearest, boundaries), owner(ends + reach.furthest, boundaries)
