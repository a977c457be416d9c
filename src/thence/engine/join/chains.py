"""Chains: for each row of a match, the rows of a relation that follow one another in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thence.engine.arrays.array_types import Index


@dataclass(frozen=True, slots=True)
class Chains:
    """``members[offsets[i]:offsets[i + 1]]`` are the rows of the relation that row ``i`` has, in
    their order."""

    offsets: Index
    members: Index

    @property
    def sizes(self) -> Index:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Index:
        """For each member, the row that has it."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.sizes)

    def take(self, rows: Index) -> Chains:
        """The chains of some rows.

        >>> chains = Chains(np.array([0, 2, 3]), np.array([7, 8, 9]))
        >>> chains.take(np.array([1, 0])).members.tolist()
        [9, 7, 8]
        """
        sizes = self.sizes[rows]
        return chains_of(sizes, self.members[spread(self.offsets[rows], sizes)])


def chains_of(sizes: Index, members: Index) -> Chains:
    """Chains of so many members each."""
    return Chains(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), members)


def spread(first: Index, sizes: Index) -> Index:
    """``first[i], first[i] + 1, …`` for so many numbers each, one row after another.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(first - (ends - sizes), sizes)  # type: ignore[no-any-return]
