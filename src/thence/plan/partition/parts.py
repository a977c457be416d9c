"""Cutting a program into parts, each of which is one shuffle: by key, by time, or in one place.

Rules that can share a key go into one part; a rule that builds on others and needs another key
starts a new one. Parts form a chain: a part reads input events and what earlier parts derive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from thence.logic.conjunct import AtomUse, Conjunct
from thence.plan.make import needed_stages
from thence.plan.partition.keys import NO_RULES, Columns, Key, Solution, chosen, extended
from thence.plan.partition.slices import Reach, reaches
from thence.plan.retention import derived_lengths
from thence.plan.tree import Part, Plan, Stage

How = Literal["key", "time", "one place", "whole row"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a program, and how its work is spread.

    ``key`` says where an event goes if the work is spread by key; ``reach`` how far an event is
    needed if it is spread by time. ``repeats`` are outputs that may be derived in several places,
    and so have to be made distinct afterwards. The piece that does that has no rules: it is spread
    by ``whole row``.
    """

    part: Part
    how: How
    key: Key | None = None
    reach: Mapping[str, Reach] = field(default_factory=dict)
    repeats: frozenset[str] = frozenset()


def cut(plan: Plan, lengths: Mapping[str, int], slices: bool) -> tuple[Piece, ...]:
    """The pieces of a plan, in the order in which they run.

    ``lengths`` says how long input events last at most, where that is known. With ``slices``, work
    without a key is spread by time where the rules bound it.
    """
    emit = plan.outputs
    drafts = _drafts(plan.stages, _key_columns(plan.part(plan.stages, ())))
    all_lengths = derived_lengths(plan.stages, lengths)
    readers = [{use.event for stage in d.stages for use in _uses(stage)} for d in drafts]
    pieces = []
    for number, draft in enumerate(drafts):
        later = {event for read in readers[number + 1 :] for event in read}
        derived = [event for stage in draft.stages for event in stage.events]
        outputs = tuple(event for event in derived if event in later or event in emit)
        part = plan.part(tuple(draft.stages), outputs)
        pieces.append(_piece(part, draft, emit, all_lengths, slices))
    repeats = tuple(event for piece in pieces for event in piece.repeats)
    if repeats:
        pieces.append(Piece(_distinct(plan, repeats), "whole row"))
    return tuple(pieces)


def pieces_serving(
    plan: Plan, pieces: Sequence[Piece], outputs: Collection[str]
) -> tuple[Piece, ...]:
    """The pieces of a plan as they are, less what none of some of its outputs rests on. Each is
    spread as before and keeps its place; one in which nothing is left does so too, unless it is at
    the end."""
    needed, found = set(outputs), []
    for piece in reversed(pieces):
        given = tuple(event for event in piece.part.outputs if event in needed)
        if piece.how == "whole row":
            found.append(replace(piece, part=_distinct(plan, given)))
            continue
        stages = needed_stages(replace(plan, stages=piece.part.stages), needed)
        part = plan.part(stages, given)
        repeats = frozenset(event for event in piece.repeats if event in outputs)
        found.append(replace(piece, part=part, repeats=repeats))
        needed |= {use.event for stage in stages for use in _uses(stage)}
    while found and not found[0].part.outputs:
        del found[0]
    return tuple(reversed(found))


def _distinct(plan: Plan, repeats: tuple[str, ...]) -> Part:
    """A part without rules, for events of which each is to come once."""
    schemas = {event: plan.schemas[event] for event in repeats}
    return Part(
        (),
        schemas,
        repeats,
        frozenset(),
        repeats,
        horizons=plan.horizons,
        rulebook=plan.rulebook,
    )


@dataclass(slots=True)
class _Draft:
    """A piece in the making; ``solutions`` are the keys it may have, none if it has no key."""

    stages: list[Stage]
    solutions: list[Solution]


def _drafts(stages: Iterable[Stage], columns: Columns) -> list[_Draft]:
    drafts: list[_Draft] = []
    home: dict[str, int] = {}
    for stage in stages:
        if stage.suppressed and not _has_key(stage, columns) and _has_key(stage.eager, columns):
            # Work in many places is worth more than less work in one.
            stage = stage.eager
        conjuncts = _conjuncts(stage)
        earliest = max((home[use.event] for use in _uses(stage) if use.event in home), default=0)
        if _reads_causes(stage) and not drafts[earliest].solutions:
            # What it reads is there, and would have to travel otherwise.
            drafts[earliest].stages.append(stage)
            place = earliest
        else:
            place = _join(drafts, earliest, stage, conjuncts, columns)
        home |= dict.fromkeys(stage.events, place)
    return drafts


def _conjuncts(stage: Stage) -> list[Conjunct]:
    return [alternative.conjunct for rule in stage.rules for alternative in rule]


def _reads_causes(stage: Stage) -> bool:
    """Whether a stage does nothing but read derivations."""
    return all(alternative.causes is not None for rule in stage.rules for alternative in rule)


def _has_key(stage: Stage, columns: Columns) -> bool:
    return bool(extended([NO_RULES], _conjuncts(stage), columns))


def _join(
    drafts: list[_Draft],
    earliest: int,
    stage: Stage,
    conjuncts: Sequence[Conjunct],
    columns: Columns,
) -> int:
    """Put a stage into the first draft that comes no earlier than what it builds on and suits it,
    or into a new one at the end; where it went."""
    alone = extended([NO_RULES], conjuncts, columns)
    for number in range(earliest, len(drafts)):
        draft = drafts[number]
        if not alone and not draft.solutions:
            draft.stages.append(stage)
            return number
        together = extended(draft.solutions, conjuncts, columns) if alone else []
        if together:
            draft.stages.append(stage)
            draft.solutions = together
            return number
    drafts.append(_Draft([stage], alone))
    return len(drafts) - 1


def _piece(
    part: Part, draft: _Draft, emit: Sequence[str], lengths: Mapping[str, int], slices: bool
) -> Piece:
    if draft.solutions:
        key, telling = chosen(draft.solutions, part.schemas)
        repeats = frozenset(e for e in part.outputs if e in emit and e not in telling)
        return Piece(part, "key", key, repeats=repeats)
    reach = reaches(part, lengths)
    if slices and reach and all(one.bounded for one in reach.values()):
        return Piece(part, "time", reach=reach)
    return Piece(part, "one place")


def _key_columns(part: Part) -> Columns:
    """The columns that rules read anyway: a key must not be a reason to carry more."""
    read = part.columns
    return {
        event: [
            attribute.name
            for attribute in schema.attributes
            if attribute.type.kind != "list" and attribute.name in read.get(event, ())
        ]
        for event, schema in part.schemas.items()
    }


def _uses(stage: Stage) -> list[AtomUse]:
    return [use for rule in stage.rules for alternative in rule for use in alternative.uses]
