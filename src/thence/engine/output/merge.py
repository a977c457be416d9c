"""``using cumulative``: matches that a policy merges, as one result.

The matches of a group have their terminator in common, and every event of which all count. Those
that agree in the plain terms of the head give one event, which spans all of them; the head's
aggregates are over the events of one label in them, or over what they collect, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregates.aggregate import aggregate_once, collection_order, group_ids
from thence.engine.arrays.array_types import Index
from thence.engine.join.match import Match
from thence.engine.output.collect import Collection, bound_by, holdings
from thence.engine.output.latest import identified
from thence.engine.output.project import head_column, interval, typed
from thence.engine.output.recorder import Bound, Recorder
from thence.engine.values.evaluate import evaluate
from thence.logic.expr import Aggregate
from thence.model.events import Events

Grouped = tuple[Match, Index]
"""Matches of one alternative of a rule, and the group that each belongs to."""


@dataclass(frozen=True, slots=True)
class Part:
    """Matches of one alternative, for each the number of the event it is a part of, and what they
    collect."""

    match: Match
    numbers: Index
    collections: tuple[Collection, ...]

    def bound(self) -> list[Bound]:
        """What the events are made of."""
        return bound_by(self.match, self.numbers, self.collections)


def merged_results(chosen: Sequence[Grouped], recorder: Recorder | None) -> Events:
    """One event per group and plain head terms."""
    held = [(*holdings(match), group) for match, group in chosen]
    matches = [match for match, _, _, _ in held]
    conjunct = matches[0].prepared.conjunct
    places = [i for i, term in enumerate(conjunct.head.terms) if not isinstance(term, Aggregate)]
    plain = {i: pa.concat_arrays([head_column(match, i) for match in matches]) for i in places}
    together = np.concatenate([group[rows] for _, rows, _, group in held])
    groups, first = group_ids([together, *plain.values()], len(together))
    intervals = [interval(match) for match in matches]
    start = np.concatenate([start for start, _ in intervals])
    end = np.concatenate([end for _, end in intervals])
    starts, ends = start[first], end[first]
    np.minimum.at(starts, groups, start)
    np.maximum.at(ends, groups, end)
    cuts = np.cumsum([match.length for match in matches])[:-1]
    numbers = np.split(groups, cuts)
    parts = tuple(
        Part(match, own, tuple(collections))
        for (match, _, collections, _), own in zip(held, numbers, strict=True)
    )
    columns: dict[str, Any] = {}
    for place, name in enumerate(conjunct.head.columns):
        if place in plain:
            columns[name] = plain[place].take(pa.array(first))
        else:
            columns[name] = _aggregated(parts, place, len(first))
    events = Events(starts, ends, columns)
    if recorder is not None:
        bound = [b for part in parts for b in part.bound()]
        owned = [(part.match, part.numbers) for part in parts]
        recorder.groups(matches[0].prepared, events, bound, owned)
    return events


def _aggregated(parts: Sequence[Part], place: int, count: int) -> Any:
    """One aggregate of the head, for each event."""
    groups, members, values, rels = [], [], [], []
    offset = 0
    for part in parts:
        match = part.match
        term = match.prepared.conjunct.head.terms[place]
        assert isinstance(term, Aggregate)
        read = match.prepared.atoms_of(match.prepared.reads(term))
        own = [c for c in part.collections if c.window.atom in read or term.arg is None]
        if own:
            rows, atom = own[0].rows, own[0].window.atom
            match = match.extend(rows, atom, own[0].members)
            rels.append(identified(match, atom))
        else:
            rows = np.arange(match.length)
            atom = next(a for a in read if a in match.prepared.conjunct.positive)
            rels.append(match.rels[atom])
        groups.append(part.numbers[rows])
        members.append(match.rows(atom) + offset)
        offset += len(rels[-1])
        if term.arg is not None:
            values.append(evaluate(term.arg, match.leaf, match.length))
    ranks = collection_order(rels)[np.concatenate(members)]
    argument = pa.concat_arrays(values) if values else None
    conjunct = parts[0].match.prepared.conjunct
    call = conjunct.head.terms[place]
    assert isinstance(call, Aggregate)
    found = aggregate_once(call, np.concatenate(groups), ranks, argument, count)
    return typed(found, conjunct.head.types[place])
