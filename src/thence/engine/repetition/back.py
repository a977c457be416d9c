"""Greedy chains for which it does not suffice to take the first that fits, again and again.

Where that leads to too few events, or not to the one that has to be the last, the next one that
fits is tried in place of the last taken, and so on. What has been seen to lead nowhere is not tried
again, so the work is at most that of looking at every two candidates of a row once for each length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thence.engine.arrays import ranges
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.join.chains import Chains, chains_of, spread
from thence.engine.repetition.links import Links
from thence.model.errors import EvaluationError

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

_NEVER = np.iinfo(np.int64).max
_NOTHING = np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.float64)


def going_back(found: Candidates, rows: Index, links: Links | None) -> tuple[Index, Chains]:
    """Of some rows those that have a chain after all, and its positions. ``links`` are the
    conditions between neighbours, where these are comparisons."""
    rows = rows[found.offsets[rows + 1] > found.offsets[rows]]
    if links is not None:
        return _in_rows(found, rows, links)
    widths = found.offsets[rows + 1] - found.offsets[rows]
    parts = []
    for begin, stop in ranges.blocks(widths if found.repetition.strict else widths * widths):
        parts.append(_in_rows(found, rows[begin:stop], None))
    kept = np.concatenate([rows[:0], *(part for part, _ in parts)])
    sizes = np.concatenate([rows[:0], *(chains.sizes for _, chains in parts)])
    members = np.concatenate([rows[:0], *(chains.members for _, chains in parts)])
    return kept, chains_of(sizes, members)


def _in_rows(found: Candidates, rows: Index, links: Links | None) -> tuple[Index, Chains]:
    from thence.engine.arrays.chain_kernels import go_back  # noqa: PLC0415 (compiles; few rules need it)

    how = found.repetition
    widths = found.offsets[rows + 1] - found.offsets[rows]
    positions = spread(found.offsets[rows], widths)
    offsets = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    starts, ends, fit = found.starts[positions], found.ends[positions], found.fit[positions]
    firsts, lasts = (
        np.full(len(rows), -1) if atom is None else place[rows] - found.offsets[rows] + offsets[:-1]
        for atom, place in ((how.first, found.first), (how.last, found.last))
    )
    places, linked = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    if links is None:
        try:
            places, linked = _all_pairs(found, positions, offsets, (starts, ends, fit))
        except EvaluationError:
            # Of a pair that nobody asks about, perhaps: so each is computed when it is asked for.
            return _one_by_one(found, rows)
    integers, reals = _NOTHING
    sizes, taken = go_back(
        offsets,
        firsts,
        lasts,
        starts,
        ends,
        fit if links is None else links.able[positions],
        fit if links is None else links.preceding[positions],
        how.least,
        -1 if how.most is None else how.most,
        how.strict,
        np.zeros(0, dtype=np.int64) if links is None else links.signs,
        integers if links is None else np.ascontiguousarray(links.whole[:, positions]),
        integers if links is None else np.ascontiguousarray(links.whole_before[:, positions]),
        reals if links is None else np.ascontiguousarray(links.real[:, positions]),
        reals if links is None else np.ascontiguousarray(links.real_before[:, positions]),
        links is None,
        places,
        linked,
    )
    kept = np.flatnonzero(sizes >= 0)
    return rows[kept], chains_of(sizes[kept], positions[np.flatnonzero(taken)])


def _all_pairs(
    found: Candidates, positions: Index, offsets: Index, block: tuple[Index, Index, Mask]
) -> tuple[Index, Mask]:
    """Which candidates may follow which, for all that may by their times."""
    from thence.engine.arrays.kernels import following, places  # noqa: PLC0415 (compiles)

    current = offsets[:-1]
    nearest = np.full(len(current), _NEVER, dtype=np.int64)
    whole = (current, current + 1, offsets[1:], nearest, *block, found.repetition.strict)
    where = places(*whole)
    before, after = following(*whole, where)
    return where, found.linked(positions[before], positions[after])


def _one_by_one(found: Candidates, rows: Index) -> tuple[Index, Chains]:
    """The chains of some rows, where only what is asked for may be computed."""
    chains = [(row, chain) for row in rows if (chain := _chain_of(found, int(row))) is not None]
    sizes = np.array([len(chain) for _, chain in chains], dtype=np.int64)
    members = np.array([at for _, chain in chains for at in chain], dtype=np.int64)
    return np.array([row for row, _ in chains], dtype=np.int64), chains_of(sizes, members)


def _chain_of(found: Candidates, row: int) -> list[int] | None:
    how, stop = found.repetition, int(found.offsets[row + 1])
    first, last = int(found.first[row]), int(found.last[row])
    dead: set[tuple[int, int]] = set()
    begins = [first] if how.first is not None else range(int(found.offsets[row]), stop)
    for begin in begins:
        chain = [begin] if found.fit[begin] else []
        tried = [begin]  # after which candidate of each to go on
        while chain:
            follower = None
            if how.most is None or len(chain) < how.most:
                follower = _next(found, chain, tried[-1], stop, dead)
            if follower is not None:
                tried[-1] = follower
                chain.append(follower)
                tried.append(follower)
            elif len(chain) >= how.least and (how.last is None or chain[-1] == last):
                return chain
            else:
                dead.add((chain.pop(), len(chain) + 1))
                tried.pop()
    return [] if how.least == 0 and how.first is None and how.last is None else None


def _next(
    found: Candidates, chain: list[int], tried: int, stop: int, dead: set[tuple[int, int]]
) -> int | None:
    """The first candidate after one that was tried that may follow the last of a chain."""
    current, nearest = chain[-1], _NEVER
    for at in range(current + 1, stop):
        if found.repetition.strict and found.starts[at] > nearest:
            return None
        if found.starts[at] > found.ends[current]:
            nearest = min(nearest, int(found.ends[at]))
            new = at > tried and found.fit[at] and (at, len(chain) + 1) not in dead
            if new and found.linked(np.array([current]), np.array([at]))[0]:
                return at
    return None
