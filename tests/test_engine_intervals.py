"""Intervals of very different lengths: the same answers, and no search that reads everything."""

from __future__ import annotations

import random

import pytest

import thence
from thence.engine.arrays import ranges
from thence.engine.join import search

OPERATORS = ("during", "contains", "overlaps", "overlapped_by", "par", "equals", "starts",
             "finishes", "meets", "before", "after", "intersects")  # fmt: skip

HOLDS = {
    "during": lambda s1, e1, s2, e2: s2 < s1 and e1 < e2,
    "contains": lambda s1, e1, s2, e2: s1 < s2 and e2 < e1,
    "overlaps": lambda s1, e1, s2, e2: s1 < s2 < e1 < e2,
    "overlapped_by": lambda s1, e1, s2, e2: s2 < s1 < e2 < e1,
    "par": lambda s1, e1, s2, e2: max(s1, s2) < min(e1, e2),
    "equals": lambda s1, e1, s2, e2: (s1, e1) == (s2, e2),
    "starts": lambda s1, e1, s2, e2: s1 == s2 and e1 < e2,
    "finishes": lambda s1, e1, s2, e2: s2 < s1 and e1 == e2,
    "meets": lambda s1, e1, s2, e2: e1 == s2,
    "before": lambda s1, e1, s2, e2: e1 < s2,
    "after": lambda s1, e1, s2, e2: e2 < s1,
    "intersects": lambda s1, e1, s2, e2: s1 <= e2 and s2 <= e1,
}  # fmt: skip


def intervals(count: int, span: int, longest: int, seed: int) -> list[tuple[int, int]]:
    """Mostly short intervals, and a few that last almost as long as everything."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        start = draw.randrange(span)
        length = draw.randrange(longest) if draw.random() < 0.1 else draw.randrange(4)
        found.append((start, start + length))
    return found


def program(operator: str) -> thence.Program:
    return thence.compile(
        f"event a(n int); event b(n int); r(n, m) <- x: a(n) {operator} y: b(m) where n > m - 1000;"
    )


def rows(spans: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"n": n, "start": start, "end": end} for n, (start, end) in enumerate(spans)]


@pytest.mark.parametrize("operator", OPERATORS)
def test_classes_of_lengths_change_no_answer(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CLASSED", 2)
    left, right = intervals(40, 60, 50, seed=1), intervals(40, 60, 50, seed=2)
    found = program(operator).run({"a": rows(left), "b": rows(right)})["r"]
    pairs = set(zip(found["n"].to_pylist(), found["m"].to_pylist(), strict=True))
    assert pairs == {
        (n, m)
        for n, one in enumerate(left)
        for m, other in enumerate(right)
        if HOLDS[operator](*one, *other)
    }


@pytest.mark.parametrize("operator", ["during", "contains", "par", "overlaps"])
def test_one_long_interval_does_not_make_every_search_long(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    expand = ranges.expand

    def counting(first, last):  # type: ignore[no-untyped-def]
        nonlocal looked_at
        looked_at += int((last - first).sum())
        return expand(first, last)

    monkeypatch.setattr(search, "expand", counting)
    count = 4000
    short = [(10 * n, 10 * n + 5) for n in range(count)]
    table = rows([*short, (0, 10 * count)])
    found = program(operator).run({"a": table, "b": table}).count("r")
    assert looked_at < 10 * (count + found), "nearly all pairs were looked at"
