"""What each derived event is directly made of, by brute force: the oracle's matches, rule by rule,
over everything that is known in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lineage_oracle import history_of
from notation import Written
from oracle import complete, components, consequences
from oracle_history import Event
from oracle_patterns import Chosen, Label, Pattern, walk_events
from oracle_policies import merges

from thence.lang.parser import parse_program
from thence.model.source import Source


class Part(NamedTuple):
    """An event as a part of a derivation: its label in the rule, and whether it was collected."""

    label: str | None
    event: Event
    collected: bool


class Way(NamedTuple):
    """One derivation: the line of the rule, and what it is made of."""

    line: int
    parts: frozenset[Part]


Ways = dict[Event, set[Way]]


def direct_causes(text: str, events: Sequence[Written], until: int | None) -> Ways:
    """For every derived event, all its derivations."""
    program = parse_program(Source(text))
    history = history_of(program, events, until)
    for component in components(program.rules):
        rules = [rule for rule in program.rules if rule.event in component]
        complete(history, rules, component)
    found: Ways = {}
    for rule in program.rules:
        line, _ = program.source.position(rule.span.start)
        for event, matches in consequences(rule, history):
            ways = [parts_of(chosen, False) for _, chosen, _ in matches]
            collected = [
                parts_of(member, True)
                for scope, _, _ in matches
                for members in scope.collected.values()
                for _, member, _ in members
            ]
            if merges(rule.policy) or any(scope.collected for scope, _, _ in matches):
                # All the matches of a group, and all they collect, are one derivation.
                ways = [frozenset[Part]().union(*ways, *collected)]
            found.setdefault(event, set()).update(Way(line, parts) for parts in ways)
    return found


def parts_of(chosen: Pattern, collected: bool) -> frozenset[Part]:
    """The events chosen for the atoms of a match, with the labels that name them."""
    labels: dict[int, str] = {}
    found = set()
    for node in walk_events(chosen):
        if isinstance(node, Label):
            labels[id(node.pattern)] = node.name
        elif isinstance(node, Chosen):
            row = Event(*node.event[:3])  # when it is valid does not tell it from others
            found.add(Part(labels.get(id(node)), row, collected))
    return frozenset(found)
