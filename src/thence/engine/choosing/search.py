"""Finding the matches among which a policy chooses, without making those that it would drop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from thence.engine.choosing.variants import Moments, Variant, variants
from thence.engine.match import Match
from thence.engine.prepared import Prepared
from thence.logic.bounds import Constraint
from thence.logic.policy import Policy
from thence.model.events import Events

FEW = 1 << 14
"""So few combinations are made sooner than searched."""

AHEAD = 8
"""About how many candidates a search asks at first, where it finds one with open conditions."""

WINDOW = 1024
"""How many detections are judged in one go at first, where each depends on those before it."""

REQUESTS = 1 << 17
"""How many verdicts are asked for in one go at most."""

REMEMBERED = 1 << 20
"""With more verdicts than these at hand, the search forgets those it may not need again."""

Joins = Sequence[tuple[Prepared, Sequence[Events], Sequence[Constraint]]]
"""Alternatives of a rule, with their relations and limits on the times of their nodes."""


def sought(
    policy: Policy, joins: Joins, moments: Moments, used: Mapping[str, Events]
) -> list[Match] | None:
    """Matches of some alternatives, among them all that the policy lets count; None where it must
    choose from all of them. Where events are used up, they are just those that count."""
    few = sum(prod(len(rels[a]) for a in p.conjunct.positive) for p, rels, _ in joins) <= FEW
    if few:
        return None
    found: list[Variant] = []
    for prepared, rels, limits in joins:
        own = variants(policy, prepared, rels, limits, moments)
        if own is None:
            return None
        found += own
    if not found:
        return []
    from thence.engine.choosing.passes import search  # noqa: PLC0415 (compiles; few rules need it)

    return search(policy, found, moments, used)
