"""How much state a program needs: how long each event is kept, and what that rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import (
    AtomUse,
    Retention,
    known_bounds,
    longest,
    partners,
    quoted_use,
    retentions,
)
from thence.logic.ops import AnyOne, Change, LogicProgram, Pattern, Rule
from thence.model.errors import Diagnostic, StateError, diagnose
from thence.model.schema import EventSchema
from thence.model.source import Source
from thence.plan.demand import Demand, asked_for, itself
from thence.plan.horizons import Lags, later, most
from thence.plan.prepared import Prepared
from thence.plan.pushdown import EVERY_ROW, needed_rows

if TYPE_CHECKING:
    from thence.plan.tree import Part, Plan, Stage


@dataclass(frozen=True, slots=True)
class Reading:
    """An event as an atom of a join that may need it after the horizon has passed it."""

    rule: Prepared
    atom: int


@dataclass(frozen=True)
class Reduction:
    """A semi-join reduction of what is kept of an event: what else must be there for it to be used.

    Once the horizon has passed an event, everything has been seen that ends no later. So if a join
    needs it together with such a *partner*, and none that is known meets it, the join will
    never use it. It need not be kept if that is so of every join that reads it.
    """

    readings: tuple[Reading, ...]
    schemas: Mapping[str, EventSchema]
    lengths: Mapping[str, int]

    @cached_property
    def partners(self) -> tuple[tuple[Prepared, ...], ...]:
        """For each way in which the event is read, its joins with each partner alone, of which one
        is enough; nothing at all where it may be read without a partner."""
        found: dict[tuple[int, int, int], list[Prepared]] = {}
        for reading in self.readings:
            demand, atom = reading.rule.demand, reading.atom
            if demand is None:
                same = (id(reading.rule), -1, atom)
            elif demand.atom == atom:
                continue  # an asker is kept for those who read what it asks for
            else:
                same = (id(demand.eager), demand.reader, atom)
            found.setdefault(same, []).extend(self._joins(reading))
        return tuple(map(tuple, found.values())) if all(found.values()) else ()

    def _joins(self, reading: Reading) -> Iterator[Prepared]:
        rule, atom = reading.rule, reading.atom
        conjunct = rule.conjunct
        if conjunct.policy.chooses or conjunct.repetitions or rule.stride is not None:
            return
        match, windows = known_bounds(conjunct, self.lengths)
        bounds = windows.get(atom, match)
        use = conjunct.atoms[atom]
        for partner in conjunct.events:
            if partner == atom or bounds[conjunct.atoms[partner].end, use.end] > 0:
                continue
            whole = Prepared(itself(self.schemas[use.event]))
            joined = asked_for(whole.conjunct, rule, atom, partner, self.schemas)
            if joined is not None:
                yield Prepared(joined, demand=Demand(1, whole, 0))


@dataclass(frozen=True, slots=True)
class Kept(Retention):
    """How long an event is kept, and which events need not be kept so long.

    It may wait for partners that have horizons of their own: ``until`` says for each input how long
    after its end the horizon of that input has to be for nothing to need the event any more, and
    ``met`` by when all has been seen that it may have to have met.
    """

    until: Lags = field(default_factory=dict, compare=False, repr=False)
    met: Lags = field(default_factory=dict, compare=False, repr=False)
    reduction: Reduction = field(default=Reduction((), {}, {}), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a stream of events needs to remember.

    ``retention`` is, for each event that some rule joins, the longest time it may still be needed.
    ``instants`` are input events that are taken to be instants because otherwise there would be no
    bound; an interval event of such a type is refused. ``unbounded`` has a remark for each pair of
    events that lacks a bound all the same.
    """

    lengths: Mapping[str, int]
    retention: Mapping[str, Kept]
    instants: frozenset[str]
    unbounded: tuple[Diagnostic, ...]


def needs(plan: Plan, assume_instants: bool) -> Needs:
    """The needs of a program. Events last as long as their declaration allows; with
    ``assume_instants``, those that say nothing are instants."""
    declared = {event.name: event.longest for event in plan.checked.program.events}
    silent = frozenset(name for name, limit in declared.items() if limit is None)
    known = {name: limit for name, limit in declared.items() if limit is not None}
    if assume_instants:
        known |= dict.fromkeys(silent, 0)
    lengths = derived_lengths(plan.stages, known)
    needed = retention_of(plan.whole, lengths)
    remarks: dict[tuple[str, str, str], Diagnostic] = {}
    as_written = derived_lengths(plan.written, known)
    changes = _changes(plan.checked.program)
    for rule in (alt for stage in plan.written for alts in stage.rules for alt in alts):
        for atom, kept in enumerate(retentions(rule.conjunct, as_written)):
            if not kept.bounded and kept.event in changes:
                change = changes[kept.event]
                key = ("", change.table, "")
                remarks.setdefault(key, _remark_of_table(plan.checked.program.source, change))
            elif not kept.bounded:
                name = rule.uses[atom].label or kept.event
                key = (rule.conjunct.event, name, kept.partner)
                remarks[key] = _remark(plan.checked.program.source, rule, rule.uses[atom], kept)
    instants = silent & needed.keys() if assume_instants else frozenset()
    return Needs(lengths, needed, frozenset(instants), tuple(remarks.values()))


def bounded(needs: Needs) -> Needs:
    """The needs of a program that is to run forever; a refusal where they have no bound."""
    if needs.unbounded:
        raise StateError(
            "this program's state has no bound, so it cannot run forever:\n"
            + "\n".join(str(replace(d, severity="error")) for d in needs.unbounded)
        )
    return needs


def kept_by(
    rule: Prepared, lengths: Mapping[str, int], off: Collection[str] = ()
) -> tuple[Retention, ...]:
    """How long a join keeps the events of each of its atoms.

    One that ends no earlier than all it may meet, by the closed bounds, streams through: paper 3
    says of a join of two sides that all ending times of one must lie before some of the other. Here
    a join has no sides, so that is asked of each atom against all others. Without ``streaming``,
    every atom is kept as long as the one that is kept longest.
    """
    found = retentions(rule.conjunct, lengths, again="forgetting" in off)
    if "streaming" not in off:
        return found
    longest_kept = max((kept.micros for kept in found), default=0)
    facts = (use.fact for use in rule.uses)
    return tuple(
        kept if fact else replace(kept, micros=max(kept.micros, longest_kept))
        for kept, fact in zip(found, facts, strict=True)
    )


def retention_of(part: Part, lengths: Mapping[str, int]) -> dict[str, Kept]:
    """For each event that one of a part's rules reads, the longest time it may still be needed, and
    what tells whether it is."""
    needed: dict[str, Retention] = {}
    readings: dict[str, list[Reading]] = {}
    until: dict[str, list[Lags]] = {}
    met: dict[str, list[Lags]] = {}
    rules = tuple(part.prepared)
    for rule in rules:
        waiting = _waiting(rule, part, lengths)
        for atom, kept in enumerate(kept_by(rule, lengths, part.off)):
            if kept.event not in needed or kept.micros > needed[kept.event].micros:
                needed[kept.event] = kept
            if kept.micros > 0:
                readings.setdefault(kept.event, []).append(Reading(rule, atom))
            least = kept.micros if "streaming" in part.off else -UNBOUNDED
            for lags, micros in waiting[atom]:
                until.setdefault(kept.event, []).append(later(lags, max(micros, least)))
                met.setdefault(kept.event, []).append(lags)
    ways = needed_rows(rules) if "pushdown" not in part.off else {}
    reduces = "semi_join" not in part.off
    return {
        event: Kept(
            kept.event,
            kept.micros,
            kept.partner,
            kept.span,
            ways.get(event, EVERY_ROW),
            most(until.get(event, ())),
            # Each is looked at once, so not before all that ends when it does has been seen.
            most([*met.get(event, ()), part.horizons.comes.get(event, {})]),
            Reduction(tuple(readings.get(event, ())) if reduces else (), part.schemas, lengths),
        )
        for event, kept in needed.items()
    }


def _waiting(
    rule: Prepared, part: Part, lengths: Mapping[str, int]
) -> list[list[tuple[Lags, int]]]:
    """For each atom of a join, the horizons of what its events may wait for, and how long."""
    comes, finalised = part.horizons.comes, part.finalised_by[rule]
    return [
        [
            (finalised if each.atom < 0 else comes[rule.uses[each.atom].event], each.micros)
            for each in several
        ]
        for several in partners(rule.conjunct, lengths, again="forgetting" in part.off)
    ]


def derived_lengths(stages: Sequence[Stage], known: Mapping[str, int]) -> dict[str, int]:
    """How long derived events last at most, from how long input events do."""
    lengths = dict(known)
    for stage in stages:
        found = dict.fromkeys(stage.events, 0)
        for rule in stage.rules:
            for alternative in rule:
                conjunct = alternative.conjunct
                limit = longest(conjunct, lengths)
                found[conjunct.event] = max(found[conjunct.event], limit)
        lengths |= {event: limit for event, limit in found.items() if limit < UNBOUNDED}
    return lengths


def _changes(program: LogicProgram) -> dict[str, Change]:
    """The changes of tables, by the auxiliary events that stand for them."""
    known: dict[tuple[Pattern, tuple[str, ...]], Change] = {
        (AnyOne((each.rule.body,)), _columns(each.rule)): each for each in program.changes
    }
    return {
        rule.event: known[rule.body, _columns(rule)]
        for rule in program.rules
        if rule.hidden and (rule.body, _columns(rule)) in known
    }


def _columns(rule: Rule) -> tuple[str, ...]:
    return tuple(term.name for term in rule.terms)


def _remark_of_table(source: Source, change: Change) -> Diagnostic:
    text = (
        f"events change the table '{change.table}', and any later event may look into it, so what "
        "inserts and deletes its rows would have to be kept forever"
    )
    return diagnose(source, change.span, text, "accept it with allow_unbounded", "warning")


def _remark(source: Source, rule: Prepared, use: AtomUse, kept: Retention) -> Diagnostic:
    conjunct, event = rule.conjunct, quoted_use(replace(use, label=None))
    head = "an inner pattern" if conjunct.head.hidden else f"'{conjunct.event}'"
    text = (
        f"in the rule for {head}, nothing bounds how long after {quoted_use(use)} {kept.partner} "
        f"may come, so {event} events would have to be kept forever"
    )
    hint = "add 'within <duration>' around the pair, or accept it with allow_unbounded"
    return diagnose(source, rule.conjunct.span, text, hint, "warning")
