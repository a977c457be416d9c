"""Looks into patterns: what is directly inside one, and what an occurrence is known by."""

from __future__ import annotations

from collections.abc import Iterator

from thence.lang.python.identity import Tag
from thence.lang.python.patterns import (
    Between,
    Closed,
    Inside,
    Instant,
    Joined,
    Judged,
    Layer,
    Missing,
    Moment,
    Occurrence,
    Pattern,
    Related,
    Renamed,
    Repeating,
    Tagged,
    Ticking,
    Timed,
    Whichever,
)


def tag_of(pattern: Pattern) -> Tag | None:
    """What an occurrence is known by; None where a pattern is none by itself."""
    if isinstance(pattern, Occurrence):
        return pattern._tag
    return pattern.tag if isinstance(pattern, Tagged) else None


def inner_patterns(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns directly inside a pattern, in the order in which they bind names."""
    match pattern:
        case Joined(parts=parts) | Whichever(parts=parts):
            yield from parts
        case Moment(parts=parts, absent=unwanted, collected=collected):
            yield from (*parts, *unwanted, *collected)
        case Related(left=left, right=right):
            yield from (left, right)
        case Between(absent=absent, first=first, last=last):
            yield from (first, last, absent)
        case Closed(inner=inner, closing=closing):
            yield from (inner, closing)
        case Repeating(inner=inner):
            yield inner
        case Layer(inner=inner) | Renamed(inner=inner) | Judged(inner=inner):
            yield inner
        case Inside(pattern=inner):
            yield inner
        case Missing(pattern=inner) | Ticking(pattern=inner):
            yield inner
        case Occurrence() | Instant() | Timed():
            return
        case _:
            raise AssertionError(f"what is inside {type(pattern).__name__}?")
