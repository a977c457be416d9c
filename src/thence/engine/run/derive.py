"""Deriving the events of one conjunct from what is old and what is new.

New results contain something new: an event, or a completion time that the horizon has passed. So
``Δ(A ⋈ B) = ΔA ⋈ (B ∪ ΔB)  ∪  A ⋈ ΔB``, plus, for conjuncts that wait, matches of old events
alone whose last completion time lies between the previous horizon and this one. Where nothing is
remembered of A, all of it is ``ΔA ⋈ (B ∪ ΔB)``. A batch is one step in which everything is new. No
partial match is ever stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import concat, distinct, none_of, sliced
from thence.engine.join.join import Ceiling, Cut, TooManyCandidates, join_in_chunks, joins
from thence.engine.join.match import Match
from thence.engine.join.search import fulfilling
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect, named, working_on
from thence.engine.limits.measure import measured
from thence.engine.output.collect import collected
from thence.engine.output.merge import merged_results
from thence.engine.output.project import projected, tells_rows_apart, tied
from thence.engine.output.recorder import Recorder
from thence.engine.policy.groups import Used, chosen, chosen_groups
from thence.engine.policy.policy_search import few_enough, sought
from thence.engine.policy.variants import Moments
from thence.engine.repetition.repeat import with_repetitions
from thence.engine.run.narrow import Narrowed, Term, is_worthwhile
from thence.engine.run.selections import Selections
from thence.engine.state.relation import Relation, Span, span_of
from thence.engine.window.completion import passed
from thence.engine.window.coverage import Gaps, in_sight, looks_into
from thence.engine.window.strides import strides
from thence.engine.window.ticks import ticked
from thence.engine.window.windows import is_asked, satisfied
from thence.logic.bounds import UNBOUNDED, Constraint
from thence.logic.conjunct import EPOCH
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.plan.demand import forms
from thence.plan.horizons import Lags, reached
from thence.plan.prepared import Prepared
from thence.plan.statistics import UNKNOWN, Statistics


@dataclass(slots=True)
class Inputs:
    """The events that a step sees, by type: those from before, and those that are new."""

    old: dict[str, Relation]
    new: Mapping[str, Events]
    known: Statistics = UNKNOWN
    """What is known of the events beforehand."""
    _all: dict[str, Events] = field(default_factory=dict)
    selections: Selections = field(default_factory=Selections)
    """What selections from the new events share."""
    given: Collection[str] = ()
    """The types of events that come from outside, in which one may be there twice."""
    last: bool = False
    """Whether there is no further step."""
    gaps: Mapping[str, Gaps] = field(default_factory=dict)
    """The times of which it is not known which events ended then, by type."""

    def all(self, event: str) -> Events:
        """Old and new events of a type together."""
        found = self._all.get(event)
        if found is None:
            old = [self.old[event].whole()] if event in self.old else []
            new = [self.new[event]] if event in self.new else []
            found = self._all[event] = concat([*old, *new])
        return found

    def replace(self, name: str, rows: Relation) -> None:
        """Let a table have other rows from now on."""
        self.old[name] = rows
        self._all.pop(name, None)

    def only_possible(self, event: str) -> bool:
        """Whether some events of a type may not have happened."""
        old, new = self.old.get(event), self.new.get(event)
        return (old is not None and old.only_possible) or (
            new is not None and new.possible is not None and bool(new.possible.any())
        )


@dataclass(frozen=True, slots=True)
class Horizon:
    """The time up to which everything had been seen before this step, and has been now."""

    before: int
    now: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The horizons of all inputs before this step, and now; each join has that of what it waits
    for."""

    before: Mapping[str, int]
    now: Mapping[str, int]
    finalised_by: Mapping[Prepared, Lags]
    between: tuple[int, int] | None = None
    """A stretch of time, where a step is made in several."""

    def of(self, prepared: Prepared) -> Horizon:
        """The horizon of a join."""
        lags = self.finalised_by[prepared]
        before, now = reached(lags, self.before), reached(lags, self.now)
        if self.between is not None:
            before, now = max(before, self.between[0]), min(now, self.between[1])
        return Horizon(before, now)

    @property
    def afterwards(self) -> Moment:
        """The same, for what follows from what this step has found: no time passes."""
        return replace(self, before=self.now)


def derive(
    alternatives: Sequence[Prepared],
    inputs: Inputs,
    moment: Moment,
    recorder: Recorder | None = None,
    used: dict[str, Relation] | None = None,
) -> list[Events]:
    """The events that a rule newly gives rise to, possibly with repetitions.

    A rule has one prepared conjunct per alternative; policies and aggregates run over all of them
    together. Events that its policy uses up are added to ``used``, by type; what events are made of
    is told to the recorder.
    """
    near = _Near({} if used is None else used)
    parts = _derived(alternatives, inputs, moment, recorder, near)
    if used is not None:
        used.update(near.after())
    return parts


def derive_in_chunks(
    prepared: Prepared, inputs: Inputs, horizon: Horizon, rows: int
) -> Iterator[Events]:
    """The events that a rule of one alternative gives rise to, about so many at a time, and each
    once: where its matches neither are chosen from nor collect, and where everything is new."""
    apart = False

    def cut(match: Match, atom: int) -> tuple[Match, Index | None]:
        nonlocal apart
        apart = tells_rows_apart(match)
        return tied(match, atom, apart)

    terms = _terms(prepared, Sources(prepared, inputs), horizon)
    found = _matches(prepared, terms, horizon, inputs, False, cut=Cut(rows, cut))
    return (projected(match, None, apart) for match in found)


class _Near:
    """The events that a rule has used up, as far as they could be among those it looks at."""

    def __init__(self, held: Mapping[str, Relation]) -> None:
        self.held = held
        self.events: Used = {}
        self._before: dict[str, int] = {}

    def take(self, rels: Iterable[tuple[str, Events]]) -> None:
        """Take those that could be among the rows of some relations, each with its type."""
        if not self.held:
            return
        looked_at: dict[str, list[Events]] = {event: [] for event in self.held}
        for event, rel in rels:
            if event in looked_at and len(rel):
                looked_at[event].append(rel)
        self.events = {
            event: self.held[event].alike(concat(rels)) for event, rels in looked_at.items() if rels
        }
        self._before = {event: len(rows) for event, rows in self.events.items()}

    def after(self) -> dict[str, Relation]:
        """All that are used up, those that have become so just now included."""
        found = {}
        for event, rows in self.events.items():
            fresh = sliced(rows, self._before.get(event, 0), len(rows))
            held = self.held.get(event)
            found[event] = (Relation(none_of(rows)) if held is None else held).added(fresh)
        return found


def _derived(
    alternatives: Sequence[Prepared],
    inputs: Inputs,
    moment: Moment,
    recorder: Recorder | None,
    near: _Near,
) -> list[Events]:
    """The same; what is used up is added to the events of ``near``."""
    if (selection := alternatives[0].selection) is not None:
        event = alternatives[0].uses[0].event
        rows, given, began = inputs.new[event], event in inputs.given, perf_counter()
        found = inputs.selections.of(alternatives[0], selection, rows, given)
        measured(alternatives[0]).filter(0).add(len(rows), len(found), began)
        return [found] if len(found) else []
    if recorder is not None:
        _refuse_possible(alternatives, inputs)
    policy = alternatives[0].conjunct.policy
    settled = not policy.chooses
    if policy.chooses:
        matches, settled = _candidates(alternatives, inputs, moment, near)
    else:
        everything = recorder is not None
        matches = [
            match
            for prepared, own, new_of in _evaluated(alternatives, inputs)
            for horizon in (moment.of(prepared),)
            for match in _matches(
                prepared, _terms(prepared, own, horizon, new_of), horizon, inputs, everything
            )
        ]
    before, began = sum(match.length for match in matches), perf_counter()
    if matches and policy.merges:
        merging = chosen_groups(policy, matches, near.events)
        measured(alternatives[0]).policy.add(before, len(merging), began)
        if not merging:
            return []
        return [distinct(merged_results(merging, recorder))]
    if matches and not settled:
        matches = chosen(policy, matches, near.events)
    if policy.chooses:
        kept = sum(match.length for match in matches)
        measured(alternatives[0]).policy.add(before, kept, began)
    if not matches:
        return []
    if alternatives[0].conjunct.aggregates:
        parts = [collected(matches, recorder)]
    else:
        parts = [projected(match, recorder) for match in matches]
    return [part for part in parts if len(part)]


def _refuse_possible(alternatives: Sequence[Prepared], inputs: Inputs) -> None:
    """A rule that takes all events there are, or chooses among them, has another result for every
    set of events that may have happened, and no derivation says which."""
    for prepared in alternatives:
        if prepared.conjunct.waits or prepared.stride is not None:
            for use in prepared.uses:
                if inputs.only_possible(use.event):
                    raise EvaluationError(
                        f"'{use.event}' events that are only possible cannot be collected, "
                        "repeated or chosen from"
                    )


def _evaluated(
    alternatives: Sequence[Prepared], inputs: Inputs
) -> Iterator[tuple[Prepared, Sources, frozenset[int] | None]]:
    """The joins that a rule is evaluated by, and the atoms whose new rows each is run for."""
    sources: dict[int, Sources] = {}

    def source(prepared: Prepared) -> Sources:
        return sources.setdefault(id(prepared), Sources(prepared, inputs))

    for prepared, new_of in forms(
        alternatives, lambda of, atom: source(of).size(atom), inputs.last
    ):
        yield prepared, source(prepared), new_of


def candidates(alternatives: Sequence[Prepared], inputs: Inputs, moment: Moment) -> list[Match]:
    """New matches of a rule, among them all that its policy lets count, where nothing has been used
    up before."""
    return _candidates(alternatives, inputs, moment, _Near({}))[0]


def _candidates(
    alternatives: Sequence[Prepared], inputs: Inputs, moment: Moment, near: _Near
) -> tuple[list[Match], bool]:
    """New matches of a rule, among them all that its policy lets count; and whether they are just
    those. All alternatives have one horizon."""
    policy, horizon = alternatives[0].conjunct.policy, moment.of(alternatives[0])
    terms = [
        (prepared, list(_terms(prepared, Sources(prepared, inputs), horizon)))
        for prepared in alternatives
    ]
    joins = [(prepared, rels, limits) for prepared, own in terms for rels, limits, _, _ in own]
    near.take(
        (use.event, rels[atom])
        for prepared, rels, _ in joins
        for atom, use in enumerate(prepared.uses)
    )

    def all_of_them(most: Ceiling | None) -> list[Match]:
        return [
            match
            for prepared, own in terms
            for match in _matches(prepared, own, horizon, inputs, keep_all=True, most=most)
        ]

    if any(looks_into(prepared, inputs.gaps) for prepared in alternatives):
        return all_of_them(None), False
    most = few_enough(joins)
    try:
        if most is not None:
            return all_of_them(most), False
    except TooManyCandidates:
        pass
    began = perf_counter()
    found = sought(policy, joins, Moments(horizon.before, horizon.now), near.events)
    measured(alternatives[0]).policy.add(0, 0, began)
    return (all_of_them(None), False) if found is None else found


def derive_strides(
    prepared: Prepared, inputs: Inputs, moment: Moment, recorder: Recorder | None
) -> list[Events]:
    """The events that follow from new ones by a rule that goes on by the same stride, and those
    that follow from these: as if the rule had been asked again and again."""
    (atom,) = prepared.conjunct.positive
    if recorder is not None:
        _refuse_possible([prepared], inputs)
    horizon = moment.of(prepared)
    working_on(prepared)
    found = []
    for rels, _, only_finalised, _ in _terms(prepared, Sources(prepared, inputs), horizon):
        rows = np.arange(len(rels[atom]))
        match = _finalised(Match(prepared, rels, len(rows), {atom: rows}), horizon, only_finalised)
        if match.length:
            known = inputs.old[prepared.conjunct.event].ending(int(rels[atom].end.min()), None)
            events, before = strides(match, horizon.now, known, recorder is not None)
            if recorder is not None and len(events):
                every = np.arange(len(events))
                by_one = Match(prepared, [before] * len(rels), len(events), {atom: every})
                recorder.matches(by_one, events)
                events = distinct(events)  # one may follow from several
            found.append(events)
    return [part for part in found if len(part)]


def all_matches(prepared: Prepared, inputs: Inputs, horizon: Horizon) -> Iterator[Match]:
    """The new matches of one alternative in every combination, with whatever they are made of."""
    terms = _terms(prepared, Sources(prepared, inputs), horizon)
    return _matches(prepared, terms, horizon, inputs, keep_all=True)


def _matches(
    prepared: Prepared,
    terms: Iterable[Joining],
    horizon: Horizon,
    inputs: Inputs,
    keep_all: bool,
    most: Ceiling | None = None,
    cut: Cut | None = None,
) -> Iterator[Match]:
    """The new matches of one alternative, finalised and free of what must be absent; with ``cut``
    a chunk at a time, to be held no longer than the next one is asked for."""
    found = 0
    figures = measured(prepared)
    for rels, limits, only_finalised, term in terms:
        working_on(prepared)
        policy = prepared.conjunct.policy
        everything = keep_all or prepared.keeps_all
        if cut is None:
            parts = joins(prepared, rels, limits, everything, most, term, inputs.known)
        else:
            parts = join_in_chunks(prepared, rels, limits, cut, term, inputs.known)
        for match in parts:
            match = ticked(match, horizon.before if only_finalised else None, horizon.now)
            match = _finalised(match, horizon, only_finalised)
            if inputs.gaps:
                match = in_sight(match, inputs.gaps)
            for window in prepared.conjunct.windows:
                # A policy chooses among matches, and one that collects nothing is none.
                if window.mode == "absent" or (policy.chooses and is_asked(window)):
                    before, began = match.length, perf_counter()
                    match = match.where(satisfied(match, window))
                    figures.window(window.atom).add(before, match.length, began)
            if match.length and prepared.conjunct.repetitions:
                before, began = match.length, perf_counter()
                match = with_repetitions(match, keep_all or policy.chooses)
                for window in prepared.conjunct.repetitions:
                    figures.window(window.atom).add(before, match.length, began)
            found += match.length
            expect(found, 8 if cut is None else 0, lambda: _matching(prepared))
            if match.length:
                yield match


def _matching(prepared: Prepared) -> Growth:
    atoms = named(prepared, prepared.conjunct.positive)
    return Growth(f"matching {atoms}", JOIN_ADVICE, "matches")


Joining = tuple[Sequence[Events], Sequence[Constraint], bool, int]
"""A join that gives something new: relations, limits, whether only what the horizon has newly
passed counts, and the atom that is bound to new events, -1 where there is none."""


class Sources:
    """Relations of a conjunct's atoms, filtered by the predicates that concern one atom alone."""

    def __init__(self, prepared: Prepared, inputs: Inputs) -> None:
        self.prepared = prepared
        self.inputs = inputs
        self.cache: dict[tuple[str, int], Events] = {}
        self._spans: dict[tuple[str, int], Span] = {}

    def get(self, which: str, atom: int) -> Events:
        """The "old" or the "new" events of an atom."""
        atom = self.prepared.aliases.get(atom, atom)
        found = self.cache.get((which, atom))
        if found is None:
            event = self.prepared.uses[atom].event
            events = self.old(atom).whole() if which == "old" else self.inputs.new[event]
            began = perf_counter()
            filters = bool(self.prepared.own_predicates(atom))
            found = self.cache[which, atom] = self.filtered(atom, events) if filters else events
            if which == "new" and filters:
                measured(self.prepared).filter(atom).add(len(events), len(found), began)
        return found

    def old(self, atom: int) -> Relation:
        """What is remembered of the event of an atom."""
        return self.inputs.old[self.prepared.uses[atom].event]

    def span(self, which: str, atom: int) -> Span:
        """A time within which the "old", the "new" or "all" events of an atom end."""
        found = self._spans.get((which, atom))
        if found is None:
            if which == "all":
                old, new = self.span("old", atom), self.span("new", atom)
                found = min(old[0], new[0]), max(old[1], new[1])
            else:
                found = self.old(atom).span if which == "old" else span_of(self.get("new", atom))
            self._spans[which, atom] = found
        return found

    def can_meet(self, old: int, new: int) -> bool:
        """Whether old events of an atom can be in one match with new ones of another, by when they
        end."""
        apart = self.prepared.apart
        (first, last), (begin, end) = self.span("old", old), self.span("new", new)
        after, before = apart.get((old, new), UNBOUNDED), apart.get((new, old), UNBOUNDED)
        return first - end <= after and begin - last <= before

    def size(self, atom: int) -> int:
        """How many rows an atom has at hand, at most."""
        return self.old(atom).most + len(self.get("new", atom))

    def all(self, atom: int) -> Events:
        """All events of an atom."""
        if not self.prepared.own_predicates(atom):
            return self.inputs.all(self.prepared.uses[atom].event)
        return concat([self.get("old", atom), self.get("new", atom)])

    def filtered(self, atom: int, events: Events) -> Events:
        """Those of some events that fulfil what is asked of an atom alone."""
        return fulfilling(self.prepared, atom, events)

    def relations(self, term: Term) -> Sequence[Events]:
        """The relations of a term: of what is remembered, those rows that it can meet."""
        if self.prepared.stride is None and is_worthwhile(self.prepared, self.old):
            return Narrowed(self.prepared, term, self.old, self.filtered, self.get)
        which = [term.which.get(atom, "all") for atom in range(len(self.prepared.uses))]
        return [
            self.all(atom) if each == "all" else self.get(each, atom)
            for atom, each in enumerate(which)
        ]


def _terms(
    prepared: Prepared,
    sources: Sources,
    horizon: Horizon,
    new_of: frozenset[int] | None = None,
) -> Iterator[Joining]:
    """The joins whose union is what is new. With ``new_of``, only those in which such an atom is
    new."""
    conjunct = prepared.conjunct
    completions = [
        Constraint(completion, EPOCH, horizon.now) for completion in conjunct.completions
    ]
    if conjunct.waits:
        # A group is reported once, when the horizon passes its end: from all its matches.
        if horizon.now > horizon.before and new_of is None:
            yield _finalising(sources, {}, completions, horizon)
        return
    new = [atom for atom in conjunct.positive if len(sources.get("new", atom))]
    fresh = _only_new(prepared, sources, new) if new_of is None and len(new) > 1 else None
    for atom in new:
        if new_of is not None and atom not in new_of:
            continue
        if fresh is None:
            earlier = conjunct.positive[: conjunct.positive.index(atom)]
            which = dict.fromkeys(earlier, "old") | {atom: "new"}
        elif atom == fresh:
            which = {atom: "new"}
        else:
            continue
        if _is_possible(prepared, sources, which):
            yield sources.relations(Term(which, completions)), completions, False, atom
    if conjunct.completions and horizon.now > horizon.before and new_of is None:
        yield _finalising(sources, dict.fromkeys(conjunct.positive, "old"), completions, horizon)


def _only_new(prepared: Prepared, sources: Sources, new: Sequence[int]) -> int | None:
    """An atom that is new in every match that has something new, so that one join finds them all:
    nothing of it is old, or nothing that could be in one match with what is ``new``."""
    positive = prepared.conjunct.positive
    fresh = next((atom for atom in positive if not sources.old(atom)), None)
    if fresh is not None:
        return fresh
    for atom in positive:
        if not any(sources.can_meet(atom, other) for other in new if other != atom):
            return atom
    return None


def _is_possible(prepared: Prepared, sources: Sources, which: Mapping[int, str]) -> bool:
    """Whether a term has rows for all atoms, and they can be in one match by when they end."""
    positive = prepared.conjunct.positive
    if not any(sources.old(atom) for atom in positive):
        # All of it is new, and may be much: when it ends is not asked for then.
        return all(which.get(a, "all") != "old" and len(sources.get("new", a)) for a in positive)
    spans = {atom: sources.span(which.get(atom, "all"), atom) for atom in positive}
    if any(first > last for first, last in spans.values()):
        return False
    pairs = prepared.apart.items()
    return all(spans[one][0] - spans[other][1] <= limit for (one, other), limit in pairs)


def _finalising(
    sources: Sources, which: Mapping[int, str], completions: list[Constraint], horizon: Horizon
) -> Joining:
    """The join of what the horizon finalises just now: the last completion lies after the previous
    horizon."""
    later = [[Constraint(EPOCH, c.later, -(horizon.before + 1))] for c in completions]
    limits = [*completions, *(later[0] if len(later) == 1 else ())]
    return sources.relations(Term(which, completions, later)), limits, True, -1


def _finalised(match: Match, horizon: Horizon, only_finalised: bool) -> Match:
    """The rows whose completion times the horizon has passed; with ``only_finalised``, just now."""
    return match.where(passed(match, horizon.before if only_finalised else None, horizon.now))
