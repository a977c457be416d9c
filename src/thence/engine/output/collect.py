"""``while w: collect p``: the head's aggregates over what lies in the windows of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregates.aggregate import aggregate_once, collection_order, group_ids
from thence.engine.arrays import ranges
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, take
from thence.engine.join.match import Match
from thence.engine.output.latest import among_last, collecting, identified
from thence.engine.output.project import head_column, interval, typed
from thence.engine.output.recorder import Bound, Recorder
from thence.engine.output.sliding import expect_collected, sliding
from thence.engine.values.evaluate import evaluate
from thence.engine.window.windows import WindowSearch
from thence.logic.conjunct import WindowUse
from thence.logic.expr import Aggregate
from thence.model.events import Events


@dataclass(frozen=True, slots=True)
class Collection:
    """What one window collects: pairs of a match's row and a row of the windowed relation."""

    window: WindowUse
    rows: Index
    members: Index


_Held = tuple[WindowSearch, bool]
"""The search for what a window collects, and whether that is all that it collects."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Matches of one alternative of a rule, the group that each belongs to, and the searches for
    what its windows hold."""

    match: Match
    groups: Index
    held: Sequence[_Held] = ()

    @property
    def windows(self) -> list[WindowUse]:
        return _collecting_windows(self.match)

    def take(self, rows: Index, low: int) -> _Part:
        """Some of the matches, with groups that are numbered from ``low``."""
        match = self.match.take(rows)
        held = [(search.take(match, rows), settled) for search, settled in self.held]
        return _Part(match, self.groups[rows] - low, held)


class _Ranks:
    """The order of what is collected, found once for all groups of a rule."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], Index] = {}

    def of(self, relations: Sequence[tuple[Match, int]]) -> Index:
        """The ranks of the events of some atoms, one after another."""
        key = tuple(id(match.rels[atom]) for match, atom in relations)
        if key not in self._known:
            own = [identified(match, atom) for match, atom in relations]
            self._known[key] = collection_order(own)
        return self._known[key]


def collected(matches: Sequence[Match], recorder: Recorder | None) -> Events:
    """The events that a rule with aggregates derives: one per group of head terms and interval.

    ``matches`` has an element per alternative of the rule; groups span them. A row of a match
    counts if each of its windows holds something that needs to.
    """
    conjunct = matches[0].prepared.conjunct
    places = [i for i, term in enumerate(conjunct.head.terms) if not isinstance(term, Aggregate)]
    plain = {i: pa.concat_arrays([head_column(match, i) for match in matches]) for i in places}
    intervals = [interval(match) for match in matches]
    start = np.concatenate([start for start, _ in intervals])
    end = np.concatenate([end for _, end in intervals])
    groups, first = group_ids([*plain.values(), start, end], len(start))
    heads = Events(
        start[first],
        end[first],
        {conjunct.head.columns[i]: column.take(pa.array(first)) for i, column in plain.items()},
    )
    cuts = np.cumsum([match.length for match in matches])[:-1]
    parts = [_Part(m, own) for m, own in zip(matches, np.split(groups, cuts), strict=True)]
    found = None if recorder is not None else sliding(matches, groups, heads)
    if found is None:
        return _by_blocks(parts, heads, recorder)
    totals, torn = found
    if not torn.any():
        return totals
    renumbered = np.cumsum(torn) - 1
    rest = [
        _Part(part.match.where(torn[part.groups]), renumbered[part.groups[torn[part.groups]]])
        for part in parts
    ]
    return concat([totals, _by_blocks(rest, take(heads, torn), recorder)])


def _by_blocks(parts: Sequence[_Part], heads: Events, recorder: Recorder | None) -> Events:
    """The results of groups, looking at everything that their windows hold."""
    ranks = _Ranks()
    searched = [replace(p, held=[collecting(p.match, w) for w in p.windows]) for p in parts]
    found: list[Events] = []
    taken = made = 0
    for block, low in _blocks(searched, len(heads)):
        found.append(_block(block, heads, low, recorder, ranks))
        taken += sum(column.nbytes for column in found[-1].columns.values())
        made += len(found[-1])
        expect_collected(parts[0].match, made, taken)
    return concat(found)


def _blocks(parts: Sequence[_Part], count: int) -> Iterator[tuple[Sequence[_Part], int]]:
    """Whole groups, as many at a time as have about a chunk of candidates between them; and the
    number of the first group of each."""
    weights = np.zeros(count, dtype=np.int64)
    for part in parts:
        for search, _ in part.held:
            np.add.at(weights, part.groups, search.candidates.last - search.candidates.first)
    for low, high in ranges.blocks(weights):
        if low == 0 and high == count:
            yield parts, 0
            return
        chosen = [np.flatnonzero((p.groups >= low) & (p.groups < high)) for p in parts]
        yield [p.take(r, low) for p, r in zip(parts, chosen, strict=True) if len(r)], low


def _block(
    parts: Sequence[_Part], heads: Events, low: int, recorder: Recorder | None, ranks: _Ranks
) -> Events:
    """The results of some groups; those in which nothing is collected have none."""
    gathered = [_gather(part) for part in parts]
    names = parts[0].match.prepared.conjunct.head.columns
    filled = np.unique(np.concatenate([part.groups for part, _ in gathered]))
    count = int(filled[-1]) + 1 if len(filled) else 0
    chosen = pa.array(filled)
    rows = pa.array(filled + low)
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        if name in heads.columns:
            columns[name] = heads.columns[name].take(rows)
        else:
            columns[name] = _aggregated(gathered, place, count, ranks).take(chosen)
    events = Events(heads.start[filled + low], heads.end[filled + low], columns)
    if recorder is not None:
        numbers = [np.searchsorted(filled, part.groups) for part, _ in gathered]
        made_of = zip(gathered, numbers, strict=True)
        bound = [b for (part, held), own in made_of for b in bound_by(part.match, own, held)]
        matches = [(p.match, own) for (p, _), own in zip(gathered, numbers, strict=True)]
        recorder.groups(parts[0].match.prepared, events, bound, matches)
    return events


def bound_by(match: Match, owners: Index, collections: Sequence[Collection]) -> list[Bound]:
    """What matches, each with the number of the event that it is a part of, and what their windows
    collect."""
    atoms = match.prepared.conjunct.parts
    return [
        *(Bound(match, atom, owners, match.rows(atom)) for atom in atoms),
        *(Bound(match, c.window.atom, owners[c.rows], c.members, "collected") for c in collections),
    ]


def _gather(part: _Part) -> tuple[_Part, list[Collection]]:
    """All pairs of each window, over the rows in which every window holds something."""
    filled, collections = _pairs(part.match, part.held)
    if filled.all():
        return part, collections
    return _Part(part.match.where(filled), part.groups[filled]), _kept(collections, filled)


def holdings(match: Match) -> tuple[Match, Mask, list[Collection]]:
    """The rows of a match in which every window holds something, which those are, and what each
    window holds."""
    windows = _collecting_windows(match)
    filled, collections = _pairs(match, [collecting(match, window) for window in windows])
    return match.where(filled), filled, collections if filled.all() else _kept(collections, filled)


def _collecting_windows(match: Match) -> list[WindowUse]:
    return [w for w in match.prepared.conjunct.windows if w.mode == "collect"]


def _pairs(match: Match, held: Sequence[_Held]) -> tuple[Mask, list[Collection]]:
    """What each window holds, and the rows in which every one of them holds something."""
    found = []
    filled = np.ones(match.length, dtype=np.bool_)
    for search, settled in held:
        window = search.window
        rows, members = search.all()
        if window.last is not None and not settled and len(rows):
            kept = among_last(match, window, rows, members, window.last)
            rows, members = rows[kept], members[kept]
        found.append(Collection(window, rows, members))
        if not window.optional:
            here = np.zeros(match.length, dtype=np.bool_)
            here[rows] = True
            filled &= here
    return filled, found


def _kept(collections: Sequence[Collection], rows: Mask) -> list[Collection]:
    """Collections over some rows of their match, which are then numbered anew."""
    renumbered = np.cumsum(rows) - 1
    return [
        Collection(c.window, renumbered[c.rows[rows[c.rows]]], c.members[rows[c.rows]])
        for c in collections
    ]


def _aggregated(
    gathered: Sequence[tuple[_Part, list[Collection]]], place: int, count: int, ranks: _Ranks
) -> Any:
    """One aggregate of the head, for each group."""
    groups, members, values, rels = [], [], [], []
    offset = 0
    for part, collections in gathered:
        match = part.match
        term = match.prepared.conjunct.head.terms[place]
        assert isinstance(term, Aggregate)
        collection = _collection_of(match, collections, term)
        groups.append(part.groups[collection.rows])
        members.append(collection.members + offset)
        rels.append((match, collection.window.atom))
        offset += len(match.rels[collection.window.atom])
        if term.arg is not None:
            longer = match.extend(collection.rows, collection.window.atom, collection.members)
            values.append(evaluate(term.arg, longer.leaf, longer.length))
    ranked = ranks.of(rels)[np.concatenate(members)]
    argument = pa.concat_arrays(values) if values else None
    conjunct = gathered[0][0].match.prepared.conjunct
    call = conjunct.head.terms[place]
    assert isinstance(call, Aggregate)
    found = aggregate_once(call, np.concatenate(groups), ranked, argument, count)
    return typed(found, conjunct.head.types[place])


def _collection_of(match: Match, collections: Sequence[Collection], term: Aggregate) -> Collection:
    """The collection that an aggregate reads: the only one, or the one its argument names."""
    read = match.prepared.atoms_of(match.prepared.reads(term))
    named = [c for c in collections if c.window.atom in read]
    return named[0] if named else collections[0]
