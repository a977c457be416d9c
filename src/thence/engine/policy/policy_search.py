"""Finding the matches among which a policy chooses, without making those that it would drop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from thence.engine.join.join import Ceiling
from thence.engine.join.match import Match
from thence.engine.policy.variants import Moments, Variant, variants
from thence.logic.bounds import Constraint
from thence.logic.policy import Policy
from thence.model.events import Events
from thence.plan.prepared import Prepared

FEW = 1 << 14
"""So few combinations are made sooner than searched."""

AHEAD = 16
"""How many candidates are asked about at first, where a search meets one with open conditions."""

WINDOW = 16
"""How many detections are looked at ahead at first, where each depends on those before it."""

REQUESTS = 1 << 16
"""How many verdicts are asked for in one go at most."""

REMEMBERED = 1 << 20
"""With more verdicts than these at hand, the search goes on with fewer detections at once."""

Joins = Sequence[tuple[Prepared, Sequence[Events], Sequence[Constraint]]]
"""Alternatives of a rule, with their relations and limits on the times of their nodes."""


def few_enough(joins: Joins) -> Ceiling | None:
    """How many candidates a step of a join may have for all combinations to be made sooner than
    searched; None where there is no point in trying, since there are many events and no window."""
    if FEW == 0:
        return None
    sizes = [[len(rels[a]) for a in prepared.conjunct.positive] for prepared, rels, _ in joins]
    if sum(prod(own) for own in sizes) <= FEW:
        return Ceiling(FEW)
    if not all(prepared.windowed for prepared, _, _ in joins):
        return None
    return Ceiling(max(2 * sum(sum(own) for own in sizes), FEW))


def sought(
    policy: Policy, joins: Joins, moments: Moments, used: Mapping[str, Events]
) -> tuple[list[Match], bool] | None:
    """Matches of some alternatives, among them all that the policy lets count, and whether nothing
    is left to choose; None where it must choose from all of them. Where events are used up, they
    are just those that count."""
    found: list[Variant] = []
    for prepared, rels, limits in joins:
        own = variants(policy, prepared, rels, limits, moments)
        if own is None:
            return None
        found += own
    if not found:
        return [], True
    from thence.engine.policy import passes  # noqa: PLC0415 (compiles; few rules need it)

    matches = passes.search(policy, found, moments, used)
    return None if matches is None else (matches, _settled(policy, found))


def _settled(policy: Policy, variants: Sequence[Variant]) -> bool:
    """Whether a search over variants finds no more than what counts, and nobody asks what became
    of it: each event ends the matches of one variant only, and of alternatives one is found."""
    if policy.consumes or policy.merges:
        return False
    last = [variant.prepared.uses[variant.levels[0].atom].event for variant in variants]
    sharp = all(variant.sharp and variant.after is not None for variant in variants)
    return sharp and len(set(last)) == len(last)
