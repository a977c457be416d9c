"""What events do to tables: the versions of their rows, found row by row.

A row is there from the beginning, or from the end of the event that inserts it; up to the end of
the first event after that which deletes it, without that instant. So at one instant, deletes come
before inserts.
"""

from __future__ import annotations

from typing import Any

from oracle_history import ALWAYS, INFINITY, Event, History
from oracle_patterns import Scope, occurrences
from oracle_values import equal

from thence.logic.ops import Atom, LogicProgram, walk


def triggers(program: LogicProgram) -> dict[str, dict[str, set[str]]]:
    """For each table that events change, the types that insert into it, and that delete from it."""
    found: dict[str, dict[str, set[str]]] = {}
    for change in program.changes:
        by_verb = found.setdefault(change.table, {"insert": set(), "delete": set()})
        by_verb[change.verb] |= {
            node.event for node in walk(change.rule.body) if isinstance(node, Atom)
        }
    return found


def add_versions(program: LogicProgram, history: History, first: dict[str, set[Event]]) -> None:
    """Put the versions of rows in the place of those that are there from the beginning."""
    for table in program.changed:
        names = history.names[table]
        said = [
            (change.verb, row, time)
            for change in program.changes
            if change.table == table
            for row, time in rows(change, history)
        ]
        begun = [(event.values, -INFINITY) for event in first[table]]
        begun += [
            (tuple(row[name] for name in names), time)
            for verb, row, time in said
            if verb == "insert"
        ]
        known = set()
        for values, since in begun:
            until = gone(dict(zip(names, values, strict=True)), since, said)
            known.add(Event(table, values, ALWAYS, (since, until)))
        history.events[table] = known


def rows(change: Any, history: History) -> list[tuple[dict[str, Any], int]]:
    """What a change says, and when."""
    return [
        ({term.name: scope.value(term.value) for term in change.rule.terms}, at.end)
        for scope, _, at in occurrences(change.rule.body, Scope(history))
    ]


def gone(row: dict[str, Any], since: float, said: list[Any]) -> float:
    """When a row is deleted that is there since a time."""
    times = [
        time
        for verb, named, time in said
        if verb == "delete"
        and time > since
        and all(equal(row[name], value) is True for name, value in named.items())
    ]
    return min(times, default=INFINITY)
