"""What a plan is expected to cost: rows in, candidates, matches and what is kept, per operator.

Everything is a guess from statistics: that events come evenly, that values are spread evenly and
that conditions have nothing to do with one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, prod
from typing import TYPE_CHECKING

from thence.logic.bounds import UNBOUNDED, Constraint
from thence.logic.conjunct import EPOCH, Column, WindowUse
from thence.logic.expr import Call, Const, Expr
from thence.plan.order import Order, Size, order
from thence.plan.statistics import EventStatistics, Statistics
from thence.plan.text import expression

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared
    from thence.plan.tree import Plan, Stage

SELECTIVITY = {"=": 0.1, "!=": 0.9, "<": 1 / 3, "<=": 1 / 3, ">": 1 / 3, ">=": 1 / 3}
"""Which share of the rows fulfils a comparison of which nothing is known."""

OTHERWISE = 0.5
"""The same for any other condition."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is expected of one alternative of a rule. ``order`` is None where nothing can match."""

    rows: float = 0.0
    """The rows of all positive atoms together."""
    candidates: float = 0.0
    matches: float = 0.0
    """What the join gives."""
    filters: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """What conditions on one atom alone get, and what they let through, by atom."""
    windows: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """The same for absences, collections and repetitions, by the atom of the window."""
    policy: tuple[float, float] | None = None
    order: Order | None = None

    @property
    def kept(self) -> float:
        """What is left of the matches in the end."""
        if self.policy is not None:
            return self.policy[1]
        return min((kept for _, kept in self.windows.values()), default=self.matches)


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is expected of a plan: of each alternative of each rule, and of each event."""

    joins: Mapping[Prepared, Estimate]
    events: Mapping[str, EventStatistics]


def estimates(plan: Plan, statistics: Statistics) -> Estimates:
    """What is expected of a plan, from what is known of the events that it reads.

    Of a recursion it is what the first round gives.
    """
    known = dict(statistics.events)
    found: dict[Prepared, Estimate] = {}
    for stage in plan.stages:
        _stage(stage, known, found)
    return Estimates(found, known)


def _stage(
    stage: Stage, known: dict[str, EventStatistics], found: dict[Prepared, Estimate]
) -> None:
    own = set(stage.events)
    alternatives = [alt for rule in stage.rules for alt in rule]
    # What a recursion begins with comes first.
    for rule in sorted(alternatives, key=lambda alt: any(u.event in own for u in alt.uses)):
        found[rule] = estimate(rule, known)
        event = rule.conjunct.event
        given = _given(rule, found[rule], known)
        before = known.get(event)
        known[event] = given if before is None or event not in own else _both(before, given)
        own.add(event)


def _both(one: EventStatistics, other: EventStatistics) -> EventStatistics:
    """The statistics of events that two rules give."""
    return EventStatistics(
        one.rows + other.rows,
        max(one.seconds, other.seconds),
        max(one.longest, other.longest),
        {c: max(n, other.distinct.get(c, 0)) for c, n in one.distinct.items()},
    )


def estimate(prepared: Prepared, known: Mapping[str, EventStatistics]) -> Estimate:
    """What is expected of one alternative of a rule."""
    conjunct = prepared.conjunct
    events = {atom: known.get(use.event, _NONE) for atom, use in enumerate(prepared.uses)}
    filters = dict(_filters(prepared, events))
    sizes = {
        atom: replace(
            events[atom].size,
            rows=round(filters[atom][1]) if atom in filters else events[atom].rows,
        )
        for atom in events
    }
    rows = float(sum(sizes[atom].rows for atom in conjunct.positive))
    if not conjunct.positive:
        return Estimate(0.0, 1.0, 1.0, filters)
    if any(sizes[atom].rows == 0 for atom in conjunct.positive):
        return Estimate(rows, filters=filters)
    own = {atom: sizes[atom] for atom in conjunct.positive}
    taken = order(prepared, own, keep_all=prepared.keeps_all)
    if taken is None:
        return Estimate(rows, filters=filters)
    candidates, matches = _joined(prepared, taken, sizes, events)
    windows = {}
    left = matches
    for window in conjunct.windows:
        if window.mode != "previous":
            kept = left * _let_through(prepared, window, sizes)
            windows[window.atom] = (left, kept)
            left = kept
    policy = None
    if conjunct.policy.chooses:
        policy = (left, min(left, float(min(sizes[atom].rows for atom in conjunct.positive))))
    return Estimate(rows, candidates, matches, filters, windows, policy, taken)


_NONE = EventStatistics(0)


def _filters(
    prepared: Prepared, events: Mapping[int, EventStatistics]
) -> Iterator[tuple[int, tuple[float, float]]]:
    for atom, event in events.items():
        conditions = prepared.own_predicates(atom)
        if conditions and atom not in prepared.aliases:
            rows = float(event.rows)
            yield atom, (rows, rows * _share(prepared, conditions, events, event))


def _share(
    prepared: Prepared,
    conditions: Sequence[Expr],
    events: Mapping[int, EventStatistics],
    event: EventStatistics,
) -> float:
    """Which share of some rows fulfils all of some conditions."""
    text = condition_text(prepared, conditions)
    if text in event.selectivity:
        return event.selectivity[text]
    return prod(selectivity(condition, events) for condition in conditions)


def condition_text(prepared: Prepared, conditions: Sequence[Expr]) -> str:
    """Conditions on one atom as statistics name them: as ``explain`` shows them."""
    return " and ".join(expression(prepared.conjunct, condition) for condition in conditions)


def selectivity(condition: Expr, events: Mapping[int, EventStatistics]) -> float:
    """Which share of the rows fulfils a condition, where that was not measured."""
    match condition:
        case Call("and", args):
            return prod(selectivity(arg, events) for arg in args)
        case Call("or", args):
            return 1 - prod(1 - selectivity(arg, events) for arg in args)
        case Call("not", (arg,)):
            return 1 - selectivity(arg, events)
        case Call("=", (Column(atom, name), Const()) | (Const(), Column(atom, name))):
            values = events[atom].distinct.get(name)
            return SELECTIVITY["="] if not values else 1 / values
        case Call(function, _):
            return SELECTIVITY.get(function, OTHERWISE)
    return OTHERWISE


def _joined(
    prepared: Prepared,
    taken: Order,
    sizes: Mapping[int, Size],
    events: Mapping[int, EventStatistics],
) -> tuple[float, float]:
    """How many candidates a join looks at in all, and how many matches it gives."""
    looked, partial = 0.0, 1.0
    for step, grown in zip(taken.steps, taken.grown, strict=True):
        candidates = partial * grown
        if step.witness != "all":
            candidates = min(candidates, partial) if not step.predicates else candidates
        looked += candidates
        fit = candidates * prod(selectivity(p, events) for p in step.predicates)
        partial = fit if step.witness == "all" else min(fit, partial)
    return looked, partial


def _let_through(prepared: Prepared, window: WindowUse, sizes: Mapping[int, Size]) -> float:
    """Which share of the matches a window lets through."""
    if window.optional or window.repetition is not None:
        return 1.0
    none = exp(-_inside(prepared, window, sizes))
    return none if window.mode == "absent" else 1.0 - none


def _inside(prepared: Prepared, window: WindowUse, sizes: Mapping[int, Size]) -> float:
    """How many events are expected in a window."""
    size, use = sizes[window.atom], prepared.uses[window.atom]
    if not size.rows:
        return 0.0
    lengths = [
        Constraint(each.end, each.start, sizes[atom].longest)
        for atom, each in enumerate(prepared.uses)
        if sizes[atom].rows
    ]
    bounds = window.bounds.with_constraints(lengths)
    others = [
        node for node in range(1, len(prepared.conjunct.nodes)) if node not in (use.start, use.end)
    ]
    width = min(bounds.width(node, others) for node in (use.start, use.end))
    span = max(size.last - size.first, 1)
    values = [float(size.distinct.get(name) or size.rows**0.5) for name, _ in window.links]
    keys = max(1.0, min(prod(values), float(size.rows)))
    return size.rows * min(1.0, (width + 1) / span) / keys


def _given(
    prepared: Prepared, found: Estimate, known: Mapping[str, EventStatistics]
) -> EventStatistics:
    """The statistics of the events that an alternative gives."""
    conjunct = prepared.conjunct
    sources = [known.get(use.event, _NONE) for use in prepared.uses]
    rows = round(found.kept)
    seconds = max((sources[atom].seconds for atom in conjunct.events), default=0.0)
    longest = found.order.bounds[conjunct.head.end, conjunct.head.start] if found.order else 0
    values = {
        name: min(sources[term.atom].distinct[term.name], rows)
        for name, term in zip(conjunct.head.columns, conjunct.head.terms, strict=True)
        if isinstance(term, Column) and term.name in sources[term.atom].distinct
    }
    lasting = longest / 1e6 if EPOCH < longest < UNBOUNDED else 0.0
    return EventStatistics(rows, seconds, min(lasting, seconds), values)
