"""Events that are known already, against which new ones are told: each is given once.

A result ends when it ends, whichever way it was derived. So new ones are compared only with those
known ones that end when they do, and what comes round by round of a recursion is
joined end to end only where somebody reads it.
"""

from __future__ import annotations

from thence.engine.arrays.rows import concat, distinct
from thence.engine.state.relation import Relation
from thence.model.events import Events


class Known:
    """Events of one type that have been given, in one relation or several."""

    __slots__ = ("_held",)

    def __init__(self, *held: Relation) -> None:
        self._held = list(held)

    def add(self, events: Events) -> None:
        """Take more events."""
        self._held[0] = self._held[0].added(events)

    def fresh(self, events: Events, once: bool) -> Events:
        """Those of some events that are not among these, each once; ``once`` says that they
        are."""
        known = self._alike(events)
        return events if once and not len(known) else distinct(events, known)

    def _alike(self, events: Events) -> Events:
        """Those that could be among some events."""
        if not len(events) or not any(self._held):
            return self._held[0].none
        return concat([held.alike(events) for held in self._held])


class Growing:
    """Events that a recursion finds round by round."""

    __slots__ = ("_parts",)

    def __init__(self, events: Events) -> None:
        self._parts = [events]

    def add(self, events: Events) -> None:
        """Take more events."""
        if len(events):
            self._parts.append(events)

    def all(self) -> Events:
        """All of them."""
        return concat(self._parts)
