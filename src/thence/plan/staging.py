"""Staging: rules as joins, in the order in which they can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from thence.logic.check import Checked, invents_values
from thence.logic.conjunct import INNER, Column, Conjunct, NodeTime
from thence.logic.expr import Aggregate, Expr
from thence.logic.functions import type_of
from thence.logic.normalise import Normaliser
from thence.logic.ops import Rule
from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.schema import Attribute, EventSchema
from thence.model.types import TIMESTAMP, Type
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan, Stage


def staged(checked: Checked) -> Plan:
    """The plan of a checked program as its text says it, before any rewrite."""
    schemas = dict(checked.schemas)
    warnings: list[Diagnostic] = []
    stages = tuple(_stages(checked, schemas, warnings))
    return Plan(checked, stages, schemas, tuple(warnings))


def _stages(
    checked: Checked, schemas: dict[str, EventSchema], warnings: list[Diagnostic]
) -> list[Stage]:
    """Stages in order; what windows need in the way of inner rules comes just before its user.
    Remarks on rules are added to ``warnings``."""
    numbers = count(1)
    problems: list[Diagnostic] = []
    stages: list[Stage] = []
    rules: dict[str, list[Rule]] = {}
    for rule in checked.program.rules:
        rules.setdefault(rule.event, []).append(rule)
    for events in checked.strata:
        recursive = any(event in checked.recursive for event in events)
        inner: list[Stage] = []
        prepared: list[tuple[Prepared, ...]] = []
        for event in events:
            for rule in rules[event]:
                normaliser = Normaliser(
                    checked.program.source, schemas, lambda: f"{INNER}{next(numbers)}"
                )
                try:
                    conjuncts = normaliser.rule(rule)
                    inner += _inner_stages(normaliser, schemas)
                    warnings += normaliser.warnings
                except CheckError as error:
                    problems += error.diagnostics
                    continue
                prepared.append(tuple(Prepared(conjunct) for conjunct in conjuncts))
                if recursive and invents_values(rule):
                    problems += _endless(checked, rule, conjuncts, events)
        stages += [*inner, Stage(events, tuple(prepared), recursive)]
    if problems:
        raise CheckError(tuple(problems))
    return stages


def _inner_stages(normaliser: Normaliser, schemas: dict[str, EventSchema]) -> list[Stage]:
    """Stages for the rules that a normaliser made up, innermost first."""
    stages: list[Stage] = []
    pending: dict[str, list[Rule]] = {}
    for rule in normaliser.auxiliary:
        pending.setdefault(rule.event, []).append(rule)
    normaliser.auxiliary.clear()
    for event, rules in pending.items():
        alternatives = [conjunct for rule in rules for conjunct in normaliser.rule(rule)]
        inner = _inner_stages(normaliser, schemas)
        schemas[event] = _schema(alternatives[0], schemas)
        prepared = tuple(Prepared(conjunct) for conjunct in alternatives)
        stages += [*inner, Stage((event,), (prepared,), False)]
    return stages


def _schema(conjunct: Conjunct, schemas: Mapping[str, EventSchema]) -> EventSchema:
    """The schema of what a conjunct derives, from the types of the columns it reads."""

    def leaf(expr: Expr) -> Type:
        if isinstance(expr, NodeTime):
            return TIMESTAMP
        assert isinstance(expr, Column)
        found = schemas[conjunct.atoms[expr.atom].event].type_of(expr.name)
        assert found is not None
        return found

    return EventSchema(
        conjunct.event,
        tuple(
            Attribute(name, type_of(term, leaf))
            for name, term in zip(conjunct.columns, conjunct.terms, strict=True)
            if not isinstance(term, Aggregate)
        ),
    )


def _endless(
    checked: Checked, rule: Rule, conjuncts: list[Conjunct], component: tuple[str, ...]
) -> list[Diagnostic]:
    """Refusals of recursive rules that make up values without ever getting later in time."""
    for conjunct in conjuncts:
        for use in conjunct.atoms:
            if use.event in component and conjunct.bounds[use.end, conjunct.end] > -1:
                return [
                    diagnose(
                        checked.program.source,
                        rule.span,
                        f"the recursion of '{rule.event}' may never end: it computes new values "
                        "without moving on in time",
                        f"let each round need a later event, for example '{use.event}(…) seq …'",
                    )
                ]
    return []
