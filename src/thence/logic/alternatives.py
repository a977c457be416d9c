"""Disjunction: a pattern with ``or`` is the union of its alternatives.

Under set semantics a rule whose body has alternatives is several rules with one head, so ``or``
needs no operator of its own in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    Label,
    Moments,
    Not,
    Or,
    Par,
    Pattern,
    SemiJoin,
    Seq,
    Since,
    Ticks,
    Until,
    Where,
    Within,
)
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

    >>> from thence.logic.ops import Atom
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
        case Seq(parts) | And(parts) | Moments(_, parts):
            lists = [alternatives(part) for part in parts]
            return _combined(pattern, lists, lambda choice: {"parts": choice})
        case Par(left, right) | Allen(_, left, right):
            return _combined(
                pattern,
                [alternatives(left), alternatives(right)],
                lambda choice: {"left": choice[0], "right": choice[1]},
            )
        case Until(inner, closing):
            closings = alternatives(closing)
            # Whichever it is that closes, none of the others may have come before.
            another = closing if len(closings) > 1 else None
            return _combined(
                pattern,
                [alternatives(inner), closings],
                lambda choice: {"pattern": choice[0], "closing": choice[1], "another": another},
            )
        case Not(_, first, last):
            return _combined(
                pattern,
                [alternatives(first), alternatives(last)],
                lambda choice: {"first": choice[0], "last": choice[1]},
            )
        case Label(_, inner) | Within(inner, _) | Where(inner, _) | Ticks(inner):
            inners = alternatives(inner)
            return _combined(pattern, [inners], lambda choice: {"pattern": choice[0]})
        case SemiJoin(inner, other):
            return _combined(
                pattern,
                [alternatives(inner), alternatives(other)],
                lambda choice: {"pattern": choice[0], "other": choice[1]},
            )
        case Since(inner, context):
            return _combined(
                pattern,
                [alternatives(inner), alternatives(context)],
                lambda choice: {"pattern": choice[0], "context": choice[1]},
            )
    return [pattern]


def _combined(
    pattern: Any, lists: list[list[Pattern]], fields: Callable[[Any], dict[str, Any]]
) -> list[Pattern]:
    if all(len(choices) == 1 for choices in lists):
        # Nothing to choose: the pattern is its own alternative, unless a part was rebuilt.
        return [replace(pattern, **fields(tuple(choices[0] for choices in lists)))]
    total = 1
    for choices in lists:
        total *= len(choices)
        if total > MOST_ALTERNATIVES:
            raise TooManyAlternatives(pattern.span)
    return [replace(pattern, **fields(choice)) for choice in product(*lists)]


def _limited(found: list[Pattern], pattern: Any) -> list[Pattern]:
    if len(found) > MOST_ALTERNATIVES:
        raise TooManyAlternatives(pattern.span)
    return found
