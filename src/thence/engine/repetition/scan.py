"""The chains among candidates: the greedy one of each row, or every one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.join.chains import Chains, chains_of, spread
from thence.engine.limits.growth import expect
from thence.engine.repetition.back import going_back
from thence.engine.repetition.links import Links, links_of
from thence.engine.repetition.steps import steps
from thence.model.errors import EvaluationError

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

MOST_CHAINS = 20_000_000
"""How many partial chains are looked at before it is said that there are too many."""

Column = TypeVar("Column", Index, Mask)

_NEVER = np.iinfo(np.int64).max


def greedy_chains(found: Candidates) -> tuple[Index, Chains]:
    """The rows that have a greedy chain, and that chain."""
    repetition = found.repetition
    limit = repetition.most if repetition.most is not None else _NEVER
    if _all_follow(found):
        sizes = np.minimum(np.diff(found.offsets), limit)
        return _kept(found, sizes, spread(found.offsets[:-1], sizes), sizes >= repetition.least)
    found = replace(found, fit=_before_the_last(found))
    links = links_of(found)
    sizes, positions = _scanned(found, _beginnings(found), limit, links)
    done = sizes >= repetition.least
    if repetition.last is not None:
        final = np.full(len(sizes), -2, dtype=np.int64)
        filled = sizes > 0
        final[filled] = positions[np.cumsum(sizes)[filled] - 1]
        done &= final == found.last
    tried = ~done
    for atom, place in ((repetition.first, found.first), (repetition.last, found.last)):
        if atom is not None:
            tried &= (place >= 0) & _at(found.fit, place)
    if not tried.any():
        return _kept(found, sizes, positions, done)
    rows, chains = going_back(found, np.flatnonzero(tried), links)
    return _together(_kept(found, sizes, positions, done), (rows, _members(found, chains)))


def _kept(found: Candidates, sizes: Index, positions: Index, kept: Mask) -> tuple[Index, Chains]:
    """Some rows, with their chains."""
    rows, whole = np.flatnonzero(kept), chains_of(sizes, positions)
    return rows, _members(found, whole if len(rows) == len(sizes) else whole.take(rows))


def _members(found: Candidates, chains: Chains) -> Chains:
    """Chains of positions as chains of events."""
    return Chains(chains.offsets, found.members[chains.members])


def _together(one: tuple[Index, Chains], other: tuple[Index, Chains]) -> tuple[Index, Chains]:
    """The chains of some rows and of others, in the order of the rows."""
    rows = np.concatenate([one[0], other[0]])
    order = np.argsort(rows, kind="stable")
    sizes = np.concatenate([one[1].sizes, other[1].sizes])
    members = np.concatenate([one[1].members, other[1].members])
    return rows[order], chains_of(sizes, members).take(order)


def _before_the_last(found: Candidates) -> Mask:
    """Which candidates fit, given which one has to be the last."""
    if found.repetition.last is None:
        return found.fit
    last = found.last[found.rows]
    ends_before = found.ends < _at(found.starts, last)
    fit: Mask = found.fit & ((last < 0) | ends_before | (np.arange(len(last)) == last))
    return fit


def _all_follow(found: Candidates) -> bool:
    """Whether in every row each candidate may follow the one before, so that all are taken."""
    repetition = found.repetition
    if repetition.linked or repetition.conditions or repetition.first is not None:
        return False
    after = found.starts[1:] > found.ends[:-1]
    return bool((after | (found.rows[1:] != found.rows[:-1])).all())


def _beginnings(found: Candidates) -> Index:
    """The position at which the chain of each row begins at first; -1 where none does."""
    if found.repetition.first is not None:
        return np.where((found.first >= 0) & _at(found.fit, found.first), found.first, -1)
    fit = np.flatnonzero(found.fit)
    earliest = np.full(len(found.first), -1, dtype=np.int64)
    earliest[found.rows[fit][::-1]] = fit[::-1]
    return earliest


def _at(values: Column, positions: Index) -> Column:
    """Values at positions; the first one, which nobody reads, where the position is -1."""
    if len(values) == 0:
        return np.zeros(len(positions), dtype=values.dtype)
    return values[np.maximum(positions, 0)]


def _scanned(
    found: Candidates, begins: Index, limit: int, links: Links | None
) -> tuple[Index, Index]:
    """Sizes and positions of the chains that come about by taking the first that fits, again and
    again."""
    taken = steps(found, begins, limit) if links is None else _walked(found, begins, limit, links)
    positions = np.flatnonzero(taken)
    sizes = np.bincount(found.rows[positions], minlength=len(begins))
    return sizes.astype(np.int64), positions


def _walked(found: Candidates, begins: Index, limit: int, links: Links) -> Mask:
    """Which candidates are taken, where neighbours are only compared."""
    from thence.engine.arrays.kernels import walk  # noqa: PLC0415 (compiles; few rules need it)

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
    total, length, members = len(rows), 1, 0
    while len(rows):
        done = np.ones(len(rows), dtype=np.bool_)
        if repetition.last is not None:
            done = positions == found.last[rows]
        if length >= repetition.least and done.any():
            chosen = np.flatnonzero(done)
            members += length * len(chosen)
            expect(members, 24, partial(found.growth, "repeated events"))
            owners.append(rows[chosen])
            chains.append(_followed(steps, links, chosen))
        if repetition.most is not None and length >= repetition.most:
            break
        parents, following = _followers(found, rows, positions)
        links.append(parents)
        rows, positions = rows[parents], following
        steps.append(positions)
        total, length = total + len(rows), length + 1
        expect(total, 32, partial(found.growth, "chains"))
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
    begins, stops = positions + 1, found.offsets[rows + 1]
    if found.repetition.strict:
        # Nothing may lie between: no candidate has ended before this one starts.
        begins, stops = found.next_to[0][positions], found.next_to[1][positions]
    sizes = stops - begins
    if int(sizes.sum()) > 10 * MOST_CHAINS:
        raise EvaluationError(
            f"'{found.match.prepared.conjunct.event}' has too many combinations of repetitions; "
            "add 'using greedy' for the longest only, or a shorter 'within'"
        )
    expect(sizes.sum(), 32, partial(found.growth, "chains"))
    parents = np.repeat(np.arange(len(rows)), sizes)
    following = spread(begins, sizes)
    after = found.starts[following] > found.ends[positions[parents]]
    parents, following = parents[after], following[after]
    fits = found.fit[following]
    parents, following = parents[fits], following[fits]
    linked = found.linked(positions[parents], following)
    return parents[linked], following[linked]
