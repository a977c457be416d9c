"""Repetitions of which nobody asks which events they are: all that matters is that there are any.

Leaving out what lies between the ends of a chain gives a shorter one, so it is enough to know the
longest. Often not even that: where no more are asked for than the match has itself, at the ends of
the repetition, or just one between others, no candidate need be looked at one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.join.chains import Chains, chains_of
from thence.engine.join.match import Match
from thence.engine.window.windows import WindowSearch, having_any, lies_inside
from thence.logic.conjunct import Repetition, WindowUse

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

_NEVER = np.iinfo(np.int64).max
_EVER = np.iinfo(np.int64).min


def without_looking(match: Match, window: WindowUse) -> Match | None:
    """The rows of a match that have any such repetition, where that can be told without listing
    candidates; None where it cannot."""
    repetition = window.repetition
    assert repetition is not None
    ends = _ends(repetition)
    if repetition.least > max(ends, 1):
        return None
    if ends or repetition.least == 0:
        kept = _fits_ends(match, repetition, np.full(match.length, ends))
        for end in (repetition.first, repetition.last):
            if end is not None:
                kept &= lies_inside(match, window, match.rows(end))
    elif len(match.rels[window.atom]) == 0:
        kept = np.zeros(match.length, dtype=np.bool_)
    else:
        kept = having_any(match, WindowSearch(match, window))
    found = match.where(kept)
    return found.chained(None, window.atom, _no_members(found.length))


def any_chain(found: Candidates) -> tuple[Index, Chains]:
    """The rows that have any chain of the length asked for."""
    kept = _fits_ends(found.match, found.repetition, _longest(found))
    for end, place in ((found.repetition.first, found.first), (found.repetition.last, found.last)):
        if end is not None:
            kept &= place >= 0
    rows = np.flatnonzero(kept)
    return rows, _no_members(len(rows))


def _no_members(rows: int) -> Chains:
    return chains_of(np.zeros(rows, dtype=np.int64), np.empty(0, dtype=np.int64))


def _ends(repetition: Repetition) -> int:
    """How many ends of the repetition are events of the match."""
    return (repetition.first is not None) + (repetition.last is not None)


def _fits_ends(match: Match, repetition: Repetition, lengths: Index) -> Mask:
    """Which rows have a repetition as long as is asked for, given the longest that they have."""
    first, last, ends = repetition.first, repetition.last, _ends(repetition)
    shortest = np.full(match.length, ends)
    kept = np.ones(match.length, dtype=np.bool_)
    if first is not None and last is not None:
        single = match.rows(first) == match.rows(last)
        uses = match.prepared.uses
        kept = single | (match.time(uses[first].end) < match.time(uses[last].start))
        shortest, lengths = np.where(single, 1, shortest), np.where(single, 1, lengths)
    most = repetition.most if repetition.most is not None else _NEVER
    return kept & (lengths >= repetition.least) & (shortest <= most)


def _longest(found: Candidates) -> Index:
    """The length of the longest chain of each row, between its first and its last: that which
    takes, of what may follow, what ends first."""
    from thence.engine.arrays.kernels import longest  # noqa: PLC0415 (compiles; few rules need it)

    match, repetition = found.match, found.repetition
    uses = match.prepared.uses
    order = np.lexsort((found.ends, found.rows))
    lows, highs = np.full(match.length, _EVER), np.full(match.length, _NEVER)
    if repetition.first is not None:
        lows = match.time(uses[repetition.first].end)
    if repetition.last is not None:
        highs = match.time(uses[repetition.last].start)
    inner = longest(found.offsets, found.starts[order], found.ends[order], lows, highs)
    return inner + _ends(repetition)
