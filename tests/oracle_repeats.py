"""Repetitions: the part of the oracle that says which chains are greedy.

Without a policy every chain counts. A greedy one is built event by event: among all events that the
repetition could have beside the same other events, it begins with the first (or, at the beginning
of the pattern, with any that no other could precede), goes on with the first that may follow, and
stops only when none may. It never goes back. What comes about so is a match, or nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from oracle_patterns import (
    Chosen,
    Event,
    Interval,
    Judged,
    Repeated,
    Scope,
    bare,
    walk_asserted,
)
from oracle_policies import in_order
from oracle_sequences import repetition

from thence.logic.ops import Pattern, Seq, Until

Match = tuple[Scope, Pattern, Interval]


@dataclass
class Room:
    """The events that a repetition could have beside the same other events, each as it is chosen
    for it; the chains of them; and those of which there is a match, with its end."""

    parts: dict[Event, Pattern] = field(default_factory=dict)
    chains: set[tuple[Event, ...]] = field(default_factory=set)
    ends: set[tuple[int, tuple[Event, ...]]] = field(default_factory=set)


def greedy_only(matches: list[Match], loose: list[Match], unjudged: list[Match]) -> list[Match]:
    """The matches whose repetitions are all greedy, and as many as asked for. ``loose`` are those
    in which anything may follow anything, as far as it starts after the other has ended;
    ``unjudged`` are those, and others in which there is what must be absent."""
    rooms: dict[Any, Room] = {}
    for match in unjudged:
        for node in repeated(match):
            room = rooms.setdefault(others(match, node), Room())
            room.parts.update((bare(part).event, part) for part in node.parts)
            room.chains.add(events_of(node))
    for match in loose:
        for node in repeated(match):
            rooms[others(match, node)].ends.add((match[2].end, events_of(node)))
    return [
        match
        for match in matches
        if all(is_greedy(match, node, rooms[others(match, node)]) for node in repeated(match))
    ]


def is_greedy(match: Match, node: Repeated, room: Room) -> bool:
    chain, least = events_of(node), node.repeat.least
    if len(chain) < least:
        return False
    if not chain:
        return not room.parts
    if leads(match[1], node):
        longer = [e for e in room.parts if (match[2].end, (e, *chain)) in room.ends]
        if any(may_follow(match, node, room, other, chain[0]) for other in longer):
            return False
    elif chain[0] != min(room.parts, key=in_order):
        return False
    return chain == longest(match, node, room, chain[0])


def longest(match: Match, node: Repeated, room: Room, first: Event) -> tuple[Event, ...]:
    """The chain that begins with an event and goes on with the first that may follow, of those
    that some chain with this beginning has room for."""
    chain, most = [first], node.repeat.most
    fitting = {e for other in room.chains if other[:1] == (first,) for e in other}
    while most is None or len(chain) < most:
        following = [e for e in fitting if may_follow(match, node, room, chain[-1], e)]
        if not following:
            break
        chain.append(min(following, key=in_order))
    return tuple(chain)


def may_follow(match: Match, node: Repeated, room: Room, one: Event, other: Event) -> bool:
    """Whether one event may come right after another, by their times, by what a condition reads of
    the one before, and, where it is strict, by what lies between."""
    if not one.at.end < other.at.start:
        return False
    pair = replace(node, parts=(room.parts[one], room.parts[other]))
    return repetition(pair, replace(match[0], repeated={}, gates=[], having=[])) is not None


def repeated(match: Match) -> list[Repeated]:
    """The repetitions of a match, in the order of the text."""
    return [node for node in walk_asserted(match[1]) if isinstance(node, Repeated)]


def events_of(node: Repeated) -> tuple[Event, ...]:
    return tuple(bare(rep).event for rep in node.parts)


def others(match: Match, node: Repeated) -> tuple[Any, ...]:
    """Everything in a match but one of its repetitions."""
    scope, chosen, _ = match
    single = tuple(
        part.event for part in walk_asserted(chosen) if isinstance(part, Chosen | Judged)
    )
    chains = tuple(
        (number, other is node, () if other is node else events_of(other))
        for number, other in enumerate(repeated(match))
    )
    shared = tuple(sorted((k, repr(v)) for k, v in scope.variables.items() if k in scope.shared))
    return single, chains, shared


def leads(pattern: Pattern, node: Repeated) -> bool:
    """Whether nothing comes before a repetition in its sequence."""
    for part in walk_asserted(pattern):
        if isinstance(part, (Seq, Until)):
            parts = list(flat(part))
            if any(other is node for other in parts[1:]):
                return False
    return True


def flat(pattern: Pattern) -> Iterator[Pattern]:
    """The parts of a sequence, those of sequences inside it among them."""
    match pattern:
        case Seq(parts):
            for part in parts:
                yield from flat(part)
        case Until(inner, closing):
            yield from flat(inner)
            yield from flat(closing)
        case _:
            yield pattern
