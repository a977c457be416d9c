"""Patterns that are judged by themselves: the oracle of ``(p using …)`` and ``periodic``.

What stands around such a pattern does not matter for it. Each of its occurrences is an event, with
the pattern's variables as its attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

from oracle_patterns import History, Interval, Scope, found_beside, occurrences

from thence.logic.ops import Pattern, Rule, Using

Found = Iterator[tuple[Scope, Pattern, Interval]]


def by_itself(pattern: Pattern, history: History) -> Found:
    """The occurrences of a pattern whatever stands around it, as far as they are known."""
    if history.horizon is None:
        return
    if isinstance(pattern, Using):
        from oracle import counting  # each asks the other

        rule = Rule("#", (), pattern.pattern, policy=pattern.policy)
        yield from (match for together in counting(rule, history) for match in together)
        return
    (closing,) = pattern.absent
    for scope, chosen, at in known(pattern.parts[0], history):
        ends = [found.end for _, _, found in found_beside(closing, scope) if found.end >= at.end]
        # P(E1, [T], E2)(t): no E2 with t1 <= t2 < t, and t = t1 + i * T
        last = min([history.horizon, *ends])
        for time in range(at.end + pattern.limit, last + 1, pattern.limit):
            yield scope, chosen, Interval(time, time)


def known(pattern: Pattern, history: History) -> Found:
    """The occurrences of a pattern none of whose gates lies after the horizon."""
    for scope, chosen, at in occurrences(pattern, Scope(history)):
        if all(gate <= history.horizon for gate in scope.gates):
            yield scope, chosen, at
