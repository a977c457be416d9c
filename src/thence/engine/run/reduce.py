"""Semi-join reduction of state: events that the horizon has passed, and that nothing can use."""

from __future__ import annotations

import numpy as np

from thence.engine.arrays.rows import take
from thence.engine.join.join import met
from thence.engine.run.derive import Horizon, Inputs, Sources
from thence.model.events import Events
from thence.plan.demand import rarest
from thence.plan.retention import Reduction


def reduced(events: Events, reduction: Reduction, inputs: Inputs, horizon: Horizon) -> Events:
    """The events of a type less those that the horizon has passed just now without a partner.

    Each event is looked at once, when the horizon passes it: what is new costs something, what is
    kept does not.
    """
    if not reduction.partners:
        return events
    passed = (events.end > horizon.before) & (events.end <= horizon.now)
    if not passed.any():
        return events
    looked_at = np.flatnonzero(passed)
    rows = take(events, passed)
    asked = np.zeros(len(rows), dtype=np.bool_)
    for joins in reduction.partners:
        sources = [Sources(join, inputs) for join in joins]
        chosen = rarest([own.size(1) for own in sources], len(events))
        if chosen is None:
            return events
        partners = sources[chosen].get("all", 1)
        if len(partners):
            asked |= met(joins[chosen], [rows, partners], 1, 0)
    if asked.all():
        return events
    kept = np.ones(len(events), dtype=np.bool_)
    kept[looked_at[~asked]] = False
    return take(events, kept)
