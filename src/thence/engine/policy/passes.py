"""The passes of a search: what the compiled walk cannot decide is decided here, for many at once.

Conditions of any kind are evaluated set at a time. So a walk that meets one which it cannot decide
by itself asks for it and for those on the next candidates, and goes on with other events. Then all
that were asked for are evaluated together, and the walk is taken up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from thence.engine.arrays.array_types import Index, IntTable
from thence.engine.join.match import Match
from thence.engine.policy import policy_search as limits
from thence.engine.policy.kernel import rehash, seek
from thence.engine.policy.layout import (
    BASE,
    BEGIN,
    CONDITIONAL,
    FALSE,
    SLOT,
    TRUE,
    Supply,
    Verdicts,
)
from thence.engine.policy.ranking import numbered
from thence.engine.policy.tables import Tables, no_verdicts, supply, tables
from thence.engine.policy.variants import Moments, Variant
from thence.logic.policy import Policy
from thence.model.events import Events


def search(
    policy: Policy, variants: Sequence[Variant], moments: Moments, used: Mapping[str, Events]
) -> list[Match] | None:
    """The matches of variants that a policy lets count, and perhaps others that end with the same
    events; None where keys are too wide."""
    numbers: dict[int, Index] | None = None
    spent = np.zeros(1, dtype=np.bool_)
    if policy.consumes:
        numbers, spent = numbered(_relations(variants), used)
    made = tables(variants, moments, numbers, policy.consumption)
    if made is None:
        return None
    found = _Search(made, supply(made, spent, policy.consumption), moments)
    parts = list(found.dependent() if policy.consumes else found.independent())
    whole = np.concatenate([part for part in parts if len(part)] or parts[:1] or [_NONE])
    return list(_matches(made, whole))


_NONE = np.empty((0, 2), dtype=np.int64)


def _relations(variants: Sequence[Variant]) -> dict[str, list[Events]]:
    """The relations that events of each type come from, each once."""
    found: dict[str, dict[int, Events]] = {}
    for variant in variants:
        for level in variant.levels:
            if level.slot >= 0:
                rel = variant.rels[level.atom]
                own = found.setdefault(variant.prepared.uses[level.atom].event, {})
                own[id(rel)] = rel
    return {event: list(rels.values()) for event, rels in found.items()}


def _matches(made: Tables, found: IntTable) -> Iterator[Match]:
    """What was found, as matches of each alternative."""
    for number, variant in enumerate(made.variants):
        own = found[found[:, 0] == number]
        if len(own) == 0:
            continue
        base = int(made.first[number])
        rows = {
            level.atom: made.levels[base + depth].rows[own[:, depth + 2]]
            for depth, level in enumerate(variant.levels)
        }
        yield Match(variant.prepared, variant.rels, len(own), rows)


class _Search:
    """One search; holds what its passes share."""

    def __init__(self, made: Tables, supply: Supply, moments: Moments) -> None:
        self.made = made
        self.supply = supply
        self.moments = moments
        self.most = int(made.places.levels[:, SLOT].max()) + 1
        conditional = bool(made.places.levels[:, CONDITIONAL].any())
        self.width = made.places.involved.shape[1]
        size = 4 * limits.REQUESTS if conditional else 1
        self.verdicts = no_verdicts(_power(size), self.width, limits.REQUESTS if conditional else 1)

    def entries(self) -> tuple[Index, Index]:
        """The events that can end a match: a variant, and a row of its first level each."""
        sizes = [len(self.made.levels[first].rows) for first in self.made.first[:-1]]
        variants = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.concatenate([np.arange(size) for size in sizes])
        return variants, rows

    def independent(self) -> Iterator[IntTable]:
        """All matches, where nothing is used up: each event that can end one is by itself."""
        variants, rows = self.entries()
        detections = np.arange(len(rows) + 1)
        todo = [np.arange(len(rows))]
        while todo:
            queue, ahead = todo.pop(), limits.AHEAD
            while len(queue):
                found, queue, _ = self.seek(variants, rows, detections, queue, True, ahead, 0)
                yield found
                self.judge()
                ahead = min(ahead * 2, 1 << 12)
                if self.verdicts.counts[0] > limits.REMEMBERED and len(queue) > 1:
                    todo.append(queue[len(queue) // 2 :])
                    queue = queue[: len(queue) // 2]
                    self.forget()
            self.forget()

    def dependent(self) -> Iterator[IntTable]:
        """All matches, where events are used up: in order."""
        variants, rows, detections = self.in_order()
        at, count = 0, len(detections) - 1
        more, window = limits.AHEAD, limits.WINDOW
        while at < count:
            queue = np.arange(at, count)
            ahead = min(more + 2 * window, 1 << 14)
            found, _, done = self.seek(variants, rows, detections, queue, False, ahead, window)
            yield found
            at += done
            self.judge()
            if done and self.verdicts.counts[0] > limits.REMEMBERED:
                self.forget()
            # A pass judges what the one before has looked at, if all that it then needs is known.
            window = min(2 * window, 1 << 12) if 2 * done > window else max(window // 2, 4)
            more = max(more // 2, limits.AHEAD) if done else min(more * 4, 1 << 14)

    def in_order(self) -> tuple[Index, Index, Index]:
        """The events that can end a match in the order in which they do, and where those begin that
        are finalised together."""
        variants, rows = self.entries()
        places = self.made.places
        bases = places.levels[places.variants[:-1, BASE], BEGIN][variants] + rows
        numbers = places.numbers[bases]
        ends = np.empty(len(rows), dtype=np.int64)
        for number, variant in enumerate(self.made.variants):
            assert variant.after is not None
            node, apart = variant.after
            mine = variants == number
            use = variant.prepared.uses[variant.levels[0].atom]
            times = places.starts if node == use.start else places.ends
            ends[mine] = (times[bases[mine]] if node in (use.start, use.end) else 0) + apart
        order = np.lexsort((numbers, ends))
        ends, numbers = ends[order], numbers[order]
        fresh = np.append(True, (ends[1:] != ends[:-1]) | (numbers[1:] != numbers[:-1]))
        detections = np.append(np.flatnonzero(fresh[: len(order)]), len(order))
        return variants[order], rows[order], detections

    def seek(
        self,
        variants: Index,
        rows: Index,
        detections: Index,
        queue: Index,
        independent: bool,
        ahead: int,
        window: int,
    ) -> tuple[IntTable, Index, int]:
        return seek(
            self.made.places,
            self.supply,
            self.verdicts,
            variants,
            rows,
            detections,
            queue,
            independent,
            ahead,
            window,
            self.most,
        )

    def judge(self) -> None:
        """Evaluate what was asked for, and make room for more."""
        verdicts = self.verdicts
        asked = verdicts.requests[: verdicts.counts[1]]
        keys = verdicts.keys[asked]
        for place in np.unique(keys[:, 0]).tolist():
            mine = keys[:, 0] == place
            number = int(np.searchsorted(self.made.first, place, "right")) - 1
            base = int(self.made.first[number])
            variant, own = self.made.variants[number], keys[mine]
            rows = {
                variant.levels[depth].atom: self.made.levels[base + depth].rows[own[:, depth + 1]]
                for depth in variant.involved(place - base)
            }
            good = variant.holding(place - base, rows, len(own), self.moments)
            verdicts.states[asked[mine]] = np.where(good, TRUE, FALSE)
        verdicts.counts[1] = 0
        if 2 * (verdicts.counts[0] + len(verdicts.requests)) > len(verdicts.states):
            self.verdicts = self.larger(verdicts)

    def forget(self) -> None:
        """Forget all verdicts."""
        if self.verdicts.counts[0]:
            size, room = len(self.verdicts.states), len(self.verdicts.requests)
            self.verdicts = no_verdicts(size, self.width, room)

    def larger(self, verdicts: Verdicts) -> Verdicts:
        """The same table with more room."""
        found = no_verdicts(2 * len(verdicts.states), self.width, len(verdicts.requests))
        rehash(self.made.places, verdicts, found)
        return found


def _power(size: int) -> int:
    """The least power of two that is not below a size."""
    return 1 << max(size - 1, 0).bit_length()
