"""Events that a recursion finds round by round, without copying them in every round.

A recursion over time may take as many rounds as there are ticks of a clock. What a round finds is
compared only with what ends at the same times, and joined end to end only where somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from thence.engine.arrays.rows import LINEAGE, concat, distinct, take
from thence.engine.output.lineage import merged, with_more_lineage
from thence.model.events import Events

_ROOM = 16


class Growing:
    """Events of one type, in parts."""

    __slots__ = ("_firsts", "_lasts", "_parts")

    def __init__(self, events: Events) -> None:
        self._parts: list[Events] = []
        self._firsts = np.empty(_ROOM, dtype=np.int64)
        self._lasts = np.empty(_ROOM, dtype=np.int64)
        self.add(events)

    def add(self, events: Events) -> None:
        """Take more events."""
        at = len(self._parts)
        if at and not len(events):
            return
        if at == len(self._firsts):
            self._firsts = np.concatenate((self._firsts, np.empty_like(self._firsts)))
            self._lasts = np.concatenate((self._lasts, np.empty_like(self._lasts)))
        self._parts.append(events)
        self._firsts[at] = events.end.min() if len(events) else 0
        self._lasts[at] = events.end.max() if len(events) else -1

    def all(self) -> Events:
        """All of them; with lineage, a later part may know more of an event."""
        if len(self._parts) > 1:
            whole = concat(self._parts)
            self._parts = []
            self.add(merged(whole) if LINEAGE in whole.columns else whole)
        return self._parts[0]

    def fresh(self, events: Events, once: bool) -> Events:
        """Those of some events that are not among these, each once; ``once`` says that they are.
        With lineage, those also of which more is known now."""
        known = self._ending_with(events) if len(events) else events
        if LINEAGE in events.columns:
            return with_more_lineage(events, known)
        return events if once and not len(known) else distinct(events, known)

    def _ending_with(self, events: Events) -> Events:
        """Those that could be among some events, which goes by when they end."""
        count = len(self._parts)
        first, last = events.end.min(), events.end.max()
        near = np.flatnonzero((self._firsts[:count] <= last) & (self._lasts[:count] >= first))
        if len(near) == count:
            return self.all()
        if not len(near):
            return take(self._parts[0], np.empty(0, dtype=np.int64))
        whole = concat([self._parts[i] for i in near.tolist()])
        return merged(whole) if LINEAGE in whole.columns and len(near) > 1 else whole


class Old(Mapping[str, Events]):
    """What earlier rounds have seen, by type."""

    __slots__ = ("_growing",)

    def __init__(self, events: Mapping[str, Events]) -> None:
        self._growing = {name: Growing(found) for name, found in events.items()}

    def add(self, events: Mapping[str, Events]) -> None:
        """Take what a round has seen."""
        for name, found in events.items():
            self._growing[name].add(found)

    def __getitem__(self, name: str) -> Events:
        return self._growing[name].all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._growing)

    def __len__(self) -> int:
        return len(self._growing)
