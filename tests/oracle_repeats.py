"""Repetitions: the part of the oracle that says which chains of events a pattern repeats.

Without a policy every chain counts. A greedy one is found by comparing all matches that have the
same other events: it begins with the first event that fits (or, at the beginning of the pattern,
with any that no other could precede), goes on with the first that fits, and stops only when none
does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle_patterns import Chosen, Event, Interval, Repeated, Scope, bare, walk_asserted
from oracle_policies import in_order

from thence.logic.ops import Pattern, Seq, Until

Match = tuple[Scope, Pattern, Interval]


def greedy_only(matches: list[Match]) -> list[Match]:
    """The matches whose repetitions are all greedy, and as many as asked for."""
    groups: dict[Any, set[tuple[Event, ...]]] = {}
    for match in matches:
        for node in repeated(match):
            groups.setdefault(others(match, node), set()).add(events_of(node))
    return [
        match
        for match in matches
        if all(
            is_greedy(node, leads(match[1], node), groups[others(match, node)])
            for node in repeated(match)
        )
    ]


def is_greedy(node: Repeated, leading: bool, chains: set[tuple[Event, ...]]) -> bool:
    chain, most = events_of(node), node.repeat.most
    if len(chain) < node.repeat.least or (most is not None and len(chain) > most):
        return False
    if not chain:
        return chains == {()}
    if leading:
        if any(other[1:] == chain for other in chains):
            return False
    elif chain[0] != min((other[0] for other in chains if other), key=in_order):
        return False
    for at in range(1, len(chain)):
        following = {o[at] for o in chains if o[:at] == chain[:at] and len(o) > at}
        if chain[at] != min(following, key=in_order):
            return False
    size = len(chain)
    longer = any(other[:size] == chain and len(other) > size for other in chains)
    return not longer or size == most


def repeated(match: Match) -> list[Repeated]:
    """The repetitions of a match, in the order of the text."""
    return [node for node in walk_asserted(match[1]) if isinstance(node, Repeated)]


def events_of(node: Repeated) -> tuple[Event, ...]:
    return tuple(bare(rep).event for rep in node.parts)


def others(match: Match, node: Repeated) -> tuple[Any, ...]:
    """Everything in a match but one of its repetitions."""
    scope, chosen, _ = match
    single = tuple(part.event for part in walk_asserted(chosen) if isinstance(part, Chosen))
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
