"""Programs about repetition that are easy to say and hard to do fast, with events for each.

Every one is about neighbours: a way of finding them that looked at all combinations first would
take minutes over the larger ones, or all memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.hard.rows import Row

Tables = Mapping[str, Any]
SECOND = 1_000_000

STRICT_PAIR = """
    event q(v int);
    pair() <- q(_){2} using strict;
"""
FALL = """
    event tick(name string, price float);
    fall(name, first(t.price) as top, last(t.price) as bottom) <-
        t: tick(name, _)+ seq u: tick(name, _)
        where t.price < prev(t.price) and u.price >= last(t.price) using greedy strict;
"""
NEXT_OF_PERSON = """
    event done(person string, activity string);
    next(p, x.activity as one, y.activity as other) <- x: done(p, _) until y: done(p, _);
"""
RUN_UNTIL = """
    event b(k int, v int);
    event c(k int);
    run(k, count(x) as n) <- x: b(k, _)+ until c(k) using greedy;
"""
GONE_BACK = """
    event b(k int, v int);
    event c(k int);
    run(k, count(x) as n) <- x: b(k, _){2,3} seq c(k) using greedy strict;
"""


def values(count: int) -> Tables:
    """An event a second."""
    random = np.random.default_rng(1)
    return {"q": _table(np.arange(count), v=random.integers(0, 9, count))}


def minutes(count: int, stocks: int = 7) -> Tables:
    """Prices of some stocks, a minute of all of them after another, as random walks."""
    random = np.random.default_rng(2)
    per_stock = -(-count // stocks)
    prices = 100 + np.round(np.cumsum(random.normal(0, 0.1, (per_stock, stocks)), axis=0), 2)
    names = np.array([f"S{number}" for number in range(stocks)])
    minute = np.repeat(np.arange(per_stock) * 60, stocks)
    whole = _table(minute, name=np.tile(names, per_stock), price=prices.ravel())
    return {"tick": whole.slice(0, count)}


def log(count: int, people: int = 68) -> Tables:
    """What people did, some of whom do much more than others, as in a log of a bank."""
    random = np.random.default_rng(3)
    share = 1 / np.arange(1, people + 1)
    who = random.choice(people, count, p=share / share.sum())
    names = np.array([f"P{number}" for number in range(people)])
    activities = np.array([f"A{number}" for number in range(24)])
    times = np.sort(random.integers(0, 15_000_000, count))
    return {
        "done": _table(times, person=names[who], activity=activities[random.integers(0, 24, count)])
    }


def runs(count: int, length: int = 50) -> Tables:
    """Runs of one event that another ends, for some keys."""
    random = np.random.default_rng(4)
    ends = random.random(count) < 1 / length
    times, keys = np.arange(count), random.integers(0, 5, count)
    v = random.integers(0, 100, count)
    return {
        "b": _table(times[~ends], k=keys[~ends], v=v[~ends]),
        "c": _table(times[ends], k=keys[ends]),
    }


def _table(seconds: Any, **columns: Any) -> Any:
    return pa.table({"time": seconds.astype(np.int64) * SECOND, **columns})


ROWS = (
    Row("a strict pair, 2,000 events", STRICT_PAIR, lambda: values(2_000), bar=0.1),
    Row("greedy strict runs of 7 stocks, 2,700 events", FALL, lambda: minutes(2_700), bar=0.1),
    Row("until the next of a person, 262,200", NEXT_OF_PERSON, lambda: log(262_200), bar=0.3),
    Row("greedy runs until, 100,000 events", RUN_UNTIL, lambda: runs(100_000), bar=0.3),
    Row("greedy strict with going back, 100,000", GONE_BACK, lambda: runs(100_000), bar=0.3),
)
