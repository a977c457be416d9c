"""What a window collects as ranges of an index: all that lies in it, or the last rows of that."""

from __future__ import annotations

import numpy as np

from thence.engine.aggregates.aggregate import collection_order
from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import select, take, unique_by
from thence.engine.join.match import Match
from thence.engine.window.windows import WindowSearch
from thence.logic.conjunct import WindowUse
from thence.model.events import Events


def collecting(match: Match, window: WindowUse) -> tuple[WindowSearch, bool]:
    """The search for what a window collects, and whether it leaves out what is not among the last
    events, where the window wants only those. That it does where they are a range of the index."""
    found = WindowSearch(match, window)
    if window.last is None:
        return found, True
    rel = identified(match, window.atom)
    end = match.prepared.uses[window.atom].end
    ranged = found.exact and end in found.candidates.exact
    if not ranged or not unique_by(rel, rel.columns, start=True, end=True):
        return found, False
    found.candidates = found.candidates.latest(window.last, lambda rows: ranks_of(rel, rows))
    return found, True


def ranks_of(rel: Events, rows: Index) -> Index:
    """The ranks of some events among each other: by start, end and attributes."""
    chosen = np.sort(rows)
    ranks = collection_order([take(rel, chosen)])
    return ranks[np.searchsorted(chosen, rows)]


def among_last(match: Match, window: WindowUse, rows: Index, members: Index, most: int) -> Index:
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


def identified(match: Match, atom: int) -> Events:
    """What a window may hold, with the columns that tell its events apart."""
    rel = match.rels[atom]
    window = next(each for each in match.prepared.conjunct.windows if each.atom == atom)
    return select(rel, [name for name in rel.columns if name not in window.carried])
