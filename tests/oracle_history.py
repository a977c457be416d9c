"""What the oracle knows: events, when they happened, and the history that they make up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from thence.logic.ops import Rule


class Interval(NamedTuple):
    """From start to end, in microseconds; both belong to it."""

    start: int
    end: int


ALWAYS = Interval(float("inf"), -float("inf"))
"""The interval of a fact: it is inside nothing, and adds nothing to an interval that it joins."""


class Event(NamedTuple):
    """An event *is* its type, its attributes in declared order, and its interval."""

    type: str
    values: tuple[Any, ...]
    at: Interval


@dataclass(frozen=True)
class History:
    """All events known so far, the names of each type's attributes, the horizon, the rules, and
    which columns are floats.

    The horizon is None if nothing has been seen and no end was stated: then nothing is judged.
    What follows an occurrence is judged on the history that begins ``since`` then: ``whole`` is
    all of it. Where events are ``cut``, it is still to be told since when.
    """

    events: dict[str, set[Event]]
    names: dict[str, tuple[str, ...]]
    horizon: int | None
    rules: tuple[Rule, ...] = ()
    floats: Mapping[str, frozenset[int]] = field(default_factory=dict)
    since: float = -float("inf")
    whole: History | None = None
    cut: bool = False
    agreed: frozenset[str] = frozenset()
    """What all repetitions of the rule at hand agree on, since it stands outside of them too."""

    def after(self, time: float) -> History:
        """COMPOSE's history that begins after a time: what started up to then is deleted."""
        left = {
            name: {e for e in known if e.at.start > time} for name, known in self.events.items()
        }
        return replace(self, events=left, since=time, whole=self.whole or self, cut=False)

    def cuts(self) -> Iterator[History]:
        """All that can be left of it after some time, if that is still to be told."""
        yield replace(self, cut=False)
        if self.cut:
            for time in sorted(
                {event.at.start for known in self.events.values() for event in known}
            ):
                yield self.after(time)

    def attribute(self, event: Event, name: str) -> Any:
        return event.values[self.names[event.type].index(name)]
