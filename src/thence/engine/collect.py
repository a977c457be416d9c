"""``while w: collect p``: the head's aggregates over what lies in the windows of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine import ranges
from thence.engine.aggregate import aggregate, collection_order, group_ids, once_per_group
from thence.engine.arrays import Index, Mask
from thence.engine.evaluate import evaluate
from thence.engine.lineage import collected_lineage, joined_lineage
from thence.engine.match import Match
from thence.engine.project import head_column, interval
from thence.engine.rows import LINEAGE, concat, take, unique_by, without_lineage
from thence.engine.sliding import identified, sliding
from thence.engine.windows import WindowSearch
from thence.logic.conjunct import WindowUse, is_inner
from thence.logic.expr import Aggregate
from thence.model.events import Events


@dataclass(frozen=True, slots=True)
class Collection:
    """What one window collects: pairs of a match's row and a row of the windowed relation."""

    window: WindowUse
    rows: Index
    members: Index


@dataclass(frozen=True, slots=True)
class _Part:
    """Matches of one alternative of a rule, and the group that each belongs to."""

    match: Match
    groups: Index

    @property
    def windows(self) -> list[WindowUse]:
        return [w for w in self.match.prepared.conjunct.windows if w.mode == "collect"]


def collected(matches: Sequence[Match], lineage: bool) -> Events:
    """The events that a rule with aggregates derives: one per group of head terms and interval.

    ``matches`` has an element per alternative of the rule; groups span them. A row of a match
    counts if each of its windows holds something that needs to.
    """
    conjunct = matches[0].prepared.conjunct
    places = [i for i, term in enumerate(conjunct.terms) if not isinstance(term, Aggregate)]
    plain = {i: pa.concat_arrays([head_column(match, i) for match in matches]) for i in places}
    intervals = [interval(match) for match in matches]
    start = np.concatenate([start for start, _ in intervals])
    end = np.concatenate([end for _, end in intervals])
    groups, first = group_ids([*plain.values(), start, end], len(start))
    heads = Events(
        start[first],
        end[first],
        {conjunct.columns[i]: column.take(pa.array(first)) for i, column in plain.items()},
    )
    cuts = np.cumsum([match.length for match in matches])[:-1]
    parts = [_Part(m, own) for m, own in zip(matches, np.split(groups, cuts), strict=True)]
    found = None if lineage else sliding(matches, groups, heads)
    if found is None:
        return _by_blocks(parts, heads, lineage)
    totals, torn = found
    if not torn.any():
        return totals
    renumbered = np.cumsum(torn) - 1
    rest = [
        _Part(part.match.where(torn[part.groups]), renumbered[part.groups[torn[part.groups]]])
        for part in parts
    ]
    return concat([totals, _by_blocks(rest, take(heads, torn), lineage)])


def _by_blocks(parts: Sequence[_Part], heads: Events, lineage: bool) -> Events:
    """The results of groups, looking at everything that their windows hold."""
    count = len(heads)
    return concat([_block(block, heads, low, lineage) for block, low in _blocks(parts, count)])


def _blocks(parts: Sequence[_Part], count: int) -> Iterator[tuple[list[_Part], int]]:
    """Whole groups, as many at a time as have about a chunk of candidates between them; and the
    number of the first group of each."""
    weights = np.zeros(count, dtype=np.int64)
    for part in parts:
        for window in part.windows:
            candidates = _search(part.match, window).candidates
            np.add.at(weights, part.groups, candidates.last - candidates.first)
    total = np.cumsum(weights)
    low = 0
    while low < count:
        done = total[low - 1] if low else 0
        high = max(int(np.searchsorted(total, done + ranges.CHUNK, "right")), low + 1)
        if low == 0 and high >= count:
            yield list(parts), 0
            return
        chosen = [np.flatnonzero((p.groups >= low) & (p.groups < high)) for p in parts]
        yield (
            [
                _Part(part.match.take(rows), part.groups[rows] - low)
                for part, rows in zip(parts, chosen, strict=True)
                if len(rows)
            ],
            low,
        )
        low = high


def _block(parts: Sequence[_Part], heads: Events, low: int, lineage: bool) -> Events:
    """The results of some groups; those in which nothing is collected have none."""
    gathered = [_gather(part) for part in parts]
    names = parts[0].match.prepared.conjunct.columns
    filled = np.unique(np.concatenate([part.groups for part, _ in gathered]))
    count = int(filled[-1]) + 1 if len(filled) else 0
    chosen = pa.array(filled)
    rows = pa.array(filled + low)
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        if name in heads.columns:
            columns[name] = heads.columns[name].take(rows)
        else:
            columns[name] = _aggregated(gathered, place, count).take(chosen)
    if lineage:
        lists = [collected_lineage(p.match, c, p.groups, count) for p, c in gathered]
        columns[LINEAGE] = joined_lineage(lists, count).take(chosen)
    return Events(heads.start[filled + low], heads.end[filled + low], columns)


def _gather(part: _Part) -> tuple[_Part, list[Collection]]:
    """All pairs of each window, over the rows in which every window holds something."""
    filled, collections = _pairs(part.match)
    if filled.all():
        return part, collections
    return _Part(part.match.where(filled), part.groups[filled]), _kept(collections, filled)


def holdings(match: Match) -> tuple[Match, Mask, list[Collection]]:
    """The rows of a match in which every window holds something, which those are, and what each
    window holds."""
    filled, collections = _pairs(match)
    return match.where(filled), filled, collections if filled.all() else _kept(collections, filled)


def _pairs(match: Match) -> tuple[Mask, list[Collection]]:
    """What each window holds, and the rows in which every one of them holds something."""
    none = np.empty(0, dtype=np.int64)
    found = []
    filled = np.ones(match.length, dtype=np.bool_)
    for window in match.prepared.conjunct.windows:
        if window.mode != "collect":
            continue
        pairs = list(_search(match, window).found()) if len(match.rels[window.atom]) else []
        rows = np.concatenate([rows for rows, _ in pairs]) if pairs else none
        members = np.concatenate([members for _, members in pairs]) if pairs else none
        if window.last is not None and len(rows):
            kept = _last(match, window, rows, members, window.last)
            rows, members = rows[kept], members[kept]
        found.append(Collection(window, rows, members))
        if not window.optional:
            here = np.zeros(match.length, dtype=np.bool_)
            here[rows] = True
            filled &= here
    return filled, found


def _search(match: Match, window: WindowUse) -> WindowSearch:
    """The search for what a window collects. Where the last events are a range of an index, no
    others are looked at."""
    search = WindowSearch(match, window)
    rel, use = match.rels[window.atom], match.prepared.uses[window.atom]
    if window.last is not None and search.exact and use.end in search.candidates.exact:
        own = without_lineage(rel)
        if not is_inner(use.event) and unique_by(own, own.columns, start=True, end=True):
            search.candidates = search.candidates.latest(window.last)
    return search


def _last(match: Match, window: WindowUse, rows: Index, members: Index, most: int) -> Index:
    """Of what a window holds for each row, the last so many events: by end, start, attributes."""
    rel = identified(match, window.atom)
    ranks = collection_order([rel])[members]
    order = np.lexsort((ranks, rel.end[members], rows))
    # An event that is there in several ways is one event: count where a new one begins.
    sorted_rows, sorted_ranks = rows[order], ranks[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (sorted_rows[1:] != sorted_rows[:-1]) | (sorted_ranks[1:] != sorted_ranks[:-1])
    number = np.cumsum(fresh)
    ends = np.flatnonzero(np.append(sorted_rows[1:] != sorted_rows[:-1], True))
    total = np.repeat(number[ends], np.diff(np.append(-1, ends)))
    return np.sort(order[total - number < most])


def _kept(collections: Sequence[Collection], rows: Mask) -> list[Collection]:
    """Collections over some rows of their match, which are then numbered anew."""
    renumbered = np.cumsum(rows) - 1
    return [
        Collection(c.window, renumbered[c.rows[rows[c.rows]]], c.members[rows[c.rows]])
        for c in collections
    ]


def _aggregated(gathered: Sequence[tuple[_Part, list[Collection]]], place: int, count: int) -> Any:
    """One aggregate of the head, for each group."""
    groups, members, values, rels = [], [], [], []
    offset = 0
    for part, collections in gathered:
        match = part.match
        term = match.prepared.conjunct.terms[place]
        assert isinstance(term, Aggregate)
        collection = _collection_of(match, collections, term)
        rel = identified(match, collection.window.atom)
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
    call = gathered[0][0].match.prepared.conjunct.terms[place]
    assert isinstance(call, Aggregate)
    return aggregate(call, in_group, picked, count)


def _collection_of(match: Match, collections: Sequence[Collection], term: Aggregate) -> Collection:
    """The collection that an aggregate reads: the only one, or the one its argument names."""
    read = match.prepared.atoms_of(match.prepared.reads(term))
    named = [c for c in collections if c.window.atom in read]
    return named[0] if named else collections[0]
