"""Direct causes: of which events, derived ones among them, a derived event was made.

Where nothing was recorded while a program ran, what an event was made of is found when somebody
asks, by the rule's own join with the event as one more part of it (``pinned.py``); many events at a
time, and stage by stage downwards for what lies behind them. What is found is recorded as ever, as
rows of ids, and with it what had to be absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.hashing import Hashes
from thence.engine.arrays.rows import concat, distinct, none_of, row_ids, take
from thence.engine.join.match import Match
from thence.engine.join.pinned import HEAD, head_atom, pinned
from thence.engine.output.absences import Absences
from thence.engine.output.collect import collected
from thence.engine.output.event_ids import event_ids
from thence.engine.output.merge import merged_results
from thence.engine.output.project import head_column, interval
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT, USE, Recorder
from thence.engine.policy.groups import chosen, chosen_groups
from thence.engine.run.derive import Inputs, Moment, all_matches, candidates
from thence.engine.state.derivation_store import Ids, by_type, each_once, numbers
from thence.engine.state.relation import Relation
from thence.engine.window.coverage import derived_gaps
from thence.logic.expr import Aggregate
from thence.model.arrow import from_numpy
from thence.model.events import Events
from thence.plan.horizons import completed
from thence.plan.prepared import Prepared
from thence.plan.tree import Part

Rule = Sequence[Prepared]
"""The alternatives of a rule."""


_NONE = np.empty(0, np.int64)
NO_ROWS = Events(_NONE, _NONE, dict.fromkeys((EVENT, DERIVATION, USE, BOUND), pa.array(_NONE)))
"""No derivations."""


class History:
    """Everything that a run has seen and derived, each event once, and up to when.

    ``absences`` is what had to be absent for the derivations that were last asked for.
    """

    def __init__(
        self,
        part: Part,
        events: Mapping[str, Events],
        horizons: Mapping[str, int],
        gaps: Mapping[str, Sequence[tuple[int, int]]],
    ) -> None:
        self.part = part
        self._now = Moment(
            completed({}, part.origins), completed(horizons, part.origins), part.finalised_by
        )
        self._gaps = derived_gaps(gaps, part.horizons.reach)
        self.events = {name: distinct(found) for name, found in events.items()}
        self._none = {name: Relation(none_of(e)) for name, e in self.events.items()}
        self._known: dict[str, tuple[Index, Index]] = {}
        self._chosen: dict[int, list[tuple[Prepared, Hashes]]] = {}
        self._merged: dict[int, tuple[Events, list[Absences]]] = {}
        self._begin()

    def _begin(self) -> None:
        recording = replace(self.part.rulebook.for_lineage, archive=frozenset())
        self.absences: list[Absences] = []
        self._recorder = Recorder(self.part, recording, self.absences)

    def ids(self, event: str, rows: Sequence[int]) -> Index:
        """The ids of events of a type, by their numbers."""
        some = take(self.events[event], np.asarray(rows, dtype=np.int64))
        return event_ids(self.part.schemas[event], some)

    def numbers(self, event: str, ids: Index) -> Index:
        """The numbers of events of a type among all of the type, by their ids."""
        if event not in self._known:
            known = event_ids(self.part.schemas[event], self.events[event])
            order = np.argsort(known)
            self._known[event] = known[order], order
        known, order = self._known[event]
        return order[np.searchsorted(known, ids)]

    def behind(self, event: str, ids: Index) -> dict[str, Events]:
        """The derivations of some events of a type, and of all derived events behind them."""
        self._begin()
        requested = {event: [ids]}
        known: dict[str, Ids] = {}
        found: dict[str, list[Events]] = {}
        alternatives = self.part.rulebook.alternatives
        for stage in reversed(self.part.stages):
            while asked := [name for name in stage.events if name in requested]:
                for name in asked:
                    fresh = each_once(np.concatenate(requested.pop(name)))
                    fresh = known.setdefault(name, Ids()).fresh(fresh)
                    if not len(fresh):
                        continue
                    rows = self.direct(name, fresh)
                    found.setdefault(name, []).append(rows)
                    for other, own in by_type(alternatives[name], rows):
                        if other in alternatives:
                            requested.setdefault(other, []).append(numbers(rows, BOUND)[own])
        return {name: concat(tables) for name, tables in found.items()}

    def direct(self, event: str, ids: Index) -> Events:
        """The derivations of some events of a type, given by their ids."""
        heads = take(self.events[event], self.numbers(event, ids))
        old = {**self._none, HEAD: Relation(none_of(heads))}
        inputs = Inputs(old, {**self.events, HEAD: heads}, gaps=self._gaps)
        tables = []
        for rule in self._rules(event):
            if rule[0].conjunct.policy.merges:
                tables.append(self._merged_by(rule))
            else:
                tables.append(self._of_rule(rule, heads, inputs))
        rows = concat(tables)
        asked = pc.is_in(rows.columns[EVENT], value_set=from_numpy(ids))
        return take(rows, asked.to_numpy(zero_copy_only=False))

    def _rules(self, event: str) -> Iterator[Rule]:
        for stage in self.part.stages:
            if event in stage.events:
                yield from (rule for rule in stage.rules if rule[0].conjunct.event == event)

    def _of_rule(self, rule: Rule, heads: Events, inputs: Inputs) -> Events:
        """The derivations of some events by one rule; perhaps those of others too, where it
        collects."""
        matches: list[Match] = []
        for alternative in rule:
            join = Prepared(pinned(alternative.conjunct, heads, self.part.schemas))
            self._recorder.stands_for(join, alternative)
            for match in all_matches(join, inputs, self._now.of(alternative)):
                agreeing = self._counting(rule, alternative, _agreeing(match, heads))
                matches += [agreeing] if agreeing.length else []
        if matches and rule[0].conjunct.aggregates:
            collected(matches, self._recorder)
        elif matches:
            for match in matches:
                owners = match.rows(head_atom(match.prepared.conjunct))
                self._recorder.matches(match, take(heads, owners))
        return self._recorded(rule)

    def _recorded(self, rule: Rule) -> Events:
        """What was recorded just now of the events of a rule."""
        derivations, _ = self._recorder.taken()
        return derivations.get(rule[0].conjunct.event, NO_ROWS)

    def _merged_by(self, rule: Rule) -> Events:
        """The derivations of all that a rule derives whose policy makes one event of several
        matches."""
        known = self._merged.get(id(rule))
        if known is None:
            before = len(self.absences)
            matches = self._matches(rule)
            groups = chosen_groups(rule[0].conjunct.policy, matches, {}) if matches else []
            if groups:
                merged_results(groups, self._recorder)
            known = self._recorded(rule), self.absences[before:]
            self._merged[id(rule)] = known
        else:
            self.absences += known[1]
        return known[0]

    def _matches(self, rule: Rule) -> list[Match]:
        """Matches of a rule, among them all that its policy chooses."""
        return candidates(rule, Inputs(self._none, self.events, gaps=self._gaps), self._now)

    def _counting(self, rule: Rule, alternative: Prepared, match: Match) -> Match:
        """The rows of a match of one alternative that the rule's policy lets count."""
        policy = rule[0].conjunct.policy
        if not policy.chooses or not match.length:
            return match
        if id(rule) not in self._chosen:
            everything = self._matches(rule)
            counted = chosen(policy, everything, {}) if everything else []
            self._chosen[id(rule)] = [(m.prepared, self._recorder.identities(m)) for m in counted]
        own = [hashes for prepared, hashes in self._chosen[id(rule)] if prepared is alternative]
        known = np.concatenate([np.empty(0, np.uint64), *own])
        return match.where(np.isin(self._recorder.identities(match), known))


def _agreeing(match: Match, heads: Events) -> Match:
    """The rows whose head is the event they are pinned to, as far as it is no aggregate."""
    conjunct = match.prepared.conjunct
    terms = zip(conjunct.head.columns, conjunct.head.terms, strict=True)
    plain = {
        name: head_column(match, place)
        for place, (name, term) in enumerate(terms)
        if not isinstance(term, Aggregate) or conjunct.repetitions
    }
    start, end = interval(match)
    pins = take(heads, match.rows(head_atom(conjunct)))
    pins = Events(pins.start, pins.end, {name: pins.columns[name] for name in plain})
    ids = row_ids(concat([Events(start, end, plain), pins]))
    return match.where(ids[: match.length] == ids[match.length :])
