"""Patterns that are judged by themselves: the oracle of ``(p using …)`` and ``periodic``.

What stands around such a pattern does not matter for it. Each of its occurrences is an event, with
the pattern's variables as its attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle_patterns import History, Interval, Scope, asserted, found_beside, occurrences
from oracle_sequences import names_of

from thence.logic.expr import Attr, Call, Expr, TimeOf, Var, conjuncts, leaves, variables
from thence.logic.ops import (
    AnyOne,
    Atom,
    HeadTerm,
    Label,
    Or,
    Pattern,
    Repeat,
    Rule,
    Using,
    Where,
    children,
    walk,
)

Found = Iterator[tuple[Scope, Pattern, Interval]]


def by_itself(pattern: Pattern, history: History) -> Found:
    """The occurrences of a pattern whatever stands around it, as far as they are known."""
    if history.horizon is None:
        return
    if isinstance(pattern, Using):
        from oracle import counting  # each asks the other

        terms = tuple(HeadTerm(name, Var(name)) for name in shared_around(pattern, history))
        rule = Rule("#", terms, pattern.pattern, policy=pattern.policy)
        yield from (match for together in counting(rule, history) for match in together)
        return
    (closing,) = pattern.absent
    shared = frozenset(shared_around(pattern, history))
    for scope, chosen, at in known(pattern.parts[0], history, shared):
        ends = [found.end for _, _, found in found_beside(closing, scope) if found.end >= at.end]
        # P(E1, [T], E2)(t): no E2 with t1 <= t2 < t, and t = t1 + i * T
        last = min([history.horizon, *ends])
        for time in range(at.end + pattern.limit, last + 1, pattern.limit):
            yield scope, chosen, Interval(time, time)


def shared_around(pattern: Pattern, history: History) -> list[str]:
    """The variables inside repetitions that the rule around a pattern has elsewhere too, so that
    they have one value for all of them."""
    atoms = [node for node in walk(pattern) if isinstance(node, Atom)]
    inside = {
        term.name
        for node in walk(pattern)
        if isinstance(node, Repeat)
        for atom in walk(node)
        if isinstance(atom, Atom)
        for _, term in atom.args
        if isinstance(term, Var)
    }
    for rule in history.rules:
        if any(node is atoms[0] for node in walk(rule.body)):
            return sorted(inside & names_of(rule)[0])
    return []


def known(pattern: Pattern, history: History, shared: frozenset[str]) -> Found:
    """The occurrences of a pattern none of whose gates lies after the horizon."""
    root = Scope(history, shared=shared, joining=shared)
    for scope, chosen, at in occurrences(pattern, root):
        if all(gate <= history.horizon for gate in scope.gates):
            yield scope, chosen, at


def read_outside(pattern: Pattern, scope: Scope) -> tuple[Any, ...]:
    """What the rule around a pattern reads of the labels in it, in the order of the text: it tells
    one occurrence from another."""
    own = {node.name for node in walk(pattern) if isinstance(node, Label)}
    read: dict[Expr, None] = {}

    def visit(node: Pattern) -> None:
        if node is not pattern:
            if isinstance(node, Where):
                read.update(dict.fromkeys(leaves(node.condition)))
            for part in children(node):
                visit(part)

    for rule in scope.history.rules:
        if any(node is pattern for node in walk(rule.body)):
            for term in rule.terms:
                if isinstance(term.value, Expr):
                    read.update(dict.fromkeys(leaves(term.value)))
            visit(rule.body)
    labelled = [leaf for leaf in read if isinstance(leaf, Attr | TimeOf) and leaf.label in own]
    return tuple(scope.value(leaf) for leaf in labelled if leaf.label in scope.labels)


def handed_out(pattern: Pattern, scope: Scope) -> dict[str, Any]:
    """The variables that such a pattern binds for others, in the order of the text: those that it
    binds in whichever alternative."""
    always = bound_by(pattern)
    named: dict[str, None] = {}
    for node in walk(pattern):
        if isinstance(node, Atom):
            named |= dict.fromkeys(term.name for _, term in node.args if isinstance(term, Var))
        elif isinstance(node, Where):
            named |= dict.fromkeys(sorted(variables(node.condition)))
    return {n: scope.variables[n] for n in named if n in always and n in scope.variables}


def bound_by(pattern: Pattern) -> set[str]:
    """The variables that a pattern may bind, of alternatives those that all of them do."""
    parts = [bound_by(part) for part in asserted(pattern)]
    match pattern:
        case Atom(_, args):
            return {term.name for _, term in args if isinstance(term, Var)}
        case Or() | AnyOne():
            return set.intersection(*parts)
        case Where(_, condition):
            equal = [c for c in conjuncts(condition) if isinstance(c, Call) and c.function == "="]
            parts += [{side.name for side in c.args if isinstance(side, Var)} for c in equal]
    return set().union(*parts)
