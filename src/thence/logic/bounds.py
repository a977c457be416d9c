"""Difference bounds between time points, closed once by shortest paths.

A temporal condition of any kind (an Allen relation, ``seq``, a window, a timer) is a set of
inequalities ``t_i - t_j <= c`` in whole microseconds; ``<`` is one less. One small matrix per
rule, closed, then answers every temporal question: can it hold at all, which bounds follow, how
long an event must be kept, which range of a sorted table can match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thence.model.source import NOWHERE, Span

UNBOUNDED = 2**61
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Constraint:
    """``t_later - t_earlier <= limit``, and the text that asks for it.

    ``strict`` says that it was meant as ``t_later - t_earlier < limit + 1``.
    """

    later: int
    earlier: int
    limit: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    strict: bool = field(default=False, compare=False, repr=False)


def less(later: int, earlier: int, by: int = 0, span: Span = NOWHERE) -> Constraint:
    """``t_later < t_earlier + by``: times are whole microseconds.

    >>> less(1, 2, by=10)
    Constraint(later=1, earlier=2, limit=9)
    """
    return Constraint(later, earlier, by - 1, span, strict=True)


_FEW = 8
"""So few time points are looked at one by one sooner than as a part of the matrix."""


_SMALL = 24
"""A matrix of no more time points than this is tightened in plain numbers."""


class Bounds:
    """The tightest bounds that a set of constraints implies. Immutable.

    ``bounds[i, j]`` is the least ``c`` known with ``t_i - t_j <= c``. Only time points that some
    constraint is about have a place in the matrix: a rule may have many windows, whose points know
    nothing of each other.

    >>> b = close([Constraint(0, 1, -1), Constraint(2, 0, 10)])  # t0 < t1, t2 <= t0 + 10
    >>> b[2, 1], b[7, 1] == UNBOUNDED, b.satisfiable
    (9, True, True)
    >>> close([Constraint(0, 1, -1), Constraint(1, 0, 0)]).satisfiable
    False
    """

    __slots__ = ("_matrix", "_places", "_rows")

    def __init__(self, matrix: Matrix, places: Mapping[int, int]) -> None:
        matrix.setflags(write=False)
        self._matrix = matrix
        self._places = places
        self._rows: dict[int, list[int]] = {}  # of the matrix, as they are read: far faster there

    def __getitem__(self, pair: tuple[int, int]) -> int:
        later, earlier = pair
        place, other = self._places.get(later), self._places.get(earlier)
        if place is None or other is None:
            return 0 if later == earlier else UNBOUNDED
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = self._matrix[place].tolist()
        return row[other]

    def width(self, node: int, others: Sequence[int]) -> int:
        """How far a time may lie from one of others at most, at both sides together, for the one
        that says most; twice UNBOUNDED where none says anything."""
        if len(others) <= _FEW:
            widths = (self[node, other] + self[other, node] for other in others)
            return min(widths, default=2 * UNBOUNDED)
        place = self._places.get(node)
        if place is None:
            return 0 if node in others else 2 * UNBOUNDED
        known = [at for at in map(self._places.get, others) if at is not None]
        if not known:
            return 2 * UNBOUNDED
        return int((self._matrix[place, known] + self._matrix[known, place]).min())

    @property
    def satisfiable(self) -> bool:
        """Whether some assignment of times meets all constraints."""
        return bool((np.diagonal(self._matrix) >= 0).all())

    def bounded(self, later: int, earlier: int) -> bool:
        """Whether ``t_later - t_earlier`` has an upper bound."""
        return self[later, earlier] < UNBOUNDED

    def with_constraints(self, constraints: Sequence[Constraint]) -> Bounds:
        """These bounds and some more, closed again.

        Each new constraint tightens every pair that a path over it joins, which costs one pass
        over the matrix; a whole closure would cost one per node.
        """
        places = _with_places(self._places, constraints)
        known = len(self._places)
        if len(places) == known:
            matrix = self._matrix.copy()
        else:
            matrix = _unconstrained(len(places))
            matrix[:known, :known] = self._matrix
        if len(places) > _SMALL:
            for constraint in constraints:
                _tighten(matrix, places, constraint)
            return Bounds(matrix, places)
        rows: list[list[int]] = matrix.tolist()
        for constraint in constraints:
            _tighten_few(rows, places, constraint)
        return Bounds(np.array(rows, dtype=np.int64).reshape(matrix.shape), places)


def _with_places(places: Mapping[int, int], constraints: Sequence[Constraint]) -> Mapping[int, int]:
    """Places in a matrix, also for the time points of some constraints."""
    found: dict[int, int] | None = None
    for constraint in constraints:
        for node in (constraint.later, constraint.earlier):
            if node not in (places if found is None else found):
                found = dict(places) if found is None else found
                found[node] = len(found)
    return places if found is None else found


def _tighten(matrix: Matrix, places: Mapping[int, int], constraint: Constraint) -> None:
    later, earlier = places[constraint.later], places[constraint.earlier]
    if constraint.limit >= matrix[later, earlier]:
        return
    to, onward = matrix[:, later], matrix[earlier, :]
    through = np.maximum(np.add.outer(to + constraint.limit, onward), -UNBOUNDED)
    through[to >= UNBOUNDED, :] = UNBOUNDED
    through[:, onward >= UNBOUNDED] = UNBOUNDED
    np.minimum(matrix, through, out=matrix)


def _tighten_few(rows: list[list[int]], places: Mapping[int, int], constraint: Constraint) -> None:
    """The same in plain numbers: for a small matrix, most of which says nothing, that is faster."""
    later, earlier, limit = places[constraint.later], places[constraint.earlier], constraint.limit
    if limit >= rows[later][earlier]:
        return
    onward = [(place, known) for place, known in enumerate(rows[earlier]) if known < UNBOUNDED]
    for row in rows:
        if (to := row[later]) < UNBOUNDED:
            for place, known in onward:
                through = to + limit + known
                if through < row[place]:
                    row[place] = max(through, -UNBOUNDED)


NO_BOUNDS = Bounds(np.empty((0, 0), dtype=np.int64), {})


def close(constraints: Sequence[Constraint]) -> Bounds:
    """The closure of constraints."""
    return NO_BOUNDS.with_constraints(constraints)


def _unconstrained(size: int) -> Matrix:
    matrix = np.full((size, size), UNBOUNDED, dtype=np.int64)
    np.fill_diagonal(matrix, 0)
    return matrix


def first_conflict(constraints: Sequence[Constraint]) -> Constraint | None:
    """The first constraint that cannot hold together with those before it, if there is one."""
    places = _with_places({}, constraints)
    matrix = _unconstrained(len(places))
    for constraint in constraints:
        _tighten(matrix, places, constraint)
        if matrix[places[constraint.later], places[constraint.later]] < 0:
            return constraint
    return None
