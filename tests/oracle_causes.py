"""Which events a derived event was made of: the oracle of ``caused_by``."""

from __future__ import annotations

from collections.abc import Iterator

from oracle import consequences
from oracle_history import Event, History
from oracle_patterns import Chosen, walk_events


def caused(effect: Event, cause: Event, history: History) -> bool:
    """Whether an event is among those that another was made of, directly or through others."""
    waiting, seen = [effect], {effect}
    while waiting:
        for part in parts(waiting.pop(), history):
            if part == cause:
                return True
            if part not in seen:
                seen.add(part)
                waiting.append(part)
    return False


def parts(event: Event, history: History) -> Iterator[Event]:
    """What an event was directly made of, in whichever way."""
    for rule in history.rules:
        if rule.event != event.type:
            continue
        for found, matches in consequences(rule, history):
            for scope, chosen, _ in matches if found == event else ():
                collected = [each for held in scope.collected.values() for _, each, _ in held]
                for pattern in (chosen, *collected):
                    yield from (n.event for n in walk_events(pattern) if isinstance(n, Chosen))
