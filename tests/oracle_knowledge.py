"""What facts and deductive rules mean: everything that follows, found by trying all rows.

Naive and bottom-up: the rules of a component are applied to all that is known, over and over, until
nothing new comes. A row is an event at all times, so bodies mean what patterns mean.
"""

from __future__ import annotations

from typing import Any

from oracle_history import ALWAYS, INFINITY, Event, History
from oracle_patterns import Chosen, Scope, occurrences, walk_asserted
from oracle_sequences import names_of
from oracle_values import canonical, instant, order

from thence.logic.expr import Aggregate
from thence.logic.ops import LogicProgram, Rule


def state_facts(program: LogicProgram, history: History) -> None:
    """Add the rows that a program says itself."""
    declared = {schema.name: schema for schema in program.tables}
    for fact in program.facts:
        floats = history.floats.get(fact.relation, frozenset())
        values = tuple(
            canonical(
                each.value
                if each.value is None
                else float(each.value)
                if place in floats
                else instant(each.value)
                if each.type.kind == "timestamp"
                else each.value
            )
            for place, each in enumerate(fact.values)
        )
        valid = [-INFINITY, INFINITY]
        schema = declared.get(fact.relation)
        if schema is not None and schema.valid is not None:
            for side, column in enumerate((schema.valid.since, schema.valid.until)):
                if column in schema.names:
                    said = fact.values[schema.names.index(column)].value
                    valid[side] = valid[side] if said is None else said
        history.events[fact.relation].add(Event(fact.relation, values, ALWAYS, tuple(valid)))


def add_rows(history: History, rule: Rule, folded: Any, in_types: Any) -> bool:
    """Add what a deductive rule says to what is known; whether that was anything new."""
    known = history.events[rule.event]
    before = len(known)
    groups: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    terms = [term.value for term in rule.terms]
    shared, joining = names_of(rule)
    root = Scope(history, {}, policy=rule.policy, shared=shared, joining=joining)
    for scope, chosen, _ in occurrences(rule.body, root):
        rows = tuple(node.event for node in walk_asserted(chosen) if isinstance(node, Chosen))
        plain = tuple(None if isinstance(t, Aggregate) else scope.value(t) for t in terms)
        read = tuple(
            scope.value(t.arg) if isinstance(t, Aggregate) and t.arg is not None else None
            for t in terms
        )
        groups.setdefault(plain, set()).add((rows, read))
    for plain, matches in groups.items():
        values = []
        for place, (term, value) in enumerate(zip(terms, plain, strict=True)):
            if isinstance(term, Aggregate):
                read = sorted((each[place] for _, each in matches), key=order)
                value = folded(term, read)
            values.append(value)
        known.add(Event(rule.event, in_types(values, rule, history), ALWAYS))
    return len(known) > before
