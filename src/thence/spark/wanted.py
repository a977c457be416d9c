"""What a program wants of its input events: columns, and rows that some rule can use at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from thence.engine.prepared import Prepared
from thence.engine.program import Compiled, Part
from thence.logic.conjunct import Column, EndPoint, NodeTime
from thence.logic.expr import Call, Const, Expr, TimeOf
from thence.model.types import DURATION
from thence.spark.frames import Wanted

Alternatives = tuple[tuple[Expr, ...], ...]

EVERY_ROW: Alternatives = ((),)
_MOST_ALTERNATIVES = 64
"""Beyond this many ways in which a row may be needed, looking at each costs more than it saves."""


def wanted(
    compiled: Compiled, part: Part, whole: bool, instants: Iterable[str] = ()
) -> tuple[Wanted, ...]:
    """For each declared event, what the rules of a part need of it. With ``whole``, all columns."""
    columns = part.columns
    rows = needed_rows(part)
    strict = frozenset(instants)
    return tuple(
        Wanted(
            schema,
            tuple(n for n in schema.names if whole or n in columns.get(schema.name, ()))
            if schema.name in columns
            else (),
            rows.get(schema.name, ()),
            schema.name in strict,
        )
        for schema in compiled.checked.program.events
    )


def needed_rows(part: Part) -> Mapping[str, Alternatives]:
    """The conditions on one event alone under which some rule can use it, by event."""
    found: dict[str, dict[tuple[Expr, ...], None]] = {}
    for rule in part.prepared:
        for atom, use in enumerate(rule.uses):
            found.setdefault(use.event, {})[_conditions(rule, atom)] = None
    return {
        event: EVERY_ROW if () in ways or len(ways) > _MOST_ALTERNATIVES else tuple(ways)
        for event, ways in found.items()
    }


def _conditions(rule: Prepared, atom: int) -> tuple[Expr, ...]:
    window = next((w for w in rule.conjunct.windows if w.atom == atom), None)
    if window is None:
        predicates = rule.local.get(atom, [])
    else:
        predicates = [p for p in window.predicates if rule.atoms_of(rule.reads(p)) == {atom}]
    rewritten = [_of_one_event(rule, predicate) for predicate in predicates]
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
