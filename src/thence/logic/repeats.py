"""The windows that hold the repetitions of a match.

What can be a repetition is searched for like whatever else lies in a window; how one repetition
follows another is said beside it (:class:`~thence.logic.conjunct.Repetition`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thence.logic.body import Body
from thence.logic.bounds import Bounds, Constraint, less
from thence.logic.conjunct import Column, Extreme, NodeTime, Repetition, Shifted, WindowUse
from thence.logic.expr import PREVIOUS, Attr, Call, Const, Expr, TimeOf, Var
from thence.logic.pieces import Repeated
from thence.logic.repetition import Element, element_of
from thence.model.errors import CheckError
from thence.model.types import DURATION


def repetition_uses(
    body: Body,
    record: Repeated,
    columns: Sequence[str],
    bounds: Bounds,
    collected: dict[str, Expr],
) -> list[WindowUse]:
    """The window of a repetition, with its bounds still open; and one for the repetition before,
    where a condition reads it. ``columns`` are the attributes of the repeated event. What the
    head's aggregates can read is added to ``collected``.
    """
    element = element_of(record.pattern)
    assert element is not None
    strict, greedy = body.rule.policy.strict, body.rule.policy.greedy
    use, local, own = _searched(body, record, element, columns, bounds)
    collected.update(local)
    predicates, constraints = list(use.predicates), list(use.constraints)
    tested: list[Expr] = []
    if strict:
        # What does not fulfil them is of the kind all the same, and lies in between.
        tested = own + [body.variables.rewrite(each, local) for each in element.conditions]
    else:
        more, found = body.variables.split([*own, *element.conditions], local, local)
        constraints += more
        predicates += found
    before: WindowUse | None = None
    linked: list[Expr] = []
    if element.linked:
        before, earlier, _ = _searched(body, record, element, columns, bounds)
        before = replace(before, mode="previous")
        linked = [body.variables.rewrite(_linked(c, earlier), local) for c in element.linked]
    repetition = Repetition(
        record.pattern.least,
        record.pattern.most,
        greedy,
        strict,
        record.leading,
        record.place,
        record.first,
        record.last,
        None if before is None else before.atom,
        tuple(tested),
        tuple(linked),
    )
    found_use = replace(
        use,
        mode="repeat",
        constraints=tuple(constraints),
        predicates=tuple(predicates),
        repetition=repetition,
    )
    return [found_use] if before is None else [found_use, before]


def _searched(
    body: Body, record: Repeated, element: Element, columns: Sequence[str], bounds: Bounds
) -> tuple[WindowUse, dict[str, Expr], list[Expr]]:
    """One more atom for what is repeated, placed where repetitions may lie; what the names of a
    repetition stand for; and what its arguments and its length must fulfil, beyond what makes the
    event one of its kind."""
    index = len(body.atoms)
    use = body.use(element.atom.event, element.label, index, element.atom.span)
    body.atoms.append(use)
    local: dict[str, Expr] = {}
    if element.label is not None:
        local |= {f"{element.label}.{name}": Column(index, name) for name in columns}
        local[f"{element.label}.start"] = NodeTime(use.start)
        local[f"{element.label}.end"] = NodeTime(use.end)
    links: list[tuple[str, Expr]] = []
    arguments: list[tuple[Column, Expr]] = []
    for name, argument in element.atom.args:
        column = Column(index, name)
        if isinstance(argument, Var) and argument.name in body.shared:
            links.append((name, body.variables.rewrite(argument, {})))
        elif isinstance(argument, Var) and argument.name not in local:
            local[argument.name] = column
        else:
            arguments.append((column, argument))
    kind: list[Expr] = []
    own: list[Expr] = []
    for column, argument in arguments:
        equal = Call("=", (column, body.variables.rewrite(argument, local)), element.atom.span)
        (kind if isinstance(argument, Const) else own).append(equal)
    if element.limit is not None:
        length = Call("-", (NodeTime(use.end), NodeTime(use.start)))
        own.append(Call("<=", (length, Const(element.limit, DURATION)), record.pattern.span))
    constraints = [Constraint(use.start, use.end, 0), *_placed(body, record, use.start, use.end)]
    empty = WindowUse(index, "repeat", tuple(constraints), tuple(links), tuple(kind), bounds)
    return empty, local, own


def _placed(body: Body, record: Repeated, start: int, end: int) -> list[Constraint]:
    """Where repetitions may lie: between their neighbours, and from the first to the last."""
    span = record.pattern.span
    found = [less(node, start, 0, span) for node in record.left]
    found += [less(end, node, 0, span) for node in record.right]
    if record.first is not None:
        found.append(Constraint(body.atoms[record.first].start, start, 0, span))
    if record.last is not None:
        found.append(Constraint(end, body.atoms[record.last].end, 0, span))
    return found


def _outward(body: Body, node: int, which: str, inner: int) -> Iterable[Constraint]:
    """What limits how far out an end of the match may lie."""
    same = {node, inner}
    for index, other in enumerate(body.points.nodes):
        if isinstance(other, Extreme) and other.which == which and node in other.nodes:
            same.add(index)
        if isinstance(other, Shifted) and other.node in same:
            same.add(index)
    for constraint in list(body.points.constraints):
        near, far = constraint.later, constraint.earlier
        if which == "earliest":
            near, far = far, near
        if near in same - {inner} and far not in same:
            yield constraint


def is_over(body: Body, record: Repeated, bounds: Bounds, end: int) -> bool:
    """Whether a repetition can get no longer once its match has ended."""
    if not body.rule.policy.greedy or record.last is None or record.right:
        return True
    last = body.atoms[record.last]
    return any(
        bounds[limit.earlier, end] + limit.limit <= 0
        for limit in _outward(body, last.end, "latest", last.start)
    )


def too_late(body: Body, record: Repeated) -> CheckError:
    """The refusal of a greedy repetition that is known to be over only after its match."""
    return body.refuse(
        record.pattern.span,
        "a greedy repetition at the end of a pattern is known to be over only when more time has "
        "passed than the pattern takes",
        "let an event follow it (… seq c, … until c), or a window end with the match "
        "(w: extend(a, 10 s), … during w)",
    )


def _linked(condition: Expr, earlier: dict[str, Expr]) -> Expr:
    """A condition with what it reads of the repetition before already looked up."""
    match condition:
        case Call(function, (argument,)) if function == PREVIOUS:
            return _looked_up(argument, earlier)
        case Call(_, args):
            return replace(condition, args=tuple(_linked(arg, earlier) for arg in args))
    return condition


def _looked_up(expr: Expr, local: dict[str, Expr]) -> Expr:
    match expr:
        case Var(name):
            return local.get(name, expr)
        case Attr(label, name) | TimeOf(label, name):
            return local.get(f"{label}.{name}", expr)
        case Call(_, args):
            return replace(expr, args=tuple(_looked_up(arg, local) for arg in args))
    return expr
