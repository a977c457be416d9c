"""Difference bounds between time points, closed once by shortest paths.

A temporal condition of any kind (an Allen relation, ``seq``, a window, a timer) is a set of
inequalities ``t_i - t_j <= c`` in whole microseconds; ``<`` is ``<= -1``. One small matrix per
rule, closed, then answers every temporal question: can it hold at all, which bounds follow, how
long an event must be kept, which range of a sorted table can match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thence.model.source import NOWHERE, Span

UNBOUNDED = 2**61
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Constraint:
    """``t_later - t_earlier <= limit``, and the text that asks for it."""

    later: int
    earlier: int
    limit: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)


class Bounds:
    """The tightest bounds that a set of constraints implies. Immutable.

    ``bounds[i, j]`` is the least ``c`` known with ``t_i - t_j <= c``.

    >>> b = close(3, [Constraint(0, 1, -1), Constraint(2, 0, 10)])  # t0 < t1, t2 <= t0 + 10
    >>> b[2, 1], b.satisfiable
    (9, True)
    >>> close(2, [Constraint(0, 1, -1), Constraint(1, 0, 0)]).satisfiable
    False
    """

    __slots__ = ("matrix",)

    def __init__(self, matrix: Matrix) -> None:
        matrix.setflags(write=False)
        self.matrix = matrix

    def __getitem__(self, pair: tuple[int, int]) -> int:
        return int(self.matrix[pair])

    @property
    def satisfiable(self) -> bool:
        """Whether some assignment of times meets all constraints."""
        return bool((np.diagonal(self.matrix) >= 0).all())

    def bounded(self, later: int, earlier: int) -> bool:
        """Whether ``t_later - t_earlier`` has an upper bound."""
        return self[later, earlier] < UNBOUNDED

    def grown(self, size: int) -> Bounds:
        """The same bounds with more time points, of which nothing is known."""
        known = len(self.matrix)
        matrix = _unconstrained(size)
        matrix[:known, :known] = self.matrix
        return Bounds(matrix)

    def with_constraints(self, constraints: Sequence[Constraint]) -> Bounds:
        """These bounds and some more, closed again.

        Each new constraint tightens every pair that a path over it joins, which costs one pass
        over the matrix; a whole closure would cost one per node.
        """
        matrix = self.matrix.copy()
        for constraint in constraints:
            _tighten(matrix, constraint)
        return Bounds(matrix)


def _tighten(matrix: Matrix, constraint: Constraint) -> None:
    later, earlier = constraint.later, constraint.earlier
    if constraint.limit >= matrix[later, earlier]:
        return
    to, onward = matrix[:, later], matrix[earlier, :]
    through = np.maximum(np.add.outer(to + constraint.limit, onward), -UNBOUNDED)
    through[to >= UNBOUNDED, :] = UNBOUNDED
    through[:, onward >= UNBOUNDED] = UNBOUNDED
    np.minimum(matrix, through, out=matrix)


def close(size: int, constraints: Sequence[Constraint]) -> Bounds:
    """The closure of constraints over ``size`` time points."""
    return Bounds(_unconstrained(size)).with_constraints(constraints)


def _unconstrained(size: int) -> Matrix:
    matrix = np.full((size, size), UNBOUNDED, dtype=np.int64)
    np.fill_diagonal(matrix, 0)
    return matrix


def first_conflict(size: int, constraints: Sequence[Constraint]) -> Constraint | None:
    """The first constraint that cannot hold together with those before it, if there is one."""
    matrix = _unconstrained(size)
    for constraint in constraints:
        _tighten(matrix, constraint)
        if matrix[constraint.later, constraint.later] < 0:
            return constraint
    return None
