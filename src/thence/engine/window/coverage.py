"""Gaps in what is known: a window that meets one says nothing.

An input may be known over certain times only. Absence from a window, and all of what lies in it, is
known only where the times that it looks at have been seen: those at which an event may end that the
closed bounds allow in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thence.engine.arrays.array_types import Mask, Times
from thence.engine.join.match import Match
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import WindowUse
from thence.plan.prepared import Prepared

Gap = tuple[int, int]
"""From one time to another, both included: nothing is known of what ended then."""

EVER = 2**62
"""After all time."""


class Gaps:
    """Gaps of one event type, in order and apart from one another.

    >>> gaps = Gaps([(5, 9), (1, 2), (3, 3), (8, 12)])
    >>> gaps.first.tolist(), gaps.last.tolist()
    ([1, 5], [3, 12])
    """

    __slots__ = ("first", "last")

    def __init__(self, gaps: Sequence[Gap]) -> None:
        merged: list[Gap] = []
        for first, last in sorted(gaps):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(merged[-1][1], last)
            else:
                merged.append((first, last))
        self.first = np.array([first for first, _ in merged], dtype=np.int64)
        self.last = np.array([last for _, last in merged], dtype=np.int64)

    def met(self, low: Times, high: Times) -> Mask:
        """Which of some stretches of time meet a gap; one that ends before it begins meets none."""
        place = np.searchsorted(self.last, low)
        inside = place < len(self.last)
        place = np.minimum(place, len(self.last) - 1)
        return inside & (self.first[place] <= high) & (low <= high)


def derived_gaps(
    gaps: Mapping[str, Sequence[Gap]], reach: Mapping[str, Mapping[str, int]]
) -> dict[str, Gaps]:
    """The gaps of all events, from those of the inputs: what rests on an event that ended in one
    ends so long after it at most as ``reach`` says."""
    found = {}
    for event, inputs in reach.items():
        own = [
            (first, min(last + after, EVER))
            for name, after in inputs.items()
            for first, last in gaps.get(name, ())
        ]
        if own:
            found[event] = Gaps(own)
    return found


def _looking(prepared: Prepared, gaps: Mapping[str, Gaps]) -> list[tuple[WindowUse, Gaps]]:
    """The windows of a join that look at events of which not all is known."""
    return [
        (window, gaps[event])
        for window in prepared.conjunct.windows
        if (event := prepared.uses[window.atom].event) in gaps and window.mode != "previous"
    ]


def looks_into(prepared: Prepared, gaps: Mapping[str, Gaps]) -> bool:
    """Whether a window of a join looks at events of which not all is known."""
    return bool(gaps) and bool(_looking(prepared, gaps))


def in_sight(match: Match, gaps: Mapping[str, Gaps]) -> Match:
    """The rows of a match all of whose windows look at times that have been seen."""
    for window, own in _looking(match.prepared, gaps):
        if match.length:
            match = match.where(~own.met(*_stretch(match, window)))
    return match


def _stretch(match: Match, window: WindowUse) -> tuple[Times, Times]:
    """From when to when an event may end that lies in a window, for each row of a match."""
    prepared = match.prepared
    use = prepared.uses[window.atom]
    low, high = np.full(match.length, -EVER), np.full(match.length, EVER)
    for node in prepared.window_reads(window).nodes - {use.start, use.end}:
        before, after = window.bounds[node, use.end], window.bounds[use.end, node]
        if before < UNBOUNDED:
            low = np.maximum(low, match.time(node) - before)
        if after < UNBOUNDED:
            high = np.minimum(high, match.time(node) + after)
    return low, high
