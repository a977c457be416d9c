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
    """

    events: tuple[str, ...]
    points: bool
    slots: Mapping[str, Mapping[str, str]]
