"""Which attributes an effect has in common with each of its causes, whatever its values.

In ``alarm(k) <- order(k, n) seq late(k)`` an alarm has its ``k`` from the order that it was made
of. So nothing is lost by comparing the two, and much may be gained: work that goes by ``k`` can be
split by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from thence.logic.expr import Attr, Var
from thence.logic.ops import Atom, Label, Pattern, Rule, SemiJoin, Since, inside

Shared = frozenset[tuple[str, str]]
"""Pairs of an attribute of the effect and one of the cause that are always the same."""


def made_of(rule: Rule) -> list[Atom]:
    """The events that a rule makes its results of: those that occur, are repeated or collected."""
    return [atom for _, atom in _labelled(rule.body, None)]


def _labelled(pattern: Pattern, label: str | None) -> Iterator[tuple[str | None, Atom]]:
    """The same events of a pattern, each with its label."""
    match pattern:
        case Atom():
            yield label, pattern
        case Label(name, inner):
            yield from _labelled(inner, name)
        # What stands beside a match is no part of it.
        case SemiJoin(inner) | Since(inner):
            yield from _labelled(inner, None)
        case _:
            for role, part in inside(pattern):
                if role != "absent":
                    yield from _labelled(part, None)


def shared_attributes(
    effect: str,
    cause: str,
    rules_of: Mapping[str, Sequence[Rule]],
    reach: Callable[[str], frozenset[str]],
    names: Mapping[str, Sequence[str]],
) -> Shared:
    """What effects of one type have in common with causes of another.

    ``reach`` is what an event can be made of at any depth. Rules may depend on each other, so what
    is common to all is found by leaving out what is not, again and again.
    """
    between = [event for event in (effect, *sorted(reach(effect))) if cause in reach(event)]
    found = {
        event: frozenset((e, c) for e in names[event] for c in names[cause]) for event in between
    }
    while True:
        narrower = {event: found[event] for event in between}
        for event in between:
            for rule in rules_of[event]:
                for label, atom in _labelled(rule.body, None):
                    handed = list(_handed(names[event], rule, label, atom))
                    if atom.event == cause:
                        narrower[event] &= frozenset(handed)
                    if cause in reach(atom.event):
                        known = found[atom.event]
                        through = {(e, c) for e, n in handed for m, c in known if n == m}
                        narrower[event] &= frozenset(through)
        if narrower == found:
            return found[effect]
        found = narrower


def same_variable(one: Iterable[Atom], other: Iterable[Atom]) -> Mapping[tuple[str, str], str]:
    """The attributes of two events that a rule holds equal by naming them alike, and the names.

    Each event is given by every atom that stands for it; what counts stands in all of them.
    """
    return {
        (mine, theirs): name
        for mine, name in _named(one)
        for theirs, same in _named(other)
        if name == same
    }


def _named(atoms: Iterable[Atom]) -> list[tuple[str, str]]:
    every = [[(n, arg.name) for n, arg in a.args if isinstance(arg, Var)] for a in atoms]
    return [pair for pair in every[0] if all(pair in others for others in every)] if every else []


def _handed(
    names: Sequence[str], rule: Rule, label: str | None, atom: Atom
) -> Iterable[tuple[str, str]]:
    """The attributes of a rule's results that are attributes of an event in it."""
    for name, term in zip(names, rule.terms, strict=True):
        for attribute in _read(term.value, label, atom):
            yield name, attribute


def _read(value: object, label: str | None, atom: Atom) -> Iterable[str]:
    match value:
        case Var(name):
            return [n for n, arg in atom.args if isinstance(arg, Var) and arg.name == name]
        case Attr(of, name) if of == label:
            return [name]
    return []
