"""The hot loop: range search over rows sorted by (key, time), and expanding the ranges found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

import numpy as np

from thence.engine.arrays.array_types import Codes, Index, Times

CHUNK = 1 << 18
"""How many candidate pairs are looked at in one go: enough to amortise the calls, few enough that
intermediate arrays stay in the cache and the allocator hands the same memory out again."""

CACHED = 1 << 12
"""Beyond this many rows an index falls out of the cache, and probes are worth sorting first."""

SPARSE = 4
"""An index with this many times as many rows as there are probes is not walked through for them."""

SHORT = 4
"""A range with more rows than this is searched for its end."""

_LARGEST = 2**62


class TimeIndex:
    """Rows sorted by (key, time) as one int64 array, searched by binary search.

    >>> import numpy as np
    >>> index = TimeIndex(np.array([5, 1, 9]), np.array([0, 0, 1]), 2)
    >>> first, last = index.find(np.array([0, 1]), np.array([2, 2]), None)
    >>> [index.rows(a, b).tolist() for a, b in zip(first, last)]
    [[0], [2]]
    """

    __slots__ = ("_codes", "_levels", "_low", "_order", "_sorted", "_width")

    def __init__(
        self, times: Times, codes: Codes | None, groups: int, rows: Index | None = None
    ) -> None:
        """Index rows by times and codes; ``rows`` are their numbers, where not 0, 1, 2, …"""
        order: Index | None = rows
        self._levels: Times | None = None
        self._codes: Codes | None = None
        if codes is not None and len(codes) and codes.min() < 0:
            known = np.flatnonzero(codes >= 0)
            times, codes = times[known], codes[known]
            order = known if order is None else order[known]
        self._low = int(times.min()) if len(times) else 0
        width = (int(times.max()) - self._low if len(times) else 0) + 3
        if codes is None:
            keys = times
        else:
            if groups * width >= _LARGEST:
                # Too wide for one number: ranks in place of times, and of codes if need be.
                self._levels = np.unique(times)
                times = np.searchsorted(self._levels, times)
                self._low, width = 0, len(self._levels) + 3
            if groups * width >= _LARGEST:
                self._codes = np.unique(codes)
                codes = np.searchsorted(self._codes, codes)
            keys = codes * width + (times - (self._low - 1))
        self._width = width
        if not _ascending(keys):
            permutation = key_order(codes, groups, times, keys)
            keys = keys[permutation]
            order = permutation if order is None else order[permutation]
        self._sorted = keys
        self._order = order

    @property
    def size(self) -> int:
        """How many rows can be found at all."""
        return len(self._sorted)

    def rows(self, first: int, last: int) -> Index:
        """The rows at positions ``first .. last-1`` of the sorted order."""
        return self.at(np.arange(first, last))

    def at(self, positions: Index) -> Index:
        """The rows at the given positions of the sorted order."""
        return positions if self._order is None else self._order[positions]

    def splits_ties(self, first: Index, begins: Index) -> bool:
        """Whether ranges that begin at ``first`` and are cut at ``begins`` lose rows that have the
        key and time of one they keep.

        >>> index = TimeIndex(np.array([1, 2, 2, 3]), None, 1)
        >>> [index.splits_ties(np.array([0]), np.array([cut])) for cut in (1, 2)]
        [False, True]
        """
        cut = begins[begins > first]
        return bool((self._sorted[cut - 1] == self._sorted[cut]).any())

    def outermost(self, first: Index, last: Index, side: str) -> tuple[Index, Index]:
        """Ranges cut to their last rows, or their first: all that have the time of that one.

        >>> index = TimeIndex(np.array([1, 2, 2, 3, 3]), None, 1)
        >>> index.outermost(np.array([0, 0]), np.array([3, 5]), "last")
        (array([1, 3]), array([3, 5]))
        """
        some = np.flatnonzero(first < last)
        first, last = first.copy(), last.copy()
        if side == "last":
            begins = np.searchsorted(self._sorted, self._sorted[last[some] - 1], "left")
            first[some] = np.maximum(first[some], begins)
        else:
            ends = np.searchsorted(self._sorted, self._sorted[first[some]], "right")
            last[some] = np.minimum(last[some], ends)
        return first, last

    def untied(self, ranks: Callable[[Index], Index]) -> TimeIndex:
        """The same index with rows of equal key and time in the order of their ranks, which are
        asked for those rows alone."""
        same = self._sorted[1:] == self._sorted[:-1]
        if not same.any():
            return self
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = self.at(tied)
        found = copy(self)
        found._order = self.rows(0, self.size).copy()
        found._order[tied] = rows[np.lexsort((ranks(rows), self._sorted[tied]))]
        return found

    def find(
        self, codes: Codes | None, low: Times | int | None, high: Times | int | None, count: int = 0
    ) -> tuple[Index, Index]:
        """For each probe, the positions ``first .. last`` of rows with its key and
        ``low <= time <= high``. ``None`` leaves a side open."""
        if codes is None:
            first = 0 if low is None else np.searchsorted(self._sorted, low, "left")
            last = (
                len(self._sorted) if high is None else np.searchsorted(self._sorted, high, "right")
            )
            first = np.broadcast_to(np.asarray(first, dtype=np.int64), (count,))
            last = np.broadcast_to(np.asarray(last, dtype=np.int64), (count,))
            return first, np.maximum(last, first)
        if self._codes is not None:
            codes = _positions(self._codes, codes)
        lows = codes * self._width
        highs = lows + self._offset(high, "right", self._width - 1)
        lows += self._offset(low, "left", 0)
        order = _near_order(lows, codes) if len(self._sorted) > CACHED < len(lows) else None
        if order is None:
            first = self._begins(lows)
            last = self._ends(first, highs)
        else:
            lows, highs = lows[order], highs[order]
            begins = self._begins(lows)
            ends = self._ends(begins, highs)
            first, last = lows, highs  # which nobody needs any more
            first[order], last[order] = begins, ends
        last = np.maximum(last, first)
        unknown = codes < 0
        if unknown.any():
            last = np.where(unknown, first, last)
        return first, last

    def _begins(self, lows: Codes) -> Index:
        """From which position on the rows lie that are not below a bound, for probes that walk
        through the index. Where these are many, the two are merged as runs that are sorted."""
        probes, rows = len(lows), len(self._sorted)
        if not CACHED < rows < SPARSE * probes or not _ascending(lows):
            return np.searchsorted(self._sorted, lows, "left")
        merged = np.argsort(np.concatenate((lows, self._sorted)), kind="stable")
        return np.flatnonzero(merged < probes) - np.arange(probes)

    def _ends(self, first: Index, highs: Codes) -> Index:
        """Up to before which position the rows lie that are not above a bound, given the first of
        each range. Of many ranges most hold nothing or little: that is seen at their first rows."""
        rows = len(self._sorted)
        if len(first) <= CACHED or not rows:
            return np.searchsorted(self._sorted, highs, "right")
        last = first.copy()
        going = np.flatnonzero(self._sorted[np.minimum(first, rows - 1)] <= highs)
        at, bound = first[going], highs[going]
        for _ in range(SHORT):
            at = np.minimum(at + 1, rows)
            last[going] = at
            kept = np.flatnonzero((self._sorted[np.minimum(at, rows - 1)] <= bound) & (at < rows))
            going, at, bound = going[kept], at[kept], bound[kept]
        last[going] = np.searchsorted(self._sorted, bound, "right")
        return last

    def _offset(self, bound: Times | int | None, side: str, open_end: int) -> Times | int:
        """A bound as an offset within a group's part of the key space."""
        if bound is None:
            return open_end
        if self._levels is not None:
            ranks = np.searchsorted(self._levels, bound, "left" if side == "left" else "right")
            bound = ranks if side == "left" else ranks - 1
        return np.clip(bound - (self._low - 1), 0, self._width - 1)


def _near_order(probes: Codes, codes: Codes) -> Index | None:
    """An order in which probes walk through an index from left to right, more or less; None if
    they do so already. By key is near enough, and quick where keys are few."""
    if _ascending(probes):
        return None
    if codes.min() >= 0 and codes.max() < 1 << 16:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    return np.argsort(probes)


def _ascending(values: Codes) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def key_order(codes: Codes | None, groups: int, times: Times, keys: Codes | None = None) -> Index:
    """The order of rows by (code, time). Rows that come in order of time, as events mostly do,
    need sorting by code alone, and few codes sort by their digits in linear time."""
    if codes is None:
        return stable_order(times)
    if groups <= 1 << 16 and _ascending(times):
        return np.argsort(codes.astype(np.uint16), kind="stable")
    if keys is None:
        return np.lexsort((times, codes))
    return stable_order(keys)


def stable_order(values: Times | Codes) -> Index:
    """The order of whole numbers, equal ones as they come. NumPy sorts numbers of 16 bits by their
    digits in linear time: many larger ones are sorted by such parts, the lowest first.

    >>> stable_order(np.array([1 << 40, 7, -1, 7])).tolist()
    [2, 1, 3, 0]
    """
    if len(values) <= CACHED:
        return np.argsort(values, kind="stable")
    low, high = int(values.min()), int(values.max())
    if high - low >= _LARGEST:
        return np.argsort(values, kind="stable")
    rest, width = values - low, (high - low).bit_length()
    order = np.argsort(rest.astype(np.uint16), kind="stable")
    for bits in range(16, width, 16):
        part = (rest >> bits).astype(np.uint16)
        order = order[np.argsort(part[order], kind="stable")]
    return order


def _positions(sorted_values: Codes, values: Codes) -> Codes:
    """Where values stand in a sorted array of different ones; -1 where they do not."""
    if len(sorted_values) == 0:
        return np.full(len(values), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return np.where(sorted_values[found] == values, found, -1)


def expand(first: Index, last: Index) -> Iterator[tuple[Index, Index]]:
    """Pairs (probe, position) of all ranges, in chunks of bounded size, probes in order.

    >>> import numpy as np
    >>> [(a.tolist(), b.tolist()) for a, b in expand(np.array([0, 3]), np.array([2, 4]))]
    [([0, 0, 1], [0, 1, 3])]
    """
    some = np.flatnonzero(last > first)
    first = first[some]
    counts = last[some] - first
    for begin, stop in blocks(counts):
        part = counts[begin:stop]
        ends = np.cumsum(part)
        shift = np.repeat(first[begin:stop] - (ends - part), part)
        yield np.repeat(some[begin:stop], part), np.arange(ends[-1]) + shift


def blocks(counts: Index) -> Iterator[tuple[int, int]]:
    """Neighbours, as many at a time as have about a chunk between them: from one, up to before
    another.

    >>> list(blocks(np.array([CHUNK, 1, CHUNK - 1, 2])))
    [(0, 1), (1, 3), (3, 4)]
    """
    total = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = total[begin - 1] if begin else 0
        stop = max(int(np.searchsorted(total, done + CHUNK, "right")), begin + 1)
        yield begin, stop
        begin = stop
