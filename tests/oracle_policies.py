"""What a policy makes of the matches of a rule: the policies' part of the oracle.

Matches are judged in the order of their ends. Those of one end whose last event, the terminator, is
the same are judged together; the events that are used up by then take part in none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from oracle_history import ALWAYS, Event, Interval
from oracle_patterns import Chosen, Judged, Repeated, Scope, asserted, bare
from oracle_values import order

from thence.logic.ops import Label, Pattern, Ref, Timer, Where, While, Within
from thence.logic.policy import Policy

Match = tuple[Scope, Pattern, Interval]


def merged_by(policy: Policy, matches: list[Match]) -> list[list[Match]]:
    """The matches that count, those together that differ only in events of which all are taken as
    one."""
    used: set[Event] = set()
    counted: list[list[Match]] = []
    for _, together in groupby(sorted(matches, key=detection), key=detection):
        free = [match for match in together if not spends(policy, match) & used]
        groups: dict[tuple[Any, ...], list[Match]] = {}
        for match in free:
            groups.setdefault(left_open(policy, match), []).append(match)
        taken = []
        for group in groups.values():
            best = min(preference(policy, match) for match in group)
            taken.append([match for match in group if preference(policy, match) == best])
        for match in (match for group in taken for match in group):
            used |= spends(policy, match)
        counted += taken
    return counted


def detection(match: Match) -> tuple[Any, ...]:
    """When a match is complete, and with which event; of several last events, with that of the
    last part of the pattern. A match of instants alone is complete with none."""
    _, _, at = match
    events = [event for _, event in components(match)]
    if not events:
        return at.end, ()
    latest = max(event.at.end for event in events)
    return at.end, in_order([event for event in events if event.at.end == latest][-1])


def spends(policy: Policy, match: Match) -> set[Event]:
    """The events that a match uses up, and so needs unused."""
    events = [event for _, event in components(match)]
    match policy.consumption:
        case "exclusive":
            return set(events)
        case "initiator" if events:
            earliest = min(event.at.start for event in events)
            return {next(event for event in events if event.at.start == earliest)}
    return set()


def left_open(policy: Policy, match: Match) -> tuple[Any, ...]:
    """The events of which every one counts."""
    return tuple(e for label, e in components(match) if policy.choice_of(label) == "all")


def preference(policy: Policy, match: Match) -> list[Any]:
    """Least for the match to take, the first parts of the pattern deciding first."""
    found: list[Any] = []
    for label, event, part in placed_components(match):
        choice = policy.choice_of(label)
        if choice in ("first", "last"):
            # All repetitions of one part have one place, so that more of them come first.
            place = place_of(match, part)
            found.append(
                (place, in_order(event) if choice == "first" else Backwards(in_order(event)))
            )
    return found


def merges(policy: Policy) -> bool:
    """Whether matches become one result: ``cumulative``, for all events or for some."""
    return policy.choice == "cumulative" or any(c == "cumulative" for _, c in policy.labels)


def place_of(match: Match, part: Pattern) -> int:
    """Which part of the pattern an event was chosen for, by number; each repetition is one part,
    also where it is empty."""
    parts = dict.fromkeys(id(other) for _, _, other in all_components(match))
    return list(parts).index(id(part))


def in_order(event: Event) -> tuple[Any, ...]:
    """Events are ordered by time, then type, then attributes."""
    return event.at, event.type, tuple(order(value) for value in event.values)


class Backwards:
    """A key in the opposite order."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Backwards) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def components(match: Match) -> list[tuple[str | None, Event]]:
    """The events of a match with their labels, each label once, in the order of the text. Facts are
    none: a policy has no say in them."""
    return [(label, event) for label, event, _ in placed_components(match)]


def placed_components(match: Match) -> list[tuple[str | None, Event, Pattern]]:
    """The same, each with the part of the pattern that it was chosen for."""
    return [(label, event, part) for label, event, part in all_components(match) if event]


def all_components(match: Match) -> list[tuple[str | None, Event | None, Pattern]]:
    """The same, with the parts that are repeated no times, for which there is no event."""
    scope, chosen, _ = match
    found = _components(chosen, None, scope, set())
    return [component for component in found if not component[1] or component[1].at != ALWAYS]


def _components(
    pattern: Pattern, label: str | None, scope: Scope, seen: set[str]
) -> Iterator[tuple[str | None, Event | None, Pattern]]:
    match pattern:
        case Chosen(_, event) | Judged(_, event):
            yield label, event, pattern
        case Repeated(repeat, parts):
            inner = repeat.pattern
            while isinstance(inner, (Where, Within)):
                inner = inner.pattern
            named = inner.name if isinstance(inner, Label) else None
            for part in parts:
                yield named, bare(part).event, pattern
            if not parts:
                yield named, None, pattern
        case Label(name):
            if name not in seen:
                seen.add(name)
                named, _ = scope.labels[name]
                yield from _components(named, name, scope, seen)
        case Ref(name) | Timer(name) | While(name):
            yield from _components(Label(name, pattern), None, scope, seen)
        case _:
            for part in asserted(pattern):
                yield from _components(part, None, scope, seen)
