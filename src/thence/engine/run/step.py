"""One step of a program: new events and a horizon in, results and new state out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import concat, none_of, take, texts_fit
from thence.engine.arrays.step_memo import remembering
from thence.engine.limits.growth import (
    DEFAULT,
    RECURSIVE,
    Budget,
    Growth,
    Limits,
    expect,
    owner,
    spending,
)
from thence.engine.limits.measure import Meter, derived, metered
from thence.engine.output.event_ids import event_ids
from thence.engine.output.recorder import Recorder
from thence.engine.run.by_instants import by_instants
from thence.engine.run.cause_pairs import Told
from thence.engine.run.derive import Horizon, Inputs, Moment, derive, derive_strides
from thence.engine.run.knows import Knows, look_up
from thence.engine.run.reduce import reduced
from thence.engine.state.derivation_store import Store
from thence.engine.state.known import Growing, Known
from thence.engine.state.relation import Relation
from thence.engine.state.remembered import most_of
from thence.engine.state.seen import Seen
from thence.engine.state.state import State, empty_relation
from thence.engine.state.usable import usable
from thence.engine.window.coverage import Gap, derived_gaps, looks_into
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Column
from thence.model.errors import LimitError
from thence.model.events import Events
from thence.plan.horizons import CLOCK, completed, reached
from thence.plan.recording import Recording
from thence.plan.retention import Kept
from thence.plan.statistics import UNKNOWN, Statistics
from thence.plan.tree import Part, Stage


@dataclass(frozen=True, slots=True)
class Options:
    """How a program is run: whether derivations are recorded for lineage, and for how long events
    are kept for further steps; None where this step is the only one."""

    lineage: bool = False
    retention: Mapping[str, Kept] | None = None
    progress: Callable[[int, int], None] | None = None
    """Called after each stage with how many are done, and how many there are."""
    tables: Mapping[str, Relation] = field(default_factory=dict)
    """The rows of the static tables. They are there in every step, and are no part of the state."""
    limits: Limits = DEFAULT
    """What the step may take."""
    known: Statistics = UNKNOWN
    """What is known of the events beforehand."""
    meter: Meter | None = None
    """What takes note of what every operator does."""
    arriving: Store = field(default_factory=Store)
    """How the new events were derived, where another step derived them."""
    further: Callable[[str, Events], None] | None = None
    """Called with events of a type that were given before, and rest on a new derivation; of those
    whose derivations another step reads."""
    knows: Knows | None = None
    """Who derives the rows of relations that rules look into."""


def step(
    part: Part,
    state: State,
    events: Mapping[str, Events],
    horizons: Mapping[str, int],
    options: Options = Options(),  # noqa: B008 (immutable)
) -> tuple[State, dict[str, Events]]:
    """Take new events and the horizons of inputs; give the state after, and the results that are
    new.

    Every new event ends after the previous horizon of its input. Results are given once: a result
    ends no earlier than anything it is made of, so one that ended by the horizons of all that
    cannot be derived anew.
    A :class:`LimitError` says that a rule would take more than it may; nothing has changed then.
    """
    budget = Budget(options.limits, lambda event: owner(event, part))
    with texts_fit(), remembering(), spending(budget), metered(options.meter):
        kept, results = _step(part, state, events, horizons, options)
        budget.keep(kept.nbytes, state.nbytes, lambda: kept.rows, lambda: most_of(kept, part))
        return kept, results


def _step(
    part: Part,
    state: State,
    events: Mapping[str, Events],
    horizons: Mapping[str, int],
    options: Options,
) -> tuple[State, dict[str, Events]]:
    old = {**_nothing(part), **state.events}
    old.update((name, options.tables[name]) for name in part.tables if name in options.tables)
    new = dict(_none_new(part))
    new.update((name, given) for name, given in events.items() if name in new)
    last = options.retention is None
    gaps = derived_gaps(state.gaps, part.horizons.reach) if state.gaps else {}
    inputs = Inputs(old, new, options.known, given=part.given, last=last, gaps=gaps)
    moment = moment_of(part, state, horizons)
    now = moment.now
    used = dict(state.used)
    recording = part.rulebook.recording(options.lineage)
    recorder = Recorder(part, recording) if recording else None
    store, swept = state.store, state.swept
    if store.rows > 2 * swept + SWEPT:
        store = store.kept(recording.alternatives, _referring(part, state, recording))
        swept = store.rows
    told = Told(recording, recorder, store, options.arriving)
    if not options.lineage and any(found.possible is not None for found in events.values()):
        raise AssertionError("events that are only possible are told apart by derivations")
    for number, stage in enumerate(part.stages, 1):
        look_up(options.knows, part, (alt for rule in stage.rules for alt in rule), inputs)
        new.update(_run_stage(part, stage, inputs, state, moment, told, used))
        if options.progress is not None:
            options.progress(number, len(part.stages))
    latest = max([state.latest, *(int(e.end.max()) for e in events.values() if len(e))])
    results = {name: new[name] for name in part.outputs}
    store = told.store
    if options.retention is None:
        done = State(now, latest, derivations=store.derivations, archive=store.archive)
        return done, results
    waiting: dict[str, Relation] = {}
    if options.lineage:
        results, waiting = _settled(part, state, results, now)
    elif options.further is not None:
        _tell_again(part, state, told, options.further)
    kept = State(
        now,
        latest,
        _retained(options.retention, inputs, moment),
        _repeatable(part, state, new, now),
        waiting,
        _still_used(options.retention, used, now),
        _open_gaps(part, options.retention, state.gaps, now) if state.gaps else {},
        store.derivations,
        store.archive,
        swept,
    )
    if options.knows is not None:
        options.knows.remembered(kept.events.values())
    return kept, results


SWEPT = 64
"""So many rows of derivations are no matter, be they needed or not."""


def _referring(part: Part, state: State, recording: Recording) -> dict[str, Index]:
    """The ids of the derived events of which derivations may yet be read, by type: they are
    remembered, and so may be bound, or be given out, in a step to come; or they may get further
    causes, which they can as long as they may be derived once more."""
    effects = {asked.effect for asked in recording.pairs.values()}
    held = [*state.events.items(), *state.waiting.items()]
    held += [each for each in state.emitted.items() if each[0] in effects]
    found: dict[str, list[Index]] = {}
    for name, rows in held:
        if name in recording.alternatives:
            found.setdefault(name, []).append(event_ids(part.schemas[name], rows.whole()))
    return {name: np.concatenate(ids) for name, ids in found.items()}


def _tell_again(
    part: Part, state: State, told: Told, further: Callable[[str, Events], None]
) -> None:
    """Tell of events that were given before and rest on something new; only what may be derived
    once more can."""
    given = [(name, held) for name, held in state.emitted.items() if name in part.carried]
    found = told.above_new() if given else {}
    for name, held in given:
        if name in found:
            events = held.whole()
            events = take(events, np.isin(event_ids(part.schemas[name], events), found[name]))
            if len(events):
                further(name, events)


def moment_of(part: Part, state: State, horizons: Mapping[str, int]) -> Moment:
    """The horizons before a step, and after it."""
    before = state.horizons
    if before.keys() != part.clocks:
        before = completed(before, part.origins)
    return Moment(before, _advanced(before, horizons), part.finalised_by)


def _advanced(before: Mapping[str, int], horizons: Mapping[str, int]) -> dict[str, int]:
    """Horizons, none of which has moved back; the clock goes with the furthest."""
    now = dict(before)
    for name, time in horizons.items():
        if name in now and time > now[name]:
            now[name] = time
    now[CLOCK] = max(now.values())
    return now


def distinct_step(
    part: Part, state: State, events: Mapping[str, Events], horizons: Mapping[str, int]
) -> tuple[State, dict[str, Events]]:
    """Take events that may come more than once; give each once, when it first comes.

    An event that ended by its horizon does not come again, so only later ones are remembered.
    """
    now = _advanced(completed(state.horizons, part.origins), horizons)
    fresh = {}
    kept = dict(state.emitted)
    for name, found in events.items():
        known = kept[name] if name in kept else Relation(none_of(found))
        fresh[name] = Known(known).fresh(found, once=False)
        kept[name] = known.added(fresh[name])
    latest = max([state.latest, *(int(e.end.max()) for e in events.values() if len(e))])
    comes = part.horizons.comes
    emitted = _filled({n: known.expired(reached(comes[n], now)) for n, known in kept.items()})
    return State(now, latest, emitted=emitted), fresh


def _filled(relations: Mapping[str, Relation]) -> dict[str, Relation]:
    """The relations that hold something."""
    return {name: held for name, held in relations.items() if held}


def _nothing(part: Part) -> dict[str, Relation]:
    """Nothing remembered, of every type."""
    found: dict[str, Relation] | None = part.worked_out.get("nothing")
    if found is None:
        found = part.worked_out["nothing"] = {
            name: empty_relation(schema) for name, schema in part.schemas.items()
        }
    return found


def _none_new(part: Part) -> dict[str, Events]:
    """No new events, of every type that comes from outside, and of tables."""
    found: dict[str, Events] | None = part.worked_out.get("none new")
    if found is None:
        nothing = _nothing(part)
        found = part.worked_out["none new"] = {
            name: nothing[name].recent for name in (*part.inputs, *part.tables)
        }
    return found


def _run_stage(
    part: Part,
    stage: Stage,
    inputs: Inputs,
    state: State,
    moment: Moment,
    told: Told,
    used: dict[str, Relation],
) -> dict[str, Events]:
    """The new events of a stage; recursive ones to the fixpoint, each round from the last one."""
    nothing = _nothing(part)
    none = {name: nothing[name].recent for name in stage.events}
    emitted = {name: state.emitted.get(name, nothing[name]) for name in stage.events}
    every = range(len(stage.rules))
    if not stage.recursive:
        late = _asked_late(stage)
        known = {
            name: Known(held, *([inputs.old[name]] if late else ()))
            for name, held in emitted.items()
        }
        return _round(stage, every, inputs, known, moment, none, told, used)
    known_by_now = {name: Seen(held) for name, held in emitted.items()}
    if not stage.in_order:
        return _fixpoint(part, stage, inputs, known_by_now, moment, told, used)
    old = dict(inputs.old)
    total = {name: Growing(events) for name, events in none.items()}
    taken = 0
    for new, stretch in by_instants(stage, inputs, moment):
        own = Inputs(old, new, inputs.known, last=inputs.last, gaps=inputs.gaps)
        found = _fixpoint(part, stage, own, known_by_now, stretch, told, used)
        for name, events in found.items():
            total[name].add(events)
            taken += len(events)
        expect(taken, RECURSIVE, lambda: _recursing(stage))
        later = {**new, **found}
        old |= {name: old[name].added(events) for name, events in later.items() if len(events)}
    return {name: events.all() for name, events in total.items()}


def _fixpoint(
    part: Part,
    stage: Stage,
    inputs: Inputs,
    known_by_now: Mapping[str, Seen],
    moment: Moment,
    told: Told,
    used: dict[str, Relation],
) -> dict[str, Events]:
    """What a recursion newly derives, each round from what the last one found, without what is
    known by now; that is known then."""
    nothing = _nothing(part)
    none = {name: nothing[name].recent for name in stage.events}
    every = range(len(stage.rules))
    total = {name: Growing(events) for name, events in none.items()}
    old = dict(inputs.old)
    nothing_new = {name: held.recent for name, held in nothing.items()}
    # A rule that strides has found all that follows from what it found: that is new for the others.
    striding = [number for number in every if _strides(stage, number, inputs)]
    groups = [[n for n in every if n not in striding], *([n] for n in striding)]
    news: list[Mapping[str, Events]] = [{**inputs.new, **none}] * len(groups)
    added: Mapping[str, Events] = inputs.new
    met_again = stage.met_again
    taken = turns = 0
    while True:
        rounds = []
        for rules, new in zip(groups, news, strict=True):
            own = Inputs(old, new, inputs.known, last=inputs.last, gaps=inputs.gaps)
            found = _round(stage, rules, own, known_by_now, moment, none, told, used)
            rounds.append(found)
            for name, events in found.items():
                total[name].add(events)
                known_by_now[name].add(events)
                taken += len(events)
        expect(taken, RECURSIVE, lambda: _recursing(stage))
        turns += 1
        if stage.most_rounds is not None and turns > stage.most_rounds:
            raise _endless(stage, turns)
        if not any(len(events) for found in rounds for events in found.values()):
            return {name: events.all() for name, events in total.items()}
        # What this round has seen is old for the next; only what it found is new.
        old |= {name: old[name].added(events) for name, events in added.items() if len(events)}
        news = [
            {**nothing_new, **_together([f for n, f in enumerate(rounds) if n == 0 or n != place])}
            for place in range(len(groups))
        ]
        added = {name: news[0][name] for name in met_again}
        groups[0] = [number for number in groups[0] if stage.goes_round(number)]
        moment = moment.afterwards


def _strides(stage: Stage, number: int, inputs: Inputs) -> bool:
    """Whether a rule goes on from its own results by the same stride: it can if all is known that
    may end it."""
    return stage.strides(number) and not looks_into(stage.rules[number][0], inputs.gaps)


def _asked_late(stage: Stage) -> bool:
    """Whether results may be asked for after they have ended, and so be derived once more."""
    demands = (alternative.demand for rule in stage.rules for alternative in rule)
    return any(demand is not None and demand.late for demand in demands)


def _recursing(stage: Stage) -> Growth:
    joins = [alternative.conjunct for rule in stage.rules for alternative in rule]
    hidden = {conjunct.event for conjunct in joins if conjunct.head.hidden}
    names = " and ".join(f"'{name}'" for name in stage.events if name not in hidden)
    return Growth(
        f"the recursion of {names or 'an inner pattern'}",
        "let each round need another event, or go on by a longer time",
        "events",
    )


def _endless(stage: Stage, turns: int) -> LimitError:
    """The error of a recursion that goes on computing rows from rows."""
    joins = [alternative.conjunct for rule in stage.rules for alternative in rule]
    computing = [c for c in joins if not all(isinstance(term, Column) for term in c.head.terms)]
    conjunct = computing[0] if computing else joins[0]
    return LimitError(
        f"the recursion still computes new rows after {turns - 1:,} rounds, so it may never end",
        "bound what it computes with a condition, such as n < 100",
        span=conjunct.span,
    )


def _together(rounds: Sequence[Mapping[str, Events]]) -> dict[str, Events]:
    """What several groups of rules have found."""
    return {name: concat([found[name] for found in rounds]) for name in rounds[0]}


def _round(
    stage: Stage,
    rules: Iterable[int],
    inputs: Inputs,
    known: Mapping[str, Known | Seen],
    moment: Moment,
    none: Mapping[str, Events],
    told: Told,
    used: dict[str, Relation],
) -> dict[str, Events]:
    """What some rules of a stage newly derive, without what is known already."""
    parts: dict[str, list[Events]] = {name: [] for name in stage.events}
    for number in rules:
        rule, began = stage.rules[number], perf_counter()
        event = rule[0].conjunct.event
        recorder = told.recorder_of(event)
        if rule[0].causes is not None:
            parts[event] += told.causes(rule[0])
        elif _strides(stage, number, inputs):
            parts[event] += derive_strides(rule[0], inputs, moment, recorder)
        elif not rule[0].conjunct.policy.consumes:
            parts[event] += derive(rule, inputs, moment, recorder)
        else:
            consumer = f"{stage.rule_name(number)}|"
            spent = _used_by(consumer, used)
            parts[event] += derive(rule, inputs, moment, recorder, spent)
            used.update({consumer + name: held for name, held in spent.items()})
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
    retention_of: Mapping[str, Kept], inputs: Inputs, moment: Moment
) -> dict[str, Relation]:
    """The events that something later may still need: they are young enough, some rule can use
    them at all, and what it needs besides and must have come before has come."""
    kept = {}
    for name, retention in retention_of.items():
        if retention.micros <= -UNBOUNDED:
            continue
        held, new = inputs.old[name], inputs.new[name]
        if len(new):
            # What is old was of use when it was new.
            held = held.replaced(concat([held.recent, usable(new, retention.ways)]))
        if retention.bounded:
            held = held.expired(reached(retention.until, moment.now))
        if not retention.reduction.partners:
            settled = held.settled()
        else:
            passed = reached(retention.met, moment.now)
            horizon = Horizon(reached(retention.met, moment.before), passed)
            recent = reduced(held.recent, held.most, retention.reduction, inputs, horizon)
            settled = held.replaced(recent).settled(passed)
        if settled:
            kept[name] = settled
    return kept


def _open_gaps(
    part: Part,
    retention_of: Mapping[str, Kept],
    gaps: Mapping[str, Sequence[Gap]],
    now: Mapping[str, int],
) -> dict[str, list[Gap]]:
    """The gaps that some window may still look into: as long as an event would be kept that ended
    there, or that rests on one that did."""

    def is_open(name: str, last: int) -> bool:
        return any(
            name in (reach := part.horizons.reach[event])
            and (not kept.bounded or last + reach[name] > reached(kept.until, now))
            for event, kept in retention_of.items()
            if kept.micros > -UNBOUNDED
        )

    found = {name: [gap for gap in own if is_open(name, gap[1])] for name, own in gaps.items()}
    return {name: own for name, own in found.items() if own}


def _used_by(rule: str, used: Mapping[str, Relation]) -> dict[str, Relation]:
    """The events that a rule has used up, by type."""
    return {name.removeprefix(rule): held for name, held in used.items() if name.startswith(rule)}


def _still_used(
    retention_of: Mapping[str, Kept], used: Mapping[str, Relation], now: Mapping[str, int]
) -> dict[str, Relation]:
    """The events that are used up and would otherwise still be needed."""
    kept = {}
    for name, events in used.items():
        retention = retention_of[name.partition("|")[2]]
        over = reached(retention.until, now) if retention.bounded else None
        kept[name] = events if over is None else events.expired(over)
    return _filled(kept)


def _repeatable(
    part: Part, state: State, new: Mapping[str, Events], now: Mapping[str, int]
) -> dict[str, Relation]:
    """Results that could be derived once more: those that end after their horizon."""
    kept = {}
    for name in part.repeatable:
        held, found = state.emitted.get(name), new.get(name)
        horizon = reached(part.horizons.comes[name], now)
        if held is not None:
            held = held.expired(horizon)
        if found is not None and len(found):
            held = Relation(none_of(found), after=horizon) if held is None else held
            held = held.added(take(found, found.end > horizon))
        if held is not None:
            kept[name] = held
    return _filled(kept)


def _settled(
    part: Part, state: State, results: Mapping[str, Events], now: Mapping[str, int]
) -> tuple[dict[str, Events], dict[str, Relation]]:
    """Results of which all derivations are known, and those that wait for the horizon to pass
    them."""
    done, waiting = {}, {}
    for name, events in results.items():
        horizon = reached(part.horizons.comes[name], now)
        settled = events.end <= horizon
        held = state.waiting.get(name)
        before = [] if held is None else [held.ending(None, horizon)]
        done[name] = concat([*before, take(events, settled)])
        if held is None and not settled.all():
            held = Relation(none_of(events))
        if held is not None:
            waiting[name] = held.expired(horizon).added(take(events, ~settled))
    return done, _filled(waiting)
