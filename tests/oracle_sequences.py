"""Sequences and repetitions: the part of the oracle that says where they occur."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from oracle_patterns import (
    Chosen,
    Interval,
    Judged,
    Repeated,
    Scope,
    asserted,
    bare,
    bind,
    inside,
    interval,
    occurrences,
    span,
    walk_asserted,
    with_asserted,
)

from thence.logic.expr import Const, Expr, Var, variables
from thence.logic.ops import Atom, Label, Pattern, Repeat, Rule, Seq, children


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
    if scope.policy.strict:
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
    if not scope.policy.greedy and (size < repeat.least or (most is not None and size > most)):
        return None
    found: list[tuple[Scope, Pattern, Interval]] = []
    for part in pattern.parts:
        inner = bind(part, scope)
        if inner is None:
            return None
        inner = replace(inner, previous=found[-1][0] if found else None)
        at = interval(part, inner)
        if at is None:
            return None
        if found and scope.policy.strict:
            if between(kind(part, scope), found[-1][2].end, at.start, scope):
                return None
        found.append((inner, part, at))
    scope.repeated[repeat] = found
    if not found:
        return Interval(0, 0) if may_be_empty else None
    return span([at for _, _, at in found])


def kind(pattern: Pattern, scope: Scope) -> Pattern | None:
    """What stands for all events of a part's kind: with its constants, and with those of its
    variables that other parts have too."""
    if isinstance(pattern, Repeated):
        pattern = pattern.parts[0]
    pattern = bare(pattern)
    if isinstance(pattern, Judged):
        return unchosen(pattern.chosen)
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
    return any(inside(at, start, end) for _, _, at in occurrences(pattern, alone(scope)))


def alone(scope: Scope) -> Scope:
    """A scope that knows only the variables that several parts of the rule have."""
    known = {name: value for name, value in scope.variables.items() if name in scope.joining}
    return replace(scope, variables=known)


def unlabelled(closing: Pattern, scope: Scope) -> Scope:
    """The scope in which others like a closing event are looked for: its labels are theirs."""
    own = {part.name for part in walk_asserted(closing) if isinstance(part, Label)}
    known = {name: bound for name, bound in scope.labels.items() if name not in own}
    return replace(alone(scope), labels=known)


def unchosen(pattern: Pattern) -> Pattern:
    """The pattern of which events were chosen."""
    if isinstance(pattern, Chosen):
        return pattern.atom
    return with_asserted(pattern, tuple(unchosen(part) for part in asserted(pattern)))


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
