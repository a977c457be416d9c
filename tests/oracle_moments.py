"""The relations of intervals, semantic windows and operators over moments, in the oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from oracle_history import Interval
from oracle_patterns import Scope, found_beside, interval

from thence.logic.ops import Moments, Timer


def timer(timer: Timer, of: Interval | None, scope: Scope) -> Interval | None:
    if of is None:
        return None
    start = getattr(of, timer.start_anchor) + timer.start_shift
    end = getattr(of, timer.end_anchor) + timer.end_shift
    scope.gates.append(end)
    return Interval(start, end) if start <= end else None


def allen(relation: str, a: Interval, b: Interval) -> bool:
    """Relations of intervals; seven as the papers give them, six with the sides exchanged."""
    inverse = {
        "after": "before",
        "met_by": "meets",
        "contains": "during",
        "started_by": "starts",
        "finished_by": "finishes",
        "overlapped_by": "overlaps",
    }
    if relation in inverse:
        return allen(inverse[relation], b, a)
    return {
        "equals": a.start == b.start and a.end == b.end,
        "before": a.end < b.start,
        "meets": a.end == b.start,
        "during": b.start < a.start and a.end < b.end,
        "starts": a.start == b.start and a.end < b.end,
        "finishes": b.start < a.start and a.end == b.end,
        "overlaps": a.start < b.start < a.end < b.end,
        "intersects": a.start <= b.end and b.start <= a.end,
    }[relation]


def moment(pattern: Moments, scope: Scope) -> int | None:
    """The point at which a semantic window, or an operator of SNOOP or COMPOSE, occurs, as paper 0
    writes each down."""
    if pattern.operator == "relative":
        return relative(pattern, scope)
    ats = [interval(part, scope) for part in pattern.parts]
    if None in ats:
        return None
    times = [at.end for at in ats]
    t1, t, d = times[0], times[-1], pattern.limit
    at = t1 + d if pattern.operator == "notfollows" else t

    def absent(which: int, first: int, last: int) -> bool:
        scope.gates.append(at)
        if scope.history.unseen(pattern.absent[which], first, last):
            return False
        found = found_beside(pattern.absent[which], scope)
        return not any(first <= one.end <= last for _, _, one in found)

    match pattern.operator:
        case "follows":  # t is that of the second
            return t if t1 < t <= t1 + d else None
        case "precedes":
            return t1 if t1 - d <= t < t1 else None
        case "notfollows":
            return at if absent(0, t1 + 1, at) else None
        case "notprecedes":
            return t1 if absent(0, t1 - d, t1 - 1) else None
        case "both":
            return max(t1, t) if abs(t1 - t) <= d else None
        case "then":  # (E1; E2)(t): E1(t1), E2(t), t1 <= t
            holds = all(a <= b for a, b in pairwise(times))
        case "prior":  # F after E
            holds = all(a < b for a, b in pairwise(times))
        case (
            "relative+"
        ):  # of what only adds to what occurs, each relative^i(E) occurs where E does
            holds = True
        case "simultaneous":  # E and F at one time
            holds = len(set(times)) == 1
        case "immediately":  # F after E, and nothing in between
            holds = t1 < t and absent(0, t1 + 1, t - 1)
        case "other_than":  # an event, and no E at its time
            holds = absent(0, t, t)
        case "aperiodic":  # A(E1, E2, E3)(t): t1 <= t, and no E3 with t1 <= t2 < t
            holds = t1 <= t and absent(0, t1, t - 1)
        case "aperiodic*":  # A*(E1, E2, E3)(t): t1 <= t, over all E2 from t1 to t
            holds = t1 <= t
            scope.gates.append(t)
            found = found_beside(pattern.collected[0], scope)
            holds = holds and not scope.history.unseen(pattern.collected[0], t1, t)
            scope.collected[pattern] = [one for one in found if t1 <= one[2].end <= t]
        case "without":  # E3(t), no E2 at t; and neither E2 nor E3 with t1 <= t2 < t
            holds = t1 <= t and absent(0, t1, t) and absent(1, t1, t - 1)
        case "periodic*":  # P*(E1, [T], E2)(t): t1 + T <= t
            holds = t1 + d <= t
        case other:
            raise AssertionError(other)
    return t if holds else None


def relative(pattern: Moments, scope: Scope) -> int | None:
    """relative(E, F)[h], the union of F[hi], where hi is h without all up to the ith E."""
    first, *rest = pattern.parts
    at = interval(first, scope)
    for part in rest:
        if at is None:
            return None
        ended = at.end
        at = interval(part, replace(scope, history=scope.history.after(ended)))
        if at is not None and not at.start > ended:
            return None
    return None if at is None else at.end
