"""The plan: stages of joins in order, what each of them reads and gives, and what is kept.

A :class:`Plan` is what will happen, and all of it: the engine, Spark and ``explain`` read it and
decide nothing by themselves. It is immutable; a rewrite (``plan/rewrites``) gives another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thence.logic.check import Checked
from thence.logic.knowledge import Knowledge
from thence.model.errors import Diagnostic
from thence.model.schema import EventSchema
from thence.plan.horizons import CLOCK, Horizons, Lags, horizons_of, join_lags
from thence.plan.prepared import Prepared
from thence.plan.recording import Recording, for_causes, for_lineage
from thence.plan.retention import Needs, kept_by, needs
from thence.plan.statistics import UNKNOWN, Statistics

if TYPE_CHECKING:
    from thence.plan.cost import Estimates
    from thence.plan.reasoning.relation_plans import RelationPlan


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
    most_rounds: int | None = None
    """How many rounds its recursion may take, where it could go on for ever."""

    @property
    def suppressed(self) -> bool:
        """Whether it is evaluated only where it is asked for."""
        return any(alt.demand is not None for rule in self.rules for alt in rule)

    @property
    def eager(self) -> Stage:
        """The same, evaluated everywhere."""
        rules = (
            tuple(dict.fromkeys(alt if alt.demand is None else alt.demand.eager for alt in rule))
            for rule in self.rules
        )
        return replace(self, rules=tuple(rules))

    def strides(self, number: int) -> bool:
        """Whether a rule goes on from its own results by the same stride."""
        return len(self.rules[number]) == 1 and self.rules[number][0].stride is not None

    def goes_round(self, number: int) -> bool:
        """Whether a rule reads what its own stage derives: no other has more to give in a second
        round."""
        return any(use.event in self.events for alt in self.rules[number] for use in alt.uses)

    @property
    def met_again(self) -> frozenset[str]:
        """The events of a recursion that are joined with others of it, or go on by a stride: what
        one round has found of them, a later one may ask for. Of all others only what is new is
        read."""
        joins = (
            (alt.stride, [use.event for use in alt.uses if use.event in self.events])
            for rule in self.rules
            for alt in rule
        )
        again = (events for stride, events in joins if len(events) > 1 or stride is not None)
        return frozenset(event for events in again for event in events)

    @property
    def in_order(self) -> bool:
        """Whether it is a recursion in which what ends later depends on the absence of what ended
        before, on all of it, or on a choice from it: then it is judged instant by instant."""
        return self.recursive and any(
            alt.conjunct.waits or any(window.atom == atom for window in alt.conjunct.windows)
            for rule in self.rules
            for alt in rule
            for atom, use in enumerate(alt.uses)
            if use.event in self.events
        )

    def rule_name(self, number: int) -> str:
        """What a rule is called in state; whatever its event is called, neither ``/`` nor ``|``
        comes before the number."""
        event = self.rules[number][0].conjunct.event
        return f"{escaped(event)}/{number}"


@dataclass(frozen=True)
class Rulebook:
    """All rules of a program, and what its events look like: what a derivation was made by."""

    stages: tuple[Stage, ...] = ()
    schemas: Mapping[str, EventSchema] = field(default_factory=dict)

    @cached_property
    def alternatives(self) -> Mapping[str, tuple[Prepared, ...]]:
        """For each derived event, every alternative of its rules. A derivation says by which one it
        was made, by its number among them."""
        return alternatives_in(self.stages)

    @cached_property
    def for_causes(self) -> Recording:
        """What is recorded of derivations because a rule asks for causes."""
        return for_causes(self.alternatives)

    @cached_property
    def for_lineage(self) -> Recording:
        """What is recorded of derivations where lineage is asked for: everything."""
        return for_lineage(self.alternatives, self.schemas, self.for_causes)

    def recording(self, lineage: bool) -> Recording:
        """What is recorded of derivations."""
        return self.for_lineage if lineage else self.for_causes


def alternatives_in(stages: Iterable[Stage]) -> dict[str, tuple[Prepared, ...]]:
    """For each event that some stages derive, every alternative of its rules."""
    found: dict[str, tuple[Prepared, ...]] = {}
    for stage in stages:
        for rule in stage.rules:
            for alternative in rule:
                event = alternative.conjunct.event
                found[event] = (*found.get(event, ()), alternative)
    return found


@dataclass(frozen=True)
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
    off: frozenset[str] = frozenset()
    """The optimisations that are switched off."""
    horizons: Horizons = field(default_factory=Horizons)
    """What the horizons of its events follow from."""
    rulebook: Rulebook = field(default_factory=Rulebook)
    """All rules of the program that it is a part of."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    """What the program knows: where the rows of its relations come from."""

    @cached_property
    def worked_out(self) -> dict[Any, Any]:
        """What those who run it have worked out of it, so that no step does so again."""
        return {}

    @cached_property
    def derived(self) -> tuple[str, ...]:
        return tuple(event for stage in self.stages for event in stage.events)

    @cached_property
    def given(self) -> frozenset[str]:
        """The events that come from outside."""
        return frozenset(self.inputs)

    @cached_property
    def looked_into(self) -> tuple[str, ...]:
        """The tables that its rules look into, and those that its relations are derived from."""
        return tuple(sorted(self.knowledge.tables_under(self.tables)))

    @cached_property
    def clocks(self) -> frozenset[str]:
        """All that has a horizon: the inputs, and what stands for the furthest of them."""
        return self.origins | {CLOCK}

    @cached_property
    def origins(self) -> frozenset[str]:
        """The inputs of the program, by whose horizons it goes."""
        found = (name for lags in self.horizons.seen.values() for name in lags)
        return frozenset(found) - {CLOCK}

    @cached_property
    def finalised_by(self) -> Mapping[Prepared, Lags]:
        """By which inputs each join is finalised, and by how much they have to be ahead."""
        found: dict[Prepared, Lags] = {}
        for rule in (rule for stage in self.stages for rule in stage.rules):
            for alternative, lags in zip(rule, join_lags(rule, self.horizons.seen), strict=True):
                found[alternative] = lags
                if alternative.demand is not None:
                    found[alternative.demand.eager] = lags
        return found

    @cached_property
    def repeatable(self) -> tuple[str, ...]:
        """The derived events that may be derived once more later on: all but those that are taken,
        each from a row of its own, from an event that this part derives."""
        rules = [rule for stage in self.stages for rule in stage.rules if rule]
        several = Counter(rule[0].conjunct.event for rule in rules)
        once = {
            rule[0].conjunct.event
            for rule in rules
            if (selection := rule[0].selection) is not None
            and selection.distinct
            and several[rule[0].conjunct.event] == 1
            and rule[0].uses[0].event not in self.inputs
        }
        return tuple(event for event in self.derived if event not in once)

    @cached_property
    def carried(self) -> frozenset[str]:
        """The outputs whose derivations go with them, since another part reads causes from them."""
        asked = self.rulebook.for_causes.pairs.items()
        elsewhere = [asked for event, asked in asked if event not in self.derived]
        return frozenset(
            event
            for event in self.outputs
            if event in self.derived and any(event in each.alternatives for each in elsewhere)
        )

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """For each event, the events that rules derive from it."""
        found: dict[str, list[str]] = {}
        for rule in self.prepared:
            for use in rule.uses:
                found.setdefault(use.event, []).append(rule.conjunct.event)
        return found

    @cached_property
    def flows(self) -> Mapping[str, Prepared]:
        """The outputs that can be given out chunk by chunk, and the join of each."""
        from thence.plan.flow import flowing  # noqa: PLC0415 (it reads parts)

        return flowing(self)

    @cached_property
    def held(self) -> Part:
        """The same less what can be given out chunk by chunk; it gives back what that reads."""
        from thence.plan.flow import without  # noqa: PLC0415 (it reads parts)

        return without(self, self.flows)

    @cached_property
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

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each event that some rule reads; events that are collected, that a policy
        chooses from, or that derivations name, need all of theirs."""
        found: dict[str, set[str]] = {}
        told = self.rulebook.for_causes.named
        for rule in self.prepared:
            whole = {window.atom for window in rule.conjunct.windows if window.mode != "absent"}
            if rule.conjunct.policy.chooses:
                whole |= set(rule.conjunct.positive)
            for atom, use in enumerate(rule.uses):
                names = found.setdefault(use.event, set())
                names |= rule.columns_read[atom]
                off = not self.off.isdisjoint(("pushdown", "forgetting"))
                if atom in whole or use.event in told or off:
                    names |= set(self.schemas[use.event].names)
        return {event: frozenset(names) for event, names in found.items()}


@dataclass(frozen=True, slots=True)
class Input:
    """How a join reads one of its atoms.

    It keeps its events for ``micros`` after they have ended. ``streamed``: it keeps none, since
    what they are joined with has been seen when they come. ``suppressed``: its events are derived
    only where they are asked for. ``asks``: it is there only to ask for the join's results.
    """

    micros: int
    streamed: bool
    suppressed: bool
    asks: bool


@dataclass(frozen=True)
class Plan:
    """How a program will run."""

    checked: Checked
    stages: tuple[Stage, ...]
    schemas: Mapping[str, EventSchema]
    warnings: tuple[Diagnostic, ...] = ()
    outputs: tuple[str, ...] = ()
    """The derived events that are asked for; whatever else is derived serves them."""
    written: tuple[Stage, ...] = ()
    """The stages as the rules say them, before any rewrite: what remarks to a user are about."""
    off: frozenset[str] = frozenset()
    """The optimisations that are switched off."""
    statistics: Statistics = UNKNOWN
    """What is known of its events."""

    def __str__(self) -> str:
        from thence.plan.text import plan_text  # noqa: PLC0415 (it reads plans)

        return plan_text(self)

    def to_json(self) -> dict[str, Any]:
        """The plan as what JSON can hold: see ``docs/plan.md``."""
        from thence.plan.json import plan_json  # noqa: PLC0415 (it reads plans)

        return plan_json(self)

    @cached_property
    def relations(self) -> tuple[RelationPlan, ...]:
        """How the relations that rules look into will be derived."""
        from thence.plan.reasoning.relation_plans import relation_plans  # noqa: PLC0415

        return relation_plans(self)

    @cached_property
    def estimates(self) -> Estimates | None:
        """What every operator is expected to do; None where nothing is known of the events."""
        from thence.plan.cost import estimates  # noqa: PLC0415 (it reads plans)

        return estimates(self, self.statistics) if self.statistics.events else None

    @cached_property
    def key_columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each event that joins hold equal to others: those of which the number of
        values matters."""
        found: dict[str, set[str]] = {}
        for rule in self.prepared:
            for column in rule.key_columns:
                found.setdefault(rule.uses[column.atom].event, set()).add(column.name)
        return {event: frozenset(names) for event, names in found.items()}

    @cached_property
    def readers(self) -> Mapping[str, tuple[str, ...]]:
        """For each event, the events that rules derive from it, each once."""
        return {event: tuple(dict.fromkeys(users)) for event, users in self.whole.users.items()}

    @cached_property
    def orders_by_values(self) -> bool:
        """Whether a join's order depends on how many values a column has: of two atoms it does
        not."""
        return any(len(r.conjunct.positive) > 2 and r.conjunct.links for r in self.prepared)

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """Everything that is derived, auxiliary events as well."""
        return tuple(event for stage in self.stages for event in stage.events)

    @cached_property
    def public(self) -> tuple[str, ...]:
        """The derived events that a user has named."""
        rules = self.checked.program.rules
        return tuple(dict.fromkeys(rule.event for rule in rules if not rule.hidden))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(event.name for event in self.checked.program.events)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables and relations that rules may look into."""
        return tuple(n for n, s in self.checked.knowledge.schemas.items() if not s.hidden)

    @cached_property
    def whole(self) -> Part:
        """The program as one part."""
        base = frozenset(self.inputs)
        return Part(
            self.stages,
            self.schemas,
            self.inputs,
            base,
            self.outputs,
            self.tables,
            self.off,
            self.horizons,
            self.rulebook,
            self.checked.knowledge,
        )

    @cached_property
    def horizons(self) -> Horizons:
        """What the horizons of its events follow from."""
        return horizons_of(self.stages, self.inputs)

    @cached_property
    def rulebook(self) -> Rulebook:
        """What its derivations are made by."""
        return Rulebook(self.stages, self.schemas)

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
        return Part(
            stages,
            schemas,
            inputs,
            base,
            outputs,
            tables,
            self.off,
            self.horizons,
            self.rulebook,
            self.checked.knowledge,
        )

    @cached_property
    def prepared(self) -> tuple[Prepared, ...]:
        return tuple(self.whole.prepared)

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each event that some rule reads."""
        return self.whole.columns

    @cached_property
    def suppressed(self) -> frozenset[str]:
        """The derived events that are evaluated only where they are asked for."""
        return frozenset(e for stage in self.stages if stage.suppressed for e in stage.events)

    def inputs_of(self, rule: Prepared) -> tuple[Input, ...]:
        """How a join reads each of its atoms, in a stream."""
        kept = kept_by(rule, self.needs.lengths, self.off)
        return tuple(
            Input(
                each.micros,
                streamed=not use.fact and each.micros <= 0,
                suppressed=use.event in self.suppressed,
                asks=rule.demand is not None and rule.demand.atom == atom,
            )
            for atom, (use, each) in enumerate(zip(rule.uses, kept, strict=True))
        )

    @cached_property
    def certain_needs(self) -> Needs:
        """What state the program needs whatever its events look like."""
        return needs(self, assume_instants=False)

    @cached_property
    def needs(self) -> Needs:
        """What state the program needs; where that would have no bound, on the assumption that
        input events which do not say how long they may last are instants."""
        return self.certain_needs if not self.certain_needs.unbounded else self._assumed_needs

    @property
    def assumed_lengths(self) -> Mapping[str, int]:
        """How long events last at most, those that do not say so being instants."""
        return self._assumed_needs.lengths

    @cached_property
    def _assumed_needs(self) -> Needs:
        return needs(self, assume_instants=True)
