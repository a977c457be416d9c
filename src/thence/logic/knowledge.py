"""What a program knows beside events: tables, facts, and the rules that derive relations from them.

The rows of a relation are facts like those of a table. Whoever runs a program looks them up in the
same way; only where they come from differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from thence.logic.conjunct import INNER
from thence.logic.expr import Aggregate
from thence.logic.ops import Atom, Fact, NoFact, Rule, walk
from thence.model.schema import EventSchema
from thence.model.source import Source


@dataclass(frozen=True)
class Knowledge:
    """The deductive rules of a checked program, and all that they are about.

    ``schemas`` are those of all tables and relations. ``facts`` are the rows that the program
    says, by the table that holds them. ``strata`` has the relations in an order in which they can
    be derived: those of one tuple, if it has several or one of ``recursive``, together.
    """

    rules: tuple[Rule, ...] = ()
    schemas: Mapping[str, EventSchema] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    strata: tuple[tuple[str, ...], ...] = ()
    recursive: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    """The tables that events change."""
    source: Source = field(default=Source(""), compare=False, repr=False)

    @property
    def optional(self) -> frozenset[str]:
        """The tables of which no rows need to be given: there are facts, or rows will come."""
        return self.changed | self.facts.keys()

    @cached_property
    def rules_of(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules of each relation."""
        found: dict[str, list[Rule]] = {}
        for rule in self.rules:
            found.setdefault(rule.event, []).append(rule)
        return {name: tuple(rules) for name, rules in found.items()}

    @cached_property
    def aggregated(self) -> frozenset[str]:
        """The relations with rules that aggregate."""
        return frozenset(rule.event for rule in self.rules if aggregates(rule))

    def needed(self, relations: Iterable[str]) -> frozenset[str]:
        """All that some relations rest on, tables and relations, and these themselves."""
        found, waiting = set[str](), list(relations)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [each for rule in self.rules_of.get(name, ()) for each in read_in(rule)]
        return frozenset(found)

    def tables_under(self, relations: Iterable[str]) -> frozenset[str]:
        """The tables that some relations rest on."""
        return self.needed(relations) - self.rules_of.keys()


def aggregates(rule: Rule) -> bool:
    """Whether a deductive rule aggregates."""
    return any(isinstance(term.value, Aggregate) for term in rule.terms)


def read_in(rule: Rule) -> list[str]:
    """The tables and relations that a rule names."""
    return [part.event for part in walk(rule.body) if isinstance(part, Atom)]


def absent_in(rule: Rule) -> frozenset[str]:
    """The tables and relations of which a rule says what is not there."""
    return frozenset(
        inner.event
        for part in walk(rule.body)
        if isinstance(part, NoFact)
        for inner in walk(part)
        if isinstance(inner, Atom)
    )


def stated(relation: str) -> str:
    """The table of the rows that a program says of a relation that rules derive as well."""
    return f"{INNER}stated {relation}"
