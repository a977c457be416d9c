"""Difference bounds: their closure against brute force over all small integer times."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.logic.bounds import UNBOUNDED, Constraint, close, first_conflict
from thence.logic.conjunct import EndPoint, Epoch, Extreme, close_with_extremes
from thence.logic.timing import relation
from thence.model.source import NOWHERE

SIZE = 4
MOST = 3
FAR = MOST * (SIZE - 1) + 1
"""Limits are at most 3 either way, and a shortest path has fewer steps than there are nodes: what
can be this far apart can be any distance apart."""
TIMES = range(-2 * FAR, 2 * FAR + 1)
GRID = np.array(np.meshgrid([0], *[TIMES] * (SIZE - 1))).reshape(SIZE, -1).T
"""Every assignment of times in a window that is wide enough, the first of them zero."""

nodes = st.integers(0, SIZE - 1)
constraints = st.builds(Constraint, nodes, nodes, st.integers(-MOST, MOST))


def solutions(asked: list[Constraint]) -> np.ndarray:
    """Every assignment that meets the constraints."""
    found = GRID
    for c in asked:
        found = found[found[:, c.later] - found[:, c.earlier] <= c.limit]
    return found


@given(st.lists(constraints, max_size=7))
def test_satisfiable_just_when_some_assignment_meets_all_constraints(
    asked: list[Constraint],
) -> None:
    assert close(asked).satisfiable == (len(solutions(asked)) > 0)


@given(st.lists(constraints, max_size=7))
def test_implied_bounds_are_the_largest_differences_that_occur(asked: list[Constraint]) -> None:
    """Tight: some solution reaches the bound. Unbounded: some solution is far apart."""
    found = solutions(asked)
    if len(found) == 0:
        return
    closed = close(asked)
    for later, earlier in product(range(SIZE), repeat=2):
        largest = int((found[:, later] - found[:, earlier]).max())
        if closed.bounded(later, earlier):
            assert closed[later, earlier] == largest
        else:
            assert largest >= FAR


@given(st.lists(constraints, max_size=6), st.lists(constraints, max_size=6))
def test_closing_in_two_steps_is_closing_at_once(
    first: list[Constraint], more: list[Constraint]
) -> None:
    in_steps = close(first).with_constraints(more)
    at_once = close([*more, *first])
    assert in_steps.satisfiable == at_once.satisfiable
    if at_once.satisfiable:
        pairs = list(product(range(SIZE), repeat=2))
        assert [in_steps[pair] for pair in pairs] == [at_once[pair] for pair in pairs]


@given(st.lists(constraints, max_size=8))
def test_the_first_conflict_is_the_first_constraint_without_a_solution(
    asked: list[Constraint],
) -> None:
    conflict = first_conflict(asked)
    counts = [len(solutions(asked[: n + 1])) for n in range(len(asked))]
    expected = next((asked[n] for n, count in enumerate(counts) if count == 0), None)
    assert conflict is expected


def test_bounds_cannot_be_written_to() -> None:
    closed = close([Constraint(0, 1, 5)])
    with pytest.raises(ValueError, match="read-only"):
        closed._matrix[0, 1] = 0


def test_adding_constraints_leaves_the_original_as_it_was() -> None:
    closed = close([Constraint(0, 1, 5)])
    closed.with_constraints([Constraint(0, 1, 1)])
    assert closed[0, 1] == 5


@pytest.mark.parametrize("limit", [UNBOUNDED, 2**62, 2**63 - 1, 2**70])
def test_a_limit_beyond_all_time_bounds_nothing(limit: int) -> None:
    closed = close([Constraint(0, 1, limit), Constraint(1, 2, 3)])
    assert not closed.bounded(0, 1)
    assert not closed.bounded(0, 2)
    assert closed[1, 2] == 3


YEARS_1_TO_9999 = 315_537_897_600_000_000


def test_spans_as_long_as_all_of_time_add_up_without_wrapping_round() -> None:
    steps = [Constraint(i + 1, i, YEARS_1_TO_9999) for i in range(6)]
    closed = close(steps)
    assert closed[6, 0] == 6 * YEARS_1_TO_9999
    assert closed.satisfiable
    backwards = close([Constraint(i + 1, i, -YEARS_1_TO_9999) for i in range(6)])
    assert backwards[6, 0] == -6 * YEARS_1_TO_9999
    assert not backwards.with_constraints([Constraint(0, 6, 6 * YEARS_1_TO_9999 - 1)]).satisfiable


# --- Allen's relations ----------------------------------------------------------------------------

ALLEN = (
    "before", "after", "meets", "met_by", "overlaps", "overlapped_by", "starts", "started_by",
    "during", "contains", "finishes", "finished_by", "equals",
)  # fmt: skip
INTERVALS = [(s, e) for s in range(5) for e in range(s, 5)]
PAIRS = list(product(INTERVALS, repeat=2))


def holding(name: str) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """The pairs of small intervals between which a relation holds, by its constraints."""
    asked = relation(name, (0, 1), (2, 3), NOWHERE)
    times = {(p, q): (*p, *q) for p, q in PAIRS}
    return {
        pair
        for pair, t in times.items()
        if all(t[c.later] - t[c.earlier] <= c.limit for c in asked)
    }


def test_exactly_one_allen_relation_holds_between_two_proper_intervals() -> None:
    proper = {(p, q) for p, q in PAIRS if p[0] < p[1] and q[0] < q[1]}
    found = [pair for name in ALLEN for pair in holding(name) & proper]
    assert sorted(found) == sorted(proper)


@pytest.mark.parametrize(
    ("name", "inverse"),
    [("before", "after"), ("meets", "met_by"), ("overlaps", "overlapped_by"),
     ("starts", "started_by"), ("during", "contains"), ("finishes", "finished_by"),
     ("equals", "equals"), ("par", "par"), ("intersects", "intersects")],
)  # fmt: skip
def test_inverses_mirror_each_other(name: str, inverse: str) -> None:
    assert holding(inverse) == {(q, p) for p, q in holding(name)}


def test_a_point_inside_an_interval_is_during_it() -> None:
    assert ((2, 2), (1, 3)) in holding("during")


def test_intervals_that_intersect_have_an_instant_in_common() -> None:
    expected = {(p, q) for p, q in PAIRS if set(range(p[0], p[1] + 1)) & set(range(q[0], q[1] + 1))}
    assert holding("intersects") == expected


def test_par_needs_a_common_stretch_of_time() -> None:
    expected = {(p, q) for p, q in PAIRS if max(p[0], q[0]) < min(p[1], q[1])}
    assert holding("par") == expected


# --- extremes -------------------------------------------------------------------------------------


def test_the_latest_of_some_times_is_no_farther_than_the_farthest_of_them() -> None:
    nodes = [Epoch(), EndPoint(0, "start"), EndPoint(1, "start"), Extreme("latest", (1, 2))]
    asked = [Constraint(1, 3, 0), Constraint(2, 3, 0), Constraint(1, 0, 7), Constraint(2, 0, 9)]
    assert not close(asked).bounded(3, 0)
    assert close_with_extremes(close(asked), nodes)[3, 0] == 9


def test_the_earliest_of_some_times_is_no_farther_back_than_the_farthest_of_them() -> None:
    nodes = [Epoch(), EndPoint(0, "start"), EndPoint(1, "start"), Extreme("earliest", (1, 2))]
    asked = [Constraint(3, 1, 0), Constraint(3, 2, 0), Constraint(0, 1, -7), Constraint(0, 2, -9)]
    assert close_with_extremes(close(asked), nodes)[0, 3] == -7


@given(st.lists(constraints, max_size=5), st.sampled_from(["earliest", "latest"]))
def test_bounds_with_extremes_hold_of_every_solution(asked: list[Constraint], which: str) -> None:
    """Node 4 is the extreme of nodes 1 and 2; what is implied never cuts off a solution."""
    nodes = [Epoch(), *(EndPoint(i, "start") for i in range(3)), Extreme(which, (1, 2))]
    ties = [(4, 1), (4, 2)] if which == "earliest" else [(1, 4), (2, 4)]
    closed = close_with_extremes(close([*asked, *(Constraint(x, y, 0) for x, y in ties)]), nodes)
    found = solutions(asked)
    assert closed.satisfiable or len(found) == 0
    pick = np.minimum if which == "earliest" else np.maximum
    times = np.column_stack([found, pick(found[:, 1], found[:, 2])])
    for later, earlier in product(range(5), repeat=2):
        if len(found) and closed.bounded(later, earlier):
            assert (times[:, later] - times[:, earlier]).max() <= closed[later, earlier]


def test_bounds_of_many_points_at_once_are_those_of_each_pair() -> None:
    bounds = close([Constraint(0, 1, -1), Constraint(2, 0, 10), Constraint(4, 2, -3)])
    for node in (0, 2, 7):
        for others in ((1, 4), (7,), (9, 1), (), (1, 4) * 9, (9, 1) * 9, (9,) * 9, (7, 9) * 9):
            widths = [bounds[node, k] + bounds[k, node] for k in others]
            assert bounds.width(node, others) == min(widths, default=2 * UNBOUNDED)
