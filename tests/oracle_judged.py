"""Patterns that are evaluated on their own: the oracle of ``(p using …)`` and ``periodic``.

What stands around such a pattern does not matter for it. Each of its occurrences is an event, with
the pattern's variables as its attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle_history import INFINITY, History, Interval, types_in
from oracle_patterns import Scope, asserted, found_beside

from thence.logic.expr import Attr, Call, Expr, TimeOf, Var, conjuncts, leaves, variables
from thence.logic.ops import (
    AnyOne,
    Atom,
    HeadTerm,
    Label,
    Or,
    Pattern,
    Rule,
    Using,
    Where,
    children,
    walk,
)
from thence.logic.policy import UNRESTRICTED, Policy

Found = Iterator[tuple[Scope, Pattern, Interval]]


def by_itself(pattern: Pattern, history: History) -> Found:
    """The occurrences of a pattern whatever stands around it, as far as they are known."""
    if isinstance(pattern, Using):
        yield from known(pattern.pattern, history, pattern.policy)
        return
    if pattern.operator == "relative+":
        yield from rows(pattern.parts[0], history)
        return
    (closing,) = pattern.absent
    for scope, chosen, at in known(pattern.parts[0], history, UNRESTRICTED):
        ends = [found.end for _, _, found in found_beside(closing, scope) if found.end >= at.end]
        # P(E1, [T], E2)(t): no E2 with t1 <= t2 < t, and t = t1 + i * T
        horizon = history.horizon(types_in(closing))
        if horizon == -INFINITY:
            continue
        last = min([horizon, *ends])
        for time in range(at.end + pattern.limit, last + 1, pattern.limit):
            yield scope, chosen, Interval(time, time)


def rows(pattern: Pattern, history: History) -> Found:
    """relative+(E)[h]: E, and E in what is left of the history after one of these, and so on. The
    variables of E have one value for the whole row."""
    waiting: list[tuple[History, dict[str, Any]]] = [(history, {})]
    seen = set()
    while waiting:
        left, values = waiting.pop()
        for scope, chosen, at in known(pattern, left, UNRESTRICTED, values):
            yield scope, chosen, Interval(at.end, at.end)
            values_so_far = handed_out(pattern, scope)
            if (at.end, *values_so_far.items()) not in seen:
                seen.add((at.end, *values_so_far.items()))
                waiting.append((left.after(at.end), values_so_far))


def known(
    pattern: Pattern, history: History, policy: Policy, values: dict[str, Any] | None = None
) -> Found:
    """The matches of a pattern that count, as if it were a rule. What repetitions agree on for the
    sake of what stands around, they agree on here too."""
    from oracle import counting  # each asks the other

    agreed = sorted(bound_by(pattern) & history.agreed)
    terms = tuple(HeadTerm(name, Var(name)) for name in agreed)
    for together in counting(Rule("#", terms, pattern, policy=policy), history, values):
        yield from together


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
