"""Timers merged: of the times that a match waits for, only those that no later one implies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.logic.bounds import Bounds
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan


def merge_timers(plan: Plan) -> Plan:
    """Wait for the last of several completion times, where the bounds say which it is."""
    stages = tuple(
        replace(stage, rules=tuple(tuple(map(_merged, rule)) for rule in stage.rules))
        for stage in plan.stages
    )
    return replace(plan, stages=stages, written=stages)


def _merged(prepared: Prepared) -> Prepared:
    conjunct = prepared.conjunct
    latest = _latest(conjunct.completions, conjunct.bounds)
    if latest == conjunct.completions:
        return prepared
    return Prepared(replace(conjunct, completions=latest))


def _latest(completions: Sequence[int], bounds: Bounds) -> tuple[int, ...]:
    """The completion times that are not implied by later ones."""
    kept: list[int] = []
    for completion in completions:
        if any(bounds[completion, other] <= 0 for other in kept):
            continue
        kept = [other for other in kept if bounds[other, completion] > 0] + [completion]
    return tuple(kept)
