"""What is written as a function around patterns: absence, collection, windows, instants, rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from thence.lang.python.moments import over_moments
from thence.lang.python.patterns import (
    Between,
    Inside,
    Instant,
    Joined,
    Missing,
    Pattern,
    Ticking,
    Whichever,
    core,
    pattern_of,
)
from thence.lang.python.values import micros, moment
from thence.model.errors import BuildError


@dataclass(frozen=True, slots=True, eq=False)
class Absence(Missing):
    """A pattern that must not occur; say where with ``between`` or ``inside``.

    A row that a table must not have is absent by itself: ``order & absent(Catalogue(id=x))``.
    """

    def between(self, first: Pattern, last: Pattern) -> Pattern:
        """``first`` and then ``last``, and in between not the pattern."""
        place = "between"
        return Between(self.pattern, pattern_of(first, place), pattern_of(last, place))

    def inside(self, window: Pattern) -> Pattern:
        """Not strictly inside an occurrence of ``window``: a timer, an event or a pattern."""
        return Inside("not", self.pattern, core(pattern_of(window, "inside")))


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """A pattern to gather for aggregates; say where with ``inside`` or ``over``."""

    pattern: Pattern

    def inside(self, window: Pattern) -> Pattern:
        """All strictly inside an occurrence of ``window``, of which there must be one."""
        return Inside("collect", self.pattern, core(pattern_of(window, "inside")))

    def over(self, until: Pattern, duration: Any = None, rows: int | None = None) -> Pattern:
        """All that end in the ``duration`` up to the end of ``until``, both instants included; with
        ``rows``, the last so many of them."""
        if duration is None and rows is None:
            raise BuildError("over needs a duration, or rows: collect(c).over(o, '5 min')")
        given: object = rows
        if given is not None and (type(given) is not int or given < 1):
            raise BuildError(f"rows is a number from 1 on, not {given!r}")
        reach = None if duration is None else micros(duration, "over")
        window = core(pattern_of(until, "over"))
        return Inside("collect", self.pattern, window, reach, rows)


def absent(pattern: Pattern) -> Absence:
    """What must not occur: ``absent(c).between(a, b)``, or ``absent(c).inside(w)``; and what a
    table must not have: ``a & absent(row)``."""
    return Absence(pattern_of(pattern, "absent"))


def collect(pattern: Pattern) -> Collection:
    """What to gather for aggregates: ``collect(c).inside(w)``, ``collect(c).over(o, "5 min")``."""
    return Collection(pattern_of(pattern, "collect"))


def sequence(*patterns: Pattern) -> Pattern:
    """One after the other, as ``a >> b >> c``."""
    return _row("seq", "sequence", patterns)


def all_of(*patterns: Pattern) -> Pattern:
    """All of them in any order, as ``a & b & c``; commas in the rule language."""
    return _row("and", "all_of", patterns)


def any_of(*patterns: Pattern) -> Pattern:
    """Wherever one of them occurs, as ``a | b | c``."""
    return _row("or", "any_of", patterns)


def _row(
    operator: Literal["seq", "and", "or"], name: str, patterns: tuple[Pattern, ...]
) -> Pattern:
    parts = tuple(pattern_of(each, name) for each in patterns)
    if not parts:
        raise BuildError(f"{name} needs at least one pattern: {name}(a, b)")
    return parts[0] if len(parts) == 1 else Joined(operator, parts)


def at(time: str | date) -> Pattern:
    """A point in time, used as an event: ISO 8601 text, or a datetime; without a zone, UTC."""
    return Instant(moment(time, "at"))


def follows(first: Pattern, second: Pattern, duration: Any) -> Pattern:
    """``second`` ends after ``first`` does, at most so long after: at the end of ``second``."""
    return over_moments("follows", [first, second], duration)


def notfollows(first: Pattern, second: Pattern, duration: Any) -> Pattern:
    """No ``second`` ends so soon after ``first`` does: at the end of that time."""
    return over_moments("notfollows", [first, second], duration)


def precedes(first: Pattern, second: Pattern, duration: Any) -> Pattern:
    """``second`` ends before ``first`` does, at most so long before: at the end of ``first``."""
    return over_moments("precedes", [first, second], duration)


def notprecedes(first: Pattern, second: Pattern, duration: Any) -> Pattern:
    """No ``second`` ends so shortly before ``first`` does: at the end of ``first``."""
    return over_moments("notprecedes", [first, second], duration)


def both(first: Pattern, second: Pattern, duration: Any) -> Pattern:
    """Both end at most so long apart, in either order: at the later end."""
    return over_moments("both", [first, second], duration)


def anyone(*patterns: Pattern) -> Pattern:
    """At the end of whichever of them occurs."""
    if not patterns:
        raise BuildError("anyone needs at least one pattern: anyone(a, b)")
    return Whichever(tuple(pattern_of(each, "anyone") for each in patterns))


def ticks(pattern: Pattern, every: Any, duration: Any) -> Pattern:
    """Each whole multiple of ``every``, counted from 1970, in the ``duration`` from the end of the
    pattern on."""
    period, reach = micros(every, "ticks"), micros(duration, "ticks")
    return Ticking(pattern_of(pattern, "ticks"), period, reach)
