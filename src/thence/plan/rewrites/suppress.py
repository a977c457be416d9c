"""Suppressed sub-expressions (paper 3, section 5.2), with bindings passed sideways into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thence.logic.conjunct import Conjunct, known_bounds, retentions
from thence.plan.demand import Demand, asked_for
from thence.plan.horizons import most
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan, Stage

_MOST_FORMS = 16
"""A join with more askers than this is evaluated as it is."""


def suppress(plan: Plan) -> Plan:
    """Derive what only other rules read where something that comes before it asks for it.

    Stages are looked at from the last one down, so that what a suppressed rule reads is in turn
    asked for by what asks for that rule.
    """
    stages = list(plan.stages)
    places = {event: number for number, stage in enumerate(stages) for event in stage.events}
    reads: dict[str, _Readings] = {}
    outputs, told = frozenset(plan.outputs), plan.rulebook.for_causes
    for number, stage in reversed(tuple(enumerate(stages))):
        own = [[*same.values()][::-1] for event in stage.events if (same := reads.get(event))]
        if own and not (
            stage.recursive or told.concerns(stage.events) or outputs & {*stage.events}
        ):
            search = _Search(plan, places, number)
            rules = [search.suppressed(rule, own[0]) for rule in stage.rules]
            if all(rules):
                stages[number] = stage = replace(stage, rules=tuple(rules))
        _add_reads(stage, reads)
    return replace(plan, stages=tuple(stages))


@dataclass(frozen=True, slots=True)
class _Read:
    """An event as an atom of a join that reads it."""

    rule: Prepared
    atom: int

    @property
    def needs_match(self) -> bool:
        """Whether the event matters only together with a match of the other atoms."""
        conjunct = self.rule.conjunct
        modes = {window.mode for window in conjunct.windows if window.atom == self.atom}
        return not conjunct.repetitions and modes <= {"absent", "collect"}


_Readings = dict[tuple[int, int, int], list[_Read]]
"""Where an event is read. Joins that say the same of it by other askers are one reading."""


def _add_reads(stage: Stage, reads: dict[str, _Readings]) -> None:
    """Add what a stage reads; not its askers, which are asked for wherever its results are."""
    for rule in stage.rules:
        for alt in rule:
            demand = alt.demand
            same = (id(alt), -1) if demand is None else (id(demand.eager), demand.reader)
            for atom, use in enumerate(alt.uses):
                if demand is None or demand.atom != atom:
                    own = reads.setdefault(use.event, {})
                    own.setdefault((*same, atom), []).append(_Read(alt, atom))


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for what may ask for the results of a stage: events that are there before, which
    are those of the input and of earlier places."""

    plan: Plan
    places: Mapping[str, int]
    place: int

    def suppressed(
        self, rule: Sequence[Prepared], reads: Sequence[Sequence[_Read]]
    ) -> tuple[Prepared, ...]:
        """A rule as its alternatives where it is asked for; none where some reader may need
        results that nothing before them asks for."""
        found: list[Prepared] = []
        for eager in rule:
            if eager.selection is not None or not _may_be_suppressed(eager.conjunct):
                return ()
            readers: dict[frozenset[tuple[object, ...]], list[Conjunct]] = {}
            for same in reads:
                ways = {
                    _said(way): way
                    for read in same
                    if read.needs_match
                    for way in self.ways(eager.conjunct, read)
                }
                if not ways:
                    return ()
                readers[frozenset(ways)] = list(ways.values())
            forms = [
                Prepared(way, as_written=eager.as_written, demand=self.demand(way, eager, number))
                for number, ways_ in enumerate(readers.values())
                for way in ways_
            ]
            if len(forms) > _MOST_FORMS:
                return ()
            found += forms
        return tuple(found)

    def demand(self, way: Conjunct, eager: Prepared, reader: int) -> Demand:
        certain = _comes_before(way, self.plan.certain_needs.lengths)
        behind = way.waits and not self.in_time(way)
        return Demand(len(way.atoms) - 1, eager, reader, late=not certain, behind=behind)

    def in_time(self, way: Conjunct) -> bool:
        """Whether the horizon of the asker is never behind that of what it asks for."""
        comes = self.plan.horizons.comes
        results = most(comes[use.event] for use in way.atoms[:-1] if not use.fact)
        asker = comes[way.atoms[-1].event]
        return all(lag <= results.get(name, -1) for name, lag in asker.items())

    def ways(self, results: Conjunct, read: _Read) -> Iterator[Conjunct]:
        """The joins with each asker that meets the requirement."""
        reader = read.rule.conjunct
        for asker in reader.events:
            if asker == read.atom or self.places.get(reader.atoms[asker].event, -1) >= self.place:
                continue
            way = asked_for(results, read.rule, read.atom, asker, self.plan.schemas)
            if way is None or not _comes_before(way, dict.fromkeys(_events(way), 0)):
                continue  # not even if all were instants, whatever the program says of that
            lengths = self.plan.needs.lengths
            # Groups are finalised once, so all that asks for one must have been seen by then.
            known = self.plan.certain_needs.lengths if results.waits else lengths
            if not _comes_before(way, known):
                continue
            if retentions(way, lengths)[-1].micros <= retentions(reader, lengths)[asker].micros:
                yield way


def _may_be_suppressed(conjunct: Conjunct) -> bool:
    """Whether leaving out results leaves the others as they are: a choice among fewer matches
    would be another choice."""
    return bool(conjunct.events) and not (conjunct.policy.chooses or conjunct.repetitions)


def _comes_before(way: Conjunct, lengths: Mapping[str, int]) -> bool:
    """The requirement of section 5.2, on the closed bounds: an asker ends before anything starts
    that the results are made of. So when they come it is known whether they are asked for, nothing
    waits for an asker, and no result is derived anew when one comes."""
    bounds, _ = known_bounds(way, lengths)
    asker = way.atoms[-1]
    made_of = (way.atoms[atom] for atom in way.events[:-1])
    return all(bounds[asker.end, use.start] <= -1 for use in made_of)


def _events(conjunct: Conjunct) -> Iterator[str]:
    return (use.event for use in conjunct.atoms)


def _said(way: Conjunct) -> tuple[object, ...]:
    """All that tells two joins of the same results with an asker apart."""
    return way.atoms[-1].event, way.links, way.constraints, way.predicates
