"""Operators over the instants at which patterns end: those of SNOOP and COMPOSE."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from thence.lang.python.patterns import Joined, Moment, Pattern, Whichever, pattern_of
from thence.lang.python.values import micros
from thence.model.errors import BuildError

__all__ = [
    "accumulated",
    "aperiodic",
    "immediately",
    "not_before",
    "other_than",
    "periodic",
    "prior",
    "relative",
    "relative_plus",
    "simultaneous",
    "some_of",
    "then",
    "without",
]


def then(*patterns: Pattern) -> Pattern:
    """Each ends no earlier than the one before it: at the end of the last."""
    return Moment("then", _several("then", patterns))


def prior(*patterns: Pattern) -> Pattern:
    """Each ends after the one before it has: at the end of the last."""
    return Moment("prior", _several("prior", patterns))


def relative(*patterns: Pattern) -> Pattern:
    """Each begins after the one before it has ended: at the end of the last."""
    return Whichever((Joined("seq", _several("relative", patterns)),))


def relative_plus(pattern: Pattern) -> Pattern:
    """The last of a row of ``pattern``, each after the one before it, of whatever length."""
    return Moment("relative+", (pattern_of(pattern, "relative_plus"),))


def simultaneous(*patterns: Pattern) -> Pattern:
    """All end at one instant, and this occurs there."""
    return Moment("simultaneous", _several("simultaneous", patterns))


def some_of(number: int, *patterns: Pattern) -> Pattern:
    """So many of the patterns have occurred: at the end of the last of them."""
    parts = tuple(pattern_of(each, "some_of") for each in patterns)
    given: object = number
    if type(given) is not int or not 1 <= given <= len(parts):
        raise BuildError(f"some_of takes a number from 1 to {len(parts)} first, not {given!r}")
    chosen = list(combinations(parts, given))
    return Whichever(tuple(c[0] if len(c) == 1 else Joined("and", c) for c in chosen))


def immediately(first: Pattern, second: Pattern, *between: Pattern) -> Pattern:
    """``second`` ends after ``first``, and nothing of ``between`` ends in between."""
    parts = pattern_of(first, "immediately"), pattern_of(second, "immediately")
    return Moment("immediately", parts, (_among("immediately", between),))


def other_than(pattern: Pattern, *among: Pattern) -> Pattern:
    """Whichever of ``among`` occurs, unless ``pattern`` ends at that very instant."""
    unwanted = pattern_of(pattern, "other_than")
    return Moment("other_than", (_among("other_than", among),), (unwanted,))


def aperiodic(opening: Pattern, pattern: Pattern, closing: Pattern) -> Pattern:
    """Every ``pattern`` from an ``opening`` on, until a ``closing`` comes."""
    parts = pattern_of(opening, "aperiodic"), pattern_of(pattern, "aperiodic")
    return Moment("aperiodic", parts, (pattern_of(closing, "aperiodic"),))


def accumulated(opening: Pattern, pattern: Pattern, closing: Pattern) -> Pattern:
    """Every ``closing`` from an ``opening`` on, over all ``pattern`` from the one to the other,
    which aggregates can read; in text, ``aperiodic*``."""
    parts = pattern_of(opening, "accumulated"), pattern_of(closing, "accumulated")
    return Moment("aperiodic*", parts, collected=(pattern_of(pattern, "accumulated"),))


def without(
    first: Pattern, unwanted: Pattern, last: Pattern, earlier: Pattern | None = None
) -> Pattern:
    """The first ``last`` since a ``first``, if nothing ``unwanted`` came from then on.

    With ``earlier``, every ``last`` before which no ``earlier`` has come.
    """
    parts = pattern_of(first, "without"), pattern_of(last, "without")
    absent = (unwanted,) if earlier is None else (unwanted, earlier)
    return Moment("without", parts, tuple(pattern_of(each, "without") for each in absent))


def not_before(first: Pattern, duration: Any, second: Pattern) -> Pattern:
    """``second`` ends at least so long after ``first``; in text, ``periodic*``."""
    parts = pattern_of(first, "not_before"), pattern_of(second, "not_before")
    return Moment("periodic*", parts, (), micros(duration, "not_before"))


def periodic(opening: Pattern, duration: Any, closing: Pattern) -> Pattern:
    """Again and again, so long after ``opening`` and after each time, until a ``closing`` comes."""
    first, last = pattern_of(opening, "periodic"), pattern_of(closing, "periodic")
    return Moment("periodic", (first,), (last,), micros(duration, "periodic"))


def _several(operator: str, patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    if len(patterns) < 2:
        raise BuildError(f"{operator} needs at least two patterns: {operator}(a, b)")
    return tuple(pattern_of(each, operator) for each in patterns)


def _among(operator: str, patterns: tuple[Pattern, ...]) -> Pattern:
    parts = tuple(pattern_of(each, operator) for each in patterns)
    if not parts:
        raise BuildError(f"{operator} needs to know among which events: {operator}(…, Tick())")
    return parts[0] if len(parts) == 1 else Joined("or", parts)
