"""Dropping events that no rule can use: the conditions that the plan pushed down, evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Mask
from thence.engine.arrays.rows import take
from thence.engine.join.match import as_timestamps
from thence.engine.join.search import truth
from thence.engine.values.evaluate import evaluate
from thence.logic.conjunct import Column
from thence.logic.expr import Call, Expr, TimeOf
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.plan.pushdown import Alternatives


def usable(events: Events, ways: Alternatives) -> Events:
    """The events that meet all conditions of some alternative.

    Where a condition cannot be computed the events stay, so that whoever needs it says why.
    """
    if () in ways or len(events) == 0:
        return events

    def leaf(expr: Expr) -> Any:
        if isinstance(expr, TimeOf):
            return as_timestamps(events.start if expr.which == "start" else events.end)
        assert isinstance(expr, Column)
        return events.columns[expr.name]

    met: Mask = np.zeros(len(events), dtype=np.bool_)
    for way in ways:
        whole = way[0] if len(way) == 1 else Call("and", way)
        try:
            met |= truth(evaluate(whole, leaf, len(events)))
        except EvaluationError:
            return events
    return events if met.all() else take(events, met)
