"""Policies over many events without a key or with few: what a search must find without making the
combinations that it chooses from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.hard.rows import Row

_BEGIN = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_DECLARED = "".join(f"event {name}(n int);\n" for name in "abcd")

Events = Mapping[str, Any]


def mixed(names: str, count: int, seed: int = 1) -> Events:
    """So many events of each of some types, at random times of a day."""
    random = np.random.default_rng(seed)
    return {
        name: pa.table(
            {
                "time": pa.array(_BEGIN + np.sort(random.integers(0, 86_400_000_000, count))),
                "n": pa.array(random.integers(0, 1000, count)),
            }
        )
        for name in names
    }


def traces(count: int, people: int, seed: int = 1) -> Events:
    """So many steps of work, each done by one of some people."""
    random = np.random.default_rng(seed)
    names = np.array([f"person {number}" for number in range(people)])
    table = {
        "time": pa.array(_BEGIN + np.sort(random.integers(0, 180 * 86_400_000_000, count))),
        "who": pa.array(names[random.integers(0, people, count)]),
        "task": pa.array(random.integers(0, 30, count)),
    }
    return {"step": pa.table(table)}


def _pair(policy: str, condition: str = "") -> str:
    head = "m(x.n as x, y.n as y)" if policy != "cumulative" else "m(count(x.n) as n)"
    return f"{_DECLARED}{head} <- x: a(_) seq y: b(_){condition} using {policy};"


def _row(names: str, policy: str) -> str:
    steps = " seq ".join(f"{name}(_)" for name in names[1:])
    return f"{_DECLARED}m(x.n as x) <- x: {names[0]}(_) seq {steps} using {policy};"


_NEXT = (
    "event step(who string, task int);\n"
    "next(who, x.task as one, y.task as two) <- x: step(who, _) seq y: step(who, _) using recent;"
)
_APART = f"{_DECLARED}m(x.n as x, y.n as y) <- not(c(_)).[x: a(_), y: b(_)] using chronicle;"

ROWS = (
    Row("a seq b, 2,000 each, recent", _pair("recent"), lambda: mixed("ab", 2_000), bar=0.1),
    Row("a seq b, 2,000 each, chronicle", _pair("chronicle"), lambda: mixed("ab", 2_000), bar=0.1),
    Row("a seq b, 20,000 each, recent", _pair("recent"), lambda: mixed("ab", 20_000), bar=0.3),
    Row(
        "a seq b, 20,000 each, chronicle", _pair("chronicle"), lambda: mixed("ab", 20_000), bar=0.3
    ),
    Row(
        "a seq b, 20,000 each, continuous",
        _pair("continuous"),
        lambda: mixed("ab", 20_000),
        bar=0.3,
    ),
    Row(
        "a seq b, 20,000 each, cumulative",
        _pair("cumulative"),
        lambda: mixed("ab", 20_000),
        bar=0.3,
    ),
    Row(
        "a seq b, 20,000 each, rising, recent",
        _pair("recent", " where y.n > x.n"),
        lambda: mixed("ab", 20_000),
        bar=0.3,
    ),
    Row(
        "a seq b seq c seq d, 41,500, recent",
        _row("abcd", "recent"),
        lambda: mixed("abcd", 10_375),
        bar=0.3,
    ),
    Row(
        "a seq b seq c, 1,000, chronicle",
        _row("abc", "chronicle"),
        lambda: mixed("abc", 333),
        bar=0.1,
    ),
    Row("a seq b, no c between, chronicle", _APART, lambda: mixed("abc", 20_000), bar=0.3),
    Row("next of the same person, 69 people", _NEXT, lambda: traces(262_200, 69), bar=0.3),
    Row("next of the same person, 13,087 people", _NEXT, lambda: traces(262_200, 13_087)),
)
