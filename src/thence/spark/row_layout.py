"""How events lie in rows: what reads frames and what packs rows agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """How events lie in rows.

    ``event`` in a row is an index into ``events``. Where ``points`` is true every event is an
    instant, and there is no column ``start``. ``slots`` says which column holds an attribute of an
    event; attributes of the same name and type share one. In the slots of others, a row has null.
    ``clocks`` are the events that have frames of their own, where all have: then a row that no rule
    can use is there too, for its time alone. Its number is that of its event, counted on from the
    last of ``events``.
    """

    events: tuple[str, ...]
    points: bool
    slots: Mapping[str, Mapping[str, str]]
    clocks: tuple[str, ...] = ()

    @property
    def numbers(self) -> int:
        """How many numbers ``event`` in a row may have."""
        return len(self.events) * (2 if self.clocks else 1)
