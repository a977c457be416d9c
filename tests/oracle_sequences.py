"""Sequences and repetitions: the part of the oracle that says where they occur."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from oracle_history import Interval, types_in
from oracle_patterns import (
    Chosen,
    Judged,
    Repeated,
    Scope,
    bare,
    bind,
    inside,
    interval,
    occurrences,
    span,
    walk_asserted,
)

from thence.logic.expr import Const, Expr, Var, variables
from thence.logic.ops import Atom, Label, Pattern, Repeat, Rule, Seq, children, walk


def sequence(parts: list[Pattern], scope: Scope) -> Interval | None:
    """One after another; where the policy is strict, with nothing of either's kind between."""
    flat = [inner for part in parts for inner in flattened(part)]
    present = [p for p in flat if not (isinstance(p, Repeated) and not p.parts)]
    empty = [p for p in flat if isinstance(p, Repeated) and not p.parts]
    if any(repetition(part, scope, may_be_empty=True) is None for part in empty):
        return None
    ats = [interval(part, scope) for part in present]
    if None in ats or not all(a.end < b.start for a, b in pairwise(ats)):
        return None
    if scope.policy.strict and scope.asking:
        for (one, a), (other, b) in pairwise(zip(present, ats, strict=True)):
            scope.gates.append(b.start)
            for part in (one, other):
                if between(kind(part, scope), a.end, b.start, scope):
                    return None
    return span(ats)


def flattened(pattern: Pattern) -> list[Pattern]:
    if isinstance(pattern, Seq):
        return [inner for part in pattern.parts for inner in flattened(part)]
    return [pattern]


def repetition(pattern: Repeated, scope: Scope, may_be_empty: bool = False) -> Interval | None:
    """From the first to the last, if each fulfils its conditions and follows the one before."""
    repeat, most = pattern.repeat, pattern.repeat.most
    size = len(pattern.parts)
    if scope.asking and (size < repeat.least or (most is not None and size > most)):
        return None
    found: list[tuple[Scope, Pattern, Interval]] = []
    for part in pattern.parts:
        inner = bind(part, before_binding(part, scope))
        if inner is None:
            return None
        inner = replace(inner, previous=found[-1][0] if found else None)
        at = interval(part, inner)
        if at is None:
            return None
        if found and scope.policy.strict and scope.asking:
            if between(kind(part, scope), found[-1][2].end, at.start, scope):
                return None
        found.append((inner, part, at))
    scope.repeated[repeat] = found
    if not found:
        return Interval(0, 0) if may_be_empty else None
    return span([at for _, _, at in found])


def before_binding(part: Pattern, scope: Scope) -> Scope:
    """A scope without what a part binds: that all repetitions agree has been seen (``share``), and
    null, which one repetition may have by itself, is not even equal to itself."""
    own: set[str] = set()
    for node in walk_asserted(part):
        if isinstance(node, Chosen):
            own |= {term.name for _, term in node.atom.args if isinstance(term, Var)}
        elif isinstance(node, Judged):
            own |= node.variables.keys()
    known = {name: value for name, value in scope.variables.items() if name not in own}
    return replace(scope, variables=known)


def kind(pattern: Pattern, scope: Scope) -> Pattern | None:
    """What stands for all events of a part's kind: with its constants, and with those of its
    variables that other parts have too."""
    pattern = bare(pattern)
    if isinstance(pattern, Repeated):
        pattern = bare(pattern.parts[0])
    if isinstance(pattern, Judged):
        return pattern.pattern
    if not isinstance(pattern, Chosen):
        return None
    args = [
        (name, term)
        for name, term in pattern.atom.args
        if isinstance(term, Const) or (isinstance(term, Var) and term.name in scope.joining)
    ]
    return Atom(pattern.atom.event, tuple(args))


def between(pattern: Pattern | None, start: int, end: int, scope: Scope) -> bool:
    """Whether something lies strictly between two times."""
    if pattern is None:
        return False
    scope.looked.update(types_in(pattern))
    return any(inside(at, start, end) for _, _, at in occurrences(pattern, alone(scope, pattern)))


def alone(scope: Scope, pattern: Pattern) -> Scope:
    """A scope for another occurrence of a pattern: it knows only the variables that several parts
    of the rule have, and the labels that are not the pattern's own."""
    known = {name: value for name, value in scope.variables.items() if name in scope.joining}
    own = {node.name for node in walk(pattern) if isinstance(node, Label)}
    labels = {name: value for name, value in scope.labels.items() if name not in own}
    return replace(scope, variables=known, labels=labels)


def names_of(rule: Rule) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that have one value for all repetitions, and those that several atoms have."""
    inside_of: list[set[str]] = []
    outside: set[str] = set()
    everywhere: list[str] = []

    def visit(pattern: Pattern, own: set[str] | None) -> None:
        if isinstance(pattern, Repeat) and own is None:
            own = set()
            inside_of.append(own)
        if isinstance(pattern, Atom):
            names = {term.name for _, term in pattern.args if isinstance(term, Var)}
            everywhere.extend(names)
            (outside if own is None else own).update(names)
        for part in children(pattern):
            visit(part, own)

    visit(rule.body, None)
    for term in rule.terms:
        if isinstance(term.value, Expr):
            outside |= variables(term.value)
    repeated = [name for own in inside_of for name in own]
    shared = {name for name in repeated if name in outside or repeated.count(name) > 1}
    joining = shared | {name for name in everywhere if everywhere.count(name) > 1}
    return frozenset(shared), frozenset(joining)
