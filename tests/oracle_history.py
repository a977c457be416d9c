"""What the oracle knows: events, when they happened, and the history that they make up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from thence.logic.ops import Atom, Pattern, Rule, walk

INFINITY = float("inf")


def types_in(pattern: Pattern) -> set[str]:
    """The types of the events in a pattern, what must be absent and so on included."""
    return {node.event for node in walk(pattern) if isinstance(node, Atom)}


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
    valid: tuple[float, float] = (-INFINITY, INFINITY)
    """From when and up to when a row of a table is true: the first belongs to it, the last not."""

    def is_valid(self, time: float) -> bool:
        return self.valid[0] <= time < self.valid[1]


@dataclass(frozen=True)
class History:
    """All events known so far, the names of each type's attributes, the horizon of each input, the
    rules, and which columns are floats.

    A horizon is None if nothing has been seen and no end was stated: then nothing is judged by it.
    ``gaps`` are the times, by input, of which it is not known what ended then.
    What follows an occurrence is judged on the history that begins ``since`` then: ``whole`` is
    all of it. Where events are ``cut``, it is still to be told since when.
    """

    events: dict[str, set[Event]]
    names: dict[str, tuple[str, ...]]
    horizons: Mapping[str, int | None]
    rules: tuple[Rule, ...] = ()
    floats: Mapping[str, frozenset[int]] = field(default_factory=dict)
    since: float = -float("inf")
    whole: History | None = None
    cut: bool = False
    agreed: frozenset[str] = frozenset()
    """What all repetitions of the rule at hand agree on, since it stands outside of them too."""
    gaps: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
    changed_by: Mapping[str, Mapping[str, set[str]]] = field(default_factory=dict)
    """The types that insert into tables, and that delete from them."""

    def horizon(self, types: Iterable[str]) -> float:
        """Up to when all has been seen that some types rest on; what rests on no input goes by the
        input that has been seen furthest."""
        own = [self.horizons[name] for name in self.inputs(types)]
        known = [-INFINITY if time is None else time for time in own]
        every = [-INFINITY if time is None else time for time in self.horizons.values()]
        return min(known) if known else max(every, default=-INFINITY)

    def inputs(self, types: Iterable[str]) -> set[str]:
        """The inputs that some types rest on, by the rules: all that stands in their bodies."""
        seen, left = set(), set(types)
        while left:
            one = left.pop()
            seen.add(one)
            bodies = [rule.body for rule in self.rules if rule.event == one]
            left |= {type_ for body in bodies for type_ in types_in(body)} - seen
            left |= set().union(*self.changed_by.get(one, {}).values()) - seen
        return seen & self.horizons.keys()

    def unseen(self, pattern: Pattern, first: float, last: float) -> bool:
        """Whether something in a pattern may have ended, between two times, without being known."""
        gaps = [gap for type_ in types_in(pattern) for gap in self.gaps.get(type_, ())]
        return any(max(first, a) <= min(last, b) for a, b in gaps)

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
