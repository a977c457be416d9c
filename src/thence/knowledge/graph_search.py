"""Closures: the search of a graph, from many sources, with a compiled loop.

The rows along which a closure moves are the edges of a graph. A source begins at some nodes, and
everything that can be reached from there is a row of the relation: each found once, so nothing has
to be compared afterwards. What was searched for a source is not searched for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.engine.arrays.array_types import Codes, Index
from thence.engine.limits.growth import Growth, expect
from thence.knowledge.fact_rows import rows_of
from thence.knowledge.graph_kernel import grouped, images_found, nodes_found
from thence.knowledge.row_numbers import among, complete, found_in, numbered
from thence.model.events import Events
from thence.plan.reasoning.reasoning import Closure

Nodes = npt.NDArray[np.int32]
_CHUNK = 1 << 22
"""How many rows are found at a time, if a search does not need more at once."""


class Search:
    """The rows of a closure that are asked for by some of its columns: by all that move, by some
    that stay, or all rows there are."""

    def __init__(
        self, closure: Closure, columns: tuple[str, ...], edges: Events, starts: Events
    ) -> None:
        self.closure, self.columns = closure, columns
        self._starts = starts
        width, along = len(closure.moving), list(edges.columns.values())
        come, go = along[:width], along[width:]
        own = [starts.columns[name] for name in closure.moving]
        fixed = [starts.columns[name] for name in closure.fixed]
        self._nodes = numbered([come, go, own])
        self._fixed = numbered([fixed]) if fixed else None
        left, right, self._begin = self._nodes.codes
        self._groups = np.zeros(len(starts), np.int64) if not fixed else self._fixed_codes
        usable = complete(come)
        left, right = left[usable], right[usable]
        self._backwards = bool(columns) and columns == closure.moving
        self._plain = closure.plain and bool(usable.all())
        self._images: tuple[Index, Nodes] | None = None
        if self._backwards:
            left, right = right, left
            fits = complete(own)
            if not self._plain:
                self._images = grouped(self._begin[fits], self._groups[fits], self._nodes.count)
        self._offsets, self._targets = grouped(left, right, self._nodes.count)
        searched = self._nodes.count if self._backwards else len(self._begin)
        self._done = np.zeros(searched, dtype=np.bool_)

    @property
    def _fixed_codes(self) -> Codes:
        assert self._fixed is not None
        return self._fixed.codes[0]

    def ask(self, seeds: Events) -> Events:
        """The rows that are asked for and were not before."""
        return self._to(seeds) if self._backwards else self._from(seeds)

    def _from(self, seeds: Events) -> Events:
        """Rows by columns that stay: from the nodes at which their rows start."""
        fresh = ~self._done
        if self.columns:
            rows = [self._starts.columns[name] for name in self.columns]
            fresh &= among(rows, [seeds.columns[name] for name in self.columns])
        self._done |= fresh
        rows_fresh = np.flatnonzero(fresh)
        groups, sources = np.unique(self._groups[rows_fresh], return_inverse=True)
        begins, firsts = grouped(sources.astype(np.int64), self._begin[rows_fresh], len(groups))
        numbers, nodes = self._searched(begins, firsts, self._nodes.count)
        fixed = [] if self._fixed is None else self._fixed.values(groups)
        return self._rows([column.take(numbers) for column in fixed], self._nodes.values(nodes))

    def _to(self, seeds: Events) -> Events:
        """Rows by the columns that move: what starts at the nodes from which they are reached."""
        nodes = found_in(self._nodes, [seeds.columns[name] for name in self.columns])
        fresh = np.unique(nodes[nodes >= 0])
        fresh = fresh[~self._done[fresh]]
        self._done[fresh] = True
        if self._plain:
            # What starts at a node is what one step leads to: that much is found by the steps.
            sizes = np.diff(self._offsets)[fresh]
            begins = np.concatenate(([0], np.cumsum(sizes)))
            places = np.repeat(self._offsets[fresh] - begins[:-1], sizes) + np.arange(begins[-1])
            numbers, found = self._searched(begins, self._targets[places], self._nodes.count)
            fixed = self._nodes.values(found)
        else:
            begins = np.arange(len(fresh) + 1)
            groups = 1 if self._fixed is None else self._fixed.count
            numbers, found = self._searched(begins, fresh.astype(np.int32), groups)
            fixed = [] if self._fixed is None else self._fixed.values(found)
        moving = [column.take(numbers) for column in self._nodes.values(fresh)]
        return self._rows(fixed, moving)

    def _rows(self, fixed: Sequence[Any], moving: Sequence[Any]) -> Events:
        named = dict(zip(self.closure.fixed, fixed, strict=True))
        named |= dict(zip(self.closure.moving, moving, strict=True))
        columns = {name: named[name] for name in self._starts.columns}
        return rows_of(columns, len(next(iter(columns.values()))))

    def _searched(self, begins: Index, firsts: Nodes, most: int) -> tuple[Any, Nodes]:
        """Which source found what: nodes, or what starts there. At most ``most`` for each."""
        count, done, total = len(begins) - 1, 0, 0
        sizes = np.zeros(count, dtype=np.int64)
        seen = np.zeros(self._nodes.count, dtype=np.int32)
        marked = np.zeros(most if self._images is not None else 0, dtype=np.int32)
        queue = np.empty(self._nodes.count if self._images is not None else 0, dtype=np.int32)
        parts: list[Nodes] = []
        while done < count:
            room = max(most, min(_CHUNK, most * (count - done)))
            expect(total + room, 32, self._growth)
            found = np.empty(room, dtype=np.int32)
            if self._images is None:
                reached = nodes_found(
                    self._offsets, self._targets, begins, firsts, seen, done, found, sizes
                )
            else:
                reached = images_found(
                    self._offsets, self._targets, begins, firsts, *self._images, seen, marked,
                    queue, done, found, sizes,
                )  # fmt: skip
            filled = int(sizes[done:reached].sum())
            parts.append(found[:filled])
            total += filled
            done = reached
        numbers = np.repeat(np.arange(count, dtype=np.int32), sizes)
        return pa.array(numbers), np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _growth(self) -> Growth:
        return Growth(
            f"following '{self.closure.relation}'",
            "ask for it from fewer sources, or state fewer rows to follow",
            "rows",
        )
