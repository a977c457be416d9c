"""Loops that cannot be written as operations on whole columns, compiled by Numba."""

from __future__ import annotations

import numpy as np

from thence.engine.arrays.array_types import Floats, FloatTable, Index, IntTable, Mask
from thence.engine.arrays.compiled import compiled


@compiled("b1[::1](i8[:,::1], i8[::1], b1[::1], b1[::1], b1[::1], b1[::1], b1)")
def consume(
    members: Index,
    first: Index,
    detections: Mask,
    groups: Mask,
    alike: Mask,
    spent: Mask,
    everything: bool,
) -> Mask:
    """Which matches count where events are used up; ``spent`` is brought up to date.

    Matches are in order. ``detections`` marks where those begin that are finalised together,
    ``groups`` where, among these, those begin of which the first is taken whose events are all
    unspent, together with those after it up to the next mark of ``alike``. Only after a detection
    are events spent: all of a match, or the one it began with.
    """
    count, width = members.shape
    kept = np.zeros(count, dtype=np.bool_)
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and not detections[end]:
            end += 1
        taken = closed = False
        for i in range(begin, end):
            if groups[i]:
                taken = False
            if alike[i]:
                closed = taken
            if closed:
                continue
            free = True
            if everything:
                for slot in range(width):
                    member = members[i, slot]
                    if member >= 0 and spent[member]:
                        free = False
                        break
            else:
                free = not spent[first[i]]
            if free:
                kept[i] = True
                taken = True
        for i in range(begin, end):
            if kept[i]:
                if everything:
                    for slot in range(width):
                        if members[i, slot] >= 0:
                            spent[members[i, slot]] = True
                else:
                    spent[first[i]] = True
        begin = end
    return kept


@compiled("i8[::1](i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def longest(offsets: Index, starts: Index, ends: Index, lows: Index, highs: Index) -> Index:
    """For each row, how many intervals can follow one another at most, all of them after ``lows``
    and before ``highs``. The intervals of a row are sorted by their ends."""
    count = len(offsets) - 1
    found = np.zeros(count, dtype=np.int64)
    for row in range(count):
        end = lows[row]
        for i in range(offsets[row], offsets[row + 1]):
            if starts[i] > end and ends[i] < highs[row]:
                found[row] += 1
                end = ends[i]
    return found


@compiled("b1(i8, b1, b1, b1)")
def as_asked(sign: int, less: bool, equal: bool, more: bool) -> bool:
    """Whether two numbers compare as a sign asks (0 to 5: =, !=, <, <=, >, >=)."""
    if sign == 0:
        return equal
    if sign == 1:
        return not equal
    if sign == 2:
        return less
    if sign == 3:
        return less or equal
    if sign == 4:
        return more
    return more or equal


@compiled("b1(i8, i8, i8[::1], i8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1])")
def compared(
    after: int,
    before: int,
    signs: Index,
    whole: IntTable,
    whole_before: IntTable,
    real: FloatTable,
    real_before: FloatTable,
) -> bool:
    """Whether each number of a candidate compares with that of the one before it as asked: first
    the whole numbers, then the real ones."""
    integers = len(whole)
    for k in range(len(signs)):
        if k < integers:
            x, y = whole[k, after], whole_before[k, before]
            holds = as_asked(signs[k], x < y, x == y, x > y)
        else:
            a, b = real[k - integers, after], real_before[k - integers, before]
            holds = as_asked(signs[k], a < b, a == b, a > b)
        if not holds:
            return False
    return True


@compiled(
    "b1[::1](i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], b1[::1], i8, b1, "
    "i8[::1], i8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1])"
)
def walk(
    offsets: Index,
    begins: Index,
    starts: Index,
    ends: Index,
    able: Mask,
    preceding: Mask,
    limit: int,
    strict: bool,
    signs: Index,
    whole: IntTable,
    whole_before: IntTable,
    real: FloatTable,
    real_before: FloatTable,
) -> Mask:
    """Which candidates the greedy chains take: from where the chain of a row begins (-1: nowhere),
    the first that may follow, again and again.

    ``able`` are those that may follow anything, ``preceding`` those that anything may follow.
    Beyond that a number of a candidate is compared with one of the candidate before, for each of
    ``signs`` (0 to 5: =, !=, <, <=, >, >=): first the whole numbers, then the real ones.
    """
    never = np.iinfo(np.int64).max
    taken = np.zeros(len(starts), dtype=np.bool_)
    for row in range(len(begins)):
        current = begins[row]
        if current < 0:
            continue
        taken[current] = True
        count = 1
        nearest = never
        for i in range(current + 1, offsets[row + 1]):
            if count >= limit or (strict and starts[i] > nearest):
                break
            if starts[i] <= ends[current]:
                continue
            follows = able[i] and preceding[current]
            if follows:
                follows = compared(i, current, signs, whole, whole_before, real, real_before)
            if follows:
                taken[i] = True
                current = i
                count += 1
                nearest = never
            elif strict:
                nearest = min(nearest, ends[i])
    return taken


_BLOCK = "i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], b1"


@compiled(f"i8[::1]({_BLOCK})")
def places(
    current: Index,
    pointer: Index,
    stop: Index,
    nearest: Index,
    starts: Index,
    ends: Index,
    fit: Mask,
    strict: bool,
) -> Index:
    """Where, among all pairs of a candidate and one that may follow it, those of each begin.

    Of each row these are the pairs among ``current``, the last of its chain so far, and the
    candidates from ``pointer`` to ``stop``. ``nearest`` is when the first of those ends that
    ``current`` was not followed by: where it is strict, none that starts after that may follow.
    """
    sizes = 1
    for row in range(len(current)):
        sizes += 1 + stop[row] - pointer[row]
    offsets = np.zeros(sizes, dtype=np.int64)
    at = 0
    for row in range(len(current)):
        for i in range(pointer[row] - 1, stop[row]):
            one = current[row] if i < pointer[row] else i
            least = nearest[row] if i < pointer[row] else np.iinfo(np.int64).max
            pairs = 0
            if i < pointer[row] or fit[i]:
                for j in range(i + 1, stop[row]):
                    if strict and starts[j] > least:
                        break
                    if starts[j] > ends[one]:
                        pairs += fit[j]
                        least = min(least, ends[j])
            offsets[at + 1] = offsets[at] + pairs
            at += 1
    return offsets


@compiled(f"Tuple((i8[::1], i8[::1]))({_BLOCK}, i8[::1])")
def following(
    current: Index,
    pointer: Index,
    stop: Index,
    nearest: Index,
    starts: Index,
    ends: Index,
    fit: Mask,
    strict: bool,
    offsets: Index,
) -> tuple[Index, Index]:
    """The pairs whose places are given: a candidate, and one that may follow it by its times."""
    before = np.empty(offsets[-1], dtype=np.int64)
    after = np.empty(offsets[-1], dtype=np.int64)
    at = 0
    for row in range(len(current)):
        for i in range(pointer[row] - 1, stop[row]):
            one = current[row] if i < pointer[row] else i
            place, end = offsets[at], offsets[at + 1]
            j = i + 1
            while place < end:
                if fit[j] and starts[j] > ends[one]:
                    before[place], after[place] = one, j
                    place += 1
                j += 1
            at += 1
    return before, after


@compiled(f"void({_BLOCK}, i8[::1], i8[::1], b1[::1], i8, i8[::1], b1[::1])")
def go_on(
    current: Index,
    pointer: Index,
    stop: Index,
    nearest: Index,
    starts: Index,
    ends: Index,
    fit: Mask,
    strict: bool,
    offsets: Index,
    after: Index,
    linked: Mask,
    limit: int,
    count: Index,
    taken: Mask,
) -> None:
    """Go on with every row from ``current`` as far as its block reaches, given which of the pairs
    are ``linked``; ``current``, ``nearest``, ``count`` and ``taken`` are brought up to date."""
    at = 0
    for row in range(len(current)):
        first, one, begin = at, at, pointer[row]
        while count[row] < limit:
            follower = -1
            for place in range(offsets[one], offsets[one + 1]):
                if linked[place]:
                    follower = after[place]
                    break
            if follower < 0:
                break
            taken[follower] = True
            count[row] += 1
            current[row], nearest[row] = follower, np.iinfo(np.int64).max
            one, begin = first + 1 + follower - pointer[row], follower + 1
        for j in range(begin, stop[row]):
            if strict and starts[j] > ends[current[row]]:
                nearest[row] = min(nearest[row], ends[j])
        at += 1 + stop[row] - pointer[row]


@compiled("f8[::1](f8[::1], i8[::1], i8[::1], i8[::1])")
def sums_of_ranges(values: Floats, first: Index, last: Index, order: Index) -> Floats:
    """The sum of ``values[first:last]`` for each range, added up from left to right. ``order`` has
    ranges that begin together one after another, so that longer ones go on from shorter ones."""
    found = np.zeros(len(first), dtype=np.float64)
    begin = done = -1
    total = 0.0
    for row in order:
        if first[row] != begin:
            begin = done = first[row]
            total = 0.0
        while done < last[row]:
            total += values[done]
            done += 1
        found[row] = total
    return found


@compiled("f8[::1](f8[::1], i8[::1], i8[::1])")
def deviations_of_ranges(values: Floats, first: Index, last: Index) -> Floats:
    """The standard deviation, as a sample, of ``values[first:last]`` for each range of two values
    or more; both sums are added up from left to right."""
    found = np.zeros(len(first), dtype=np.float64)
    for row in range(len(first)):
        size = last[row] - first[row]
        if size > 1:
            total = squares = 0.0
            for place in range(first[row], last[row]):
                total += values[place]
            mean = total / size
            for place in range(first[row], last[row]):
                squares += (values[place] - mean) * (values[place] - mean)
            found[row] = np.sqrt(squares / (size - 1))
    return found


@compiled("i8[::1](i8[::1], i8[::1], i8[::1], i8[::1])")
def extremes_of_ranges(codes: Index, first: Index, last: Index, order: Index) -> Index:
    """The position of the least of ``codes[first:last]`` for each range, -1 for an empty one.

    ``order`` has ranges by their last position. A queue holds the positions that can still be the
    least of a range that begins later; where a range begins earlier than one before it, all of
    it is looked at.
    """
    found = np.full(len(first), -1, dtype=np.int64)
    queue = np.empty(len(codes), dtype=np.int64)
    head = tail = low = pushed = 0
    for row in order:
        begin, end = first[row], last[row]
        if begin >= end:
            continue
        if begin < low:
            best = begin
            for i in range(begin + 1, end):
                if codes[i] < codes[best]:
                    best = i
            found[row] = best
            continue
        low = begin
        if pushed < begin:
            head = tail = 0
            pushed = begin
        while pushed < end:
            while tail > head and codes[queue[tail - 1]] > codes[pushed]:
                tail -= 1
            queue[tail] = pushed
            tail += 1
            pushed += 1
        while queue[head] < begin:
            head += 1
        found[row] = queue[head]
    return found


@compiled("i8[::1](i8[::1], i8, i8[::1], i8[::1], i8[::1])")
def distinct_in_ranges(codes: Index, size: int, first: Index, last: Index, order: Index) -> Index:
    """How many different codes, of ``0 .. size-1``, are in ``codes[first:last]`` of each range.

    ``order`` has ranges by their last position. Codes are counted as they enter and leave; where a
    range begins earlier than one before it, all of it is looked at.
    """
    found = np.zeros(len(first), dtype=np.int64)
    held = np.zeros(size, dtype=np.int64)
    seen = np.full(size, -1, dtype=np.int64)
    low = high = different = 0
    for row in order:
        begin, end = first[row], last[row]
        if begin >= end:
            continue
        if begin < low:
            for i in range(begin, end):
                if seen[codes[i]] != row:
                    seen[codes[i]] = row
                    found[row] += 1
            continue
        while low < high and low < begin:
            held[codes[low]] -= 1
            if held[codes[low]] == 0:
                different -= 1
            low += 1
        if high < begin:
            high = begin
        low = begin
        while high < end:
            if held[codes[high]] == 0:
                different += 1
            held[codes[high]] += 1
            high += 1
        found[row] = different
    return found
