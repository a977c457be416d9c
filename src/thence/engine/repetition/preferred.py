"""Which matches with greedy repetitions count.

Matches that differ only in their repetitions are compared, where the first or the last event of one
is an event of the match: that one counts whose chains are preferred, and of those that begin a
pattern only what nothing can be put before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thence.engine.aggregates.aggregate import collection_order
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.codes import identity_codes
from thence.engine.arrays.ranges import TimeIndex, expand
from thence.engine.arrays.rows import take
from thence.engine.join.match import Match
from thence.engine.join.neighbours import kind_codes
from thence.engine.join.search import holds
from thence.logic.conjunct import Column, Conjunct, Repetition, WindowUse
from thence.model.events import Events

_EVER = np.iinfo(np.int64).min


def begun_earlier(match: Match) -> Mask:
    """Which rows cannot count whatever their chains are, since an event can be put before a
    repetition that leads its pattern. Only where that is quickly told."""
    found = np.zeros(match.length, dtype=np.bool_)
    windows = _leading(match)
    for window in windows:
        how = window.repetition
        assert how is not None
        quick = how.most is None and (how.strict or not how.linked)
        if quick and not _read_by_others(match, window) and _one_for_each_beginning(match):
            found |= preceded(match, match, window, None)
    return found


def preferred_rows(match: Match, full: Match) -> Match:
    """The rows that count, of some that have chains. ``full`` are all that could be matches."""
    if not match.prepared.compares_rows or match.length == 0:
        return match
    match = _most_preferred(match)
    kept = np.ones(match.length, dtype=np.bool_)
    for window in _leading(match):
        kept &= ~preceded(match, full, window, match.chains(window.atom).sizes)
    return match.where(kept)


def _leading(match: Match) -> list[WindowUse]:
    """The repetitions before which nothing comes in their sequence."""
    return [
        window
        for window in match.prepared.conjunct.repetitions
        if (how := window.repetition) is not None and how.leading and how.first is not None
    ]


def _anchors(conjunct: Conjunct) -> set[int]:
    """The atoms that are the first or the last of a repetition."""
    ends = [(how.first, how.last) for w in conjunct.repetitions if (how := w.repetition)]
    return {atom for both in ends for atom in both if atom is not None}


def _beginnings(match: Match) -> Index:
    """A number for all that is no repetition, and for what repetitions begin with that lead."""
    prepared = match.prepared
    conjunct = prepared.conjunct
    anchors = _anchors(conjunct)
    columns = [match.rows(atom) for atom in conjunct.positive if atom not in anchors]
    columns += [match.time(node) for node in (*prepared.ticks, conjunct.head.end)]
    for window in conjunct.repetitions:
        how = window.repetition
        assert how is not None
        if how.leading and how.first is not None:
            columns.append(match.rows(how.first))
        for _, value in window.links:
            if isinstance(value, Column) and value.atom in anchors:
                columns.append(identity_codes(match.column(value))[0])
    return _numbered(columns)


def _one_for_each_beginning(match: Match) -> bool:
    """Whether rows that begin alike are one and the same."""
    conjunct = match.prepared.conjunct
    if _anchors(conjunct) == {w.repetition.first for w in _leading(match) if w.repetition}:
        return True
    return len(np.unique(_beginnings(match))) == match.length


def _most_preferred(match: Match) -> Match:
    """Of the rows that begin alike, the one whose first repetition is preferred; of several, whose
    second is; and so on."""
    from thence.engine.arrays.chain_kernels import preferred  # noqa: PLC0415 (compiles)

    groups = _beginnings(match)
    counts = np.bincount(groups)
    if (counts <= 1).all():
        return match
    kept = np.ones(match.length, dtype=np.bool_)
    for window in match.prepared.conjunct.repetitions:
        rows = np.flatnonzero(kept & (counts[groups] > 1))
        chains = match.chains(window.atom).take(rows)
        ranks = _ranks(match.rels[window.atom], chains.members)
        own = groups[rows]
        kept[rows] = preferred(own, np.argsort(own, kind="stable"), chains.offsets, ranks)
    return match.where(kept)


def _ranks(rel: Events, members: Index) -> Index:
    """The places of events in their order: by start, end, and attributes."""
    distinct, inverse = np.unique(members, return_inverse=True)
    starts, ends = rel.start[distinct], rel.end[distinct]
    ranks = collection_order([take(rel, distinct)])
    order = np.lexsort((ranks, ends, starts))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places[inverse]


def preceded(match: Match, full: Match, window: WindowUse, sizes: Index | None) -> Mask:
    """Before which rows of a match an event can be put: there is a row in ``full`` that differs in
    nothing but the first event, and that event may come right before this one. ``sizes`` is how
    many events the chains have, None where they may have any number."""
    how = window.repetition
    assert how is not None and how.first is not None
    found = np.zeros(match.length, dtype=np.bool_)
    rows = np.arange(match.length)
    if how.most is not None and sizes is not None:
        rows = np.flatnonzero(sizes < how.most)
    if len(rows) == 0 or full.length == 0:
        return found
    rel, uses = match.rels[window.atom], match.prepared.uses
    kinds = kind_codes(rel, window)
    shorter = match.take(rows)
    firsts, others = shorter.rows(how.first), full.rows(how.first)
    keys = _numbered(
        [
            np.concatenate([a, b])
            for a, b in zip(_besides(full, how), _besides(shorter, how), strict=True)
        ]
        + [np.concatenate([kinds[others], kinds[firsts]])]
    )
    theirs, mine = keys[: full.length], keys[full.length :]
    mine = np.where(kinds[firsts] < 0, -1, mine)
    index = TimeIndex(full.time(uses[how.first].end), theirs, int(keys.max()) + 1)
    least = _latest_before(rel, kinds, firsts) if how.strict else None
    first, last = index.find(mine, least, shorter.time(uses[how.first].start) - 1)
    if not how.linked and not _read_by_others(match, window):
        found[rows] = first < last
        return found
    for probes, positions in expand(first, last):
        earlier = index.at(positions)
        able = _may_precede(shorter, full, window, probes, earlier)
        found[rows[probes[able]]] = True
    return found


def _besides(match: Match, how: Repetition) -> list[Index]:
    """All of a match but the first event of a repetition, as columns of numbers."""
    prepared = match.prepared
    positive = prepared.conjunct.positive
    columns = [match.rows(atom) for atom in positive if atom != how.first]
    return columns + [match.time(n) for n in (*prepared.ticks, prepared.conjunct.head.end)]


def _latest_before(rel: Events, kinds: Index, rows: Index) -> Index:
    """For some events, when the last of their kind starts of those that end before they start: what
    comes right before one of them has not ended before that."""
    known = np.flatnonzero(kinds >= 0)
    order = known[np.lexsort((rel.end[known], kinds[known]))]
    index = TimeIndex(rel.end[order], kinds[order], int(kinds.max(initial=0)) + 1)
    starts, ranked = np.unique(rel.start[order], return_inverse=True)
    latest = np.maximum.accumulate(kinds[order] * (len(starts) + 1) + ranked)
    first, last = index.find(kinds[rows], None, rel.start[rows] - 1)
    found = np.full(len(rows), _EVER, dtype=np.int64)
    some = np.flatnonzero(first < last)
    found[some] = starts[latest[last[some] - 1] % (len(starts) + 1)]
    return found


def _may_precede(match: Match, full: Match, window: WindowUse, rows: Index, earlier: Index) -> Mask:
    """Whether the first event of a row of ``full`` may come right before that of a row of a match,
    by what is asked of neighbours, and with the other repetitions as they are."""
    how = window.repetition
    assert how is not None and how.first is not None
    able = np.ones(len(rows), dtype=np.bool_)
    if how.previous is not None and how.linked:
        longer = match.extend(rows, window.atom, match.rows(how.first)[rows])
        everyone = np.arange(longer.length)
        longer = longer.extend(everyone, how.previous, full.rows(how.first)[earlier])
        mask = holds(longer, (), how.linked)
        able = able if mask is None else mask
    for other in _read_by_others(match, window):
        if match.has_chains(other.atom):
            able &= _still_fit(match, full, other, rows, earlier)
    return able


def _read_by_others(match: Match, window: WindowUse) -> Sequence[WindowUse]:
    """The other repetitions for which it matters what the first event of one is."""
    prepared, how = match.prepared, window.repetition
    assert how is not None
    return [
        other
        for other in prepared.conjunct.repetitions
        if other is not window and how.first in prepared.atoms_of(prepared.window_reads(other))
    ]


def _still_fit(match: Match, full: Match, window: WindowUse, rows: Index, earlier: Index) -> Mask:
    """Whether the repetitions of some rows fit into others in their place."""
    how = window.repetition
    assert how is not None
    chains = match.chains(window.atom).take(rows)
    owners = chains.owners
    longer = full.take(earlier).extend(owners, window.atom, chains.members)
    asked = match.prepared.reduced(window.constraints)
    mask = holds(longer, asked, (*window.predicates, *how.conditions))
    able = np.ones(len(rows), dtype=np.bool_)
    if mask is not None:
        able[owners[~mask]] = False
    return able


def _numbered(columns: list[Index]) -> Index:
    """Equal rows of some columns by one number.

    >>> _numbered([np.array([7, 5, 7]), np.array([1, 1, 1])]).tolist()
    [1, 0, 1]
    """
    order = np.lexsort(columns)
    fresh = np.zeros(len(order), dtype=np.int64)
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(fresh)
    return numbers
