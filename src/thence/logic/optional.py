"""Repetitions that may be empty, where that takes two patterns: one with it, and one without.

Between two other events a repetition is just what lies there, and that may be nothing. At an end of
a sequence, beside another repetition and in a strict sequence its first or last one is an event of
the match. Then ``a seq b*`` is ``(a seq b+) or a``; in the second, aggregates over ``b`` are those
of nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thence.logic.changes import changed
from thence.logic.expr import Aggregate, Folded
from thence.logic.functions import AGGREGATES
from thence.logic.ops import Pattern, Repeat, Rule, Seq
from thence.logic.repetition import names_of, reads_any, repeats, shared_by
from thence.logic.scope import positive_parts, positive_variables
from thence.model.types import NULL, Type


@dataclass(frozen=True, slots=True)
class Variant:
    """A rule and one alternative of its body, with every repetition in it taken once or more."""

    rule: Rule
    body: Pattern


def variants(rule: Rule, body: Pattern, types: Sequence[Type | None]) -> list[Variant]:
    """The patterns, with and without each repetition that may be empty, whose union an alternative
    of a rule is. ``types`` are those of the head's terms.

    A policy that chooses compares matches part by part, and a greedy repetition is empty only if
    nothing fits: for these the repetition stays as it is.
    """
    if rule.policy.greedy or rule.policy.chooses:
        return [Variant(rule, body)]
    waiting, found = [Variant(rule, body)], []
    while waiting:
        variant = waiting.pop()
        may_be_empty = _first_at_an_end(variant.body, variant.rule)
        if may_be_empty is None:
            found.append(variant)
            continue
        once = replace(may_be_empty, least=1)
        fuller = _replaced(variant.body, may_be_empty, once)
        waiting += [_without(variant, may_be_empty, types), replace(variant, body=fuller)]
    return found


def without_value(repeat: Repeat, rule: Rule, body: Pattern) -> frozenset[str]:
    """The variables that would have no value if something were repeated no times."""
    return shared_by(repeat, rule) - set(positive_variables(body))


def _first_at_an_end(body: Pattern, rule: Rule) -> Repeat | None:
    """A repetition that may be empty and cannot be just what lies between its neighbours."""
    for parts in _sequences(body):
        for place, part in enumerate(parts):
            if not _may_be_empty(part) or all(map(_may_be_empty, parts)):
                continue
            assert isinstance(part, Repeat)
            inner = 0 < place < len(parts) - 1 and not rule.policy.strict
            free = inner and not any(
                isinstance(other, Repeat) for other in (parts[place - 1], parts[place + 1])
            )
            if not free and not without_value(part, rule, body):
                return part
    return None


def _may_be_empty(part: Pattern) -> bool:
    return isinstance(part, Repeat) and part.least == 0


def _sequences(pattern: Pattern) -> Iterator[list[Pattern]]:
    """The parts of every sequence, those of sequences in it among them."""
    nested: set[int] = set()
    for part in positive_parts(pattern):
        if isinstance(part, Seq):
            nested |= {id(inner) for inner in part.parts if isinstance(inner, Seq)}
            if id(part) not in nested:
                yield _flat(part)


def _flat(pattern: Pattern) -> list[Pattern]:
    return [p for q in pattern.parts for p in _flat(q)] if isinstance(pattern, Seq) else [pattern]


def _without(variant: Variant, empty: Repeat, types: Sequence[Type | None]) -> Variant:
    """A variant in which something is repeated no times."""

    def leave_out(node: Any) -> Any:
        if isinstance(node, Seq) and any(part is empty for part in node.parts):
            return replace(node, parts=tuple(part for part in node.parts if part is not empty))
        return node

    rule, body = variant.rule, changed(variant.body, leave_out)
    names, only = names_of(empty, rule), not any(True for _ in repeats(body))

    def is_over_nothing(aggregate: Aggregate) -> bool:
        return only if aggregate.arg is None else only or reads_any(aggregate.arg, names)

    def of_nothing(node: Any) -> Any:
        over = isinstance(node, Folded) and is_over_nothing(node.aggregate)
        return AGGREGATES[node.aggregate.function].of_nothing(NULL) if over else node

    terms = tuple(
        replace(term, value=AGGREGATES[term.value.function].of_nothing(kind or NULL))
        if isinstance(term.value, Aggregate) and is_over_nothing(term.value)
        else changed(term, of_nothing)
        for term, kind in zip(rule.terms, types, strict=True)
    )
    return Variant(replace(rule, terms=terms), changed(body, of_nothing))


def _replaced(body: Pattern, old: Repeat, new: Repeat) -> Pattern:
    found: Pattern = changed(body, lambda node: new if node is old else node)
    return found
