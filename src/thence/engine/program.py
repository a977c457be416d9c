"""A checked program made ready to run: stages of conjuncts in order, and what state they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from thence.engine.needs import Needs, needs
from thence.engine.prepared import Prepared
from thence.logic.check import Checked, invents_values
from thence.logic.conjunct import INNER, Column, Conjunct, NodeTime, is_inner
from thence.logic.expr import Aggregate, Expr
from thence.logic.functions import type_of
from thence.logic.normalise import Normaliser
from thence.logic.ops import Rule
from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.schema import Attribute, EventSchema
from thence.model.types import TIMESTAMP, Type


def escaped(event: str) -> str:
    """The name of an event without the signs that stand between the parts of names in state.

    >>> escaped("r"), escaped("a|b/c")
    ('r', 'a%7Cb%2Fc')
    """
    return event.replace("%", "%25").replace("/", "%2F").replace("|", "%7C")


@dataclass(frozen=True, slots=True)
class Stage:
    """Derived events that are computed together; several, or one, if they are recursive."""

    events: tuple[str, ...]
    rules: tuple[tuple[Prepared, ...], ...]
    """Each rule as its alternatives."""
    recursive: bool

    def strides(self, number: int) -> bool:
        """Whether a rule goes on from its own results by the same stride."""
        return len(self.rules[number]) == 1 and self.rules[number][0].stride is not None

    def rule_name(self, number: int) -> str:
        """What a rule is called in state; whatever its event is called, neither ``/`` nor ``|``
        comes before the number."""
        event = self.rules[number][0].conjunct.event
        return f"{escaped(event)}/{number}"


@dataclass(frozen=True, slots=True)
class Part:
    """Stages that run together, and all that a step over them needs to know.

    ``inputs`` come from outside, ``base`` are those of them that no rule derives, and ``outputs``
    are what is given back. ``tables`` are the static tables that rules look into. A whole program
    is one part; a host may cut it into several.
    """

    stages: tuple[Stage, ...]
    schemas: Mapping[str, EventSchema]
    inputs: tuple[str, ...]
    base: frozenset[str]
    outputs: tuple[str, ...]
    tables: tuple[str, ...] = ()

    @property
    def derived(self) -> tuple[str, ...]:
        return tuple(event for stage in self.stages for event in stage.events)

    @property
    def users(self) -> dict[str, list[str]]:
        """For each event, the events that rules derive from it."""
        found: dict[str, list[str]] = {}
        for rule in self.prepared:
            for use in rule.uses:
                found.setdefault(use.event, []).append(rule.conjunct.event)
        return found

    @property
    def consuming(self) -> dict[str, str]:
        """The rules that use events up, by the name that they have in state, and what each
        derives."""
        return {
            stage.rule_name(number): rule[0].conjunct.event
            for stage in self.stages
            for number, rule in enumerate(stage.rules)
            if rule and rule[0].conjunct.policy.consumes
        }

    @property
    def prepared(self) -> Iterator[Prepared]:
        """Every alternative of every rule."""
        return (alt for stage in self.stages for rule in stage.rules for alt in rule)

    @property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each event that some rule reads; events that are collected, or that a
        policy chooses from, need all of theirs."""
        found: dict[str, set[str]] = {}
        for rule in self.prepared:
            whole = {window.atom for window in rule.conjunct.windows if window.mode != "absent"}
            if rule.conjunct.policy.chooses:
                whole |= set(rule.conjunct.positive)
            for atom, use in enumerate(rule.uses):
                names = found.setdefault(use.event, set())
                names |= rule.columns_read[atom]
                if atom in whole:
                    names |= set(self.schemas[use.event].names)
        return {event: frozenset(names) for event, names in found.items()}


class Compiled:
    """Everything the engine needs to know of a program. Immutable once made."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.schemas: dict[str, EventSchema] = dict(checked.schemas)
        warnings: list[Diagnostic] = []
        self.stages: tuple[Stage, ...] = tuple(_stages(checked, self.schemas, warnings))
        self.warnings: tuple[Diagnostic, ...] = tuple(warnings)
        self.derived: tuple[str, ...] = tuple(e for s in self.stages for e in s.events)
        self.public: tuple[str, ...] = tuple(
            dict.fromkeys(rule.event for rule in checked.program.rules if not is_inner(rule.event))
        )
        self.inputs: tuple[str, ...] = tuple(e.name for e in checked.program.events)
        self.tables: tuple[str, ...] = tuple(t.name for t in checked.program.tables)

    @cached_property
    def whole(self) -> Part:
        """The program as one part."""
        base = frozenset(self.inputs)
        return Part(self.stages, self.schemas, self.inputs, base, self.public, self.tables)

    @cached_property
    def everything(self) -> Part:
        """The program as one part that gives back all it derives, inner patterns as well."""
        return replace(self.whole, outputs=self.derived)

    def part(self, stages: tuple[Stage, ...], outputs: tuple[str, ...]) -> Part:
        """Some stages as a part of their own; what they read and do not derive comes to them."""
        derived = {event for stage in stages for event in stage.events}
        alternatives = [alt for stage in stages for rule in stage.rules for alt in rule]
        read = dict.fromkeys(use.event for alt in alternatives for use in alt.uses)
        tables = tuple(name for name in read if self.schemas[name].table)
        inputs = tuple(event for event in read if event not in derived and event not in tables)
        schemas = {event: self.schemas[event] for event in (*inputs, *derived, *tables)}
        base = frozenset(inputs) & frozenset(self.inputs)
        return Part(stages, schemas, inputs, base, outputs, tables)

    @cached_property
    def prepared(self) -> tuple[Prepared, ...]:
        return tuple(self.whole.prepared)

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each event that some rule reads."""
        return self.whole.columns

    @cached_property
    def certain_needs(self) -> Needs:
        """What state the program needs whatever its events look like."""
        return needs(self, assume_instants=False)

    @cached_property
    def needs(self) -> Needs:
        """What state the program needs; where that would have no bound, on the assumption that
        input events which do not say how long they may last are instants."""
        return self.certain_needs if not self.certain_needs.unbounded else self._assumed_needs

    @cached_property
    def _assumed_needs(self) -> Needs:
        return needs(self, assume_instants=True)


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
