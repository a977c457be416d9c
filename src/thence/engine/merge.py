"""``using cumulative``: matches that a policy merges, as one result.

The matches of a group have their terminator in common, and every event of which all count. Those
that agree in the plain terms of the head give one event, which spans all of them; the head's
aggregates are over the events of one label in them, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregate import aggregate, collection_order, group_ids, once_per_group
from thence.engine.arrays import Index
from thence.engine.evaluate import evaluate
from thence.engine.lineage import LINEAGE, collected_lineage, joined_lineage
from thence.engine.match import Match
from thence.engine.project import head_column, interval
from thence.logic.expr import Aggregate
from thence.model.events import Events

Grouped = tuple[Match, Index]
"""Matches of one alternative of a rule, and the group that each belongs to."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a rule derives, and for each of its matches the number of the event it is a part of."""

    events: Events
    parts: tuple[Grouped, ...]


def merged_results(chosen: Sequence[Grouped], lineage: bool) -> Merged:
    """One event per group and plain head terms."""
    matches = [match for match, _ in chosen]
    conjunct = matches[0].prepared.conjunct
    places = [i for i, term in enumerate(conjunct.terms) if not isinstance(term, Aggregate)]
    plain = {i: pa.concat_arrays([head_column(match, i) for match in matches]) for i in places}
    together = np.concatenate([group for _, group in chosen])
    groups, first = group_ids([together, *plain.values()], len(together))
    intervals = [interval(match) for match in matches]
    start = np.concatenate([start for start, _ in intervals])
    end = np.concatenate([end for _, end in intervals])
    starts, ends = start[first], end[first]
    np.minimum.at(starts, groups, start)
    np.maximum.at(ends, groups, end)
    cuts = np.cumsum([match.length for match in matches])[:-1]
    parts = tuple(zip(matches, np.split(groups, cuts), strict=True))
    columns: dict[str, Any] = {}
    for place, name in enumerate(conjunct.columns):
        if place in plain:
            columns[name] = plain[place].take(pa.array(first))
        else:
            columns[name] = _aggregated(parts, place, len(first))
    if lineage:
        lists = [collected_lineage(match, (), own, len(first)) for match, own in parts]
        columns[LINEAGE] = joined_lineage(lists, len(first))
    return Merged(Events(starts, ends, columns), parts)


def _aggregated(parts: Sequence[Grouped], place: int, count: int) -> Any:
    """One aggregate of the head, for each event."""
    members, values, rels = [], [], []
    offset = 0
    for match, _ in parts:
        term = match.prepared.conjunct.terms[place]
        assert isinstance(term, Aggregate) and term.arg is not None
        (atom,) = match.prepared.atoms_of(match.prepared.reads(term))
        rels.append(match.rels[atom])
        members.append(match.rows(atom) + offset)
        offset += len(match.rels[atom])
        values.append(evaluate(term.arg, match.leaf, match.length))
    ranks = collection_order(rels)[np.concatenate(members)]
    groups = np.concatenate([own for _, own in parts])
    in_group, _, picked = once_per_group(groups, ranks, pa.concat_arrays(values))
    call = parts[0][0].prepared.conjunct.terms[place]
    assert isinstance(call, Aggregate)
    return aggregate(call, in_group, picked, count)
