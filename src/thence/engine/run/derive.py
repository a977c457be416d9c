"""Deriving the events of one conjunct from what is old and what is new.

New results contain something new: an event, or a completion time that the horizon has passed. So
``Δ(A ⋈ B) = ΔA ⋈ (B ∪ ΔB)  ∪  A ⋈ ΔB``, plus, for conjuncts that wait, matches of old events
alone whose last completion time lies between the previous horizon and this one. A batch is one
step in which everything is new. No partial match is ever stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from thence.engine.arrays.rows import concat, distinct, take
from thence.engine.join.join import Ceiling, TooManyCandidates, joins
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect, named, working_on
from thence.engine.limits.measure import measured
from thence.engine.output.collect import collected
from thence.engine.output.merge import merged_results
from thence.engine.output.project import projected
from thence.engine.policy.groups import Used, chosen, chosen_groups
from thence.engine.policy.policy_search import few_enough, sought
from thence.engine.policy.variants import Moments
from thence.engine.repetition.repeat import with_repetitions
from thence.engine.run.selections import Selections
from thence.engine.window.completion import passed
from thence.engine.window.strides import strides
from thence.engine.window.ticks import ticked
from thence.engine.window.windows import is_asked, satisfied
from thence.logic.bounds import Constraint
from thence.logic.conjunct import EPOCH, Conjunct
from thence.model.events import Events
from thence.plan.demand import forms
from thence.plan.prepared import Prepared
from thence.plan.statistics import UNKNOWN, Statistics


@dataclass(slots=True)
class Inputs:
    """The events that a step sees, by type: those from before, and those that are new."""

    old: Mapping[str, Events]
    new: Mapping[str, Events]
    known: Statistics = UNKNOWN
    """What is known of the events beforehand."""
    _all: dict[str, Events] = field(default_factory=dict)
    selections: Selections = field(default_factory=Selections)
    """What selections from the new events share."""
    given: Collection[str] = ()
    """The types of events that come from outside, in which one may be there twice."""

    def all(self, event: str) -> Events:
        """Old and new events of a type together."""
        found = self._all.get(event)
        if found is None:
            parts = [part[event] for part in (self.old, self.new) if event in part]
            found = self._all[event] = concat(parts)
        return found


@dataclass(frozen=True, slots=True)
class Horizon:
    """The time up to which everything had been seen before this step, and has been now."""

    before: int
    now: int


def derive(
    alternatives: Sequence[Prepared],
    inputs: Inputs,
    horizon: Horizon,
    lineage: bool = False,
    used: Used | None = None,
) -> list[Events]:
    """The events that a rule newly gives rise to, possibly with repetitions.

    A rule has one prepared conjunct per alternative; policies and aggregates run over all of them
    together. Events that its policy uses up are added to ``used``.
    """
    if (selection := alternatives[0].selection) is not None:
        event = alternatives[0].uses[0].event
        rows, given, began = inputs.new[event], event in inputs.given, perf_counter()
        found = inputs.selections.of(alternatives[0], selection, rows, given)
        measured(alternatives[0]).filter(0).add(len(rows), len(found), began)
        return [found] if len(found) else []
    policy = alternatives[0].conjunct.policy
    settled = not policy.chooses
    if policy.chooses:
        matches, settled = candidates(alternatives, inputs, horizon, {} if used is None else used)
    else:
        matches = [
            match
            for prepared, own, new_of in _evaluated(alternatives, inputs)
            for match in _matches(prepared, own, horizon, lineage, new_of=new_of)
        ]
    before, began = sum(match.length for match in matches), perf_counter()
    if matches and policy.merges:
        merging = chosen_groups(policy, matches, {} if used is None else used)
        measured(alternatives[0]).policy.add(before, len(merging), began)
        if not merging:
            return []
        events = merged_results(merging, lineage).events
        return [events if lineage else distinct(events)]
    if matches and not settled:
        matches = chosen(policy, matches, {} if used is None else used)
    if policy.chooses:
        kept = sum(match.length for match in matches)
        measured(alternatives[0]).policy.add(before, kept, began)
    if not matches:
        return []
    if alternatives[0].conjunct.aggregates:
        parts = [collected(matches, lineage)]
    else:
        parts = [projected(match, lineage) for match in matches]
    return [part for part in parts if len(part)]


def _evaluated(
    alternatives: Sequence[Prepared], inputs: Inputs
) -> Iterator[tuple[Prepared, Sources, frozenset[int] | None]]:
    """The joins that a rule is evaluated by, and the atoms whose new rows each is run for."""
    sources: dict[int, Sources] = {}

    def source(prepared: Prepared) -> Sources:
        return sources.setdefault(id(prepared), Sources(prepared, inputs))

    for prepared, new_of in forms(alternatives, lambda of, atom: source(of).size(atom)):
        yield prepared, source(prepared), new_of


def candidates(
    alternatives: Sequence[Prepared], inputs: Inputs, horizon: Horizon, used: Used
) -> tuple[list[Match], bool]:
    """New matches of a rule, among them all that its policy lets count; and whether they are just
    those."""
    policy = alternatives[0].conjunct.policy
    sources = [Sources(prepared, inputs) for prepared in alternatives]
    joins = [
        (prepared, rels, limits)
        for prepared, own in zip(alternatives, sources, strict=True)
        for rels, limits, _, _ in _terms(prepared, own, horizon)
    ]

    def all_of_them(most: Ceiling | None) -> list[Match]:
        return [
            match
            for prepared, own in zip(alternatives, sources, strict=True)
            for match in _matches(prepared, own, horizon, keep_all=True, most=most)
        ]

    most = few_enough(joins)
    try:
        if most is not None:
            return all_of_them(most), False
    except TooManyCandidates:
        pass
    began = perf_counter()
    found = sought(policy, joins, Moments(horizon.before, horizon.now), used)
    measured(alternatives[0]).policy.add(0, 0, began)
    return (all_of_them(None), False) if found is None else found


def derive_strides(prepared: Prepared, inputs: Inputs, horizon: Horizon) -> list[Events]:
    """The events that follow from new ones by a rule that goes on by the same stride, and those
    that follow from these: as if the rule had been asked again and again."""
    (atom,) = prepared.conjunct.positive
    working_on(prepared)
    found = []
    for rels, _, only_finalised, _ in _terms(prepared, Sources(prepared, inputs), horizon):
        rows = np.arange(len(rels[atom]))
        match = _finalised(Match(prepared, rels, len(rows), {atom: rows}), horizon, only_finalised)
        if match.length:
            found.append(strides(match, horizon.now, inputs.old[prepared.conjunct.event]))
    return [part for part in found if len(part)]


def all_matches(prepared: Prepared, inputs: Inputs, horizon: Horizon) -> Iterator[Match]:
    """The new matches of one alternative in every combination, with whatever they are made of."""
    return _matches(prepared, Sources(prepared, inputs), horizon, keep_all=True)


def _matches(
    prepared: Prepared,
    sources: Sources,
    horizon: Horizon,
    keep_all: bool,
    most: Ceiling | None = None,
    new_of: frozenset[int] | None = None,
) -> Iterator[Match]:
    """The new matches of one alternative, finalised and free of what must be absent."""
    found, known = 0, sources.inputs.known
    figures = measured(prepared)
    for rels, limits, only_finalised, term in _terms(prepared, sources, horizon, new_of):
        working_on(prepared)
        policy = prepared.conjunct.policy
        everything = keep_all or prepared.keeps_all
        for match in joins(prepared, rels, limits, everything, most, term, known):
            match = ticked(match, horizon.before if only_finalised else None, horizon.now)
            match = _finalised(match, horizon, only_finalised)
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
            expect(found, 8, lambda: _matching(prepared))
            if match.length:
                yield match


def _matching(prepared: Prepared) -> Growth:
    atoms = named(prepared, prepared.conjunct.positive)
    return Growth(f"matching {atoms}", JOIN_ADVICE, "matches")


class Sources:
    """Relations of a conjunct's atoms, filtered by the predicates that concern one atom alone."""

    def __init__(self, prepared: Prepared, inputs: Inputs) -> None:
        self.prepared = prepared
        self.inputs = inputs
        self.cache: dict[tuple[str, int], Events] = {}

    def get(self, which: str, atom: int) -> Events:
        atom = self.prepared.aliases.get(atom, atom)
        found = self.cache.get((which, atom))
        if found is None:
            found = self.cache[which, atom] = self._filtered(which, atom)
        return found

    def size(self, atom: int) -> int:
        """How many rows an atom has at hand."""
        return len(self.get("old", atom)) + len(self.get("new", atom))

    def _filtered(self, which: str, atom: int) -> Events:
        event = self.prepared.uses[atom].event
        predicates = self.prepared.own_predicates(atom)
        if which == "all":
            if not predicates:
                return self.inputs.all(event)
            return concat([self.get("old", atom), self.get("new", atom)])
        events = (self.inputs.old if which == "old" else self.inputs.new)[event]
        if not predicates or len(events) == 0:
            return events
        rels: list[Events] = [events] * len(self.prepared.uses)
        rows = np.arange(len(events))
        began = perf_counter()
        mask = holds(Match(self.prepared, rels, len(events), {atom: rows}), (), predicates)
        kept = events if mask is None else take(events, mask)
        if which == "new":
            measured(self.prepared).filter(atom).add(len(events), len(kept), began)
        return kept


def _terms(
    prepared: Prepared,
    sources: Sources,
    horizon: Horizon,
    new_of: frozenset[int] | None = None,
) -> Iterator[tuple[list[Events], list[Constraint], bool, int]]:
    """The joins whose union is what is new: relations, limits, whether only what the horizon has
    newly passed counts, and the atom that is bound to new events, -1 where there is none. With
    ``new_of``, only those in which such an atom is new."""
    conjunct = prepared.conjunct
    completions = [
        Constraint(completion, EPOCH, horizon.now) for completion in conjunct.completions
    ]
    windows = [window.atom for window in conjunct.windows]
    if conjunct.waits:
        # A group is reported once, when the horizon passes its end: from all its matches.
        if horizon.now > horizon.before and new_of is None:
            rels = [sources.get("all", a) for a in range(len(conjunct.atoms))]
            yield rels, [*completions, *_newly_finalised(conjunct, horizon)], True, -1
        return
    for position, atom in enumerate(conjunct.positive):
        if len(sources.get("new", atom)) == 0 or (new_of is not None and atom not in new_of):
            continue
        which = dict.fromkeys(conjunct.positive[:position], "old")
        which |= dict.fromkeys((*conjunct.positive[position + 1 :], *windows), "all")
        which[atom] = "new"
        yield (
            [sources.get(which[a], a) for a in range(len(conjunct.atoms))],
            completions,
            False,
            atom,
        )
    if conjunct.completions and horizon.now > horizon.before and new_of is None:
        which = dict.fromkeys(conjunct.positive, "old") | dict.fromkeys(windows, "all")
        rels = [sources.get(which[a], a) for a in range(len(conjunct.atoms))]
        yield rels, [*completions, *_newly_finalised(conjunct, horizon)], True, -1


def _newly_finalised(conjunct: Conjunct, horizon: Horizon) -> list[Constraint]:
    """That the last completion lies after the previous horizon, where bounds can say so."""
    if len(conjunct.completions) > 1:
        return []
    return [Constraint(EPOCH, conjunct.completions[0], -(horizon.before + 1))]


def _finalised(match: Match, horizon: Horizon, only_finalised: bool) -> Match:
    """The rows whose completion times the horizon has passed; with ``only_finalised``, just now."""
    return match.where(passed(match, horizon.before if only_finalised else None, horizon.now))
