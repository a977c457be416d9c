"""One step of a program: new events and a horizon in, results and new state out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from thence.engine.arrays.rows import concat, distinct, take, texts_fit
from thence.engine.arrays.step_memo import remembering
from thence.engine.limits.growth import DEFAULT, RECURSIVE, Growth, Limits, bounded, expect, owner
from thence.engine.limits.measure import Meter, derived, metered
from thence.engine.output.lineage import merged
from thence.engine.policy.groups import Used
from thence.engine.run.derive import Horizon, Inputs, derive, derive_strides
from thence.engine.run.reduce import reduced
from thence.engine.state.growing import Growing, Old
from thence.engine.state.seen import Seen
from thence.engine.state.state import State, empty_events
from thence.engine.state.usable import usable
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Retention
from thence.model.events import Events
from thence.plan.retention import Kept
from thence.plan.statistics import UNKNOWN, Statistics
from thence.plan.tree import Part, Stage


@dataclass(frozen=True, slots=True)
class Options:
    """How a program is run: with lineage or not, and for how long events are kept for further
    steps; None where this step is the only one."""

    lineage: bool = False
    retention: Mapping[str, Kept] | None = None
    progress: Callable[[int, int], None] | None = None
    """Called after each stage with how many are done, and how many there are."""
    tables: Mapping[str, Events] = field(default_factory=dict)
    """The rows of the static tables. They are there in every step, and are no part of the state."""
    limits: Limits = DEFAULT
    """What the step may take."""
    known: Statistics = UNKNOWN
    """What is known of the events beforehand."""
    meter: Meter | None = None
    """What takes note of what every operator does."""


@texts_fit()
def step(
    part: Part,
    state: State,
    events: Mapping[str, Events],
    horizon: int,
    options: Options = Options(),  # noqa: B008 (immutable)
) -> tuple[State, dict[str, Events]]:
    """Take new events and a horizon; give the state after, and the results that are new.

    Every new event ends after the previous horizon. Results are given once: a result ends no
    earlier than anything it is made of, so one that ended by the horizon cannot be derived anew.
    A :class:`LimitError` says that a rule would take more than it may; nothing has changed then.
    """
    owners = bounded(options.limits, lambda event: owner(event, part))
    with remembering(), owners as budget, metered(options.meter):
        kept, results = _step(part, state, events, horizon, options)
        budget.keep(kept.rows, kept.nbytes)
        return kept, results


def _step(
    part: Part, state: State, events: Mapping[str, Events], horizon: int, options: Options
) -> tuple[State, dict[str, Events]]:
    old = _known(part, state, options)
    new = {name: events[name] if name in events else _none_of(old[name]) for name in part.inputs}
    new |= {name: _none_of(old[name]) for name in part.tables}
    inputs = Inputs(old, new, options.known, given=frozenset(part.inputs))
    moment = Horizon(state.horizon, max(horizon, state.horizon))
    used = dict(state.used)
    for number, stage in enumerate(part.stages, 1):
        new.update(_run_stage(part, stage, inputs, state, moment, options, used))
        if options.progress is not None:
            options.progress(number, len(part.stages))
    latest = max([state.latest, *(int(e.end.max()) for e in events.values() if len(e))])
    results = {name: new[name] for name in part.outputs}
    if options.retention is None:
        return State(moment.now, latest), results
    waiting: dict[str, Events] = {}
    if options.lineage:
        results, waiting = _settled(state, results, moment.now)
    kept = State(
        moment.now,
        latest,
        _retained(options.retention, inputs, moment),
        _repeatable(part, state, new, moment.now),
        waiting,
        _still_used(options.retention, used, moment.now),
    )
    return kept, results


def distinct_step(
    state: State, events: Mapping[str, Events], horizon: int, lineage: bool
) -> tuple[State, dict[str, Events]]:
    """Take events that may come more than once; give each once, when it first comes.

    An event that ended by the horizon does not come again, so only later ones are remembered. With
    lineage, equal events come together and are merged.
    """
    fresh = {}
    kept = dict(state.emitted)
    for name, found in events.items():
        fresh[name] = merged(found) if lineage else distinct(found, state.emitted.get(name))
        kept[name] = concat([*([kept[name]] if name in kept else []), fresh[name]])
    kept = {name: take(known, known.end > horizon) for name, known in kept.items()}
    latest = max([state.latest, *(int(e.end.max()) for e in events.values() if len(e))])
    emitted = {name: known for name, known in kept.items() if len(known)}
    return State(max(horizon, state.horizon), latest, emitted=emitted), fresh


def _known(part: Part, state: State, options: Options) -> dict[str, Events]:
    """The remembered events of every type, none where none are remembered; and the facts."""
    known = {
        name: state.events[name]
        if name in state.events
        else empty_events(schema, options.lineage and name not in part.base)
        for name, schema in part.schemas.items()
    }
    return known | {name: options.tables[name] for name in part.tables}


def _run_stage(
    part: Part,
    stage: Stage,
    inputs: Inputs,
    state: State,
    moment: Horizon,
    options: Options,
    used: dict[str, Events],
) -> dict[str, Events]:
    """The new events of a stage; recursive ones to the fixpoint, each round from the last one."""
    none = {name: empty_events(part.schemas[name], options.lineage) for name in stage.events}
    of_rounds = Seen if stage.recursive and not options.lineage else Growing
    emitted = {
        name: of_rounds(_told_apart(stage, name, inputs, state.emitted.get(name, none[name])))
        for name in stage.events
    }
    every = range(len(stage.rules))
    if not stage.recursive:
        return _round(stage, every, inputs, emitted, moment, none, options, used)
    total = {name: Growing(events) for name, events in none.items()}
    old, before = Old(inputs.old), moment.before
    nothing = {name: _none_of(events) for name, events in inputs.old.items()}
    # A rule that strides has found all that follows from what it found: that is new for the others.
    striding = [number for number in every if stage.strides(number)]
    groups = [[n for n in every if n not in striding], *([n] for n in striding)]
    news: list[Mapping[str, Events]] = [{**inputs.new, **none}] * len(groups)
    taken = 0
    while True:
        now = Horizon(before, moment.now)
        rounds = []
        for rules, new in zip(groups, news, strict=True):
            found = _round(
                stage, rules, Inputs(old, new, inputs.known), emitted, now, none, options, used
            )
            rounds.append(found)
            for name, events in found.items():
                total[name].add(events)
                emitted[name].add(events)
                taken += len(events)
        expect(taken, RECURSIVE, lambda: _recursing(stage))
        if not any(len(events) for found in rounds for events in found.values()):
            return {name: events.all() for name, events in total.items()}
        # What this round has seen is old for the next; only what it found is new.
        old.add(news[0])
        news = [
            {**nothing, **_together([f for n, f in enumerate(rounds) if n == 0 or n != place])}
            for place in range(len(groups))
        ]
        before = moment.now


def _told_apart(stage: Stage, name: str, inputs: Inputs, emitted: Events) -> Events:
    """The events that new ones must be told from: those that could be derived once more."""
    demands = (alternative.demand for rule in stage.rules for alternative in rule)
    if any(demand is not None and demand.late for demand in demands):
        return concat([emitted, inputs.old[name]])
    return emitted


def _recursing(stage: Stage) -> Growth:
    joins = [alternative.conjunct for rule in stage.rules for alternative in rule]
    hidden = {conjunct.event for conjunct in joins if conjunct.hidden}
    names = " and ".join(f"'{name}'" for name in stage.events if name not in hidden)
    return Growth(
        f"the recursion of {names or 'an inner pattern'}",
        "let each round need another event, or go on by a longer time",
        "events",
    )


def _together(rounds: Sequence[Mapping[str, Events]]) -> dict[str, Events]:
    """What several groups of rules have found."""
    return {name: concat([found[name] for found in rounds]) for name in rounds[0]}


def _none_of(events: Events) -> Events:
    return take(events, np.empty(0, dtype=np.int64))


def _round(
    stage: Stage,
    rules: Iterable[int],
    inputs: Inputs,
    known: Mapping[str, Growing | Seen],
    moment: Horizon,
    none: Mapping[str, Events],
    options: Options,
    used: dict[str, Events],
) -> dict[str, Events]:
    """What some rules of a stage newly derive, without what is known already."""
    parts: dict[str, list[Events]] = {name: [] for name in stage.events}
    for number in rules:
        rule, began = stage.rules[number], perf_counter()
        event = rule[0].conjunct.event
        if stage.strides(number):
            parts[event] += derive_strides(rule[0], inputs, moment)
        else:
            consumer = f"{stage.rule_name(number)}|"
            spent = _used_by(consumer, used)
            parts[event] += derive(rule, inputs, moment, options.lineage, spent)
            used.update({consumer + name: events for name, events in spent.items()})
        derived(event).add(0, 0, began)
    found = {}
    for name, pieces in parts.items():
        found[name] = none[name]
        if pieces:
            began = perf_counter()
            found[name] = known[name].fresh(concat(pieces), once=len(pieces) == 1)
            derived(name).add(sum(map(len, pieces)), len(found[name]), began)
    return found


def _retained(
    retention_of: Mapping[str, Kept], inputs: Inputs, moment: Horizon
) -> dict[str, Events]:
    """The events that something later may still need: they are young enough, some rule can use
    them at all, and what it needs besides and must have come before has come."""
    horizon = moment.now
    kept = {}
    for name, retention in retention_of.items():
        if retention.micros <= -UNBOUNDED:
            continue
        whole = inputs.all(name) if () in retention.ways else None
        pieces = [inputs.old[name], inputs.new[name]] if whole is None else [whole]
        if retention.bounded:
            pieces = [take(each, each.end > horizon - retention.micros) for each in pieces]
        if whole is None:
            # What is old was of use when it was new.
            pieces[1] = usable(pieces[1], retention.ways)
        events = pieces[0] if len(pieces) == 1 else concat(pieces)
        if len(events):
            events = reduced(events, retention.reduction, inputs, moment)
        if len(events):
            kept[name] = events
    return kept


def _used_by(rule: str, used: Mapping[str, Events]) -> Used:
    """The events that a rule has used up, by type."""
    return {name.removeprefix(rule): e for name, e in used.items() if name.startswith(rule)}


def _still_used(
    retention_of: Mapping[str, Retention], used: Mapping[str, Events], horizon: int
) -> dict[str, Events]:
    """The events that are used up and would otherwise still be needed."""
    kept = {}
    for name, events in used.items():
        retention = retention_of[name.partition("|")[2]]
        if retention.bounded:
            events = take(events, events.end > horizon - retention.micros)
        if len(events):
            kept[name] = events
    return kept


def _repeatable(
    part: Part, state: State, new: Mapping[str, Events], horizon: int
) -> dict[str, Events]:
    """Results that could be derived once more: those that end after the horizon."""
    kept = {}
    for name in part.repeatable:
        parts = [
            known[name] for known in (state.emitted, new) if name in known and len(known[name])
        ]
        if parts:
            events = concat(parts)
            events = take(events, events.end > horizon)
            if len(events):
                kept[name] = events
    return kept


def _settled(
    state: State, results: Mapping[str, Events], horizon: int
) -> tuple[dict[str, Events], dict[str, Events]]:
    """Results whose lineage is complete, and those that must wait for the horizon to pass them."""
    done, waiting = {}, {}
    for name, events in results.items():
        parts = [state.waiting[name]] if name in state.waiting else []
        whole = merged(concat([*parts, events]))
        settled = whole.end <= horizon
        done[name] = take(whole, settled)
        if not settled.all():
            waiting[name] = take(whole, ~settled)
    return done, waiting
