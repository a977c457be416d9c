"""Sequences with repetitions in them, and strict ones: what they add to the body of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from thence.logic.bounds import Constraint
from thence.logic.changes import changed
from thence.logic.conjunct import Column, NodeTime
from thence.logic.expr import Attr, Call, Const, Expr, Var, leaves
from thence.logic.ops import Atom, Label, Pattern, Repeat, Seq, Until, Where, Within
from thence.logic.optional import without_value
from thence.logic.pieces import Interval, Repeated
from thence.logic.repetition import Element, element_of
from thence.logic.scope import positive_variables
from thence.model.errors import CheckError
from thence.model.source import Span

if TYPE_CHECKING:
    from thence.logic.body import Body


def in_sequence(body: Body, parts: Sequence[Pattern], span: Span) -> list[Interval]:
    """The intervals of a sequence, with the repetitions in it.

    A repetition between two other patterns needs no event of the match: it is what lies between
    them. At an end of the sequence, or beside another one, its first or last one is a part of the
    match, since a bound can be told only of such.
    """
    parts = [part for outer in parts for part in _flat(outer)]
    if not body.rule.policy.strict and not any(isinstance(part, Repeat) for part in parts):
        plain = [body.visit(part) for part in parts]
        body.points.sequence(plain, span)
        return plain
    found: dict[int, Interval] = {}
    records: dict[int, Repeated] = {}
    for place, part in enumerate(parts):
        if not isinstance(part, Repeat):
            found[place] = body.visit(part)
            continue
        before = parts[place - 1] if place else None
        after = parts[place + 1] if place + 1 < len(parts) else None
        first = before is None or isinstance(before, Repeat) or body.rule.policy.strict
        last = after is None or isinstance(after, Repeat) or body.rule.policy.strict
        if not first and not last and _binds(body, part):
            first = True
        if first or last:
            found[place] = anchored(body, part, first, last, leading=before is None)
        else:
            _element(body, part)
            body.repeated.append(Repeated(part, (), (), None, None, False, len(body.atoms)))
        records[place] = body.repeated[-1]
    places = sorted(found)
    for place, record in records.items():
        record.left = next((found[p][1] for p in reversed(places) if p < place), ())
        record.right = next((found[p][0] for p in places if p > place), ())
        if record.pattern.least == 0 and (record.first is not None or record.last is not None):
            raise _cannot_be_empty(body, record.pattern)
    if body.rule.policy.strict:
        for one, other in pairwise(places):
            _nothing_between(body, (parts[one], found[one]), (parts[other], found[other]), span)
    intervals = [found[place] for place in places]
    body.points.sequence(intervals, span)
    return intervals


def closed_by(body: Body, pattern: Until) -> list[Interval]:
    """``p until c``: a sequence, and nothing else like its last part since it began."""
    intervals = in_sequence(body, [pattern.pattern, pattern.closing], pattern.span)
    opens = body.points.single("earliest", intervals[0][0], pattern.span)
    another = renamed(pattern.another or pattern.closing, body.joining)
    body.absent_between(another, (opens,), intervals[-1][0], pattern.span)
    return intervals


def _flat(pattern: Pattern) -> Iterable[Pattern]:
    return [p for q in pattern.parts for p in _flat(q)] if isinstance(pattern, Seq) else [pattern]


def anchored(body: Body, repeat: Repeat, first: bool, last: bool, leading: bool) -> Interval:
    """A repetition whose first, or last, or both are events of the match."""
    if repeat.least == 0 and leading and first and last:
        raise _cannot_be_empty(body, repeat)
    place = len(body.atoms)
    ends = [_anchor(body, repeat) if requested else None for requested in (first, last)]
    record = Repeated(repeat, (), (), ends[0], ends[1], leading, place)
    body.repeated.append(record)
    uses = [body.atoms[atom] for atom in ends if atom is not None]
    if len(uses) == 2:
        one, other = uses
        body.points.constraints.append(Constraint(one.start, other.start, 0, repeat.span))
        body.points.constraints.append(Constraint(one.end, other.end, 0, repeat.span))
        if repeat.least > 1:
            body.points.constraints.append(Constraint(one.end, other.start, -1, repeat.span))
    return (uses[0].start,), (uses[-1].end,)


def _cannot_be_empty(body: Body, repeat: Repeat) -> CheckError:
    """The refusal of a repetition that may be empty where that cannot be (``optional.py``)."""
    hint = "write + for at least one, or two rules: one with it and one without"
    missing = sorted(without_value(repeat, body.rule, body.rule.body))
    policy = body.rule.policy
    if policy.greedy or policy.chooses:
        what = (
            "with this policy a repetition that may be empty needs an event before it and one after"
        )
        return body.refuse(repeat.span, what, hint)
    if missing:
        what = f"'{missing[0]}' has no value if this repetition is empty"
        return body.refuse(repeat.span, what, "bind it in another event, or " + hint)
    what = "a repetition that may be empty needs another event in its sequence"
    return body.refuse(repeat.span, what, hint)


def _anchor(body: Body, repeat: Repeat) -> int:
    """One repetition as an event of the match, with the conditions that each one has."""
    element = _element(body, repeat)
    shown = tuple(pair for pair in element.atom.args if _is_shared(pair[1], body))
    atom = body.atom(replace(element.atom, args=shown), element.label)
    use = body.atoms[atom]
    local, conditions = local_names(body, element, atom, use.start, use.end)
    body.variables.deferred.append(([*conditions, *element.conditions], local))
    if element.limit is not None:
        body.points.constraints.append(Constraint(use.end, use.start, element.limit, repeat.span))
    return atom


def _is_shared(argument: Expr, body: Body) -> bool:
    return isinstance(argument, Var) and argument.name in body.shared


def _binds(body: Body, repeat: Repeat) -> bool:
    """Whether a repetition is what binds a variable of the match."""
    element = _element(body, repeat)
    own = {arg.name for _, arg in element.atom.args if isinstance(arg, Var)} & body.shared
    return bool(own - set(positive_variables(body.rule.body)))


def _element(body: Body, repeat: Repeat) -> Element:
    """The event that is repeated; larger patterns have become events by now (``plan/lowering``)."""
    element = element_of(repeat)
    assert element is not None
    if body.is_table(element.atom.event):
        raise body.refuse(
            repeat.span,
            f"'{element.atom.event}' is a table: its rows are true at all times, and not one after "
            "another",
            "repeat an event, and look up each one's row with a shared variable",
        )
    return element


def local_names(
    body: Body, element: Element, atom: int, start: int, end: int
) -> tuple[dict[str, Expr], list[Expr]]:
    """What the names of one repetition stand for, and the conditions that its arguments make."""
    local: dict[str, Expr] = {}
    conditions: list[Expr] = []
    for name, argument in element.atom.args:
        column = Column(atom, name)
        if not isinstance(argument, Var):
            conditions.append(Call("=", (column, argument), element.atom.span))
        elif argument.name in body.shared:
            continue
        elif argument.name in local:
            conditions.append(Call("=", (local[argument.name], column), element.atom.span))
        else:
            local[argument.name] = column
    for leaf in (leaf for condition in element.conditions for leaf in leaves(condition)):
        if isinstance(leaf, Attr) and leaf.label == element.label:
            local[f"{leaf.label}.{leaf.name}"] = Column(atom, leaf.name)
    if element.label is not None:
        local[f"{element.label}.start"] = NodeTime(start)
        local[f"{element.label}.end"] = NodeTime(end)
    return local, conditions


def _nothing_between(
    body: Body, one: tuple[Pattern, Interval], other: tuple[Pattern, Interval], span: Span
) -> None:
    """That no other event of the kind of either of two neighbours lies between them."""
    _, opening = one[1]
    closing, _ = other[1]
    for kind in dict.fromkeys(kind_of(part, body) for part, _ in (one, other)):
        if kind is not None:
            body.absent_between(kind, opening, closing, span)


def renamed(pattern: Pattern, kept: frozenset[str]) -> Pattern:
    """A pattern as another of its kind: the variables that are only its own are other ones."""

    def other(node: Any) -> Any:
        own = isinstance(node, Var) and node.name not in kept
        return replace(node, name=f"{node.name}'") if own else node

    found: Pattern = changed(pattern, other)
    return found


def kind_of(pattern: Pattern, body: Body) -> Atom | None:
    """The atom that stands for all events of a part's kind: with its constants, and with those of
    its variables that other parts have too."""
    while not isinstance(pattern, Atom):
        if not isinstance(pattern, (Label, Where, Within, Repeat)):
            return None
        pattern = pattern.pattern
    if body.is_table(pattern.event):
        return None
    often = body.joining
    return replace(
        pattern,
        args=tuple(
            (name, argument)
            for name, argument in pattern.args
            if isinstance(argument, Const) or (isinstance(argument, Var) and argument.name in often)
        ),
    )
