"""``while w: collect p``: the head's aggregates over what lies in the windows of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.engine.aggregate import aggregate, collection_order, group_ids, once_per_group
from thence.engine.evaluate import evaluate
from thence.engine.lineage import LINEAGE, collected_lineage, joined_lineage
from thence.engine.match import Match
from thence.engine.project import interval
from thence.engine.windows import inside
from thence.logic.conjunct import WindowUse
from thence.logic.expr import Aggregate
from thence.model.events import Events

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Collection:
    """What one window collects: pairs of a match's row and a row of the windowed relation."""

    window: WindowUse
    rows: Index
    members: Index


def collected(matches: Sequence[Match], lineage: bool) -> Events:
    """The events that a rule with aggregates derives: one per group of head terms and interval.

    ``matches`` has an element per alternative of the rule; groups span them. A row of a match
    counts if each of its windows holds something.
    """
    gathered = [_gather(match) for match in matches]
    conjunct = matches[0].prepared.conjunct
    places = [i for i, term in enumerate(conjunct.terms) if not isinstance(term, Aggregate)]
    plain = {i: pa.concat_arrays([_plain(match, i) for match, _ in gathered]) for i in places}
    intervals = [interval(match) for match, _ in gathered]
    start = np.concatenate([start for start, _ in intervals])
    end = np.concatenate([end for _, end in intervals])
    groups, first = group_ids([*plain.values(), start, end], len(start))
    cuts = np.cumsum([match.length for match, _ in gathered])[:-1]
    parts = [
        _Part(match, collections, own)
        for (match, collections), own in zip(gathered, np.split(groups, cuts), strict=True)
    ]
    chosen = pa.array(first)
    columns: dict[str, Any] = {
        name: plain[i].take(chosen) if i in plain else _aggregated(parts, i, len(first))
        for i, name in enumerate(conjunct.columns)
    }
    if lineage:
        lists = [collected_lineage(p.match, p.collections, p.groups, len(first)) for p in parts]
        columns[LINEAGE] = joined_lineage(lists, len(first))
    return Events(start[first], end[first], columns)


@dataclass(frozen=True, slots=True)
class _Part:
    """One alternative's matches, what their windows collect, and the group of each match."""

    match: Match
    collections: Sequence[Collection]
    groups: Index


def _plain(match: Match, place: int) -> Any:
    term = match.prepared.conjunct.terms[place]
    assert not isinstance(term, Aggregate)
    return evaluate(term, match.leaf, match.length)


def _gather(match: Match) -> tuple[Match, list[Collection]]:
    """All pairs of each window, over the rows in which every window holds something."""
    windows = [w for w in match.prepared.conjunct.windows if w.mode == "collect"]
    none = np.empty(0, dtype=np.int64)
    found = []
    filled = np.ones(match.length, dtype=np.bool_)
    for window in windows:
        pairs = list(inside(match, window))
        rows = np.concatenate([rows for rows, _ in pairs]) if pairs else none
        members = np.concatenate([members for _, members in pairs]) if pairs else none
        found.append(Collection(window, rows, members))
        here = np.zeros(match.length, dtype=np.bool_)
        here[rows] = True
        filled &= here
    if filled.all():
        return match, found
    renumbered = np.cumsum(filled) - 1
    kept = [
        Collection(c.window, renumbered[c.rows[filled[c.rows]]], c.members[filled[c.rows]])
        for c in found
    ]
    return match.where(filled), kept


def _aggregated(parts: Sequence[_Part], place: int, count: int) -> Any:
    """One aggregate of the head, for each group."""
    groups, members, values, rels = [], [], [], []
    offset = 0
    for part in parts:
        match = part.match
        term = match.prepared.conjunct.terms[place]
        assert isinstance(term, Aggregate)
        collection = _collection_of(match, part.collections, term)
        rel = match.rels[collection.window.atom]
        groups.append(part.groups[collection.rows])
        members.append(collection.members + offset)
        rels.append(rel)
        offset += len(rel)
        if term.arg is not None:
            longer = match.extend(collection.rows, collection.window.atom, collection.members)
            values.append(evaluate(term.arg, longer.leaf, longer.length))
    ranks = collection_order(rels)[np.concatenate(members)]
    argument = pa.concat_arrays(values) if values else None
    in_group, _, picked = once_per_group(np.concatenate(groups), ranks, argument)
    call = parts[0].match.prepared.conjunct.terms[place]
    assert isinstance(call, Aggregate)
    return aggregate(call, in_group, picked, count)


def _collection_of(match: Match, collections: Sequence[Collection], term: Aggregate) -> Collection:
    """The collection that an aggregate reads: the only one, or the one its argument names."""
    read = match.prepared.atoms_of(match.prepared.reads(term))
    named = [c for c in collections if c.window.atom in read]
    return named[0] if named else collections[0]
