"""Ticks: the whole multiples of a period that fall to a match, each of them a match of its own.

A tick is no event that a join could find, so it comes after the join: each row is repeated for the
ticks that its bounds allow, as far as the horizon has passed them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.limits.growth import Growth, expect
from thence.logic.conjunct import Tick
from thence.model.time import format_duration


def ticked(match: Match, before: int | None, now: int) -> Match:
    """A match with a time for each of its ticks up to the horizon.

    With ``before``, only matches count whose last completion the horizon has passed since then.
    """
    prepared = match.prepared
    if not prepared.ticks:
        return match
    bounds = prepared.conjunct.bounds
    for node in prepared.ticks:
        definition = prepared.conjunct.nodes[node]
        assert isinstance(definition, Tick)
        of, period = definition.node, definition.period
        times = match.time(of)
        alone = before is not None and prepared.conjunct.completions == (node,)
        least = np.maximum(times, before + 1) if alone and before is not None else times
        most = np.minimum(times + bounds[node, of], now)
        first = -(-least // period)
        count = np.maximum(most // period - first + 1, 0)
        expect(count.sum(), 24, partial(_ticking, period))
        rows = np.repeat(np.arange(match.length), count)
        begins = np.cumsum(count) - count
        steps = np.arange(len(rows)) - begins[rows]
        match = match.ticking(rows, node, (first[rows] + steps) * period)
    mask = holds(match, *prepared.after_ticks)
    return match if mask is None else match.where(mask)


def _ticking(period: int) -> Growth:
    return Growth(
        f"a tick every {format_duration(period)}",
        "let them be further apart, or end sooner; without 'until' time ends with the last event",
        "ticks",
    )
