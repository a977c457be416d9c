"""Repetition: what is repeated, and which of its names have one value for the whole match.

A variable inside a repetition that stands elsewhere in the rule, or plainly in the head, is shared:
it has one value, which all repetitions agree on. Any other has a value for each repetition, which
aggregates read, and so has a label inside. A condition outside that reads such a name is asked of
every repetition, so it is moved inside before anything else is done with a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from thence.logic.changes import changed
from thence.logic.expr import (
    PREVIOUS,
    Aggregate,
    Attr,
    Call,
    Expr,
    TimeOf,
    Var,
    conjuncts,
    leaves,
)
from thence.logic.ops import (
    Atom,
    Label,
    Pattern,
    Repeat,
    Rule,
    Using,
    Where,
    Within,
    children,
    walk,
)
from thence.logic.policy import UNRESTRICTED


@dataclass(frozen=True, slots=True)
class Element:
    """What a repetition repeats: an event with its label, conditions, and a limit on its length.

    ``linked`` are the conditions that read the repetition before, too.
    """

    atom: Atom
    label: str | None
    conditions: tuple[Expr, ...]
    linked: tuple[Expr, ...]
    limit: int | None


def element_of(repeat: Repeat) -> Element | None:
    """The event that a pattern repeats; None where it repeats more than that."""
    pattern, label, limit = repeat.pattern, None, None
    conditions: list[Expr] = []
    while not isinstance(pattern, Atom):
        match pattern:
            case Label(name, inner) if label is None:
                label, pattern = name, inner
            case Where(inner, condition):
                conditions += conjuncts(condition)
                pattern = inner
            case Within(inner, most):
                limit = most if limit is None else min(limit, most)
                pattern = inner
            case _:
                return None
    linked = tuple(condition for condition in conditions if reads_previous(condition))
    own = tuple(condition for condition in conditions if not reads_previous(condition))
    return Element(pattern, label, own, linked, limit)


def reads_previous(expr: Expr) -> bool:
    """Whether an expression reads something of the repetition before."""
    return isinstance(expr, Call) and (
        expr.function == PREVIOUS or any(reads_previous(arg) for arg in expr.args)
    )


def repeats(pattern: Pattern) -> Iterator[Repeat]:
    """The repetitions in a pattern, outermost first."""
    return (part for part in walk(pattern) if isinstance(part, Repeat))


def _outermost(pattern: Pattern) -> Iterator[Repeat]:
    """The repetitions in a pattern that are not inside others."""
    stack = [pattern]
    while stack:
        part = stack.pop()
        if isinstance(part, Repeat):
            yield part
        else:
            stack.extend(children(part))


def shared_variables(rule: Rule) -> frozenset[str]:
    """The variables inside repetitions that have one value for a whole match."""
    inside: Counter[str] = Counter()
    for repeat in _outermost(rule.body):
        inside.update(set(_bound(repeat)))
    if not inside:
        return frozenset()
    plain = [t.value for t in rule.terms if not isinstance(t.value, Aggregate)]
    read = {leaf.name for value in plain for leaf in leaves(value) if isinstance(leaf, Var)}
    read |= set(_bound_outside(rule.body))
    return frozenset(name for name, count in inside.items() if count > 1 or name in read)


def shared_by(repeat: Repeat, rule: Rule) -> frozenset[str]:
    """The variables of one repetition that have one value for a whole match."""
    return shared_variables(rule) & set(_bound(repeat))


def names_of(repeat: Repeat, rule: Rule) -> frozenset[str]:
    """The variables and labels that have a value for each time that something is repeated."""
    return _names(repeat, shared_variables(rule))


def joining_variables(rule: Rule) -> frozenset[str]:
    """The variables that several atoms of a rule have, and those that repetitions share."""
    atoms = [part for part in walk(rule.body) if isinstance(part, Atom)]
    found = Counter(name for atom in atoms for name in set(_bound(atom)))
    return shared_variables(rule) | {name for name, count in found.items() if count > 1}


def _bound(pattern: Pattern) -> Iterator[str]:
    for part in walk(pattern):
        if isinstance(part, Atom):
            yield from (arg.name for _, arg in part.args if isinstance(arg, Var))


def _bound_outside(pattern: Pattern) -> Iterator[str]:
    """The variables of atoms that are not repeated."""
    stack = [pattern]
    while stack:
        part = stack.pop()
        if isinstance(part, Atom):
            yield from (arg.name for _, arg in part.args if isinstance(arg, Var))
        if not isinstance(part, Repeat):
            stack.extend(children(part))


def settled(rule: Rule) -> Rule:
    """The rule with conditions on what is repeated inside the repetition they are about."""
    if not any(True for _ in repeats(rule.body)):
        return rule
    shared = shared_variables(rule)
    return replace(rule, body=_settled(rule.body, shared))


def _settled(pattern: Pattern, shared: frozenset[str]) -> Pattern:
    found: Pattern = changed(pattern, lambda node: _moved(node, shared))
    return found


def _moved(node: Any, shared: frozenset[str]) -> Any:
    """Conditions on what is repeated inside the repetition; anything else as it is."""
    if not isinstance(node, Where):
        return node
    inner, owners = node.pattern, list(repeats(node.pattern))
    names = [_names(owner, shared) for owner in owners]
    stay: list[Expr] = []
    moved: dict[int, list[Expr]] = {}
    for part in conjuncts(node.condition):
        place = _place(part, names)
        (stay if place is None else moved.setdefault(place, [])).append(part)
    if not moved:
        return node
    fuller = {
        id(owners[place]): replace(
            owners[place], pattern=Where(owners[place].pattern, _joined(conditions), node.span)
        )
        for place, conditions in moved.items()
    }
    inner = _settled(changed(inner, lambda part: fuller.get(id(part), part)), shared)
    return Where(inner, _joined(stay), node.span) if stay else inner


def _names(repeat: Repeat, shared: frozenset[str]) -> frozenset[str]:
    """The variables and labels that have a value for each repetition."""
    labels = {part.name for part in walk(repeat) if isinstance(part, Label)}
    return frozenset(set(_bound(repeat)) - shared | labels)


def _place(condition: Expr, names: Sequence[frozenset[str]]) -> int | None:
    """The repetition whose names a condition reads."""
    return next((place for place, own in enumerate(names) if reads_any(condition, own)), None)


def reads_any(expr: Expr, names: frozenset[str]) -> bool:
    """Whether an expression reads one of some variables and labels."""
    return any(
        (leaf.name if isinstance(leaf, Var) else leaf.label) in names
        for leaf in leaves(expr)
        if isinstance(leaf, (Var, Attr, TimeOf))
    )


def _joined(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda left, right: Call("and", (left, right)), conditions)


def as_a_whole(rule: Rule) -> Rule:
    """A policy on all of a rule's body is the rule's: ``q <- (a seq b using recent);``."""
    body = rule.body
    if not isinstance(body, Using) or rule.policy != UNRESTRICTED:
        return rule
    return as_a_whole(replace(rule, body=body.pattern, policy=body.policy))
