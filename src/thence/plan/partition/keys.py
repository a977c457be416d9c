"""Partition keys: which column of each event decides where it is worked on.

Events that a rule joins must come together, wherever the work is done. If every atom of a rule has
a column that the rule holds equal, then events that differ in it never meet, and each event can go
where the hash of that column says. A set of rules can share such a key if one column per event
does for all of them; where rules build on rules, the column must also pass through the head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice, product

from thence.logic.conjunct import Column, Conjunct, equal_columns
from thence.model.schema import EventSchema

Choice = Mapping[str, str]
"""One column for each event that is read."""

Columns = Mapping[str, Sequence[str]]
"""The columns of each event that may be part of a key: those that rules read, lists apart."""

_MOST_SOLUTIONS = 32
"""How many ways to choose are followed at once; there is seldom more than a handful."""

_MOST_COLUMNS = 3
"""How many columns make up a key at most; more would not spread work any better."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A choice that suits some rules, and in which columns of what they derive it is found again.

    ``passed[event]`` are the columns of a derived event that always equal the key of the events
    it is made of; none where a rule forgets it.
    """

    choice: Choice
    passed: Mapping[str, frozenset[str]]


NO_RULES = Solution({}, {})


@dataclass(frozen=True, slots=True)
class Key:
    """For each event that is read, the columns whose hash says where it goes, and their types.

    Columns that a rule holds equal have one type, so equal values are hashed alike.
    """

    columns: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, tuple[str, ...]]


def extended(
    solutions: Sequence[Solution], conjuncts: Iterable[Conjunct], columns: Columns
) -> list[Solution]:
    """The solutions that also suit more rules; none where the rules cannot share a key."""
    found = list(solutions)
    for conjunct in conjuncts:
        groups = list(_covering(conjunct, columns))
        found = list(
            islice(
                (more for one in found for more in _with_rule(one, conjunct, groups)),
                _MOST_SOLUTIONS,
            )
        )
    return found


def _with_rule(
    solution: Solution, conjunct: Conjunct, groups: Sequence[frozenset[Column]]
) -> Iterator[Solution]:
    """The ways to go on from a solution with one more rule."""
    for group in groups:
        kept = frozenset(
            name
            for name, term in zip(conjunct.head.columns, conjunct.head.terms, strict=True)
            if term in group
        )
        before = solution.passed.get(conjunct.event, kept)
        passed = {**solution.passed, conjunct.event: before & kept}
        options = {
            event: _options(solution.choice, passed, event, group, conjunct)
            for event in dict.fromkeys(use.event for use in conjunct.atoms if not use.fact)
        }
        if solution.choice.get(conjunct.event, None) not in (None, *passed[conjunct.event]):
            continue  # a rule further up already reads the event by a column that this one forgets
        if conjunct.aggregates and not passed[conjunct.event]:
            continue  # a group would span several keys
        for columns in product(*options.values()):
            yield Solution({**solution.choice, **dict(zip(options, columns, strict=True))}, passed)


def _options(
    choice: Choice,
    passed: Mapping[str, frozenset[str]],
    event: str,
    group: frozenset[Column],
    conjunct: Conjunct,
) -> list[str]:
    """The columns of an event that may be its key: in the group for every atom of that event."""
    names = reduce(
        frozenset.intersection,
        (
            frozenset(column.name for column in group if column.atom == atom)
            for atom, use in enumerate(conjunct.atoms)
            if use.event == event
        ),
    )
    if event in choice:
        names &= {choice[event]}
    if event in passed:
        names &= passed[event]
    return sorted(names)


def _covering(conjunct: Conjunct, columns: Columns) -> Iterator[frozenset[Column]]:
    """Groups of columns that the rule holds equal, and that have one of every atom. Facts need
    none: tables are in every place. Where no event must occur, nothing says in which place to
    look, so there is no group."""
    if not conjunct.events:
        return
    known = [
        Column(atom, name) for atom, use in enumerate(conjunct.atoms) for name in columns[use.event]
    ]
    equal = {column: group for group in equal_columns(conjunct) for column in group}
    groups = dict.fromkeys(equal.get(column, frozenset((column,))) for column in known)
    atoms = frozenset(atom for atom, use in enumerate(conjunct.atoms) if not use.fact)
    for group in groups:
        usable = group.intersection(known)
        if {column.atom for column in usable} >= atoms:
            yield usable


def chosen(
    solutions: Sequence[Solution], schemas: Mapping[str, EventSchema]
) -> tuple[Key, frozenset[str]]:
    """The key to use, and the derived events whose attributes tell their key.

    Solutions that use other columns throughout are taken together: events that agree in all of
    them agree in each. Equal results from two places differ in no column, so an event whose
    attributes tell its key is derived in one place only; any other may be derived in several.
    """
    picked: list[Solution] = []
    for solution in solutions:
        apart = all(
            solution.choice[event] != other.choice[event]
            for other in picked
            for event in solution.choice
        )
        if apart and len(picked) < _MOST_COLUMNS:
            picked.append(solution)
    columns = {event: tuple(s.choice[event] for s in picked) for event in solutions[0].choice}
    kinds = {
        event: tuple(_kind(schemas[event], name) for name in names)
        for event, names in columns.items()
    }
    telling = [
        event for event in solutions[0].passed if all(solution.passed[event] for solution in picked)
    ]
    return Key(columns, kinds), frozenset(telling)


def _kind(schema: EventSchema, column: str) -> str:
    found = schema.type_of(column)
    assert found is not None
    return found.kind
