"""Rules over one event are read from its rows, which many of them have sorted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from thence.logic.bounds import Constraint
from thence.logic.conjunct import Column, Conjunct
from thence.logic.expr import Call, Const, Expr
from thence.model.types import DURATION
from thence.plan.prepared import Prepared
from thence.plan.selection import LENGTH, Condition, Selection
from thence.plan.sharing import Draft, Place, is_plain
from thence.plan.tree import Plan

MANY = 8
"""So many rules that ask for one column of an event are worth sorting it."""

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A rule over one event; of its conditions, those by which rows can be sorted, with what each
    is in the rule."""

    place: Place
    rule: Prepared
    conditions: tuple[tuple[Condition, Constraint | Expr], ...]

    @property
    def event(self) -> str:
        return self.rule.uses[0].event

    def asked(self) -> set[tuple[str, str]]:
        return {(self.event, condition.column) for condition, _ in self.conditions}


def index_selections(plan: Plan) -> Plan:
    """Rules over one event take its rows without a join, and many of them sort it only once."""
    draft = Draft(plan)
    found = [
        _Candidate(place, rule[0], tuple(_conditions(rule[0])))
        for place, rule in draft.rules()
        if len(rule) == 1 and _is_selection(plan, rule[0])
    ]
    asked = Counter(key for candidate in found for key in candidate.asked())
    derived = frozenset(plan.derived)
    for candidate in found:
        draft.put(candidate.place, (_selecting(plan, candidate, asked, derived),))
    return draft.plan()


def _is_selection(plan: Plan, rule: Prepared) -> bool:
    """Whether a rule gives columns and intervals of one event just as they are."""
    conjunct = rule.conjunct
    if not is_plain(conjunct) or len(conjunct.atoms) != 1 or conjunct.completions:
        return False
    use = conjunct.atoms[0]
    schema = plan.schemas[use.event]
    return (rule.base(conjunct.head.start), rule.base(conjunct.head.end)) == (
        (use.start, 0),
        (use.end, 0),
    ) and all(
        isinstance(term, Column) and kind in (None, schema.type_of(term.name))
        for term, kind in zip(conjunct.head.terms, conjunct.head.types, strict=True)
    )


def _conditions(rule: Prepared) -> Iterable[tuple[Condition, Constraint | Expr]]:
    use = rule.conjunct.atoms[0]
    for constraint in rule.constraints:
        if (constraint.later, constraint.earlier) == (use.end, use.start):
            longest = Const(constraint.limit, DURATION)
            yield Condition(LENGTH, "<=", longest), constraint
    for predicate in rule.conjunct.predicates:
        match predicate:
            case Call(function, (Column(_, name), Const() as value)) if function in _TURNED:
                condition = Condition(name, function, value)
            case Call(function, (Const() as value, Column(_, name))) if function in _TURNED:
                condition = Condition(name, _TURNED[function], value)
            case _:
                continue
        if value.type.kind not in ("null", "list"):
            yield condition, predicate


def _selecting(
    plan: Plan,
    candidate: _Candidate,
    asked: Counter[tuple[str, str]],
    derived: frozenset[str],
) -> Prepared:
    """A rule that is read by the condition on the column that most rules ask for."""
    rule, event = candidate.rule, candidate.event
    chosen = max(candidate.conditions, key=lambda c: asked[event, c[0].column], default=None)
    if chosen is not None and asked[event, chosen[0].column] < MANY:
        chosen = None
    rest = rule.constraints, rule.conjunct.predicates
    if chosen is not None:
        rest = (
            tuple(c for c in rest[0] if c is not chosen[1]),
            tuple(p for p in rest[1] if p is not chosen[1]),
        )
    names = _names(rule.conjunct)
    shown = {*names, *(c.column for c, _ in candidate.conditions if c.function == "=")}
    distinct = event in derived and shown >= set(plan.schemas[event].names)
    condition = None if chosen is None else chosen[0]
    return Prepared(
        rule.conjunct, selection=Selection(names, condition, rest[0], rest[1], distinct)
    )


def _names(conjunct: Conjunct) -> tuple[str, ...]:
    return tuple(term.name for term in conjunct.head.terms if isinstance(term, Column))
