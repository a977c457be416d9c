"""What lies in a window, ``while w: …`` and ``over … of l: …``: the windows' part of the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle_history import INFINITY, Interval
from oracle_patterns import Scope, bare, found_beside, inside, walk_asserted
from oracle_values import order

from thence.logic.expr import Var, variables
from thence.logic.ops import Atom, Pattern, Where, While


def judged(part: While, scope: Scope) -> bool:
    """Whether ``while w: not p`` or ``while w: collect p`` holds."""
    if not scope.asking:
        return True
    window = scope.place(part.window)
    if window is None:
        return False
    scope.gates.append(window.end)
    found = found_beside(part.pattern, scope)
    first = window.start + 1
    if part.over:
        first = -INFINITY if part.reach is None else window.end - part.reach
    if scope.history.unseen(part.pattern, first, window.end if part.over else window.end - 1):
        return False
    if part.over:
        found = [(s, p, at) for s, p, at in found if ends_in(at, window.end, part.reach)]
        found = last_of(found, part, scope)
    else:
        found = [(s, p, at) for s, p, at in found if inside(at, *window)]
    if part.mode == "not":
        return not found
    scope.collected[part] = found
    return bool(found)


def ends_in(at: Interval, end: int, reach: int | None) -> bool:
    """Whether something ends up to a time, so long before it at most."""
    return at.end <= end and (reach is None or end - reach <= at.end)


Found = tuple[Scope, Pattern, Interval]


def last_of(found: list[Found], part: While, outer: Scope) -> list[Found]:
    """Of what is collected, the last events by end, start and attributes; all ways to each."""
    if part.rows is None:
        return found

    def event(one: Found) -> tuple[Any, ...]:
        scope, chosen, at = one
        return at.end, at.start, order(identity(part.pattern, chosen, scope, outer))

    last = sorted(set(map(event, found)))[-part.rows :]
    return [one for one in found if event(one) in last]


def identity(pattern: Pattern, chosen: Pattern, inner: Scope, outer: Scope) -> tuple[Any, ...]:
    """What tells collected events of one interval apart: the attributes of a simple event, the
    variables of a compound one (null where the branch taken leaves one unbound)."""
    if isinstance(bare(pattern), Atom):
        return bare(chosen).event.values
    names = dict.fromkeys(own_variables(pattern, outer))
    return tuple(inner.variables.get(name) for name in names)


def own_variables(pattern: Pattern, outer: Scope) -> Iterator[str]:
    """The variables that a pattern binds, by arguments or by definitions, in order."""
    for node in walk_asserted(pattern):
        if isinstance(node, Atom):
            yield from (term.name for _, term in node.args if isinstance(term, Var))
        elif isinstance(node, Where):
            yield from sorted(variables(node.condition) - outer.variables.keys())
