"""A join split by its first and last event, and witnesses read off a range, change no answer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from thence.engine.join import join
from thence.engine.limits.growth import Budget

RULES = (
    "r() <- a(_, _) and b(_, _) and c(_, _);",
    "r(k) <- a(k, _) and b(k, _) and c(k, _);",
    "r(k) <- a(k, _) and b(_, _) and c(_, _);",
    "r(x.n) <- (x: a(_, _) and b(_, _) and c(_, _) and d(_, _)) within 4 us;",
    "r(k) <- (a(k, _) and b(k, _)) seq c(k, _);",
    "r() <- a(_, _) seq (b(_, _) and c(_, _) and d(_, _));",
    "r() <- (a(_, _) and b(_, _) and c(_, _)) and (a(_, _) seq d(_, _));",
    "r() <- a(_, _) par b(_, _) par c(_, _);",
    "r(w.start, w.end) <- w: (a(_, _) and b(_, _) and c(_, _)), duration(w) > 2 us;",
    "r() <- x: a(_, _) and y: b(_, _) and c(_, _) where x.n < y.n;",
    "r() <- a(k, _) and b(k, m) and c(_, m);",
    "r() <- a(_, _) and b(_, _) and c(_, _) and at '1970-01-01T00:00:00.000005Z';",
    "r(k) <- a(k, _) seq b(k, _) seq c(k, _);",
    "r(x.n) <- x: a(_, _), y: b(_, _), z: c(_, _), y.start > x.start, z.end < y.end;",
)
HEAD = "".join(f"event {name}(k int, n int) within 5 us;" for name in "abcd")

compiled = cache(thence.compile)
event = st.tuples(
    st.sampled_from("abcd"),
    st.sampled_from([1, 2, None]),
    st.integers(0, 2),
    st.integers(0, 9),
    st.sampled_from([0, 0, 1, 5]),
)
fewer_examples = settings(max_examples=max(settings().max_examples // 3, 10))


def rows(events: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [
        {"type": type_, "k": k, "n": n, "start": start, "end": start + length}
        for type_, k, n, start, length in events
    ]


def shown(results: Any) -> list[str]:
    return sorted(map(str, results["r"].to_pylist()))


def split_always(self: Any, *_: Any) -> None:
    if self.most is join.SPLIT and self.prepared.by_ends:
        raise join.TooManyCandidates


@pytest.mark.parametrize("rule", RULES)
@fewer_examples
@given(events=st.lists(event, max_size=14))
def test_split_joins_find_the_same(rule: str, events: list[tuple[Any, ...]]) -> None:
    program = compiled(HEAD + rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join._Join, "look_out", lambda *_: None)
        patch.setattr(join._Join, "witnessed", lambda self, step, candidates: candidates)
        whole = shown(program.run(rows(events), until=20))
        assert whole == sorted(set(whole))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join._Join, "look_out", split_always)
        assert shown(program.run(rows(events), until=20)) == whole
        session, found = program.session(allow_unbounded=True), []
        for time in (3, 7, 20):
            now = [e for e in rows(events) if time - 4 <= e["end"] <= time or time == 20]
            now = [e for e in now if e["end"] > {3: -1, 7: 3, 20: 7}[time]]
            found += session.push(now)["r"].to_pylist() + session.advance(time)["r"].to_pylist()
        assert sorted(map(str, found)) == whole


def test_which_rules_are_split() -> None:
    def ways(rule: str) -> int:
        (prepared,) = thence.compile(HEAD + rule).plan.prepared
        return len(prepared.by_ends)

    assert ways("r() <- a(_, _) and b(_, _) and c(_, _);") == 9
    assert ways("r(x.n, y.n, z.n) <- x: a(_, _) and y: b(_, _) and z: c(_, _);") == 0
    assert ways("r() <- a(_, _) and b(_, _);") == 0
    assert ways("r() <- (a(_, _) and b(_, _)) seq c(_, _);") == 2
    assert ways("r() <- a(_, _) seq b(_, _) seq c(_, _);") == 0


def test_combinations_that_give_the_same_are_not_gone_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 of each: a thousand million triples, and three million intervals."""
    counts: list[int] = []
    expect = Budget.expect

    def counting(self: Budget, count: int, *rest: Any) -> None:
        counts.append(count)
        expect(self, count, *rest)

    monkeypatch.setattr(Budget, "expect", counting)
    times = np.arange(1000) * 3
    events = {
        name: pa.table({"k": times, "n": times, "time": times + i}) for i, name in enumerate("abc")
    }
    found = thence.compile(HEAD + RULES[0]).run(events)["r"]
    assert found.num_rows == 2_997_001
    assert max(counts) < 4_000_000
