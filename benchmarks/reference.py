"""What the queries' answers are, computed without Thence and in another way.

``rows`` gives every result, by plain loops, for some thousand events. ``count`` gives the number
of results for millions, by prefix sums and by comparing events that lie ``k`` places apart.
A benchmark that is fast because it is wrong fails against both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.generate import BEGIN, RARE
from benchmarks.queries import POLICIES, Q6_WINDOWS, q6_name

SECONDS_10 = 10_000_000
SECONDS_2 = 2_000_000
MILLIS_200 = 200_000

Row = tuple[Any, ...]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Event(NamedTuple):
    type: str
    time: int
    id: int
    price: float


def _events(table: Any) -> list[Event]:
    columns = (
        table["type"].to_pylist(),
        table["time"].cast("int64").to_pylist(),
        table["id"].to_pylist(),
        table["price"].to_pylist(),
    )
    return [Event(*values) for values in zip(*columns, strict=True)]


def rows(name: str, table: Any) -> list[Row]:
    """All results of a query in sorted order: its columns, then start and end, times as integers.

    The time is quadratic in the events of one id or of one window: for small tables.
    """
    return sorted(set(_ROWS[name](_events(table))))


def _by_id(events: Iterable[Event]) -> Iterator[list[Event]]:
    groups: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        groups[event.id].append(event)
    yield from groups.values()


def _of(events: Iterable[Event], kind: str) -> list[Event]:
    return [event for event in events if event.type == kind]


def _chains(events: list[Event], window: int) -> Iterator[tuple[Event, Event, Event]]:
    """Every a, b, c one after the other within the window."""
    for place, a in enumerate(events):
        if a.type != "a":
            continue
        following = []
        for event in events[place + 1 :]:
            if event.time > a.time + window:
                break
            following.append(event)
        for b in _of(following, "b"):
            yield from ((a, b, c) for c in _of(following, "c") if b.time < c.time)


def _rows_q1(events: list[Event]) -> Iterator[Row]:
    for group in _by_id(events):
        for a, b, c in _chains(group, SECONDS_10):
            yield a.id, a.time, b.time, c.time, a.time, c.time


def _dearer(a: Event, b: Event) -> bool:
    """Whether q2 joins an a and a b of one id."""
    return a.time < b.time <= a.time + SECONDS_10 and b.price > a.price


def _rows_q2(events: list[Event]) -> Iterator[Row]:
    for group in _by_id(events):
        for a in _of(group, "a"):
            for b in _of(group, "b"):
                if _dearer(a, b):
                    yield a.id, a.price, b.price, a.time, b.time


def _rows_q2_policy(events: list[Event], policy: str) -> Iterator[Row]:
    """Each b in turn, with the a that the policy gives it; ``free`` are those not yet used up."""
    for group in _by_id(events):
        free = _of(group, "a")
        for b in _of(group, "b"):
            fit = [a for a in free if _dearer(a, b)]
            taken = {"recent": fit[-1:], "chronicle": fit[:1], "exclusive": fit}[policy]
            yield from ((a.id, a.price, b.price, a.time, b.time) for a in taken)
            if policy != "recent":
                free = [a for a in free if a not in taken]


def _rows_q3(events: list[Event]) -> Iterator[Row]:
    """Absence in (t, t + 10 s], reported at the window's end."""
    horizon = max((event.time for event in events), default=BEGIN)
    for group in _by_id(events):
        for a in _of(group, "a"):
            end = a.time + SECONDS_10
            if end <= horizon and not any(a.time < b.time <= end for b in _of(group, "b")):
                yield a.id, end, end


def _rows_q3w(events: list[Event]) -> Iterator[Row]:
    """Absence strictly inside the window, reported over the window."""
    horizon = max((event.time for event in events), default=BEGIN)
    for group in _by_id(events):
        for a in _of(group, "a"):
            end = a.time + SECONDS_10
            if end <= horizon and not any(a.time < b.time < end for b in _of(group, "b")):
                yield a.id, a.time, end


def _rows_q5(events: list[Event]) -> Iterator[Row]:
    for a, b, c in _chains(events, MILLIS_200):
        yield a.time, b.time, c.time, a.time, c.time


def _rows_q6(events: list[Event], window: int) -> Iterator[Row]:
    for place, z in enumerate(events):
        if z.type != RARE:
            continue
        seen: set[str] = set()
        # Backwards from z: an a counts once a b has been met that itself was met after a c.
        for event in reversed(events[:place]):
            if event.time < z.time - window:
                break
            if event.type == "c" or (event.type == "b" and "c" in seen):
                seen.add(event.type)
            elif event.type == "a" and "b" in seen:
                yield event.time, z.time


def _rows_q7(events: list[Event]) -> Iterator[Row]:
    """Every a and c, with the number of b between them, if there is one."""
    for group in _by_id(events):
        for a in _of(group, "a"):
            for c in _of(group, "c"):
                if a.time < c.time <= a.time + SECONDS_2:
                    between = [b for b in _of(group, "b") if a.time < b.time < c.time]
                    if between:
                        yield a.id, len(between), a.time, c.time


_ROWS: dict[str, Callable[[list[Event]], Iterator[Row]]] = {
    "q1": _rows_q1,
    "q2": _rows_q2,
    "q2_session": _rows_q2,
    **{f"q2_{policy}": partial(_rows_q2_policy, policy=policy) for policy in POLICIES},
    "q3": _rows_q3,
    "q3w": _rows_q3w,
    "q5": _rows_q5,
    **{q6_name(text): partial(_rows_q6, window=size) for text, size in Q6_WINDOWS.items()},
    "q7": _rows_q7,
}


class _Columns(NamedTuple):
    """Events as arrays, with the times counted from the first event."""

    types: npt.NDArray[Any]
    times: Ints
    ids: Ints
    prices: npt.NDArray[np.float64]

    def take(self, order: Ints) -> _Columns:
        return _Columns(self.types[order], self.times[order], self.ids[order], self.prices[order])

    def of(self, kind: str) -> Bools:
        return np.asarray(self.types == kind, dtype=bool)


def _columns(table: Any) -> _Columns:
    times = table["time"].cast("int64").to_numpy()
    return _Columns(
        np.asarray(table["type"].to_numpy(), dtype="U1"),
        times - times[0],
        table["id"].to_numpy(),
        table["price"].to_numpy(),
    )


def count(name: str, table: Any) -> int:
    """How many results a query has. Times must be all different and in order, as in W1."""
    return _COUNTS[name](_columns(table))


def _by_id_and_time(columns: _Columns) -> _Columns:
    return columns.take(np.lexsort((columns.times, columns.ids)))


def _count_q1(columns: _Columns) -> int:
    grouped = _by_id_and_time(columns)
    # Far enough apart that no window reaches from one id into the next.
    stride = int(columns.times[-1]) + 2 * SECONDS_10
    return _count_chains(grouped, grouped.ids * stride + grouped.times, SECONDS_10)


def _count_q5(columns: _Columns) -> int:
    return _count_chains(columns, columns.times, MILLIS_200)


def _count_chains(columns: _Columns, keys: Ints, window: int) -> int:
    """The number of a, b, c in order within the window, from prefix sums over sorted keys.

    For an a at place i whose window ends with place j it is the sum, over the c in (i, j], of the
    number of b between: (b up to that c) - (b up to i).
    """
    is_c = columns.of("c")
    b_until = np.cumsum(columns.of("b"))
    c_until = np.cumsum(is_c)
    b_at_c_until = np.cumsum(np.where(is_c, b_until, 0))
    first = np.flatnonzero(columns.of("a"))
    last = np.searchsorted(keys, keys[first] + window, side="right") - 1
    steps = b_at_c_until[last] - b_at_c_until[first]
    return int(np.sum(steps - b_until[first] * (c_until[last] - c_until[first])))


def _lags(grouped: _Columns, window: int) -> Iterator[tuple[int, Bools]]:
    """For k = 1, 2, …: which places i have i + k of the same id within the window."""
    for lag in range(1, len(grouped.ids)):
        near = (grouped.ids[lag:] == grouped.ids[:-lag]) & (
            grouped.times[lag:] - grouped.times[:-lag] <= window
        )
        if not near.any():
            return
        yield lag, near


def _count_q2(columns: _Columns) -> int:
    first, _ = _pairs_q2(columns)
    return len(first)


def _count_q2_recent(columns: _Columns) -> int:
    """Each b that has an a is taken with one."""
    _, second = _pairs_q2(columns)
    return len(np.unique(second))


def _count_q2_exclusive(columns: _Columns) -> int:
    """Each a that has a b is used up by the first one."""
    first, _ = _pairs_q2(columns)
    return len(np.unique(first))


def _count_q2_chronicle(columns: _Columns) -> int:
    """The pairs in the order of their b, then of their a, each taken if neither is used up."""
    first, second = _pairs_q2(columns)
    used: set[int] = set()
    for place in np.lexsort((first, second)):
        pair = {int(first[place]), int(second[place])}
        if not pair & used:
            used |= pair
    return len(used) // 2


def _pairs_q2(columns: _Columns) -> tuple[Ints, Ints]:
    """The places of the a and of the b, by id and time, in all results of q2."""
    grouped = _by_id_and_time(columns)
    is_a, is_b = grouped.of("a"), grouped.of("b")
    first, second = [], []
    for lag, near in _lags(grouped, SECONDS_10):
        dearer = grouped.prices[lag:] > grouped.prices[:-lag]
        places = np.flatnonzero(near & is_a[:-lag] & is_b[lag:] & dearer)
        first.append(places)
        second.append(places + lag)
    return np.concatenate(first), np.concatenate(second)


def _count_absent(columns: _Columns, *, closed: bool) -> int:
    """The number of a with no b in the 10 s after; ``closed`` if the last instant counts."""
    grouped, horizon = _by_id_and_time(columns), int(columns.times[-1])
    alone = grouped.of("a") & (grouped.times + SECONDS_10 <= horizon)
    is_b = grouped.of("b")
    for lag, near in _lags(grouped, SECONDS_10 if closed else SECONDS_10 - 1):
        alone[:-lag] &= ~(near & is_b[lag:])
    return int(np.count_nonzero(alone))


def _count_q6(columns: _Columns, window: int) -> int:
    """For each z: the a in the window before the last b before the last c before it."""
    a, b, c = (columns.times[columns.of(kind)] for kind in "abc")
    total = 0
    for z in columns.times[columns.of(RARE)]:
        last_c = c[: np.searchsorted(c, z)]
        last_b = b[: np.searchsorted(b, last_c[-1])] if len(last_c) else last_c
        if len(last_b):
            total += max(0, int(np.searchsorted(a, last_b[-1]) - np.searchsorted(a, z - window)))
    return total


def _count_q7(columns: _Columns) -> int:
    """The number of a and c between which the number of b so far has grown."""
    grouped = _by_id_and_time(columns)
    is_a, is_c = grouped.of("a"), grouped.of("c")
    b_until = np.cumsum(grouped.of("b"))
    total = 0
    for lag, near in _lags(grouped, SECONDS_2):
        some = b_until[lag:] > b_until[:-lag]
        total += int(np.count_nonzero(near & is_a[:-lag] & is_c[lag:] & some))
    return total


_COUNTS: dict[str, Callable[[_Columns], int]] = {
    "q1": _count_q1,
    "q2": _count_q2,
    "q2_session": _count_q2,
    "q2_recent": _count_q2_recent,
    "q2_chronicle": _count_q2_chronicle,
    "q2_exclusive": _count_q2_exclusive,
    "q3": partial(_count_absent, closed=True),
    "q3w": partial(_count_absent, closed=False),
    "q5": _count_q5,
    **{q6_name(text): partial(_count_q6, window=size) for text, size in Q6_WINDOWS.items()},
    "q7": _count_q7,
}
