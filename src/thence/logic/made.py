"""What a pattern is made of, and in which history: bounds on the events behind an occurrence.

An operator over moments occurs at an instant, which does not tell when the events began that it is
made of. ``within`` limits all of these, and what follows in ``relative`` begins with none of them
earlier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from thence.logic.bounds import Constraint, less
from thence.logic.conjunct import Column, NodeTime
from thence.logic.expr import Call, Const, Expr
from thence.logic.history import CONTEXT, MADE, has_instants
from thence.logic.ops import Label, Pattern, Ref, Within
from thence.logic.pieces import Context, Interval, Made, Nodes, union
from thence.logic.scope import positive_parts
from thence.model.source import Span
from thence.model.types import DURATION

if TYPE_CHECKING:
    from thence.logic.body import Body


Mark = tuple[int, int, int]


def mark_of(body: Body) -> Mark:
    """How many atoms, windows and instants of clocks there are by now."""
    return len(body.atoms), len(body.windows), len(body.points.instants)


def made_by(body: Body, pattern: Pattern, mark: Mark) -> Made:
    """What a pattern has made since a mark, and what its labels had made before; without what
    it only refers to."""
    own = {part.name for part in positive_parts(pattern) if isinstance(part, Label)}
    made = Made(*(frozenset(range(*ends)) for ends in zip(mark, mark_of(body), strict=True)))
    for name in body.made.keys() - own:
        made -= body.made[name]
    for name in body.made.keys() & own:
        made |= body.made[name]
    return made


def starts_of(body: Body, made: Made) -> Nodes:
    """Where the events begin that a pattern is made of."""
    uses = (body.atoms[atom] for atom in sorted(made.atoms))
    return tuple(use.start for use in uses if not use.fact and not use.silent)


def following(body: Body, pattern: Pattern, context: Context, span: Span) -> Interval:
    """A pattern in the history that begins after something: nothing that it is made of, and
    nothing that must be absent for it, begins earlier."""
    mark = mark_of(body)
    starts, ends = body.visit(pattern)
    made = made_by(body, pattern, mark)
    referred = [part.label for part in positive_parts(pattern) if isinstance(part, Ref)]
    nodes = union([starts, starts_of(body, made), *(body.labels[name][0] for name in referred)])
    body.points.constraints += [less(e, s, 0, span) for s in nodes for e in context.ends]
    for atom in sorted(made.atoms - body.placed):
        use = body.atoms[atom]
        if not use.silent and body.has_column(use.event, CONTEXT):
            body.placed.add(atom)
            begins = NodeTime(body.points.single("latest", context.ends, span))
            body.variables.conditions.append(Call("=", (Column(atom, CONTEXT), begins)))
    for number in made.windows:
        window = body.windows[number]
        if window.context is None and not window.silent:
            body.windows[number] = replace(window, context=context)
    return starts, ends


def limited(body: Body, pattern: Within) -> Interval:
    """``p within d``: from the first start of all that it is made of."""
    span, limit, mark = pattern.span, pattern.limit, mark_of(body)
    starts, ends = body.visit(pattern.pattern)
    earlier, columns = beginnings(body, pattern.pattern, mark)
    end = NodeTime(body.points.single("latest", ends, span)) if columns else None
    body.variables.conditions += [
        Call("<=", (Call("-", (end, column)), Const(limit, DURATION)), span)
        for column in columns
        if end is not None
    ]
    first = union([starts, earlier])
    body.points.constraints += [Constraint(e, s, limit, span) for e in ends for s in first]
    return starts, ends


def beginnings(body: Body, pattern: Pattern, mark: Mark) -> tuple[Nodes, list[Column]]:
    """When what a pattern is made of begins, where its own interval may not tell: nodes, and
    columns of events that are made of more than they last."""
    referred = [part.label for part in positive_parts(pattern) if isinstance(part, Ref)]
    made = made_by(body, pattern, mark)
    for name in referred:
        made |= body.made[name]
    whole = [pattern, *(body.definitions[name] for name in referred)]
    made -= Made(frozenset(body.clocked))
    nodes: Nodes = ()
    if any(map(has_instants, whole)):
        instants = (body.points.instants[each] for each in sorted(made.instants))
        nodes = (*starts_of(body, made), *instants)
    columns = [
        Column(atom, MADE)
        for atom in sorted(made.atoms)
        if body.has_column(body.atoms[atom].event, MADE)
    ]
    return nodes, columns


def beginning(body: Body, label: str, start: int, span: Span) -> Expr:
    """When the first of the events began that something labelled is made of."""
    nodes, columns = beginnings(body, body.definitions[label], mark_of(body))
    first = NodeTime(body.points.single("earliest", union([(start,), nodes]), span))
    return Call("least", (first, *columns)) if columns else first
