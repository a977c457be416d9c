"""What the rewrites that share work between rules have in common.

A rule is shared by computing something wider once, under the name of an auxiliary event, and
reading each rule from it: as a projection, or as those of its rows that meet a condition.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from thence.logic.bounds import NO_BOUNDS, Constraint, close
from thence.logic.conjunct import (
    INNER,
    AtomUse,
    Column,
    Conjunct,
    EndPoint,
    Epoch,
    Head,
    NodeTime,
    Tick,
)
from thence.logic.expr import Aggregate, Expr
from thence.logic.policy import UNRESTRICTED
from thence.model.schema import Attribute, EventSchema
from thence.model.types import Type
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan, Stage

Rule = tuple[Prepared, ...]
"""The alternatives of a rule."""

START, END = 1, 2
"""The nodes of the only atom of a rule that reads another's results."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule stands in a plan."""

    stage: int
    rule: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What an auxiliary event shows of a conjunct: its columns, their terms and types."""

    columns: tuple[str, ...]
    terms: tuple[Expr | Aggregate, ...]
    types: tuple[Type, ...]

    def with_column(self, column: Column, kind: Type) -> tuple[Shown, str]:
        """The same, showing a column of an atom besides, and the name that it has there."""
        for name, term, own in zip(self.columns, self.terms, self.types, strict=True):
            if term == column and own == kind:
                return self, name
        name = f"{INNER}{len(self.columns)}"
        while name in self.columns:
            name = f"{INNER}{name}"
        more = Shown((*self.columns, name), (*self.terms, column), (*self.types, kind))
        return more, name


class Draft:
    """A plan in the making: rules are replaced, and auxiliary events come before what reads them.

    Rules of recursive stages share nothing: what they give is not known when a stage begins. Nor do
    those whose derivations somebody reads: a result stays made of what the rules say.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rules = [list(stage.rules) for stage in plan.stages]
        self._before: dict[int, list[Stage]] = {}
        self._schemas = dict(plan.schemas)
        self._told = plan.rulebook.for_causes
        self.changed = False

    def rules(self) -> Iterator[tuple[Place, Rule]]:
        """The rules that may be replaced one by one, in order."""
        for number, stage in enumerate(self._plan.stages):
            if not stage.recursive and not self.is_told(stage):
                for place in range(len(stage.rules)):
                    yield Place(number, place), self._rules[number][place]

    def is_told(self, stage: Stage) -> bool:
        """Whether somebody reads how the events of a stage were derived."""
        return self._told.concerns(stage.events)

    def type_of(self, conjunct: Conjunct, column: Column) -> Type:
        """The type of a column that a conjunct reads."""
        return self.attribute(conjunct.atoms[column.atom].event, column.name)

    def attribute(self, event: str, name: str) -> Type:
        """The type of an attribute of an event."""
        found = self._schemas[event].type_of(name)
        assert found is not None
        return found

    def is_hidden(self, event: str) -> bool:
        """Whether an event is an auxiliary one."""
        return self._schemas[event].hidden

    def put(self, place: Place, rule: Rule) -> None:
        """Replace a rule."""
        self._rules[place.stage][place.rule] = rule
        self.changed = True

    def put_all(self, stage: int, rules: Sequence[Rule]) -> None:
        """Replace all rules of a stage."""
        self._rules[stage] = list(rules)
        self.changed = True

    def _fresh_name(self, event: str) -> str:
        """A name for what rules share, after the event of the one that says it."""
        numbers = ("", *range(2, len(self._schemas) + 3))
        names = (f"{INNER}{event}{number}" for number in numbers)
        return next(name for name in names if name not in self._schemas)

    def shown_by(self, conjunct: Conjunct) -> Shown:
        """What a conjunct's own head shows."""
        schema = self._schemas[conjunct.event]
        types = tuple(attribute.type for attribute in schema.attributes)
        return Shown(conjunct.head.columns, conjunct.head.terms, types)

    def add(self, place: Place, conjuncts: Sequence[Conjunct], shown: Shown) -> str:
        """Let an auxiliary event that shows something of some alternatives be derived before the
        stage that a place is in; its name."""
        event = self._fresh_name(conjuncts[0].event)
        pairs = zip(shown.columns, shown.types, strict=True)
        self._schemas[event] = EventSchema(
            event, tuple(Attribute(*pair) for pair in pairs), hidden=True
        )

        def shows(head: Head) -> Head:
            columns, types = shown.columns, shown.types
            return replace(head, event=event, columns=columns, types=types, hidden=True)

        rule = tuple(Prepared(replace(c, head=shows(c.head))) for c in conjuncts)
        self._before.setdefault(place.stage, []).append(Stage((event,), (rule,), False))
        self.changed = True
        return event

    def reading(
        self,
        conjunct: Conjunct,
        event: str,
        names: Sequence[str],
        predicates: tuple[Expr, ...] = (),
        longest: int | None = None,
    ) -> Prepared:
        """A rule that gives what a conjunct does, from an event that shows it under some names,
        where predicates over the event hold and it lasts no longer than so much."""
        hidden = self.is_hidden(event)
        constraints = [Constraint(START, END, 0)]
        if longest is not None:
            constraints.append(Constraint(END, START, longest, conjunct.span))
        return Prepared(
            Conjunct(
                head=replace(
                    conjunct.head,
                    terms=tuple(Column(0, name) for name in names),
                    start=START,
                    end=END,
                ),
                atoms=(AtomUse(event, None, START, END, conjunct.span, hidden=hidden),),
                positive=(0,),
                nodes=(Epoch(), EndPoint(0, "start"), EndPoint(0, "end")),
                constraints=tuple(constraints),
                bounds=close(constraints),
                links=(),
                predicates=predicates,
                windows=(),
                completions=(),
                span=conjunct.span,
            )
        )

    def plan(self) -> Plan:
        """The plan as it is now."""
        if not self.changed:
            return self._plan
        stages: list[Stage] = []
        for number, stage in enumerate(self._plan.stages):
            stages += self._before.get(number, ())
            stages.append(replace(stage, rules=tuple(self._rules[number])))
        return replace(self._plan, stages=tuple(stages), schemas=self._schemas)


def body_key(conjunct: Conjunct) -> dict[str, Hashable]:
    """What a conjunct's matches depend on, by field: neither its head, nor names or places in the
    text, nor what follows from the rest."""
    labels = conjunct.policy.labels
    return {
        "atoms": tuple(
            (use.event, use.start, use.end, use.silent, use.label if labels else None)
            for use in conjunct.atoms
        ),
        "positive": conjunct.positive,
        "nodes": conjunct.nodes,
        "constraints": conjunct.constraints,
        "links": conjunct.links,
        "predicates": conjunct.predicates,
        "windows": tuple(replace(window, bounds=NO_BOUNDS) for window in conjunct.windows),
        "completions": conjunct.completions,
        "ends": (conjunct.head.start, conjunct.head.end),
        "policy": conjunct.policy,
        "having": conjunct.having,
    }


def is_plain(conjunct: Conjunct) -> bool:
    """Whether each match gives a result by itself, whatever other matches there are: a condition
    on what a result shows then chooses among results as it would among matches."""
    return (
        conjunct.policy == UNRESTRICTED
        and not conjunct.having
        and bool(conjunct.events)
        and all(window.mode == "absent" for window in conjunct.windows)
        and not any(isinstance(term, Aggregate) for term in conjunct.head.terms)
        and not any(isinstance(node, Tick) for node in conjunct.nodes)
    )


def is_projection(conjunct: Conjunct) -> bool:
    """Whether a rule only gives another name to what one event shows."""
    return (
        is_plain(conjunct)
        and len(conjunct.atoms) == 1
        and not conjunct.predicates
        and not conjunct.windows
        and all(isinstance(term, Column) for term in conjunct.head.terms)
    )


def tells(conjunct: Conjunct, atom: int) -> bool:
    """Whether a result shows which event an atom is bound to, or something of it: to show more of
    it then asks the join for no more than it looks at anyway."""
    prepared = Prepared(conjunct)
    ends = {EndPoint(atom, "start"), EndPoint(atom, "end")}
    shown = [conjunct.head.start, conjunct.head.end]
    shown += [term.node for term in conjunct.head.terms if isinstance(term, NodeTime)]
    return any(conjunct.nodes[prepared.base(node)[0]] in ends for node in shown) or any(
        isinstance(term, Column) and term.atom == atom for term in conjunct.head.terms
    )
