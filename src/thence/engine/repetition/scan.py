"""The chains among candidates: the greedy one of each row, or every one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from thence.engine.arrays import Index, Mask
from thence.engine.repetition.chains import Chains, chains_of, spread
from thence.engine.repetition.links import Links, links_of
from thence.engine.repetition.steps import steps
from thence.model.errors import EvaluationError

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

MOST_CHAINS = 20_000_000
"""How many partial chains are looked at before it is said that there are too many."""

Column = TypeVar("Column", Index, Mask)

_NEVER = np.iinfo(np.int64).max
_EVER = np.iinfo(np.int64).min


def greedy_chains(found: Candidates) -> tuple[Index, Chains]:
    """The rows that have a greedy chain, and that chain."""
    repetition = found.repetition
    begins = _beginnings(found)
    limit = repetition.most if repetition.most is not None else _NEVER
    if _all_follow(found):
        sizes = np.minimum(np.diff(found.offsets), limit)
        positions = spread(found.offsets[:-1], sizes)
    else:
        sizes, positions = _scanned(found, begins, limit)
    whole = chains_of(sizes, positions)
    kept = sizes >= repetition.least
    if repetition.last is not None:
        final = np.full(len(sizes), -2, dtype=np.int64)
        filled = sizes > 0
        final[filled] = positions[whole.offsets[1:][filled] - 1]
        kept &= final == found.last
    rows = np.flatnonzero(kept)
    kept_chains = whole if len(rows) == len(sizes) else whole.take(rows)
    return rows, Chains(kept_chains.offsets, found.members[kept_chains.members])


def _all_follow(found: Candidates) -> bool:
    """Whether in every row each candidate may follow the one before, so that all are taken."""
    repetition = found.repetition
    if repetition.linked or repetition.conditions or repetition.first is not None:
        return False
    after = found.starts[1:] > found.ends[:-1]
    return bool((after | (found.rows[1:] != found.rows[:-1])).all())


def _beginnings(found: Candidates) -> Index:
    """The position at which the chain of each row begins; -1 where none does."""
    repetition = found.repetition
    fit = np.flatnonzero(found.fit)
    earliest = np.full(len(found.first), -1, dtype=np.int64)
    earliest[found.rows[fit][::-1]] = fit[::-1]
    if repetition.first is None:
        return earliest
    begins = np.where((found.first >= 0) & _at(found.fit, found.first), found.first, -1)
    if not repetition.leading:
        return np.where(begins == earliest, begins, -1)
    # Nothing may be able to come before the first.
    own = begins[found.rows]
    before = (own >= 0) & (found.ends < _at(found.starts, own))
    latest = np.full(len(begins), _EVER, dtype=np.int64)
    np.maximum.at(latest, found.rows[before], found.starts[before])
    able = np.flatnonzero(before & found.fit)
    if found.begun is not None:
        able = able[found.begun.holds(found.rows[able], found.members[able])]
    if repetition.strict:
        able = able[found.ends[able] >= latest[found.rows[able]]]
    able = able[found.linked(able, own[able])]
    begins[found.rows[able]] = -1
    return begins


def _at(values: Column, positions: Index) -> Column:
    """Values at positions; the first one, which nobody reads, where the position is -1."""
    if len(values) == 0:
        return np.zeros(len(positions), dtype=values.dtype)
    return values[np.maximum(positions, 0)]


def _scanned(found: Candidates, begins: Index, limit: int) -> tuple[Index, Index]:
    """Sizes and positions of the chains that come about by taking the first that fits, again and
    again."""
    links = links_of(found)
    taken = steps(found, begins, limit) if links is None else _walked(found, begins, limit, links)
    positions = np.flatnonzero(taken)
    sizes = np.bincount(found.rows[positions], minlength=len(begins))
    return sizes.astype(np.int64), positions


def _walked(found: Candidates, begins: Index, limit: int, links: Links) -> Mask:
    """Which candidates are taken, where neighbours are only compared."""
    from thence.engine.kernels import walk  # noqa: PLC0415 (compiles; few rules need it)

    return walk(
        found.offsets,
        begins,
        found.starts,
        found.ends,
        links.able,
        links.preceding,
        limit,
        found.repetition.strict,
        links.signs,
        links.whole,
        links.whole_before,
        links.real,
        links.real_before,
    )


def every_chain(found: Candidates) -> tuple[Index, Chains]:
    """A row for each chain of each row, and the chain."""
    repetition = found.repetition
    if repetition.first is not None:
        rows = np.flatnonzero((found.first >= 0) & _at(found.fit, found.first))
        positions = found.first[rows]
    else:
        positions = np.flatnonzero(found.fit)
        rows = found.rows[positions]
    none = np.empty(0, dtype=np.int64)
    owners: list[Index] = []
    chains: list[Index] = []
    if repetition.least == 0:
        owners.append(np.arange(len(found.first)))
        chains.append(np.empty((len(found.first), 0), dtype=np.int64))
    links: list[Index] = []  # per length, the chain of one less that each continues
    steps: list[Index] = [positions]
    total, length = len(rows), 1
    while len(rows):
        done = np.ones(len(rows), dtype=np.bool_)
        if repetition.last is not None:
            done = positions == found.last[rows]
        if length >= repetition.least and done.any():
            chosen = np.flatnonzero(done)
            owners.append(rows[chosen])
            chains.append(_followed(steps, links, chosen))
        if repetition.most is not None and length >= repetition.most:
            break
        parents, following = _followers(found, rows, positions)
        links.append(parents)
        rows, positions = rows[parents], following
        steps.append(positions)
        total, length = total + len(rows), length + 1
        if total > MOST_CHAINS:
            raise EvaluationError(
                f"'{found.match.prepared.conjunct.event}' has more than {MOST_CHAINS:,} "
                "combinations of repetitions; add 'using greedy' for the longest only, an upper "
                "limit such as {1,3}, or a shorter 'within'"
            )
    owner = np.concatenate(owners) if owners else none
    sizes = np.concatenate([np.full(len(c), c.shape[1]) for c in chains]) if chains else none
    flat = np.concatenate([c.ravel() for c in chains]) if chains else none
    return owner, chains_of(sizes.astype(np.int64), found.members[flat])


def _followed(steps: list[Index], links: list[Index], chosen: Index) -> Index:
    """The positions of some chains of the greatest length so far, a row each."""
    columns = []
    for at in range(len(steps) - 1, -1, -1):
        columns.append(steps[at][chosen])
        if at:
            chosen = links[at - 1][chosen]
    return np.column_stack(columns[::-1])


def _followers(found: Candidates, rows: Index, positions: Index) -> tuple[Index, Index]:
    """Every candidate that may come next, with the chain that it continues."""
    sizes = found.offsets[rows + 1] - positions - 1
    if int(sizes.sum()) > 10 * MOST_CHAINS:
        raise EvaluationError(
            f"'{found.match.prepared.conjunct.event}' has too many combinations of repetitions; "
            "add 'using greedy' for the longest only, or a shorter 'within'"
        )
    parents = np.repeat(np.arange(len(rows)), sizes)
    following = spread(positions + 1, sizes)
    after = found.starts[following] > found.ends[positions[parents]]
    parents, following = parents[after], following[after]
    if found.repetition.strict:
        # Nothing may lie between: no candidate has ended before this one starts.
        nearest = np.full(len(rows), _NEVER, dtype=np.int64)
        np.minimum.at(nearest, parents, found.ends[following])
        near = found.starts[following] <= nearest[parents]
        parents, following = parents[near], following[near]
    fits = found.fit[following]
    parents, following = parents[fits], following[fits]
    linked = found.linked(positions[parents], following)
    return parents[linked], following[linked]
