"""Repetitions: the part of the oracle that says which chains are greedy.

Without a policy every chain counts. With ``greedy`` the chains are what a regular expression that
goes back would find. Of all matches with the same single events (and, where nothing comes before a
repetition, with the same beginning) only one counts: that of which the first repetition is
preferred, of those the one of which the second is, and so on. Of two chains, event by event, the
one is preferred that has the earlier event, or any event where the other is over already.

A beginning counts only if no event can be put before what was found from it: that is, if what
would come about is no match.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle_history import Event, Interval
from oracle_patterns import Chosen, Judged, Nth, Repeated, Scope, bare, walk_asserted
from oracle_policies import in_order

from thence.logic.ops import Pattern, Seq, Until

Match = tuple[Scope, Pattern, Interval]


def greedy_only(matches: list[Match]) -> list[Match]:
    """The matches whose repetitions are all greedy."""
    groups: dict[Any, list[Match]] = {}
    for match in matches:
        groups.setdefault((others(match), beginnings(match)), []).append(match)
    longer = {shorter for match in matches for shorter in less_the_first(match)}
    found = [min(group, key=preference) for group in groups.values()]
    return [
        match
        for match in found
        if not any((n, others(match), chains(match)) in longer for n in leading(match))
    ]


def preference(match: Match) -> list[Any]:
    """Least for the match to take: more events come before fewer, earlier before later ones."""
    return [[*((0, in_order(event)) for event in chain), (1,)] for chain in chains(match)]


def less_the_first(match: Match) -> Iterator[Any]:
    """What is left of a match without the first event of a repetition that leads its sequence."""
    found = chains(match)
    for number in leading(match):
        shorter = (*found[:number], found[number][1:], *found[number + 1 :])
        yield number, others(match), shorter


def leading(match: Match) -> list[int]:
    """The numbers of the repetitions before which nothing comes."""
    return [number for number, node in enumerate(all_of(match)) if leads(match[1], node)]


def all_of(match: Match) -> list[Repeated]:
    """The repetitions of a match, in the order of the text."""
    return [node for node in walk_asserted(match[1]) if isinstance(node, Repeated)]


def events_of(node: Repeated) -> tuple[Event, ...]:
    return tuple(bare(part).event for part in node.parts)


def chains(match: Match) -> tuple[tuple[Event, ...], ...]:
    return tuple(map(events_of, all_of(match)))


def beginnings(match: Match) -> tuple[Any, ...]:
    """With which event each repetition begins before which nothing comes."""
    return tuple(chains(match)[number][:1] for number in leading(match))


def others(match: Match) -> tuple[Any, ...]:
    """Everything in a match but its repetitions: the branch of each alternative, the single events,
    the ticks, the end of it all, and the values that all repetitions share."""
    scope, chosen, at = match
    single: list[Any] = []
    for part in walk_asserted(chosen):
        match part:
            case Chosen(atom, event):
                single.append((id(atom), event))
            case Judged(pattern, event):
                single.append((id(pattern), event))
            case Nth(ticks, number):
                single.append((ticks.period, number))
            case Repeated(repeat):
                single.append(id(repeat))
    shared = tuple(sorted((k, repr(v)) for k, v in scope.variables.items() if k in scope.shared))
    return tuple(single), at.end, shared


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
