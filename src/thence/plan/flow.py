"""Which results can flow out of a run chunk by chunk, so that nobody ever holds all of them.

They have to be an output that no rule reads, of one join alone: what several joins derive has to be
compared, since each result is given once. And each match has to stand for itself: one that a policy
chooses, or that a group is made of, depends on all the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from thence.plan.prepared import Prepared
from thence.plan.tree import Part, Stage


def flowing(part: Part) -> dict[str, Prepared]:
    """The outputs of a part whose results can be given out chunk by chunk, and the join of each."""
    joins: dict[str, list[Prepared]] = defaultdict(list)
    for prepared in part.prepared:
        joins[prepared.conjunct.event].append(prepared)
    recursive = {event for stage in part.stages if stage.recursive for event in stage.events}
    return {
        event: found[0]
        for event, found in joins.items()
        if event in part.outputs
        and event not in part.users
        and event not in recursive
        and len(found) == 1
        and _stands_alone(found[0])
    }


def _stands_alone(prepared: Prepared) -> bool:
    """Whether every match gives its result whatever the other matches are. A join that may be split
    by its ends is several, whose results are compared; a selection only takes from what is held,
    and causes are read from derivations."""
    return (
        bool(prepared.conjunct.positive)
        and prepared.selection is None
        and prepared.demand is None
        and prepared.causes is None
        and not prepared.conjunct.aggregates
        and not prepared.keeps_all
        and not prepared.by_ends
    )


def without(part: Part, events: Mapping[str, Prepared]) -> Part:
    """The part less what flows out of it; what that is made of is among what it gives back."""
    read = {use.event for prepared in events.values() for use in prepared.uses}
    kept = [event for event in part.outputs if event not in events]
    outputs = (*kept, *(event for event in part.derived if event in read and event not in kept))
    stages = (_less(stage, events) for stage in part.stages)
    return replace(part, stages=tuple(s for s in stages if s.events), outputs=outputs)


def _less(stage: Stage, events: Mapping[str, Prepared]) -> Stage:
    """A stage less the rules of some events."""
    if not any(event in events for event in stage.events):
        return stage
    return replace(
        stage,
        events=tuple(event for event in stage.events if event not in events),
        rules=tuple(rule for rule in stage.rules if rule[0].conjunct.event not in events),
    )
