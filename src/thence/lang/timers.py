"""The timers: intervals relative to the event that a label names.

Each row says at which end point of the event the timer starts and ends, and how many times the
timer's duration is added there.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from thence.logic.ops import Timer
from thence.model.source import NOWHERE, Span

Anchor = Literal["start", "end"]


class TimerShape(NamedTuple):
    """Where a timer lies: ``[start_anchor + start_factor * d, end_anchor + end_factor * d]``."""

    start_anchor: Anchor
    start_factor: int
    end_anchor: Anchor
    end_factor: int


TIMERS: dict[str, TimerShape] = {
    "extend": TimerShape("start", 0, "end", 1),
    "extend_backward": TimerShape("start", -1, "end", 0),
    "shorten": TimerShape("start", 0, "end", -1),
    "shorten_backward": TimerShape("start", 1, "end", 0),
    "shift": TimerShape("start", 1, "end", 1),
    "shift_backward": TimerShape("start", -1, "end", -1),
    "shift_begin": TimerShape("start", 1, "end", 0),
    "shift_end": TimerShape("start", 0, "end", 1),
    "from_start": TimerShape("start", 0, "start", 1),
    "from_start_backward": TimerShape("start", -1, "start", 0),
    "from_end": TimerShape("end", 0, "end", 1),
    "from_end_backward": TimerShape("end", -1, "end", 0),
}


def timer(name: str, of: str, duration: int, span: Span = NOWHERE) -> Timer:
    """The timer of a name, relative to the label ``of``.

    >>> made = timer("from_end", "o", 10)
    >>> made.start_anchor, made.start_shift, made.end_anchor, made.end_shift
    ('end', 0, 'end', 10)
    """
    shape = TIMERS[name]
    return Timer(
        of,
        shape.start_anchor,
        shape.start_factor * duration,
        shape.end_anchor,
        shape.end_factor * duration,
        name,
        span,
    )


def written(pattern: Timer) -> tuple[str, int]:
    """The name and duration under which a timer can be written, its own name first.

    >>> written(timer("shift_backward", "o", 10))
    ('shift_backward', 10)

    Raises ValueError for an interval that no timer of the language has.
    """
    for name in (pattern.name, *TIMERS):
        shape = TIMERS.get(name)
        if shape is None:
            continue
        duration = (
            pattern.start_shift * shape.start_factor
            if shape.start_factor
            else pattern.end_shift * shape.end_factor
        )
        made = timer(name, pattern.of, duration)
        if made == pattern:
            return name, duration
    raise ValueError(f"no timer is written for {pattern}")
