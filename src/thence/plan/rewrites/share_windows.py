"""Rules that differ in how long a match may last: the widest, and what of it is short enough."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Conjunct
from thence.plan.sharing import Draft, Place, body_key, is_plain
from thence.plan.tree import Plan

_Member = tuple[Place, Conjunct]


def share_windows(plan: Plan) -> Plan:
    """Rules that differ only in how long a match may last are read from the widest of them."""
    draft = Draft(plan)
    alike: dict[Hashable, list[_Member]] = {}
    for place, rule in draft.rules():
        if len(rule) == 1 and is_plain(rule[0].conjunct) and len(rule[0].conjunct.events) > 1:
            conjunct = rule[0].conjunct
            alike.setdefault(_shape(conjunct), []).append((place, conjunct))
    for members in alike.values():
        for widest, group in _groups(members):
            event = draft.add(group[0][0], [widest], draft.shown_by(widest))
            for place, conjunct in group:
                longest = None if conjunct is widest else _longest(conjunct)
                draft.put(
                    place, (draft.reading(conjunct, event, widest.head.columns, longest=longest),)
                )
    return draft.plan()


def _shape(conjunct: Conjunct) -> Hashable:
    """All that a rule says but for the limits between times."""
    key = body_key(conjunct)
    key["constraints"] = tuple((c.later, c.earlier) for c in conjunct.constraints)
    return (*key.values(), conjunct.head.terms, conjunct.head.types)


def _longest(conjunct: Conjunct) -> int:
    return conjunct.bounds[conjunct.head.end, conjunct.head.start]


def _groups(members: list[_Member]) -> Iterator[tuple[Conjunct, list[_Member]]]:
    """Rules to be read from one of them, which is the widest."""
    bounded = [each for each in members if _longest(each[1]) < UNBOUNDED]
    while len({_longest(conjunct) for _, conjunct in bounded}) > 1:
        _, widest = max(bounded, key=lambda each: _longest(each[1]))
        group = [each for each in bounded if each[1] is widest or _is_part(each[1], widest)]
        bounded = [each for each in bounded if not any(each[1] is c for _, c in group)]
        if len(group) > 1:
            yield widest, group


def _is_part(conjunct: Conjunct, widest: Conjunct) -> bool:
    """Whether the matches of a conjunct are just those of another that last as long at most as it
    allows. That they are among them is said by its limits, and that no others are by the other's
    closed bounds: a limit follows from how long the match lasts, or is the same."""
    longest, wide = _longest(conjunct), widest.bounds
    return all(
        own.limit == other.limit
        or (
            own.limit < other.limit
            and _sum(
                longest, wide[own.later, widest.head.end], wide[widest.head.start, own.earlier]
            )
            <= own.limit
        )
        for own, other in zip(conjunct.constraints, widest.constraints, strict=True)
    )


def _sum(*limits: int) -> int:
    """A sum of limits, without a bound where one of them has none."""
    return UNBOUNDED if max(limits) >= UNBOUNDED else sum(limits)
