"""A step instant by instant: what ends at one depends only on what ended before.

A recursion may look back at its own results: at their absence, at all of them, or at those that a
policy chooses. So its new events are taken in the order of their ends, as if each instant were a
step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from thence.engine.arrays.ranges import stable_order
from thence.engine.arrays.rows import sliced, take
from thence.engine.run.derive import Inputs, Moment
from thence.model.events import Events
from thence.plan.tree import Stage


def by_instants(
    stage: Stage, inputs: Inputs, moment: Moment
) -> Iterator[tuple[Mapping[str, Events], Moment]]:
    """The new events that end at each instant at which a result may end, and the moment that this
    is. What the horizon has not reached yet comes with the last."""
    joins = [alternative for rule in stage.rules for alternative in rule]
    uses = [use for each in joins for use in each.uses if use.event not in stage.events]
    facts = {use.event: inputs.new[use.event] for use in uses if use.fact}
    horizons = [moment.of(each) for each in joins]
    before, now = min(each.before for each in horizons), max(each.now for each in horizons)
    new = {
        name: _by_end(inputs.new[name])
        for name in sorted({use.event for use in uses if not use.fact})
    }
    ends = [events.end for events in new.values()]
    ends += [inputs.old[name].ending(before + 1, now).end for name in new]
    instants = np.unique(np.concatenate(ends)) if ends else np.empty(0, dtype=np.int64)
    instants = instants[(instants > before) & (instants <= now)]
    stops = {name: events.end.searchsorted(instants, "right") for name, events in new.items()}
    if (
        len(instants) == 0
        or instants[-1] < now
        or any(stops[name][-1] < len(events) for name, events in new.items())
    ):
        instants = np.append(instants, now)
        stops = {name: np.append(stop, len(new[name])) for name, stop in stops.items()}
    taken = dict.fromkeys(new, 0)
    for place, instant in enumerate(instants.tolist()):
        found = dict(facts)
        for name, events in new.items():
            stop = int(stops[name][place])
            found[name] = sliced(events, taken[name], stop)
            taken[name] = stop
        yield found, replace(moment, between=(before, instant))
        before = instant


def _by_end(events: Events) -> Events:
    """Events in the order of their ends."""
    ends = events.end
    return events if (ends[1:] >= ends[:-1]).all() else take(events, stable_order(ends))
