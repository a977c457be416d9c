"""Repetitions over many events: found by going from one event to the next, and the same as what
trying all combinations finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from benchmarks.hard.repetition import FALL, GONE_BACK, NEXT_OF_PERSON, ROWS, RUN_UNTIL, STRICT_PAIR
from benchmarks.hard.rows import Row
from thence.engine.repetition import repeat
from thence.plan import order

EVENTS = "event a(k int, v int); event b(k int, v int); event c(k int, v int);"
RULES = (
    "r(list(x.v) as vs) <- x: b(_, _){2} using strict",
    "r(k, list(x.v) as vs) <- x: b(k, _){2,3} where x.v != prev(x.v) using strict",
    "r(k, list(x.v) as vs) <- a(k, _) seq x: b(k, _)+ seq c(k, _) using strict",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ seq c(k, _) using greedy strict",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ seq c(_, _) using greedy",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ seq c(k, _) using greedy",
    "r(k, list(x.v) as vs) <- (x: b(k, _)+ seq c(k, _)) within 4 s using greedy",
    "r(k, list(x.v) as vs) <- (x: b(k, _){2,} seq c(k, _)) within 4 s using greedy strict",
    "r(k, list(x.v) as vs) <- x: b(k, _){2,3} seq c(k, _) using greedy strict",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ until c(k, _) using greedy",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ until c(k, _) using greedy strict",
    "r(k, list(x.v) as vs) <- x: b(k, _)+ seq u: b(k, _) where x.v < prev(x.v) "
    "and u.v >= last(x.v) using greedy strict",
    "r(list(x.v) as vs) <- x: b(_, _)+ seq y: c(_, _) where x.v <= y.v using greedy strict",
    "r(list(x.v) as vs) <- a(_, _) seq x: b(_, _){3,} seq c(_, _) "
    "where x.v < prev(x.v) using greedy",
    "r(list(x.v) as vs) <- x: b(_, _)+ seq y: b(_, _)+ seq c(_, _) using greedy strict",
)
event = st.tuples(
    st.sampled_from("abbbbc"),
    st.sampled_from([1, 1, 2, None]),
    st.integers(1, 3),
    st.integers(0, 12),
    st.sampled_from([0, 0, 0, 0, 2]),
)
compiled = cache(thence.compile)


def found(rule: str, rows: list[dict[str, Any]], compiled: Any = compiled) -> list[str]:
    results = compiled(f"{EVENTS} {rule};").run(rows, until=20_000_000)
    return sorted(map(str, results["r"].to_pylist()))


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(event, max_size=14), st.booleans())
def test_going_from_one_to_the_next_finds_what_trying_all_finds(
    events: list[tuple[Any, ...]], instants: bool
) -> None:
    second = 1_000_000
    rows = [
        {"type": t, "k": k, "v": v, "start": at * second, "end": (at + last) * second}
        for t, k, v, at, length in events
        for last in [0 if instants else length]
    ]
    for rule in RULES:
        quick = found(rule, rows)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(order, "other_end", lambda *_: None)
            patch.setattr(order, "leads_alone", lambda *_: False)
            patch.setattr(repeat, "begun_earlier", lambda match: np.zeros(match.length, bool))
            # Compiled anew, since a program remembers how its atoms are bound.
            assert found(rule, rows, thence.compile) == quick, rule


def pairs(events: Any) -> int:
    """Every event but the last has one after it."""
    return len(events["q"]) - 1


def falls(events: Any) -> int:
    """Every price that is not below the one before it ends a fall."""
    prices: dict[str, float] = {}
    count = 0
    for row in events["tick"].to_pylist():
        count += row["name"] in prices and row["price"] >= prices[row["name"]]
        prices[row["name"]] = row["price"]
    return count


def next_ones(events: Any) -> int:
    """Whatever a person does is followed by what that person does at the next time, all of it."""
    times: dict[str, dict[int, set[str]]] = {}
    for row in events["done"].to_pylist():
        times.setdefault(row["person"], {}).setdefault(row["time"], set()).add(row["activity"])
    return sum(
        len(one) * len(other)
        for by_time in times.values()
        for one, other in zip(list(by_time.values())[:-1], list(by_time.values())[1:], strict=True)
    )


def closed_runs(events: Any) -> int:
    """Every c of a key that has a b since the last c, or since the beginning."""
    order = [(row["time"], name, row["k"]) for name in "bc" for row in events[name].to_pylist()]
    last: dict[int, str] = {}
    count = 0
    for _, name, key in sorted(order):
        count += name == "c" and last.get(key) == "b"
        last[key] = name
    return count


def closed_pairs(events: Any) -> int:
    """The same, of those keys that have had two b."""
    order = [(row["time"], name, row["k"]) for name in "bc" for row in events[name].to_pylist()]
    last: dict[int, str] = {}
    seen: dict[int, int] = {}
    count = 0
    for _, name, key in sorted(order):
        count += name == "c" and last.get(key) == "b" and seen[key] > 1
        last[key] = name
        seen[key] = seen.get(key, 0) + (name == "b")
    return count


COUNTED: dict[str, Callable[[Any], int]] = {
    STRICT_PAIR: pairs,
    FALL: falls,
    NEXT_OF_PERSON: next_ones,
    RUN_UNTIL: closed_runs,
    GONE_BACK: closed_pairs,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_hard_programs_over_many_events(row: Row) -> None:
    """So many that to look at every combination would take minutes, or all memory there is."""
    events = row.events()
    (found,) = compiled(row.program).run(events).values()
    assert found.num_rows == COUNTED[row.program](events)
