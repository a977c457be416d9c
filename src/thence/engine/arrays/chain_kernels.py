"""Loops over chains of events, compiled by Numba: who is next to whom, who is reached from where,
and which chain a repetition finds that goes back where it must."""

from __future__ import annotations

import numpy as np

from thence.engine.arrays.array_types import FloatTable, Index, IntTable, Mask
from thence.engine.arrays.compiled import compiled
from thence.engine.arrays.kernels import compared


@compiled("Tuple((i8[::1], i8[::1]))(i8[::1], i8[::1], i8[::1])")
def adjacent(offsets: Index, starts: Index, ends: Index) -> tuple[Index, Index]:
    """For each interval, where those begin and end that come next after it, with nothing of its
    group strictly between the two. The intervals of a group are sorted by their starts."""
    never = np.iinfo(np.int64).max
    low = np.empty(len(starts), dtype=np.int64)
    high = np.empty(len(starts), dtype=np.int64)
    for group in range(len(offsets) - 1):
        begin, stop = offsets[group], offsets[group + 1]
        soonest = np.empty(stop - begin + 1, dtype=np.int64)  # the first end from there on
        soonest[stop - begin] = never
        for i in range(stop - 1, begin - 1, -1):
            soonest[i - begin] = min(ends[i], soonest[i - begin + 1])
        for i in range(begin, stop):
            first = begin + np.searchsorted(starts[begin:stop], ends[i], "right")
            low[i] = first
            near = soonest[first - begin]
            high[i] = begin + np.searchsorted(starts[begin:stop], near, "right")
    return low, high


_GRAPH = "i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1, i8, i8"


@compiled(
    "UniTuple(i8, 2)(i8, i8, i8, i8[::1], i8[::1], i8[::1], b1, i8, i8, i8[::1], i8[::1])",
)
def _spread(
    number: int,
    source: int,
    limit: int,
    offsets: Index,
    targets: Index,
    starts: Index,
    ahead: bool,
    least: int,
    most: int,
    seen: Index,
    queue: Index,
) -> tuple[int, int]:
    """Step by step, whatever chains lead to from a source, into a queue: those after ``least`` to
    ``most`` steps lie between the two places given back. ``seen`` notes who was met by which."""
    seen[source] = number
    queue[0] = source
    first, begin, end, steps = 0, 0, 1, 0
    while begin < end and steps < most:
        stop = end
        for at in range(begin, stop):
            for place in range(offsets[queue[at]], offsets[queue[at] + 1]):
                to = targets[place]
                near = starts[to] <= limit if ahead else starts[to] >= limit
                if near and seen[to] != number:
                    seen[to] = number
                    queue[end] = to
                    end += 1
        begin, steps = stop, steps + 1
        if steps <= least:
            first = begin
    return (first if steps >= least else end), end


@compiled(f"i8[::1]({_GRAPH})")
def reached_sizes(
    sources: Index,
    limits: Index,
    offsets: Index,
    targets: Index,
    starts: Index,
    ahead: bool,
    least: int,
    most: int,
) -> Index:
    """How many events a chain of ``least`` to ``most`` steps leads to from each source, none of
    which starts after its limit (or before it, where chains are followed back)."""
    sizes = np.zeros(len(sources), dtype=np.int64)
    seen = np.full(len(starts), -1, dtype=np.int64)
    queue = np.empty(len(starts), dtype=np.int64)
    for i in range(len(sources)):
        first, end = _spread(
            i, sources[i], limits[i], offsets, targets, starts, ahead, least, most, seen, queue
        )
        sizes[i] = end - first
    return sizes


@compiled(f"i8[::1]({_GRAPH}, i8)")
def reached_rows(
    sources: Index,
    limits: Index,
    offsets: Index,
    targets: Index,
    starts: Index,
    ahead: bool,
    least: int,
    most: int,
    size: int,
) -> Index:
    """The events that :func:`reached_sizes` counts, those of one source after another."""
    found = np.empty(size, dtype=np.int64)
    filled = 0
    seen = np.full(len(starts), -1, dtype=np.int64)
    queue = np.empty(len(starts), dtype=np.int64)
    for i in range(len(sources)):
        first, end = _spread(
            i, sources[i], limits[i], offsets, targets, starts, ahead, least, most, seen, queue
        )
        found[filled : filled + end - first] = queue[first:end]
        filled += end - first
    return found


@compiled(f"i8[::1]({_GRAPH})")
def furthest(
    sources: Index,
    limits: Index,
    offsets: Index,
    targets: Index,
    starts: Index,
    ahead: bool,
    least: int,
    most: int,
) -> Index:
    """The last event that a chain leads to from each source, where there is one way to go at most;
    -1 where it has less than ``least`` steps, or more than ``most``."""
    found = np.full(len(sources), -1, dtype=np.int64)
    for number in range(len(sources)):
        at, steps = sources[number], 0
        while offsets[at] < offsets[at + 1]:
            to = targets[offsets[at]]
            near = starts[to] <= limits[number] if ahead else starts[to] >= limits[number]
            if not near:
                break
            at, steps = to, steps + 1
        if least <= steps <= most:
            found[number] = at
    return found


@compiled(
    "Tuple((i8[::1], b1[::1]))(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], b1[::1], "
    "i8, i8, b1, i8[::1], i8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], b1, i8[::1], b1[::1])",
)
def go_back(
    offsets: Index,
    firsts: Index,
    lasts: Index,
    starts: Index,
    ends: Index,
    able: Mask,
    preceding: Mask,
    least: int,
    most: int,
    strict: bool,
    signs: Index,
    whole: IntTable,
    whole_before: IntTable,
    real: FloatTable,
    real_before: FloatTable,
    known: bool,
    places: Index,
    linked: Mask,
) -> tuple[Index, Mask]:
    """The chain of each row that is found by taking the first candidate that fits, again and again,
    and going back to the next one where that leads nowhere: how long it is (-1: there is none), and
    which candidates it takes.

    ``firsts`` and ``lasts`` are where it has to begin and to end (-1: anywhere). Whether one
    candidate may follow another is compared (see ``walk``), or known from ``linked``: for each
    candidate, from its place on, for those in order that may follow it by their times.
    """
    never = np.iinfo(np.int64).max
    sizes = np.full(len(offsets) - 1, -1, dtype=np.int64)
    taken = np.zeros(len(starts), dtype=np.bool_)
    cap = least if most < 0 else most
    for row in range(len(offsets) - 1):
        begin, stop = offsets[row], offsets[row + 1]
        first, last = firsts[row], lasts[row]
        width = stop - begin
        dead = np.zeros((width, cap + 1), dtype=np.bool_)
        chain = np.empty(width + 1, dtype=np.int64)
        pointer = np.empty(width + 1, dtype=np.int64)  # the next candidate to look at
        nearest = np.empty(width + 1, dtype=np.int64)
        asked = np.empty(width + 1, dtype=np.int64)
        initial = begin if first < 0 else first
        found = -1
        while initial < stop and found < 0:
            if not able[initial]:
                if first >= 0:
                    break
                initial += 1
                continue
            depth = 0
            chain[0], pointer[0], nearest[0], asked[0] = initial, initial + 1, never, 0
            while depth >= 0 and found < 0:
                current, count = chain[depth], depth + 1
                follower = -1
                j = pointer[depth]
                while j < stop and (most < 0 or count < most):
                    if strict and starts[j] > nearest[depth]:
                        break
                    if starts[j] > ends[current]:
                        nearest[depth] = min(nearest[depth], ends[j])
                        if able[j]:
                            place = places[current] + asked[depth] if known else 0
                            asked[depth] += 1
                            alive = not dead[j - begin, min(count + 1, cap)]
                            if alive and known:
                                alive = linked[place]
                            elif alive:
                                alive = preceding[current] and compared(
                                    j, current, signs, whole, whole_before, real, real_before
                                )
                            if alive:
                                follower = j
                                break
                    j += 1
                if follower >= 0:
                    pointer[depth] = follower + 1
                    depth += 1
                    chain[depth], pointer[depth] = follower, follower + 1
                    nearest[depth], asked[depth] = never, 0
                elif count >= least and (last < 0 or current == last):
                    found = count
                else:
                    dead[current - begin, min(count, cap)] = True
                    depth -= 1
            if first >= 0:
                break
            initial += 1
        if found >= 0:
            for i in range(found):
                taken[chain[i]] = True
            sizes[row] = found
        elif least == 0 and first < 0 and last < 0:
            sizes[row] = 0
    return sizes, taken


@compiled("b1[::1](i8[::1], i8[::1], i8[::1], i8[::1])")
def preferred(groups: Index, order: Index, offsets: Index, ranks: Index) -> Mask:
    """Of the rows of each group, those whose chain is preferred: event by event the earlier one,
    and any event rather than none. ``order`` sorts the rows by their groups."""
    kept = np.zeros(len(groups), dtype=np.bool_)
    at = 0
    while at < len(order):
        stop = since = at
        best = order[at]
        while stop < len(order) and groups[order[stop]] == groups[order[at]]:
            row = order[stop]
            sign, i = 0, 0
            while sign == 0:
                mine, its = offsets[row] + i, offsets[best] + i
                over, done = mine >= offsets[row + 1], its >= offsets[best + 1]
                if over and done:
                    break
                if over:
                    sign = 1
                elif done or ranks[mine] < ranks[its]:
                    sign = -1
                elif ranks[mine] > ranks[its]:
                    sign = 1
                i += 1
            if sign < 0:
                for other in range(since, stop):
                    kept[order[other]] = False
                best, since = row, stop
            if sign <= 0:
                kept[row] = True
            stop += 1
        at = stop
    return kept
