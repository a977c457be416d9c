"""Statistics of a batch: what a sample of its events shows, conditions on them included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.model.errors import EvaluationError
from thence.plan.cost import condition_text
from thence.plan.prepared import Prepared
from thence.plan.statistics import Sample, Statistics
from thence.plan.tree import Plan


def statistics_of(plan: Plan, sample: Sample) -> Statistics:
    """What a sample of a plan's inputs shows."""
    known = sample.statistics(plan.key_columns)
    shares: dict[str, dict[str, float]] = {name: {} for name in known.events}
    for prepared in plan.prepared:
        for atom, use in enumerate(prepared.uses):
            if use.event in shares and atom not in prepared.aliases:
                shares[use.event] |= _share(prepared, atom, sample)
    return Statistics(
        {name: replace(each, selectivity=shares[name]) for name, each in known.events.items()}
    )


def _share(prepared: Prepared, atom: int, sample: Sample) -> Mapping[str, float]:
    """Which share of a sample fulfils the conditions on one atom alone; nothing where there are
    none, or where a value cannot be computed."""
    conditions = prepared.own_predicates(atom)
    events = sample.events[prepared.uses[atom].event]
    if not conditions or not len(events):
        return {}
    rels = [events] * len(prepared.uses)
    rows = {atom: np.arange(len(events))}
    try:
        mask = holds(Match(prepared, rels, len(events), rows), (), conditions)
    except EvaluationError:
        return {}
    return {condition_text(prepared, conditions): 1.0 if mask is None else float(mask.mean())}
