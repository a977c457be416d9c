"""Selections pushed down: under which conditions on one event alone a rule can use it at all.

An event that meets none of the alternatives in which rules look at its type takes part in nothing,
now or later. So it need not be remembered, nor, on Spark, come into Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from thence.logic.conjunct import Column, EndPoint, NodeTime
from thence.logic.expr import Call, Const, Expr, TimeOf
from thence.model.types import DURATION
from thence.plan.prepared import Prepared

Alternatives = tuple[tuple[Expr, ...], ...]
"""Ways in which an event may be of use, each with conditions that must all hold."""

EVERY_ROW: Alternatives = ((),)
_MOST_ALTERNATIVES = 64
"""Beyond this many ways in which a row may be needed, looking at each costs more than it saves."""


def needed_rows(rules: Iterable[Prepared]) -> Mapping[str, Alternatives]:
    """The conditions on one event alone under which some rule can use it, by event."""
    found: dict[str, dict[tuple[Expr, ...], None]] = {}
    for rule in rules:
        for atom, use in enumerate(rule.uses):
            found.setdefault(use.event, {})[conditions_on(rule, atom)] = None
    return {
        event: EVERY_ROW if () in ways or len(ways) > _MOST_ALTERNATIVES else tuple(ways)
        for event, ways in found.items()
    }


def conditions_on(rule: Prepared, atom: int) -> tuple[Expr, ...]:
    """The conditions of a rule on an atom alone, as conditions on one event."""
    rewritten = [_of_one_event(rule, predicate) for predicate in rule.own_predicates(atom)]
    return tuple(predicate for predicate in rewritten if predicate is not None)


def _of_one_event(rule: Prepared, expr: Expr) -> Expr | None:
    """A condition in terms of the event alone; None where it cannot be said so."""
    match expr:
        case Column(_, name):
            return Column(0, name)
        case NodeTime(node):
            base, offset = rule.base(node)
            point = rule.conjunct.nodes[base]
            if not isinstance(point, EndPoint):
                return None
            time = TimeOf("", point.which)
            return time if offset == 0 else Call("+", (time, Const(offset, DURATION)))
        case Call(function, args):
            rewritten = [_of_one_event(rule, arg) for arg in args]
            known = tuple(arg for arg in rewritten if arg is not None)
            return Call(function, known) if len(known) == len(args) else None
    return expr
