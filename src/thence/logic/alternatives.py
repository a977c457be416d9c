"""Disjunction: a pattern with ``or`` is the union of its alternatives.

Under set semantics a rule whose body has alternatives is several rules with one head, so ``or``
needs no operator of its own in the engine.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from thence.logic.ops import AnyOne, Or, Pattern, Until, Using, parts_of, span_of, with_parts
from thence.model.source import Span

MOST_ALTERNATIVES = 1000


class TooManyAlternatives(Exception):
    """The alternatives of a pattern multiply beyond what is sensible."""

    def __init__(self, span: Span) -> None:
        self.span = span
        super().__init__("too many alternatives")


def alternatives(pattern: Pattern) -> list[Pattern]:
    """The patterns without ``or`` whose union is the given one.

    What must be absent or is collected stays as it is: it is not part of the match.

    >>> from thence.logic.ops import Atom, Seq
    >>> a, b, c = Atom("a"), Atom("b"), Atom("c")
    >>> alternatives(Seq((a, Or((b, c)))))  # doctest: +NORMALIZE_WHITESPACE
    [Seq(parts=(Atom(event='a', args=()), Atom(event='b', args=()))),
     Seq(parts=(Atom(event='a', args=()), Atom(event='c', args=())))]
    """
    match pattern:
        case Or(parts):
            return _limited([p for part in parts for p in alternatives(part)], pattern)
        case AnyOne(parts):
            chosen = [p for part in parts for p in alternatives(part)]
            return _limited([replace(pattern, parts=(p,)) for p in chosen], pattern)
        case Using():  # chosen from all alternatives together
            return [pattern]
    parts = parts_of(pattern)
    lists = [alternatives(part) for part in parts]
    if all(len(found) == 1 and found[0] is part for found, part in zip(lists, parts, strict=True)):
        return [pattern]
    if isinstance(pattern, Until) and len(lists[1]) > 1:
        # Whichever it is that closes, none of the others may have come before.
        pattern = replace(pattern, another=pattern.closing)
    return _combined(pattern, lists)


def _combined(pattern: Pattern, lists: list[list[Pattern]]) -> list[Pattern]:
    total = 1
    for choices in lists:
        total *= len(choices)
        if total > MOST_ALTERNATIVES:
            raise TooManyAlternatives(span_of(pattern))
    return [with_parts(pattern, choice) for choice in product(*lists)]


def _limited(found: list[Pattern], pattern: Or | AnyOne) -> list[Pattern]:
    if len(found) > MOST_ALTERNATIVES:
        raise TooManyAlternatives(pattern.span)
    return found
