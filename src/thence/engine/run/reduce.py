"""Semi-join reduction of state: events that the horizon has passed, and that nothing can use."""

from __future__ import annotations

import numpy as np

from thence.engine.arrays.rows import take
from thence.engine.join.join import met
from thence.engine.run.derive import Horizon, Inputs, Sources
from thence.engine.run.narrow import Term
from thence.model.events import Events
from thence.plan.demand import rarest
from thence.plan.prepared import Prepared
from thence.plan.retention import Reduction


def reduced(
    events: Events, kept: int, reduction: Reduction, inputs: Inputs, horizon: Horizon
) -> Events:
    """Recent events of a type less those that the horizon has passed just now without a partner;
    ``kept`` is how many are remembered in all. The horizon is that of all that they may meet.

    Each event is looked at once, when the horizon passes it: what is new costs something, what is
    kept does not.
    """
    if not reduction.partners or not len(events):
        return events
    passed = (events.end > horizon.before) & (events.end <= horizon.now)
    if not passed.any():
        return events
    chosen: list[tuple[Prepared, Sources]] = []
    for joins in reduction.partners:
        sources = [Sources(join, inputs) for join in joins]
        place = rarest([own.size(1) for own in sources], kept)
        if place is None:
            return events
        chosen.append((joins[place], sources[place]))
    rows = take(events, passed)
    asked = np.zeros(len(rows), dtype=np.bool_)
    for join, own in chosen:
        own.cache["new", 0] = rows
        partners = own.relations(Term({0: "new"}))[1]
        if len(partners):
            asked |= met(join, [rows, partners], 1, 0)
    if asked.all():
        return events
    left = np.ones(len(events), dtype=np.bool_)
    left[np.flatnonzero(passed)[~asked]] = False
    return take(events, left)
