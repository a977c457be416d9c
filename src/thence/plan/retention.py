"""How much state a program needs: how long each event is kept, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import AtomUse, Retention, longest, quoted_use, retentions
from thence.model.errors import Diagnostic, StateError, diagnose
from thence.model.source import Source
from thence.plan.pushdown import needed_rows

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared
    from thence.plan.tree import Plan, Stage


@dataclass(frozen=True, slots=True)
class Needs:
    """What a stream of events needs to remember.

    ``retention`` is, for each event that some rule joins, the longest time it may still be needed.
    ``instants`` are input events that are taken to be instants because otherwise there would be no
    bound; an interval event of such a type is refused. ``unbounded`` has a remark for each pair of
    events that lacks a bound all the same.
    """

    lengths: Mapping[str, int]
    retention: Mapping[str, Retention]
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
    needed = retention_of(plan.prepared, lengths)
    remarks: dict[tuple[str, str, str], Diagnostic] = {}
    as_written = derived_lengths(plan.written, known)
    for rule in (alt for stage in plan.written for alts in stage.rules for alt in alts):
        for atom, kept in enumerate(retentions(rule.conjunct, as_written)):
            if not kept.bounded:
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


def retention_of(rules: Iterable[Prepared], lengths: Mapping[str, int]) -> dict[str, Retention]:
    """For each event that one of the rules reads, the longest time it may still be needed."""
    needed: dict[str, Retention] = {}
    rules = tuple(rules)
    for rule in rules:
        for kept in retentions(rule.conjunct, lengths):
            if kept.event not in needed or kept.micros > needed[kept.event].micros:
                needed[kept.event] = kept
    ways = needed_rows(rules)
    return {event: replace(kept, ways=ways[event]) for event, kept in needed.items()}


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


def _remark(source: Source, rule: Prepared, use: AtomUse, kept: Retention) -> Diagnostic:
    conjunct, event = rule.conjunct, quoted_use(replace(use, label=None))
    head = "an inner pattern" if conjunct.hidden else f"'{conjunct.event}'"
    text = (
        f"in the rule for {head}, nothing bounds how long after {quoted_use(use)} {kept.partner} "
        f"may come, so {event} events would have to be kept forever"
    )
    hint = "add 'within <duration>' around the pair, or accept it with allow_unbounded"
    return diagnose(source, rule.conjunct.span, text, hint, "warning")
