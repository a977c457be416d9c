"""The search for what a policy chooses: it finds what the oracle chooses from all combinations, and
makes no combinations for that.
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hosts import MICROSECOND, batch, in_a_session, oracle
from notation import Written

import thence
from thence.engine.policy import passes
from thence.engine.policy import policy_search as search

SECOND = 1_000_000
DECLARED = """
event a(k int, n int);
event b(k int, n int);
event c(k int, n int);
"""
BODIES = (
    "x: a(_, _) seq y: b(_, _)",
    "x: a(k, _) seq y: b(k, _)",
    "x: a(_, _) seq y: b(_, _) seq c(_, _)",
    "x: a(k, _) seq y: b(k, _) seq c(k, _)",
    "x: a(_, n) seq y: b(n, _) seq c(_, _)",
    "x: a(k, _) seq y: a(k, _)",
    "x: a(_, _) seq y: b(_, _) seq a(_, _)",
    "(x: a(_, _) and y: b(_, _))",
    "(x: a(k, _) and y: b(k, _) and c(k, _))",
    "(x: a(_, _) and y: a(_, _))",
    "(x: a(_, _) par y: b(_, _))",
    "((x: a(_, _) or x: b(_, _)) seq y: c(_, _))",
    "not(c(k, _)).[x: a(k, _), y: b(k, _)]",
    "not(c(_, _)).[x: a(_, _), y: b(_, _)]",
    "not(c(_, n) where n > 1).[x: a(_, _), y: b(_, _)]",
    "x: a(_, _) seq y: b(_, _), w: extend(y, 2 s), while w: not c(_, _)",
    "x: a(k, _) seq y: b(k, _), w: extend(x, 3 s), while w: not c(k, _)",
)
CONDITIONS = ("", " where x.n < y.n", " where x.n + y.n = 3", " where x.n != y.n and y.n > 0")
POLICIES = (
    "recent",
    "chronicle",
    "continuous",
    "cumulative",
    "first",
    "exclusive",
    "first(x)",
    "last(x)",
    "last(y)",
    "last exclusive",
    "first(y) exclusive",
    "last(x) continuous",
    "first(x) last(y)",
    "cumulative(x) last(y)",
    "cumulative(x) first(y) exclusive",
)


def some_events(chance: random.Random) -> list[Written]:
    """Many events in few instants, some with a length, some twice."""
    lasting = chance.random() < 0.4
    found = []
    for _ in range(chance.randint(3, 16)):
        at = chance.randint(0, 8)
        end = at + (chance.choice([0, 0, 1, 2, 4]) if lasting else 0)
        values = (chance.randint(0, 1), chance.randint(0, 2))
        found.append(Written(chance.choice("abc"), values, at * SECOND, end * SECOND))
    return found + found[: chance.randint(0, 2)]


def a_program(chance: random.Random) -> str:
    body, condition, policy = (chance.choice(part) for part in (BODIES, CONDITIONS, POLICIES))
    limit = "" if "while" in body else chance.choice(["", " within 3 s"])
    merged = "cumulative" in policy
    head = (
        chance.choice(["m(count(x.n) as n)", "m(y.n as y)"]) if merged else "m(x.n as x, y.n as y)"
    )
    body = body if "while" in body else f"({body})"
    if "while" in body and condition:
        body, condition = f"{body},{condition.removeprefix(' where')}", ""
    return f"{DECLARED}{head} <- {body}{limit}{condition} using {policy};"


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every choice is searched for; how many matches each search has found."""
    found: list[int] = []
    whole = passes.search

    def counted(*arguments: object) -> object:
        matches = whole(*arguments)  # type: ignore[arg-type]
        found.append(sum(match.length for match in matches or ()))
        return matches

    monkeypatch.setattr(search, "FEW", 0)
    monkeypatch.setattr(passes, "search", counted)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_what_is_found_is_what_the_oracle_chooses(
    seed: int, searching: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        # With its limits made tiny, the search asks, forgets and looks ahead as if over millions.
        monkeypatch.setattr(search, "REQUESTS", chance.choice([1, 2, 3, 100]))
        monkeypatch.setattr(search, "REMEMBERED", chance.choice([1, 5, 1000]))
        monkeypatch.setattr(search, "AHEAD", chance.choice([1, 2, 8]))
        monkeypatch.setattr(search, "WINDOW", chance.choice([1, 2, 16]))
        program, events = a_program(chance), some_events(chance)
        expected = oracle(program, events, 14 * SECOND)
        assert batch(program, events, 14 * SECOND) == expected, program
        found = in_a_session(program, events, 14 * SECOND, chance, save=chance.random() < 0.3)
        assert found == expected, program
    assert len(searching) > 10
    assert sum(searching) > 0


def a_stream(names: str, count: int) -> dict[str, pa.Table]:
    """Events of some types, at times of which many are equal."""
    chance = np.random.default_rng(len(names) + count)
    return {
        name: pa.table(
            {
                "time": np.sort(chance.integers(0, 3 * count, count)) * SECOND,
                "k": chance.integers(0, 3, count),
                "n": chance.integers(0, 50, count),
            }
        )
        for name in names
    }


@pytest.mark.parametrize("condition", ["", " where x.n < y.n", " where x.n + y.n > 60"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("body", [BODIES[0], BODIES[3], BODIES[7], BODIES[11], BODIES[13]])
def test_over_longer_streams_it_finds_what_choosing_from_all_finds(
    body: str, policy: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "m(y.n as y)" if "cumulative" in policy else "m(x.n as x, y.n as y)"
    program = thence.compile(f"{DECLARED}{head} <- ({body}){condition} using {policy};")
    events = a_stream("abc", 40)
    monkeypatch.setattr(search, "FEW", 10**9)
    expected = program.run(events)["m"].to_pylist()
    monkeypatch.setattr(search, "FEW", 0)
    found = program.run(events)["m"].to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    session = program.session(max_delay=30 * SECOND * MICROSECOND, allow_unbounded=True)
    parts = [
        session.push({name: table.slice(at, 10) for name, table in events.items()})
        for at in range(0, 40, 10)
    ]
    parts.append(session.finish())
    rows = [row for part in parts for row in part["m"].to_pylist()]
    assert not session.late_count
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))


@pytest.mark.parametrize("policy", ["recent", "chronicle", "continuous", "exclusive", "cumulative"])
@pytest.mark.parametrize(
    "body",
    [
        "x: a(_, _) seq y: b(_, _)",
        "x: a(_, _) seq b(_, _) seq y: c(_, _)",
        "(x: a(_, _) and y: b(_, _))",
        "not(c(_, _)).[x: a(_, _), y: b(_, _)]",
        "x: a(k, _) seq y: b(k, _) where y.n > x.n",
    ],
)
def test_combinations_are_not_made(body: str, policy: str, searching: list[int]) -> None:
    """Of 8,000 and 8,000 events there are 32 million pairs, of three times as many far more."""
    count = 8000
    program = thence.compile(f"{DECLARED}m(y.n as y) <- {body} using {policy};")
    events = a_stream("abc", count)
    results = program.run(events)["m"].num_rows
    assert results > 100
    (found,) = searching
    # Of the results that are equal in value and time one is kept; and of `continuous`, a match
    # for each event in the middle that the initiator meets.
    assert found <= 12 * count


def test_a_search_asks_about_few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that only Python can evaluate is asked about as many candidates as it takes."""
    asked = 0
    holding = passes.Variant.holding

    def counted(self: object, depth: int, rows: object, length: int, moments: object) -> object:
        nonlocal asked
        asked += length
        return holding(self, depth, rows, length, moments)  # type: ignore[arg-type]

    monkeypatch.setattr(passes.Variant, "holding", counted)
    program = thence.compile(
        f"{DECLARED}m(y.n as y) <- x: a(_, _) seq y: b(_, _) where x.n + y.n > 40 using recent;"
    )
    count = 5000
    assert program.run(a_stream("ab", count))["m"].num_rows > 1000
    assert 0 < asked < 100 * count
