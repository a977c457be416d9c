"""Operators over moments in an EVENT clause: those of SNOOP and COMPOSE.

Which argument of a call must occur, which must be absent and which is collected, and the call of
the rule language that says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.refusal import Refused
from thence.logic.alternatives import MOST_ALTERNATIVES
from thence.model.source import Span
from thence.model.types import DURATION

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How an operator is called: the least number of events and whether there may be more, and the
    places of those that must be absent, or are collected."""

    example: str
    least: int
    more: bool = False
    absent: Callable[[int], tuple[int, ...]] = lambda _: ()
    collected: tuple[int, ...] = ()


def _third(_: int) -> tuple[int, ...]:
    return (2,)


def _second(_: int) -> tuple[int, ...]:
    return (1,)


def _first(_: int) -> tuple[int, ...]:
    return (0,)


def _after_two(given: int) -> tuple[int, ...]:
    return tuple(range(2, given))


FORMS = {
    "then": Form("THEN(a, b)", 2, more=True),
    "prior": Form("PRIOR(a, b)", 2, more=True),
    "simultaneous": Form("SIMULTANEOUS(a, b)", 2, more=True),
    "relative": Form("RELATIVE(a, b)", 2, more=True),
    "relative+": Form("RELATIVE+(a)", 1),
    "immediately": Form("IMMEDIATELY(a, b)", 2, more=True, absent=_after_two),
    "other_than": Form("OTHER_THAN(a, b)", 1, more=True, absent=_first),
    "aperiodic": Form("APERIODIC(a, b, c)", 3, absent=_third),
    "aperiodic*": Form("APERIODIC*(a, b, c)", 3, collected=(1,)),
    "without": Form("WITHOUT(a, b, c)", 3, absent=_second),
    "periodic": Form("PERIODIC(a, '10 s', b)", 2, absent=_second),
    "periodic*": Form("PERIODIC*(a, '10 s', b)", 2),
    "any": Form("ANY(2, a, b, c)", 1, more=True),
}
TIMED = frozenset({"periodic", "periodic*"})
"""The operators that take a duration, as their second argument."""

POINTS = frozenset(FORMS) - {"any"}
"""The operators that become a call of the same name; ANY is written out."""


def check(node: q.Operation, span: Span) -> None:
    """Refuse a call with too few or too many arguments."""
    form, shown = FORMS[node.name], node.name.upper()
    given = len(node.parts)
    if node.name in TIMED and node.limit is None:
        raise Refused(span, f"{shown} needs a duration", f"it comes second: {form.example}")
    if node.name not in TIMED | {"any"} and node.limit is not None:
        raise Refused(
            Span(node.limit.start, node.limit.end),
            f"{shown} takes no duration",
            f"to limit how far its events are apart, write {shown}(…) in FOLLOWS or BOTH, or "
            "compare their times in WHERE",
        )
    if given < form.least or (given > form.least and not form.more):
        wanted = {1: "one event", 2: "two events", 3: "three events"}[form.least]
        raise Refused(
            span,
            f"{shown} takes {wanted}{' or more' if form.more else ''}, and {given} "
            f"{'is' if given == 1 else 'are'} given",
            f"write {form.example}",
        )


def divided(name: str, parts: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """What must occur, what must be absent, and what is collected."""
    form = FORMS[name]
    absent, collected = form.absent(len(parts)), form.collected
    return (
        tuple(part for at, part in enumerate(parts) if at not in (*absent, *collected)),
        tuple(parts[at] for at in absent),
        tuple(parts[at] for at in collected),
    )


def choices(node: q.Operation) -> Iterator[tuple[q.Happening, ...]]:
    """``ANY(m, a, b, …)``: every way to choose so many of them."""
    given = len(node.parts)
    assert node.limit is not None
    number, span = node.limit.micros, Span(node.limit.start, node.limit.end)
    if not 1 <= number <= given:
        raise Refused(
            span,
            f"ANY {number} of {given} {'event' if given == 1 else 'events'} is not possible",
            f"write a number from 1 to {given}",
        )
    for count, choice in enumerate(combinations(node.parts, number)):
        if count >= MOST_ALTERNATIVES:
            raise Refused(
                Span(node.start, node.end),
                f"{number} of {given} events can be chosen in more than a thousand ways",
                "give parts of it names of their own, with WITH",
            )
        yield choice


def arguments(
    name: str,
    parts: Sequence[s.Node],
    absent: Sequence[s.Node],
    collected: Sequence[s.Node],
    limit: int,
    span: Span,
) -> tuple[s.Node, ...]:
    """The arguments of the call that says the same in the rule language."""
    match name:
        case "other_than":
            return (*absent, *parts)
        case "aperiodic*":
            return (parts[0], *collected, parts[1])
        case "without":
            return (parts[0], absent[0], parts[1], absent[1])
        case "periodic" | "periodic*":
            first, second = (*parts, *absent)
            return (first, s.Literal_(limit, DURATION, span.start, span.end), second)
    return (*parts, *absent)
