"""Which base events stand behind each result, by brute force: the oracle's matches, followed down
to the events that they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from notation import Written
from oracle import complete, components, consequences, float_columns, horizons_of, reason
from oracle_changes import add_versions, triggers
from oracle_history import Event, History, Interval
from oracle_patterns import Chosen, Label, Pattern, walk_events
from oracle_values import canonical

from thence.lang.parser import parse_program
from thence.logic.ops import LogicProgram, Rule
from thence.model.source import Source


class Entry(NamedTuple):
    """A base event, and the label it has in the rule that reads it."""

    label: str | None
    event: str
    values: tuple[Any, ...]
    start: int
    end: int


Lineages = dict[str, dict[tuple[tuple[Any, ...], int, int], frozenset[Entry]]]


def history_of(program: LogicProgram, events: Sequence[Written], until: int | None) -> History:
    """What is known before any rule has derived something."""
    names = {schema.name: schema.names for schema in program.declared}
    for fact in reversed(program.facts):
        names.setdefault(fact.relation, fact.columns)
    for rule in reversed((*program.deductions, *program.rules)):
        names[rule.event] = tuple(term.name for term in rule.terms)
    known: dict[str, set[Event]] = {name: set() for name in names}
    for event in events:
        at = Interval(event.start, event.end)
        valid = () if event.valid is None else (event.valid,)
        known[event.type].add(Event(event.type, canonical(event.values), at, *valid))
    streams = [schema.name for schema in program.events]
    ends = [event.end for event in events if event.type in streams]
    horizons = horizons_of(until, streams, ends)
    history = History(
        known,
        names,
        horizons,
        program.rules,
        float_columns(program),
        changed_by=triggers(program),
    )
    reason(program, history)
    return history


def lineages(text: str, events: Sequence[Written], until: int | None) -> Lineages:
    """For every derived event, the base events of all its derivations together."""
    program = parse_program(Source(text))
    history = history_of(program, events, until)
    behind: dict[Event, frozenset[Entry]] = {}
    first = {table: set(history.events[table]) for table in program.changed}
    for component in components(program.rules, history.changed_by):
        add_versions(program, history, first)
        rules = [rule for rule in program.rules if rule.event in component]
        complete(history, rules, component)
        while sum(grow(rule, history, behind) for rule in rules):
            pass
    found: Lineages = {rule.event: {} for rule in program.rules}
    for event, entries in behind.items():
        found[event.type][event.values, *event.at] = entries
    return found


def grow(rule: Rule, history: History, behind: dict[Event, frozenset[Entry]]) -> bool:
    """Add from what a rule derives each of its events; whether anything is new."""
    found: dict[Event, set[Entry]] = {}
    for event, matches in consequences(rule, history):
        entries = found.setdefault(event, set())
        for scope, chosen, _ in matches:
            entries |= base_events(chosen, behind, history)
            for members in scope.collected.values():
                for _, member, _ in members:
                    entries |= base_events(member, behind, history)
    more = False
    for event, entries in found.items():
        if event not in behind or not entries <= behind[event]:
            behind[event] = behind.get(event, frozenset()) | entries
            more = True
    return more


def base_events(
    chosen: Pattern, behind: dict[Event, frozenset[Entry]], history: History
) -> set[Entry]:
    """The base events of a match: the chosen ones, or what stands behind them. What a table holds
    that events change is only asked."""
    found: set[Entry] = set()
    labels: dict[int, str] = {}
    derived = {rule.event for rule in history.rules}
    for node in walk_events(chosen):
        if isinstance(node, Label):
            labels[id(node.pattern)] = node.name
        elif isinstance(node, Chosen) and node.event.type not in history.changed_by:
            event = node.event
            if event in behind:
                found |= behind[event]
            elif event.type not in derived:
                found.add(Entry(labels.get(id(node)), event.type, event.values, *event.at))
    return found
