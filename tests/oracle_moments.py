"""The relations of intervals, semantic windows and operators over moments, in the oracle."""

from __future__ import annotations

from itertools import pairwise

from oracle_patterns import Interval, Scope, found_beside, interval

from thence.logic.ops import Moments, Pattern, Timer


def timer(timer: Timer, of: Interval | None, scope: Scope) -> Interval | None:
    if of is None:
        return None
    start = getattr(of, timer.start_anchor) + timer.start_shift
    end = getattr(of, timer.end_anchor) + timer.end_shift
    scope.gates.append(end)
    return Interval(start, end) if start <= end else None


def allen(relation: str, a: Interval, b: Interval) -> bool:
    """The thirteen relations; seven as the papers give them, six with the sides exchanged."""
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
    }[relation]


def semantic_window(
    operator: str, left: Pattern, right: Pattern, d: int, scope: Scope
) -> int | None:
    """The point at which a window operator of paper 0 occurs; ``t`` is the end of an occurrence."""
    at1 = interval(left, scope)
    if at1 is None:
        return None
    t1 = at1.end
    if operator == "notfollows":
        scope.gates.append(t1 + d)
        found = any(t1 < at.end <= t1 + d for _, _, at in found_beside(right, scope))
        return None if found else t1 + d
    if operator == "notprecedes":
        scope.gates.append(t1)
        found = any(t1 - d <= at.end < t1 for _, _, at in found_beside(right, scope))
        return None if found else t1
    at2 = interval(right, scope)
    if at2 is None:
        return None
    t2 = at2.end
    if operator == "follows":
        return t2 if t1 < t2 <= t1 + d else None
    if operator == "precedes":
        return t1 if t1 - d <= t2 < t1 else None
    assert operator == "both"
    return max(t1, t2) if abs(t1 - t2) <= d else None


def moment(pattern: Moments, scope: Scope) -> int | None:
    """The point at which an operator of SNOOP or COMPOSE occurs, as paper 0 writes each down."""
    ats = [interval(part, scope) for part in pattern.parts]
    if None in ats:
        return None
    times = [at.end for at in ats]
    t1, t = times[0], times[-1]

    def absent(which: int, first: int, last: int) -> bool:
        scope.gates.append(t)
        found = found_beside(pattern.absent[which], scope)
        return not any(first <= at.end <= last for _, _, at in found)

    match pattern.operator:
        case "then":  # (E1; E2)(t): E1(t1), E2(t), t1 <= t
            holds = all(a <= b for a, b in pairwise(times))
        case "prior":  # F after E
            holds = all(a < b for a, b in pairwise(times))
        case "relative+":  # the union of all relative^i(E): E is one of them, and all end with an E
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
            scope.collected[pattern] = [one for one in found if t1 <= one[2].end <= t]
        case "without":  # E3(t), no E2 at t; and neither E2 nor E3 with t1 <= t2 < t
            holds = t1 <= t and absent(0, t1, t) and absent(1, t1, t - 1)
        case "periodic*":  # P*(E1, [T], E2)(t): t1 + T <= t
            holds = t1 + pattern.limit <= t
        case other:
            raise AssertionError(other)
    return t if holds else None
