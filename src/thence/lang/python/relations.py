"""The methods of patterns that relate two of them in time, and those that make timers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thence.logic.ops import AllenRelation

if TYPE_CHECKING:
    from thence.lang.python.patterns import Pattern


class Relations:
    """What a pattern can be to another one: the thirteen relations of Allen."""

    __slots__ = ()

    def _related(self, relation: AllenRelation, other: Pattern) -> Pattern:
        raise NotImplementedError

    def equals(self, other: Pattern) -> Pattern:
        """Both start together and end together."""
        return self._related("equals", other)

    def before(self, other: Pattern) -> Pattern:
        """This ends before the other starts; the same as ``>>``."""
        return self._related("before", other)

    def after(self, other: Pattern) -> Pattern:
        """This starts after the other has ended."""
        return self._related("after", other)

    def meets(self, other: Pattern) -> Pattern:
        """This ends at the very instant at which the other starts."""
        return self._related("meets", other)

    def met_by(self, other: Pattern) -> Pattern:
        """This starts at the very instant at which the other ends."""
        return self._related("met_by", other)

    def during(self, other: Pattern) -> Pattern:
        """This starts after the other starts, and ends before it ends."""
        return self._related("during", other)

    def contains(self, other: Pattern) -> Pattern:
        """The other starts after this starts, and ends before it ends."""
        return self._related("contains", other)

    def starts(self, other: Pattern) -> Pattern:
        """Both start together, and this ends first."""
        return self._related("starts", other)

    def started_by(self, other: Pattern) -> Pattern:
        """Both start together, and the other ends first."""
        return self._related("started_by", other)

    def finishes(self, other: Pattern) -> Pattern:
        """Both end together, and this starts last."""
        return self._related("finishes", other)

    def finished_by(self, other: Pattern) -> Pattern:
        """Both end together, and the other starts last."""
        return self._related("finished_by", other)

    def overlaps(self, other: Pattern) -> Pattern:
        """This starts first, and ends while the other goes on."""
        return self._related("overlaps", other)

    def overlapped_by(self, other: Pattern) -> Pattern:
        """The other starts first, and ends while this goes on."""
        return self._related("overlapped_by", other)

    def intersects(self, other: Pattern) -> Pattern:
        """They share an instant at least."""
        return self._related("intersects", other)


class Timers:
    """Intervals relative to an occurrence. A duration is text with a unit, or a timedelta."""

    __slots__ = ()

    def _timed(self, timer: str, duration: Any) -> Pattern:
        raise NotImplementedError

    def extend(self, duration: Any) -> Pattern:
        """From the start until so long after the end."""
        return self._timed("extend", duration)

    def extend_backward(self, duration: Any) -> Pattern:
        """From so long before the start until the end."""
        return self._timed("extend_backward", duration)

    def shorten(self, duration: Any) -> Pattern:
        """From the start until so long before the end."""
        return self._timed("shorten", duration)

    def shorten_backward(self, duration: Any) -> Pattern:
        """From so long after the start until the end."""
        return self._timed("shorten_backward", duration)

    def shift(self, duration: Any) -> Pattern:
        """The same interval, so much later."""
        return self._timed("shift", duration)

    def shift_backward(self, duration: Any) -> Pattern:
        """The same interval, so much earlier."""
        return self._timed("shift_backward", duration)

    def shift_begin(self, duration: Any) -> Pattern:
        """The same interval with a start so much later."""
        return self._timed("shift_begin", duration)

    def shift_end(self, duration: Any) -> Pattern:
        """The same interval with an end so much later."""
        return self._timed("shift_end", duration)

    def from_start(self, duration: Any) -> Pattern:
        """From the start, so long."""
        return self._timed("from_start", duration)

    def from_start_backward(self, duration: Any) -> Pattern:
        """So long, until the start."""
        return self._timed("from_start_backward", duration)

    def from_end(self, duration: Any) -> Pattern:
        """From the end, so long."""
        return self._timed("from_end", duration)

    def from_end_backward(self, duration: Any) -> Pattern:
        """So long, until the end."""
        return self._timed("from_end_backward", duration)
