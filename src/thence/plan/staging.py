"""Staging: rules as joins, in the order in which they can be computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from thence.logic.auxiliary import Auxiliary
from thence.logic.check import Checked, invents_values
from thence.logic.conjunct import Column, Conjunct, EndPoint, Extreme, NodeTime
from thence.logic.expr import Aggregate, Expr
from thence.logic.functions import type_of
from thence.logic.normalise import Normaliser
from thence.logic.ops import Atom, Rule, walk
from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.schema import Attribute, EventSchema
from thence.model.types import TIMESTAMP, Type
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan, Stage

MOST_ROUNDS = 10_000
"""How many rounds a recursion may take in which rows are computed from rows: nothing else ends
it."""


def staged(checked: Checked, auxiliary: Auxiliary) -> Plan:
    """The plan of a checked program as its text says it, before any rewrite.

    ``auxiliary`` are the auxiliary events that it has by now; windows may need more.
    """
    staging = _Staging(checked, auxiliary)
    stages = staging.stages()
    warnings = tuple(staging.normaliser.warnings)
    return Plan(checked, stages, staging.schemas, warnings)


class _Staging:
    """A program on its way to joins.

    All rules are normalised before anything is put in order: only then is it known how wide the
    limits of the auxiliary ones have to be. One whose limit has grown is normalised once more.
    """

    def __init__(self, checked: Checked, auxiliary: Auxiliary) -> None:
        self.checked, self.auxiliary = checked, auxiliary
        self.schemas = dict(checked.schemas)
        self.normaliser = Normaliser(checked.program.source, self.schemas, auxiliary)
        self.own: dict[str, list[Rule]] = {}
        for rule in checked.program.rules:
            self.own.setdefault(rule.event, []).append(rule)
        self.known: dict[str, tuple[Rule, ...]] = {}
        """The rules of auxiliary events that the joins are of."""
        self.joins: dict[str, list[list[Conjunct]]] = {}
        """The joins of each event: the alternatives of its rules."""
        self.strata = {event: events for events in checked.strata for event in events}
        self.done = {s.name for s in checked.program.events} | checked.knowledge.schemas.keys()
        """The events that come from outside or have a stage."""
        self.endless: set[str] = set()
        """The events of recursions that may compute ever new values."""

    def stages(self) -> tuple[Stage, ...]:
        """Stages in order; that of an auxiliary event comes just before its first user."""
        problems: list[Diagnostic] = []
        for events in self.checked.strata:
            for event in events:
                if event in self.auxiliary:
                    self.known[event] = self.auxiliary.rules_of(event)
                self.joins[event] = []
                for rule in self.known.get(event, self.own[event]):
                    before = len(self.auxiliary)
                    try:
                        conjuncts = self.joined(rule)
                    except CheckError as error:
                        problems += error.diagnostics
                        self.auxiliary.forget(before)
                        continue
                    self.joins[event].append(conjuncts)
                    if event in self.checked.recursive and invents_values(rule):
                        if self.checked.program.timeless:
                            self.endless.update(events)
                        else:
                            problems += _endless(self.checked, rule, conjuncts, events)
        for events in self.checked.strata:
            doubts = self.doubts(events)
            if doubts and not problems and not self.looks_back(events):
                problems += doubts
        if problems:
            raise CheckError(tuple(problems))
        return tuple(stage for events in self.checked.strata for stage in self.placed(events))

    def joined(self, rule: Rule) -> list[Conjunct]:
        """The joins of a rule; those of the auxiliary events that it uses are there then, too."""
        conjuncts = self.normaliser.rule(rule)
        for event in (use.event for conjunct in conjuncts for use in conjunct.atoms):
            self.settle(event)
        return conjuncts

    def settle(self, event: str) -> None:
        """Normalise an auxiliary event if it is new, or wider than it was."""
        if event not in self.auxiliary or self.known.get(event) is self.auxiliary.rules_of(event):
            return
        rules = self.known[event] = self.auxiliary.rules_of(event)
        for part in (part for rule in rules for part in walk(rule.body)):
            if isinstance(part, Atom) and part.event not in self.schemas:
                self.settle(part.event)
        self.joins[event] = [self.joined(rule) for rule in rules]
        if event not in self.schemas:
            self.schemas[event] = _schema(rules[0], self.joins[event][0][0], self.schemas)

    def doubts(self, events: tuple[str, ...]) -> tuple[Diagnostic, ...]:
        """What is wrong with a recursion that does not only look back: as it is written, if it goes
        through a rule that somebody wrote."""
        found = [event for event in events if event in self.checked.doubts]
        found.sort(key=lambda event: self.schemas[event].hidden)
        return self.checked.doubts[found[0]] if found else ()

    def looks_back(self, events: tuple[str, ...]) -> bool:
        """Whether all that a recursion is absent from, is collected from or chooses from has ended
        before the result: then what ends at an instant follows from what ended before."""
        return all(
            looks_back(conjunct, events)
            and not any(self.rests_on(use.event, events) for use in conjunct.atoms)
            for event in events
            for conjuncts in self.joins[event]
            for conjunct in conjuncts
        )

    def rests_on(self, event: str, others: tuple[str, ...]) -> bool:
        """Whether an auxiliary event that windows look for, and which has no stratum, rests on some
        events."""
        if event in self.strata or event not in self.joins:
            return False
        uses = [use.event for rule in self.joins[event] for c in rule for use in c.atoms]
        return any(use in others or self.rests_on(use, others) for use in uses)

    def placed(self, events: tuple[str, ...]) -> Iterator[Stage]:
        """The stage of some events, after those of what they use, as far as there is none yet."""
        if self.done.issuperset(events):
            return
        self.done.update(events)
        rules = [conjuncts for event in events for conjuncts in self.joins[event]]
        for use in (use for conjuncts in rules for each in conjuncts for use in each.atoms):
            yield from self.placed(self.strata.get(use.event, (use.event,)))
        if events[0] not in self.strata:  # its rules are the alternatives of one pattern
            rules = [[each for conjuncts in rules for each in conjuncts]]
        yield Stage(
            events,
            tuple(tuple(map(self.prepared, conjuncts)) for conjuncts in rules),
            events[0] in self.checked.recursive,
            MOST_ROUNDS if events[0] in self.endless else None,
        )

    def prepared(self, conjunct: Conjunct) -> Prepared:
        return Prepared(conjunct, causes=self.auxiliary.causes.get(conjunct.event))


def looks_back(conjunct: Conjunct, events: tuple[str, ...]) -> bool:
    """Whether a rule of a recursion may be judged instant by instant: its results end with an
    event, nothing in it waits for a later time, and where it chooses or has windows, what it reads
    of the recursion has ended before the result does."""
    end = conjunct.head.end
    node = conjunct.nodes[end]
    ends = [conjunct.nodes[each] for each in node.nodes] if isinstance(node, Extreme) else [node]
    if not all(isinstance(each, EndPoint) and each.which == "end" for each in ends):
        return False
    if any(conjunct.bounds[each, end] > 0 for each in conjunct.completions):
        return False
    own = [atom for atom, use in enumerate(conjunct.atoms) if use.event in events]
    if not conjunct.waits and set(own) <= set(conjunct.positive):
        return True
    return all(_ends_before(conjunct, atom) for atom in own)


def _ends_before(conjunct: Conjunct, atom: int) -> bool:
    """Whether an event of a rule, also one that a window looks for, ends before the result does."""
    windows = (window.bounds for window in conjunct.windows if window.atom == atom)
    bounds = next(windows, conjunct.bounds)
    return bounds[conjunct.atoms[atom].end, conjunct.head.end] <= -1


def _schema(rule: Rule, conjunct: Conjunct, schemas: Mapping[str, EventSchema]) -> EventSchema:
    """The schema of what an auxiliary rule derives, from the types of the columns it reads."""

    def leaf(expr: Expr) -> Type:
        if isinstance(expr, NodeTime):
            return TIMESTAMP
        assert isinstance(expr, Column)
        found = schemas[conjunct.atoms[expr.atom].event].type_of(expr.name)
        assert found is not None
        return found

    found = [
        Attribute(term.name, type_of(value, leaf), term.role)
        for term, value in zip(rule.terms, conjunct.head.terms, strict=True)
        if not isinstance(value, Aggregate)
    ]
    return EventSchema(rule.event, tuple(found), hidden=True)


def _endless(
    checked: Checked, rule: Rule, conjuncts: list[Conjunct], component: tuple[str, ...]
) -> list[Diagnostic]:
    """Refusals of recursive rules that make up values without ever getting later in time."""
    for conjunct in conjuncts:
        for atom, use in enumerate(conjunct.atoms):
            if use.event in component and not _ends_before(conjunct, atom):
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
