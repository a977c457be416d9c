"""With which events a greedy repetition at the beginning of a pattern may begin.

It begins with an event before which no other could be put. Whether one could does not depend on the
two alone: something may have to be absent since the first of them. So it is looked up: an event can
be put before the first of a match if it is the first of another one with the same other events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thence.engine.arrays import Index, Mask
from thence.engine.match import Match
from thence.logic.conjunct import Conjunct, Repetition


@dataclass(frozen=True, slots=True)
class Begun:
    """For each row of a match, which rows have the same other events (``groups``); and the sorted
    pairs of a group and a first event, as one number each."""

    groups: Index
    pairs: Index
    events: int

    def cut(self, low: int, length: int) -> Begun:
        """The same for some rows in a row."""
        return replace(self, groups=self.groups[low : low + length])

    def holds(self, rows: Index, members: Index) -> Mask:
        """Whether events are the first in another match with the other events of some rows."""
        keys = self.groups[rows] * self.events + members
        places = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
        return self.pairs[places] == keys  # type: ignore[no-any-return]


def leads_greedily(repetition: Repetition | None) -> bool:
    """Whether it matters which events a repetition could begin with."""
    return (
        repetition is not None
        and repetition.greedy
        and repetition.leading
        and repetition.first is not None
    )


def compares_beginnings(conjunct: Conjunct) -> bool:
    """Whether matches are compared that differ in nothing but the first of a repetition."""
    return any(leads_greedily(window.repetition) for window in conjunct.repetitions)


def begun_by(match: Match, repetition: Repetition) -> Begun | None:
    """With which events a repetition begins in the rows of a match, where that matters."""
    if not leads_greedily(repetition) or match.length == 0:
        return None
    assert repetition.first is not None
    conjunct = match.prepared.conjunct
    others = [match.rows(atom) for atom in conjunct.positive if atom != repetition.first]
    groups = _numbered([*others, match.time(conjunct.end)])
    firsts, events = match.rows(repetition.first), len(match.rels[repetition.first])
    return Begun(groups, np.unique(groups * events + firsts), events)


def _numbered(columns: list[Index]) -> Index:
    """Equal rows of some columns by one number.

    >>> _numbered([np.array([7, 5, 7]), np.array([1, 1, 1])]).tolist()
    [1, 0, 1]
    """
    order = np.lexsort(columns)
    fresh = np.zeros(len(order), dtype=np.int64)
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(fresh)
    return numbers
