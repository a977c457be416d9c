"""What a Thence program means, written down as directly as Python allows.

This is the specification that every host is compared with. It shares no code with the engine. Where
a pattern occurs stands in ``oracle_patterns.py``, what an expression is worth in
``oracle_values.py``; this file says what rules derive from that: heads, aggregates, fixpoints.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import reduce
from itertools import product
from typing import Any

from oracle_changes import add_versions, triggers
from oracle_history import Event, History, Interval, types_in
from oracle_knowledge import add_rows, state_facts
from oracle_patterns import (
    Chosen,
    Judged,
    Repeated,
    Scope,
    asserted,
    occurrences,
    the_event,
    walk_asserted,
)
from oracle_policies import Match, merged_by, merges
from oracle_repeats import greedy_only
from oracle_sequences import names_of
from oracle_values import MICROSECOND, canonical, order
from oracle_windows import identity, own_variables

from thence.logic.check import check_program
from thence.logic.expr import Aggregate, Attr, Call, Expr, TimeOf, Var
from thence.logic.ops import (
    Atom,
    Label,
    LogicProgram,
    Moments,
    Not,
    Pattern,
    Repeat,
    Rule,
    Using,
    While,
    walk,
)

Row = tuple[tuple[Any, ...], int, int]
Until = int | Mapping[str, int | None] | None

CLOCK = "#clock"
"""Stands among the inputs for time itself, which a stated end says something of."""


def meaning(
    program: LogicProgram,
    events: Mapping[str, Iterable[tuple[Mapping[str, Any], int, int, *tuple[Any, ...]]]],
    until: Until = None,
    gaps: Mapping[str, list[tuple[float, float]]] | None = None,
) -> dict[str, set[Row]]:
    """Every derived event of a program: for each name, the set of (attributes, start, end).

    Rows of versioned tables also have when they are valid. ``until`` is the horizon of all inputs,
    or of each; without it, the latest time of all.
    """
    names = {schema.name: schema.names for schema in program.declared}
    for fact in reversed(program.facts):
        names.setdefault(fact.relation, fact.columns)
    for rule in reversed((*program.deductions, *program.rules)):
        names[rule.event] = tuple(term.name for term in rule.terms)  # the first rule's names win
    known: dict[str, set[Event]] = {name: set() for name in names}
    for name, rows in events.items():
        for attributes, start, end, *valid in rows:
            values = tuple(canonical(attributes.get(attribute)) for attribute in names[name])
            known[name].add(Event(name, values, Interval(start, end), *valid))
    streams = [schema.name for schema in program.events]
    ends = [event.at.end for name in streams for event in known[name]]
    history = History(
        known,
        names,
        horizons_of(until, streams, ends),
        program.rules,
        float_columns(program),
        gaps=gaps or {},
        changed_by=triggers(program),
    )
    reason(program, history)
    first = {table: set(known[table]) for table in program.changed}
    for component in components(program.rules, triggers(program)):
        add_versions(program, history, first)
        rules = [rule for rule in program.rules if rule.event in component]
        complete(history, rules, component)
    derived = {rule.event for rule in program.rules}
    return {name: {(e.values, e.at.start, e.at.end) for e in known[name]} for name in derived}


def complete(history: History, rules: list[Rule], component: set[str]) -> None:
    """Add all that the rules of a component derive."""
    for instant in instants(history, rules, component):
        # What ends at an instant is judged by what ended before, which is all known.
        while any(add(up_to(history, instant), rule, instant) for rule in rules):
            pass
    while any(add(history, rule) for rule in rules):
        pass


def reason(program: LogicProgram, history: History) -> None:
    """Add all facts that a program says, and all that follow from them."""
    state_facts(program, history)
    for component in components(program.deductions):
        rules = [rule for rule in program.deductions if rule.event in component]
        while any(add_rows(history, rule, folded, in_types) for rule in rules):
            pass


def horizons_of(until: Until, inputs: list[str], ends: list[int]) -> dict[str, int | None]:
    """The horizon of each input: as it is stated, or the latest end of all events."""
    latest = max(ends, default=None)
    if isinstance(until, Mapping):
        return {name: until.get(name, latest) for name in inputs}
    return dict.fromkeys([*inputs, CLOCK], latest if until is None else until)


def add(history: History, rule: Rule, until: float = math.inf) -> bool:
    """Add what a rule says to what is known, as far as it has ended; whether that was anything
    new."""
    known = history.events[rule.event]
    before = len(known)
    known |= {event for event, _ in consequences(rule, history) if event.at.end <= until}
    return len(known) > before


def instants(history: History, rules: list[Rule], component: set[str]) -> list[int]:
    """All times at which something ends, where rules depend on each other by more than what
    occurs."""
    if not any(depends_on_all(rule, component) for rule in rules):
        return []
    return sorted({event.at.end for known in history.events.values() for event in known})


def depends_on_all(rule: Rule, component: set[str]) -> bool:
    """Whether a rule is recursive, and chooses, collects, or looks for what is absent."""
    parts = list(walk(rule.body))
    recursive = any(isinstance(node, Atom) and node.event in component for node in parts)
    kinds = (Not, While, Moments, Using)
    return recursive and (rule.policy.chooses or any(isinstance(node, kinds) for node in parts))


def up_to(history: History, instant: int) -> History:
    """The same at an instant: nothing is known of later times."""
    horizons = {
        name: None if time is None else min(time, instant)
        for name, time in history.horizons.items()
    }
    return replace(history, horizons=horizons)


def float_columns(program: LogicProgram) -> dict[str, frozenset[int]]:
    """The columns that are floats: beside the floats of another rule, decimals are floats too."""
    return {
        name: frozenset(n for n, a in enumerate(schema.attributes) if a.type.kind == "float")
        for name, schema in check_program(program).schemas.items()
    }


def in_types(values: Iterable[Any], rule: Rule, history: History) -> tuple[Any, ...]:
    """The values of a head, in the types of its columns."""
    floats = history.floats.get(rule.event, frozenset())
    return tuple(
        canonical(float(value)) if place in floats and isinstance(value, Decimal) else value
        for place, value in enumerate(values)
    )


def components(
    rules: tuple[Rule, ...], changed_by: Mapping[str, Mapping[str, set[str]]] | None = None
) -> list[set[str]]:
    """Derived events in an order of evaluation, those that depend on one another together."""
    heads = {rule.event for rule in rules}
    needs: dict[str, set[str]] = {head: set() for head in heads}
    for rule in rules:
        read = {n.event for n in walk(rule.body) if isinstance(n, Atom)}
        for table in read & (changed_by or {}).keys():
            read |= set().union(*changed_by[table].values())
        needs[rule.event] |= read & heads
    for middle, head in product(heads, heads):  # transitive closure
        if middle in needs[head]:
            needs[head] |= needs[middle]
    ordered: list[set[str]] = []
    for head in sorted(heads, key=lambda head: len(needs[head] | {head})):
        component = {other for other in needs[head] if head in needs[other]} | {head}
        if component not in ordered:
            ordered.append(component)
    return ordered


# --- heads and aggregates -------------------------------------------------------------------------


def consequences(rule: Rule, history: History) -> Iterator[tuple[Event, list[Match]]]:
    """The events that a rule derives from what is known, one per group of its matches, and those.

    The matches of a group agree on the interval and on every head term that is no aggregate. A
    group is aggregated when all its matches are known, so its end is a gate as well. Where a policy
    merges matches, a group is of those that it merges, and spans them.
    """
    groups: dict[tuple[Any, ...], list[Match]] = {}
    terms = [term.value for term in rule.terms]
    if any(isinstance(node, Repeat) for node in own_parts(rule.body)):
        # Each match is a result of its own: aggregates are over the repetitions in it.
        for match in (match for together in counting(rule, history) for match in together):
            scope, _, at = match
            found = [
                over_repetitions(term, scope) if isinstance(term, Aggregate) else scope.value(term)
                for term in terms
            ]
            yield Event(rule.event, in_types(found, rule, history), at), [match]
        return
    merging = merges(rule.policy)
    for number, together in enumerate(counting(rule, history)):
        for match in together:
            scope, _, at = match
            found = [
                scope.value(term)
                if not isinstance(term, Aggregate)
                else over_repetitions(term, scope)
                if repeated_in_a_part(term, scope)
                else None
                for term in terms
            ]
            plain = in_types(found, rule, history)
            groups.setdefault((number if merging else at, *plain), []).append(match)
    for (_, *plain), matches in groups.items():
        ats = [at for _, _, at in matches]
        values = tuple(
            value
            if not isinstance(term.value, Aggregate)
            or repeated_in_a_part(term.value, matches[0][0])
            else over_merged(term.value, matches)
            if merging
            else aggregate(term.value, [scope for scope, _, _ in matches])
            for term, value in zip(rule.terms, plain, strict=True)
        )
        at = Interval(min(at.start for at in ats), max(at.end for at in ats))
        yield Event(rule.event, in_types(values, rule, history), at), matches


def counting(
    rule: Rule, history: History, values: dict[str, Any] | None = None
) -> list[list[Match]]:
    """The matches of a rule that count: no gate lies after the horizon, and its policy chooses
    them. Those that it merges are together. ``values`` are those of variables known before."""
    repeats = any(isinstance(node, Repeat) for node in own_parts(rule.body))
    waits = rule.policy.chooses or any(map(collects, own_parts(rule.body)))
    shared, joining = names_of(rule)
    matches = []
    history = replace(history, agreed=shared)
    streams = history.horizons.keys() | {rule.event for rule in history.rules}
    streams |= history.changed_by.keys()
    root = Scope(history, values or {}, policy=rule.policy, shared=shared, joining=joining)
    for scope, chosen, at in occurrences(rule.body, root):
        repeated = any(isinstance(node, Repeated) for node in walk_asserted(chosen))
        gates = [*scope.gates, at.end] if waits or repeated else scope.gates
        if rule.policy.chooses or waits or repeats:
            judged_by = types_in(rule.body)
        else:
            judged_by = scope.looked & streams or types_chosen(chosen)
        known = all(time <= history.horizon(types) for time, types in scope.waits)
        if known and all(gate <= history.horizon(judged_by) for gate in gates):
            matches.append((scope, chosen, at))
    if repeats and rule.policy.greedy:
        matches = greedy_only(matches)
    matches = [m for m in matches if all(m[0].value(part) is True for part in m[0].having)]
    return merged_by(rule.policy, matches) if rule.policy.chooses else [[m] for m in matches]


def types_chosen(chosen: Pattern) -> set[str]:
    """The types of the events that a match is made of, and of what is evaluated on its own."""
    found = set()
    for node in walk_asserted(chosen):
        if isinstance(node, Chosen):
            found.add(node.event.type)
        elif isinstance(node, Judged):
            found |= types_in(node.pattern)
    return found


def own_parts(pattern: Pattern) -> Iterator[Pattern]:
    """The parts of a pattern that are parts of its match: not what must be absent or is collected,
    and not what is inside of a pattern that is evaluated on its own."""
    yield pattern
    if not isinstance(pattern, Using | Repeat):
        for part in asserted(pattern):
            yield from own_parts(part)


def over_repetitions(term: Aggregate, scope: Scope) -> Any:
    """An aggregate over the repetitions of one match, in their order."""
    read = names_read(term.arg)
    chains = list(scope.repeated.values())
    for repeat, chain in scope.repeated.items():
        if read & names_bound_in(repeat, scope):
            chains = [chain]
            break
    values = [None if term.arg is None else inner.value(term.arg) for inner, _, _ in chains[0]]
    return folded(term, values)


def repeated_in_a_part(term: Aggregate, scope: Scope) -> bool:
    """Whether an aggregate is over what a part that is evaluated on its own repeats."""
    if term.arg is None:
        return bool(scope.repeated)
    return any(names_read(term.arg) & names_bound_in(repeat, scope) for repeat in scope.repeated)


def names_bound_in(repeat: Repeat, scope: Scope) -> set[str]:
    """The labels and variables that each repetition has for itself."""
    own = {node.name for node in walk(repeat) if isinstance(node, Label)}
    atoms = [node for node in walk(repeat) if isinstance(node, Atom)]
    terms = [term for atom in atoms for _, term in atom.args]
    return own | {t.name for t in terms if isinstance(t, Var) and t.name not in scope.shared}


def collects(pattern: Pattern) -> bool:
    match pattern:
        case While(_, "collect") | Moments("aperiodic*"):
            return True
    return False


def aggregate(term: Aggregate, scopes: list[Scope]) -> Any:
    """An aggregate over the events that the matches of a group collected, each event once."""
    rows = set()
    for scope in scopes:
        pattern = collect_read_by(term, scope)
        for inner, chosen, at in scope.collected[pattern]:
            value = None if term.arg is None else inner.value(term.arg)
            rows.add((at, identity(gathered_by(pattern), chosen, inner, scope), value))
    return over(term, rows)


def over_merged(term: Aggregate, matches: list[Match]) -> Any:
    """An aggregate over the events of one label in matches that a policy merges, each once."""
    rows = set()
    scopes = [scope for scope, _, _ in matches]
    own = {name for pattern in scopes[0].collected for name in names_in(gathered_by(pattern))}
    if term.arg is None or names_read(term.arg) & own - names(scopes[0]):
        return aggregate(term, scopes)
    for scope, chosen, _ in matches:
        event = event_read(term.arg, scope, chosen)
        rows.add((event.at, event.values, scope.value(term.arg)))
    return over(term, rows)


def names_in(pattern: Pattern) -> Iterator[str]:
    """The labels and variables of a pattern."""
    for node in walk(pattern):
        if isinstance(node, Label):
            yield node.name
        elif isinstance(node, Atom):
            yield from (value.name for _, value in node.args if isinstance(value, Var))


def names(scope: Scope) -> set[str]:
    return scope.variables.keys() | scope.labels.keys()


def event_read(arg: Expr, scope: Scope, chosen: Pattern) -> Event:
    """The event that an argument reads: by a label, or by a variable that only one event has."""
    for name in names_read(arg):
        if name in scope.labels:
            return the_event(scope.labels[name][0])
        for node in walk_asserted(chosen):
            if isinstance(node, Chosen) and Var(name) in [value for _, value in node.atom.args]:
                return node.event
            if isinstance(node, Judged) and name in node.variables:
                return node.event
    raise AssertionError(arg)


def over(term: Aggregate, rows: set[tuple[Interval, tuple[Any, ...], Any]]) -> Any:
    """An aggregate over distinct events, given by interval, identity and value."""
    ordered = sorted(rows, key=lambda row: (row[0], order(row[1]), order(row[2])))
    return folded(term, [value for _, _, value in ordered])


def folded(term: Aggregate, rows: list[Any]) -> Any:
    """An aggregate over values in order."""
    if term.arg is None:
        return len(rows)
    values = [value for value in rows if value is not None]
    if term.distinct:
        values = list(dict.fromkeys(values))
    match term.function:
        case "count":
            return len(values)
        case "list":
            return tuple(values)
    if not values:
        return None
    match term.function:
        case "sum":
            return canonical(sum(values[1:], start=values[0]))
        case "avg":
            return as_such(values[0], number(sum(values[1:], start=values[0])) / len(values))
        case "stddev":
            return as_such(values[0], deviation([number(value) for value in values]))
        case "median":
            ordered = sorted((number(value) for value in values), key=order)
            low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
            return as_such(values[0], low if low == high else (low + high) / 2)
        case "min":
            return min(values, key=order)
        case "max":
            return max(values, key=order)
        case "first":
            return values[0]
        case "last":
            return values[-1]
    raise AssertionError(term)


def number(value: Any) -> float:
    """A number as a float, and so a duration, in microseconds."""
    return canonical(float(value / MICROSECOND if isinstance(value, timedelta) else value))


def as_such(example: Any, found: float | None) -> Any:
    """A float, or a duration to the nearest microsecond where it is about durations."""
    is_duration = isinstance(example, timedelta) and found is not None
    return round(found) * MICROSECOND if is_duration else canonical(found)


def deviation(numbers: list[float]) -> float | None:
    """The standard deviation of a sample, added up in the order of the events."""
    if len(numbers) == 1:
        return None
    mean = reduce(operator.add, numbers) / len(numbers)
    squares = [(each - mean) * (each - mean) for each in numbers]
    return math.sqrt(reduce(operator.add, squares) / (len(numbers) - 1))


def collect_read_by(term: Aggregate, scope: Scope) -> Pattern:
    """The pattern whose collected variables or labels an aggregate reads; ``count()`` reads the
    only one."""
    read = names_read(term.arg)
    for pattern in scope.collected:
        own = set(names_bound(gathered_by(pattern), scope)) - (
            scope.variables.keys() | scope.labels.keys()
        )
        if read & own or len(scope.collected) == 1:
            return pattern
    raise AssertionError(term)


def gathered_by(pattern: Pattern) -> Pattern:
    """What ``while w: collect p`` and ``aperiodic*(a, p, c)`` collect."""
    return pattern.pattern if isinstance(pattern, While) else pattern.collected[0]


def names_bound(pattern: Pattern, outer: Scope) -> Iterator[str]:
    yield from own_variables(pattern, outer)
    yield from (node.name for node in walk_asserted(pattern) if isinstance(node, Label))


def names_read(expr: Expr | None) -> set[str]:
    match expr:
        case Var(name) | Attr(name) | TimeOf(name):
            return {name}
        case Call(_, args):
            return set().union(*(names_read(arg) for arg in args))
    return set()
