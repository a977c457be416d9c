"""Operators over the instants at which patterns end: those of SNOOP and COMPOSE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from thence.lang.python.patterns import Joined, Moment, Pattern, Whichever, pattern_of
from thence.lang.python.values import micros
from thence.logic.moments import OPERATORS
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


def over_moments(
    operator: str, patterns: Sequence[Pattern], duration: Any = None, name: str | None = None
) -> Pattern:
    """An operator of the rule language over patterns, which has another name here if its own is no
    name in Python."""
    row, called = OPERATORS[operator], name or operator
    arguments = [pattern_of(each, called) for each in patterns]
    if row.last == "among":
        arguments[row.least :] = [_choice(called, arguments[row.least :])]
    given = row.divided(arguments)
    limit = 0 if row.duration is None else micros(duration, called)
    parts, absent = tuple(given["part"]), tuple(given["absent"])
    return Moment(operator, parts, absent, limit, tuple(given["collected"]))


def then(*patterns: Pattern) -> Pattern:
    """Each ends no earlier than the one before it: at the end of the last."""
    return over_moments("then", _several("then", patterns))


def prior(*patterns: Pattern) -> Pattern:
    """Each ends after the one before it has: at the end of the last."""
    return over_moments("prior", _several("prior", patterns))


def relative(*patterns: Pattern) -> Pattern:
    """Each occurs in what begins after the one before it has ended: at the end of the last."""
    return over_moments("relative", _several("relative", patterns))


def relative_plus(pattern: Pattern) -> Pattern:
    """The last of a row of ``pattern``, each in what begins after the one before it, of whatever
    length."""
    return over_moments("relative+", [pattern], name="relative_plus")


def simultaneous(*patterns: Pattern) -> Pattern:
    """All end at one instant, and this occurs there."""
    return over_moments("simultaneous", _several("simultaneous", patterns))


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
    return over_moments("immediately", [first, second, *between])


def other_than(pattern: Pattern, *among: Pattern) -> Pattern:
    """Whichever of ``among`` occurs, unless ``pattern`` ends at that very instant."""
    return over_moments("other_than", [pattern, *among])


def aperiodic(opening: Pattern, pattern: Pattern, closing: Pattern) -> Pattern:
    """Every ``pattern`` from an ``opening`` on, until a ``closing`` comes."""
    return over_moments("aperiodic", [opening, pattern, closing])


def accumulated(opening: Pattern, pattern: Pattern, closing: Pattern) -> Pattern:
    """Every ``closing`` from an ``opening`` on, over all ``pattern`` from the one to the other,
    which aggregates can read; in text, ``aperiodic*``."""
    return over_moments("aperiodic*", [opening, pattern, closing], name="accumulated")


def without(
    first: Pattern, unwanted: Pattern, last: Pattern, earlier: Pattern | None = None
) -> Pattern:
    """The first ``last`` since a ``first``, if nothing ``unwanted`` came from then on.

    With ``earlier``, every ``last`` before which no ``earlier`` has come.
    """
    own = [] if earlier is None else [earlier]
    return over_moments("without", [first, unwanted, last, *own])


def not_before(first: Pattern, duration: Any, second: Pattern) -> Pattern:
    """``second`` ends at least so long after ``first``; in text, ``periodic*``."""
    return over_moments("periodic*", [first, second], duration, "not_before")


def periodic(opening: Pattern, duration: Any, closing: Pattern) -> Pattern:
    """Again and again, so long after ``opening`` and after each time, until a ``closing`` comes."""
    return over_moments("periodic", [opening, closing], duration)


def _several(operator: str, patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    if len(patterns) < 2:
        raise BuildError(f"{operator} needs at least two patterns: {operator}(a, b)")
    return tuple(pattern_of(each, operator) for each in patterns)


def _choice(operator: str, parts: Sequence[Pattern]) -> Pattern:
    if not parts:
        raise BuildError(f"{operator} needs to know among which events: {operator}(…, Tick())")
    return parts[0] if len(parts) == 1 else Joined("or", tuple(parts))
