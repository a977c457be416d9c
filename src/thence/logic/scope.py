"""Which names a pattern binds, and which of them are read outside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thence.logic.expr import Aggregate, Attr, Call, Expr, TimeOf, Var, conjuncts, leaves
from thence.logic.ops import Atom, Label, Pattern, Repeat, Rule, Where, parts_of, walk


@dataclass(frozen=True, slots=True)
class Needs:
    """The variables and the labelled values that an expression reads."""

    variables: frozenset[str]
    labelled: tuple[Attr | TimeOf, ...]


def needed_of(*exprs: Expr) -> Needs:
    """What some expressions read.

    >>> needed_of(Var("x"), Attr("o", "price")).variables
    frozenset({'x'})
    """
    found = [leaf for expr in exprs for leaf in leaves(expr)]
    labelled = dict.fromkeys(leaf for leaf in found if isinstance(leaf, (Attr, TimeOf)))
    return Needs(frozenset(v.name for v in found if isinstance(v, Var)), tuple(labelled))


def positive_variables(pattern: Pattern) -> tuple[str, ...]:
    """The variables that a pattern's own match binds, what must be absent left out."""
    return _variables(positive_parts(pattern))


def repeated_variables(pattern: Pattern) -> tuple[str, ...]:
    """The variables inside what a pattern repeats."""
    repeats = (part for part in positive_parts(pattern) if isinstance(part, Repeat))
    return _variables(inner for repeat in repeats for inner in walk(repeat))


def _variables(parts: Iterable[Pattern]) -> tuple[str, ...]:
    found = (
        argument.name
        for part in parts
        if isinstance(part, Atom)
        for _, argument in part.args
        if isinstance(argument, Var)
    )
    return tuple(dict.fromkeys(found))


def _defined(pattern: Pattern) -> Iterator[str]:
    """Variables that an equality in a condition of a pattern may bind."""
    for part in positive_parts(pattern):
        if isinstance(part, Where):
            for condition in conjuncts(part.condition):
                if isinstance(condition, Call) and condition.function == "=":
                    yield from (side.name for side in condition.args if isinstance(side, Var))


def exported(
    pattern: Pattern,
    conditions: Sequence[Expr],
    rule: Rule,
    outer: Iterable[str],
    everything: bool,
) -> list[tuple[str, Expr]]:
    """What a pattern in a window must hand out, as (column name, value) pairs.

    Variables that the match binds too, and whatever the conditions around the pattern or the
    head's aggregates read. With ``everything``, all its variables: they are what tells one
    collected occurrence from another.
    """
    aggregated = [
        term.value.arg
        for term in rule.terms
        if isinstance(term.value, Aggregate) and term.value.arg is not None
    ]
    needs = needed_of(*conditions, *aggregated)
    inside = list(positive_variables(pattern))
    inside += [v for v in _defined(pattern) if v in needs.variables and v not in {*inside, *outer}]
    requested = set(outer) | needs.variables
    # A repeated variable that is handed out has one value for all repetitions.
    inside += [v for v in repeated_variables(pattern) if v in requested and v not in inside]
    own = own_labels(pattern)
    found: list[tuple[str, Expr]] = [
        (name, Var(name)) for name in inside if everything or name in requested
    ]
    for value in needs.labelled:
        if value.label in own:
            name = value.name if isinstance(value, Attr) else value.which
            found.append((f"{value.label}.{name}", value))
    return found


def positive_parts(pattern: Pattern) -> Iterable[Pattern]:
    """The parts of a pattern that take part in the match, what must be absent left out."""
    stack = [pattern]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(reversed(parts_of(part)))


def own_labels(pattern: Pattern) -> set[str]:
    """The labels that a pattern binds, also those that only it can see."""
    return {part.name for part in walk(pattern) if isinstance(part, Label)}
