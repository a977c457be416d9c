"""Operators over moments in an EVENT clause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeVar

from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.words import CALLS
from thence.logic.alternatives import MOST_ALTERNATIVES
from thence.model.source import Span

T = TypeVar("T")

POINTS = frozenset(CALLS)
"""The operators that become a call of the same name; ANY is written out."""

TIMED = frozenset(name for name in POINTS if CALLS[name].duration == 1)
"""The operators that take a duration as their second argument."""


def check(node: q.Operation, span: Span) -> None:
    """Refuse a call with too few or too many arguments."""
    shown, given = node.name.upper(), len(node.parts)
    if node.name in TIMED and node.limit is None:
        raise Refused(span, f"{shown} needs a duration", f"it comes second: {_example(node.name)}")
    if node.name not in TIMED and node.limit is not None:
        raise Refused(
            Span(node.limit.start, node.limit.end),
            f"{shown} takes no duration",
            f"to limit how far its events are apart, write {shown}(…) in FOLLOWS or BOTH, or "
            "compare their times in WHERE",
        )
    row = CALLS[node.name]
    if given < row.least or (given > row.least and not row.more):
        requested = {1: "one event", 2: "two events", 3: "three events"}[row.least]
        raise Refused(
            span,
            f"{shown} takes {requested}{' or more' if row.more else ''}, and {given} "
            f"{'is' if given == 1 else 'are'} given",
            f"write {_example(node.name)}",
        )


def _example(name: str) -> str:
    """
    >>> _example("aperiodic"), _example("periodic*")
    ('APERIODIC(a, b, c)', "PERIODIC*(a, '10 s', b)")
    """
    row = CALLS[name]
    shown = list("abc"[: row.least])
    if row.duration is not None:
        shown.insert(row.duration, "'10 s'")
    return f"{name.upper()}({', '.join(shown)})"


def divided(name: str, parts: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """What must occur, what must be absent, and what is collected."""
    given = CALLS[name].divided(parts)
    return tuple(given["part"]), tuple(given["absent"]), tuple(given["collected"])


def choices(node: q.Operation) -> Iterator[tuple[q.Happening, ...]]:
    """``ANY(m, a, b, …)``: every way to choose so many of them."""
    given = len(node.parts)
    if not given:
        raise Refused(
            Span(node.start, node.end), "ANY takes one event or more", "write ANY(2, a, b, c)"
        )
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
