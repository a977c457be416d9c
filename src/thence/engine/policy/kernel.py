"""The search itself: a walk through sorted relations, event by event, compiled by Numba.

Assignments to slices take seconds to compile, which is why there are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Index, IntTable
from thence.engine.arrays.compiled import compiled
from thence.engine.arrays.kernels import as_asked
from thence.engine.policy.layout import (
    AT_END,
    BASE,
    BEGIN,
    CHOICE,
    COMPARED,
    CONDITIONAL,
    EACH,
    FACTOR,
    FALSE,
    FAR,
    FENCES,
    INITIATOR,
    KEYS,
    LAST,
    LINKS,
    LOW,
    MINE,
    MODE,
    OFFSET,
    PARTNER,
    READY,
    REAL,
    REQUESTED,
    SHARP,
    SIGN,
    SIZE,
    SKIPS,
    SLOT,
    SOURCE,
    THEIRS,
    TRUE,
    VALUES,
    WITH,
    Places,
    Supply,
    Verdicts,
    Walk,
)  # fmt: skip
from thence.engine.policy.trees import last_alive, lower, next_alive, take_away
from thence.logic.bounds import UNBOUNDED


@compiled(inner=True)
def _next_row(p: Places, supply: Supply, level: int, mode: int, row: int) -> int:
    """The next row of a level to try after one."""
    if mode == LAST:
        if not p.levels[level, SKIPS]:
            return row - 1
        return last_alive(supply.alive, supply.trees[level], supply.widths[level], row - 1)
    if not p.levels[level, SKIPS]:
        return row + 1
    return next_alive(supply.alive, supply.trees[level], supply.widths[level], row + 1)


@compiled(inner=True)
def _find(p: Places, verdicts: Verdicts, level: int, chosen: Index) -> int:
    """The place of the table that is for a level's conditions on chosen rows, taken or empty."""
    keys, states = verdicts.keys, verdicts.states
    mask = len(states) - 1
    code = np.uint64(level + 1) * np.uint64(0x9E3779B97F4A7C15)
    for k in range(len(chosen)):
        if p.involved[level, k]:
            code ^= np.uint64(chosen[k] + 1)
            code *= np.uint64(0xFF51AFD7ED558CCD)
            code ^= code >> np.uint64(32)
    place: int = np.int64(code & np.uint64(mask))  # type: ignore[assignment]
    while states[place] != 0:
        same = keys[place, 0] == level
        for k in range(len(chosen)):
            if not same:
                break
            if p.involved[level, k] and keys[place, k + 1] != chosen[k]:
                same = False
        if same:
            return place
        place = (place + 1) & mask
    return place


@compiled(inner=True)
def _request(p: Places, verdicts: Verdicts, level: int, chosen: Index, place: int) -> None:
    """Ask for the verdict on chosen rows; ``place`` is the empty place for it."""
    verdicts.keys[place, 0] = level
    for k in range(len(chosen)):
        verdicts.keys[place, k + 1] = chosen[k] if p.involved[level, k] else -1
    verdicts.states[place] = REQUESTED
    verdicts.requests[verdicts.counts[1]] = place
    verdicts.counts[0] += 1
    verdicts.counts[1] += 1


@compiled(inner=True)
def _copy(from_: IntTable, i: int, to: IntTable, j: int) -> None:
    for k in range(from_.shape[1]):
        to[j, k] = from_[i, k]


@compiled()
def rehash(p: Places, old: Verdicts, new: Verdicts) -> None:
    """Put all verdicts of one table into another, which is empty."""
    for place in range(len(old.states)):
        if old.states[place]:
            there = _find(p, new, old.keys[place, 0], old.keys[place, 1:])
            _copy(old.keys, place, new.keys, there)
            new.states[there] = old.states[place]
            new.counts[0] += 1


@compiled(inner=True)
def _fits(p: Places, bounds: Any, base: int, depth: int, chosen: Index, row: int) -> bool:
    """Whether a row of a level is as far from the rows chosen before it as it must be."""
    at = p.levels[base + depth, BEGIN] + row
    start, end = p.starts[at], p.ends[at]
    mine = 2 * depth
    for k in range(depth):
        other = p.levels[base + k, BEGIN] + chosen[k]
        from_, to = p.starts[other], p.ends[other]
        theirs = 2 * k
        if (
            start - from_ > bounds[mine, theirs]
            or start - to > bounds[mine, theirs + 1]
            or end - from_ > bounds[mine + 1, theirs]
            or end - to > bounds[mine + 1, theirs + 1]
            or from_ - start > bounds[theirs, mine]
            or from_ - end > bounds[theirs, mine + 1]
            or to - start > bounds[theirs + 1, mine]
            or to - end > bounds[theirs + 1, mine + 1]
        ):
            return False
    for fence in range(p.levels[base + depth, FENCES], p.levels[base + depth + 1, FENCES]):
        value = p.fence_values[p.fences[fence, VALUES] + chosen[p.fences[fence, SOURCE]]]
        time = end if p.fences[fence, AT_END] else start
        if time < value if p.fences[fence, LOW] else time > value:
            return False
    for number in range(p.levels[base + depth, COMPARED], p.levels[base + depth + 1, COMPARED]):
        one = p.comparisons[number, MINE] + row
        two = p.comparisons[number, THEIRS] + chosen[p.comparisons[number, WITH]]
        if p.comparisons[number, REAL]:
            x, y = p.real_numbers[one], p.real_numbers[two]
            good = as_asked(p.comparisons[number, SIGN], x < y, x == y, x > y)
        else:
            i, j = p.whole_numbers[one], p.whole_numbers[two]
            good = as_asked(p.comparisons[number, SIGN], i < j, i == j, i > j)
        if not good:
            return False
    return True


@compiled(inner=True)
def _group(p: Places, walk: Walk, base: int, k: int, chosen: Index) -> bool:
    """Find the rows of a level that have the key of those chosen before; false if none do."""
    level = base + k
    begin, end = p.levels[level, LINKS], p.levels[level + 1, LINKS]
    if begin == end:
        walk.groups[k, 0], walk.groups[k, 1] = 0, p.levels[level, SIZE]
        return bool(p.levels[level, SIZE] > 0)
    key = 0
    for link in range(begin, end):
        code = p.codes[p.links[link, OFFSET] + chosen[p.links[link, PARTNER]]]
        if code < 0:
            return False
        key += code * p.links[link, FACTOR]
    first, last = p.levels[level, KEYS], p.levels[level + 1, KEYS]
    place = lower(p.keys, first, last, key)
    if place == last or p.keys[place] != key:
        return False
    walk.groups[k, 0] = p.key_rows[place]
    walk.groups[k, 1] = p.key_rows[place + 1] if place + 1 < last else p.levels[level, SIZE]
    return True


@compiled(inner=True)
def _snap(p: Places, supply: Supply, walk: Walk, base: int, depth: int, k: int) -> bool:
    """Narrow the times of a level to those at which there is something; false if there is not."""
    level = base + k
    begin = p.levels[level, BEGIN]
    low, high = walk.groups[k, 0] + begin, walk.groups[k, 1] + begin
    if walk.low[depth, k] > -FAR:
        low = lower(p.starts, low, high, walk.low[depth, k])
    if walk.high[depth, k] < FAR:
        high = lower(p.starts, low, high, walk.high[depth, k] + 1)
    first, last = low - begin, high - begin - 1
    if p.levels[level, SKIPS] and first <= last:
        first = next_alive(supply.alive, supply.trees[level], supply.widths[level], first)
        last = last_alive(supply.alive, supply.trees[level], supply.widths[level], last)
    if first > last:
        return False
    walk.low[depth, k], walk.high[depth, k] = p.starts[begin + first], p.starts[begin + last]
    if k == depth:
        walk.rows[depth, 0], walk.rows[depth, 1] = first, last
    return True


@compiled(inner=True)
def _narrow(
    p: Places,
    supply: Supply,
    walk: Walk,
    bounds: Any,
    base: int,
    size: int,
    depth: int,
    chosen: Index,
) -> bool:
    """What the rows chosen for all levels before ``depth`` leave for the others; false if some
    have nothing left. Each level that is still open bounds the others by what it has."""
    low, high = walk.low, walk.high
    last = p.levels[base + depth - 1, BEGIN] + chosen[depth - 1]
    start, end, node = p.starts[last], p.ends[last], 2 * (depth - 1)
    for k in range(depth, size):
        least = low[depth - 1, k] if depth > 1 else -FAR
        most = high[depth - 1, k] if depth > 1 else FAR
        if bounds[2 * k, node] < UNBOUNDED:
            most = min(most, start + bounds[2 * k, node])
        if bounds[2 * k, node + 1] < UNBOUNDED:
            most = min(most, end + bounds[2 * k, node + 1])
        if bounds[node, 2 * k] < UNBOUNDED:
            least = max(least, start - bounds[node, 2 * k])
        if bounds[node + 1, 2 * k] < UNBOUNDED:
            least = max(least, end - bounds[node + 1, 2 * k])
        for fence in range(p.levels[base + k, FENCES], p.levels[base + k + 1, FENCES]):
            if p.fences[fence, SOURCE] != depth - 1:
                continue
            value = p.fence_values[p.fences[fence, VALUES] + chosen[depth - 1]]
            if p.fences[fence, LOW] and value > -FAR:
                longest = bounds[2 * k + 1, 2 * k] if p.fences[fence, AT_END] else 0
                if longest < UNBOUNDED:
                    least = max(least, value - longest)
            elif not p.fences[fence, LOW] and value < FAR:
                shortest = -bounds[2 * k, 2 * k + 1] if p.fences[fence, AT_END] else 0
                most = min(most, value - max(shortest, 0))
        low[depth, k], high[depth, k] = least, most
        ready = p.levels[base + k, READY]
        if (ready == depth or (ready == 0 and depth == 1)) and not _group(p, walk, base, k, chosen):
            return False
    rounds = 1 if size - depth == 1 else 2
    for number in range(rounds):
        for step in range(depth, size):
            k = size - 1 + depth - step if number == 0 else step
            for m in range(depth, size):
                if m == k:
                    continue
                if bounds[2 * k, 2 * m] < UNBOUNDED and high[depth, m] < FAR:
                    high[depth, k] = min(high[depth, k], high[depth, m] + bounds[2 * k, 2 * m])
                if bounds[2 * m, 2 * k] < UNBOUNDED and low[depth, m] > -FAR:
                    low[depth, k] = max(low[depth, k], low[depth, m] - bounds[2 * m, 2 * k])
            if low[depth, k] > high[depth, k]:
                return False
            if p.levels[base + k, READY] <= depth and not _snap(p, supply, walk, base, depth, k):
                return False
    return True


@compiled(inner=True)
def _before(p: Places, found: IntTable, i: int, j: int, most: int) -> int:
    """Compare two matches: -1 or 1 by the events of which all count, -2 or 2 by the others that
    the policy chooses, 0 if they agree. ``found`` has the variant in its first column."""
    one, other = found[i, 0], found[j, 0]
    for preferred in range(2):
        for slot in range(most):
            values = (
                _worth(p, found, i, one, slot, preferred),
                _worth(p, found, j, other, slot, preferred),
            )
            if values[0] != values[1]:
                sign = -1 if values[0] < values[1] else 1
                return sign * (1 + preferred)
    return 0


@compiled(inner=True)
def _worth(p: Places, found: IntTable, i: int, variant: int, slot: int, preferred: int) -> int:
    """What a match is compared by in a slot."""
    base = p.variants[variant, BASE]
    for k in range(p.variants[variant + 1, BASE] - base):
        if p.levels[base + k, SLOT] == slot:
            number = p.numbers[p.levels[base + k, BEGIN] + found[i, k + 2]]
            choice = p.levels[base + k, CHOICE]
            if preferred:
                return number if choice == 1 else (-number if choice == -1 else 0)
            return number if choice == 0 else -1
    return 0 if preferred else -1


@compiled(inner=True)
def _settle(p: Places, found: IntTable, begin: int, end: int, most: int) -> int:
    """Keep the best of each group among the matches of one detection; where they end then."""
    count = end - begin
    order = np.arange(begin, end)
    spare = np.empty(count, dtype=np.int64)
    width = 1
    while width < count:
        for left in range(0, count, 2 * width):
            middle, right = min(left + width, count), min(left + 2 * width, count)
            i, j = left, middle
            for place in range(left, right):
                if i < middle and (j >= right or _before(p, found, order[i], order[j], most) <= 0):
                    spare[place] = order[i]
                    i += 1
                else:
                    spare[place] = order[j]
                    j += 1
        order, spare = spare, order
        width *= 2
    kept = np.zeros(count, dtype=np.bool_)
    best = order[0]
    for place in range(count):
        this = order[place]
        compared = _before(p, found, best, this, most)
        if compared == -1 or place == 0:
            best = this
            compared = 0
        kept[this - begin] = compared == 0
    at = begin
    for i in range(begin, end):
        if kept[i - begin]:
            _copy(found, i, found, at)
            at += 1
    return at


@compiled(inner=True)
def _spend(p: Places, supply: Supply, number: int) -> None:
    """Mark an event as used up."""
    supply.spent[number] = True
    for level in range(len(p.levels) - 1):
        if p.levels[level, SKIPS]:
            place = supply.places[level, number]
            if place >= 0:
                take_away(supply.alive, supply.trees[level], supply.widths[level], place)


@compiled()
def seek(
    p: Places,
    supply: Supply,
    verdicts: Verdicts,
    variants: Index,
    rows: Index,
    detections: Index,
    queue: Index,
    independent: bool,
    ahead: int,
    window: int,
    most: int,
) -> tuple[IntTable, Index, int]:
    """The matches of some detections, and which detections could not be finalised yet.

    A detection is a run of entries, from ``detections[d]`` on: a variant and the row of its
    terminator. ``queue`` are the detections to judge. Where events are used up they depend on one
    another: behind the first that needs a verdict, ``window`` more are only looked at, to learn
    which verdicts they may need. ``ahead`` is how many candidates are asked about at once. A match
    is its variant, its detection, and a row per level. The last number is that of the detections
    that are done, where they are not independent.
    """
    deepest = p.involved.shape[1]
    found = np.empty((1024, deepest + 2), dtype=np.int64)
    pending = np.empty(len(queue), dtype=np.int64)
    count = waiting = 0
    stuck = -1
    walk = Walk(
        np.empty((deepest + 1, deepest), dtype=np.int64),
        np.empty((deepest + 1, deepest), dtype=np.int64),
        np.zeros((deepest, 2), dtype=np.int64),
        np.zeros((deepest + 1, 2), dtype=np.int64),
    )
    chosen = np.zeros(deepest, dtype=np.int64)
    trial = np.zeros(deepest, dtype=np.int64)
    success = np.zeros(deepest + 1, dtype=np.bool_)
    limit = len(verdicts.requests)
    for turn in range(len(queue)):
        detection = queue[turn]
        begin = count
        unknown = False
        entries = 0
        full = verdicts.counts[1] >= limit
        if full:
            if independent:
                pending[waiting] = detection
                waiting += 1
                continue
            break
        if stuck >= 0 and turn - stuck > window:
            break
        sharp = True
        for entry in range(detections[detection], detections[detection + 1]):
            variant = variants[entry]
            base, size = (
                p.variants[variant, BASE],
                p.variants[variant + 1, BASE] - p.variants[variant, BASE],
            )
            bounds = p.bounds[variant]
            chosen[0] = rows[entry]
            if p.levels[base, SKIPS] and supply.spent[p.numbers[p.levels[base, BEGIN] + chosen[0]]]:
                continue
            entries += 1
            sharp = sharp and p.variants[variant, SHARP] != 0
            if size == 1:
                depth = 0
                if count == len(found):
                    found = _grown(found)
                found[count, 0], found[count, 1], found[count, 2] = variant, detection, chosen[0]
                count += 1
            elif _narrow(p, supply, walk, bounds, base, size, 1, chosen):
                depth = 1
                success[1] = False
            else:
                depth = 0
            while depth > 0:
                level = base + depth
                mode = p.levels[level, MODE]
                first, last = walk.rows[depth, 0], walk.rows[depth, 1]
                if first > last:
                    done = success[depth]
                    depth -= 1
                    chooses = depth > 0 and p.levels[base + depth, MODE] != EACH
                    if unknown and chooses:
                        break
                    if depth > 0 and done:
                        success[depth] = True
                        if chooses:
                            walk.rows[depth, 1] = -2
                            walk.rows[depth, 0] = 0
                    continue
                if mode == LAST:
                    row = last
                    walk.rows[depth, 1] = _next_row(p, supply, level, mode, row)
                else:
                    row = first
                    walk.rows[depth, 0] = _next_row(p, supply, level, mode, row)
                if not _fits(p, bounds, base, depth, chosen, row):
                    continue
                chosen[depth] = row
                if p.levels[level, CONDITIONAL]:
                    place = _find(p, verdicts, level, chosen[:size])
                    state = verdicts.states[place]
                    if state == FALSE:
                        continue
                    if state != TRUE:
                        unknown = True
                        if state == 0:
                            if verdicts.counts[1] >= limit:
                                break
                            _request(p, verdicts, level, chosen[:size], place)
                        if mode != EACH:
                            for k in range(depth):
                                trial[k] = chosen[k]
                            asked, other = 1, row
                            while asked < ahead and verdicts.counts[1] < limit:
                                other = _next_row(p, supply, level, mode, other)
                                if other < first or other > last:
                                    break
                                if not _fits(p, bounds, base, depth, chosen, other):
                                    continue
                                trial[depth] = other
                                place = _find(p, verdicts, level, trial[:size])
                                if verdicts.states[place] == 0:
                                    _request(p, verdicts, level, trial[:size], place)
                                asked += 1
                        if mode != EACH:
                            break
                        continue
                if depth == size - 1:
                    if count == len(found):
                        found = _grown(found)
                    found[count, 0], found[count, 1] = variant, detection
                    for k in range(size):
                        found[count, k + 2] = chosen[k]
                    count += 1
                    success[depth] = True
                    if mode != EACH:
                        walk.rows[depth, 0], walk.rows[depth, 1] = 0, -2
                elif _narrow(p, supply, walk, bounds, base, size, depth + 1, chosen):
                    depth += 1
                    success[depth] = False
            if depth > 0 and unknown:
                break
        if unknown:
            count = begin
            if independent:
                pending[waiting] = detection
                waiting += 1
            elif stuck < 0:
                stuck = turn
        if stuck >= 0:
            count = begin
        if independent or stuck >= 0:
            continue
        if count - begin > 1 and (entries > 1 or not sharp):
            count = _settle(p, found, begin, count, most)
        for i in range(begin, count):
            base = p.variants[found[i, 0], BASE]
            size = p.variants[found[i, 0] + 1, BASE] - base
            for k in range(size):
                if p.levels[base + k, SLOT] < 0:
                    continue
                if not supply.everything and k != p.variants[found[i, 0], INITIATOR]:
                    continue
                number = p.numbers[p.levels[base + k, BEGIN] + found[i, k + 2]]
                if not supply.spent[number]:
                    _spend(p, supply, number)
    done = len(queue) if stuck < 0 else stuck
    return found[:count], pending[:waiting], done


@compiled(inner=True)
def _grown(found: IntTable) -> IntTable:
    longer = np.empty((2 * len(found), found.shape[1]), dtype=np.int64)
    for i in range(len(found)):
        _copy(found, i, longer, i)
    return longer
