"""Recursion that goes on by the same stride until something ends it, all strides at once.

Each tick of ``periodic`` follows from the tick before it, if nothing came in between that ends it.
Taken one by one that would be a round of the recursion for each tick. But the times in which
nothing may come join end to end, so how far it goes is known as soon as it is known what comes
first: one search says it, however many ticks there are.
"""

from __future__ import annotations

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.ranges import TimeIndex, expand
from thence.engine.arrays.rows import concat, take
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.limits.growth import RECURSIVE, Growth, expect
from thence.engine.window.windows import window_key
from thence.logic.conjunct import WindowUse
from thence.model.events import Events
from thence.model.time import format_duration

_NEVER = 2**62


def strides(match: Match, now: int, known: Events, whole: bool) -> tuple[Events, Events]:
    """The events that follow from those of a match up to the horizon, in one stride or several.

    From an event that is there already, what follows is found by itself, or has been: so nobody
    need stride beyond the next event of its kind that is a whole number of strides away. ``known``
    are the events of the kind from which all has been found. With ``whole``, that next event is
    among what is given, since it follows from the one before it too. Also given is from which event
    each follows in one stride.
    """
    prepared = match.prepared
    by = prepared.stride
    assert by is not None
    (atom,) = prepared.conjunct.positive
    rel, rows = match.rels[atom], match.rows(atom)
    begin = rel.end[rows]
    last = np.full(match.length, now)
    for window in prepared.conjunct.windows:
        last = np.minimum(last, _reach(match, window, begin))
    count = np.maximum((last - begin) // by, 0)
    if match.length:
        free = _to_next(match, concat([known, take(rel, rows)]), by)
        count = np.minimum(count, free + whole)
    expect(count.sum(), RECURSIVE, lambda: _striding(by))
    owners = np.repeat(np.arange(match.length), count)
    steps = np.arange(1, len(owners) + 1) - (np.cumsum(count) - count)[owners]
    times = begin[owners] + steps * by
    chosen = take(rel, rows[owners])
    if prepared.conjunct.head.start == prepared.conjunct.head.end:
        before = np.where(steps == 1, chosen.start, times - by)
        found = Events(times, times, chosen.columns)
    else:
        before = chosen.start
        found = Events(chosen.start, times, chosen.columns)
    return found, Events(before, times - by, chosen.columns)


def _to_next(match: Match, events: Events, by: int) -> Index:
    """For each event of a match, how many strides it may take before it meets one of its kind:
    one of those known, which ``events`` begins with, or one of the match, which it ends with."""
    conjunct = match.prepared.conjunct
    alike = [events.end % by, *([] if conjunct.head.start == conjunct.head.end else [events.start])]
    codes, _ = combine([*map(identity_codes, alike), *map(identity_codes, events.columns.values())])
    order = np.lexsort((events.end, codes))
    ends = events.end[order]
    same = codes[order][1:] == codes[order][:-1]
    free = np.full(len(events), _NEVER)
    free[order[:-1][same]] = np.maximum(np.diff(ends)[same] // by - 1, 0)
    return free[len(events) - match.length :]


def _reach(match: Match, window: WindowUse, begin: Index) -> Index:
    """How far one can go on for each row: to where the first event ends that the window would hold
    were it open to the right, less what the window is late by.

    Where more than the key decides, candidates are looked at in ever longer rows of neighbours.
    """
    found = np.full(match.length, _NEVER)
    rel, end = match.rels[window.atom], match.prepared.uses[window.atom].end
    outer, own = match.prepared.meantime(window)
    lag = next(-constraint.limit for constraint in outer if constraint.earlier == end)
    since = begin + lag
    near = np.flatnonzero(rel.end >= since.min()) if len(rel) and len(since) else ()
    if not len(near):
        return found
    key, predicates = window_key(match, window)
    codes, groups = (None, 1) if key is None else (key.rows[near], key.groups)
    index = TimeIndex(rel.end[near], codes, groups, np.asarray(near))
    first, last = index.find(None if key is None else key.probes, since, None, match.length)
    left = np.flatnonzero(first < last)
    at, size = first[left], 1
    while len(left):
        probes, positions = _pairs(at, np.minimum(at + size, last[left]))
        members = index.at(positions)
        mask = holds(match.extend(left[probes], window.atom, members), own, predicates)
        if mask is not None:
            probes, members = probes[mask], members[mask]
        # Of several for one row the earliest comes first, so it is written last.
        found[left[probes[::-1]]] = rel.end[members[::-1]]
        at = at + size
        still = (found[left] == _NEVER) & (at < last[left])
        left, at, size = left[still], at[still], 2 * size
    return found - lag


def _striding(by: int) -> Growth:
    return Growth(
        f"going on every {format_duration(by)}",
        "let it go on by a longer time, or let something end it; without 'until' time ends with "
        "the last event",
        "events",
    )


def _pairs(first: Index, last: Index) -> tuple[Index, Index]:
    chunks = list(expand(first, last))
    probes = np.concatenate([probes for probes, _ in chunks])
    return probes, np.concatenate([positions for _, positions in chunks])
