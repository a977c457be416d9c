"""Generated queries over windows, compared with what SQL says of every instant and every group.

The hosts are compared with the oracle on the rules that queries become; here the queries themselves
are given a meaning, by trying all instants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hosts import rows_of
from hypothesis import given
from hypothesis import strategies as st

import thence

END = 60

AGGREGATES: dict[str, Callable[[list[int]], Any]] = {
    "COUNT(*)": len,
    "SUM(v)": sum,
    "AVG(v)": lambda values: sum(values) / len(values),
    "MIN(v)": min,
    "MAX(v)": max,
    "LIST(v)": tuple,
    "COUNT(DISTINCT v)": lambda values: len(set(values)),
    "MAX(v) - MIN(v)": lambda values: max(values) - min(values),
}

Event = tuple[int, int, int, int]
"""A key, a value, and an interval."""


@dataclass(frozen=True)
class Query:
    """A query over one window."""

    aggregate: str
    reach: int | None
    slide: int | None
    rows: int | None
    grouped: bool
    least: int

    def text(self) -> str:
        window = [f"RANGE BY {self.reach} us"] if self.reach is not None else []
        window += [f"SLIDE BY {self.slide} us"] if self.slide is not None else []
        window += [f"ROWS {self.rows}"] if self.rows is not None else []
        keys = "k, " if self.grouped else ""
        return (
            f"SELECT {keys}{self.aggregate} AS x FROM e [{' '.join(window)}] q WHERE q.v > 0"
            f"{' GROUP BY k' if self.grouped else ''}"
            f"{f' HAVING COUNT(*) >= {self.least}' if self.least else ''}"
        )

    def instants(self, events: list[Event]) -> Iterator[int]:
        """When there may be a result: at the ticks, or where an event ends."""
        for time in range(END + 1):
            if self.slide is None:
                if any(end == time for _, _, _, end in events):
                    yield time
            elif time % self.slide == 0:
                yield time

    def results(self, events: list[Event]) -> set[tuple[Any, int, int]]:
        found = set()
        for key in {k for k, _, _, _ in events} if self.grouped else {None}:
            own = [e for e in set(events) if e[1] > 0 and key in (None, e[0])]
            for time in self.instants(own):
                reach = END + 1 if self.reach is None else self.reach
                held = [e for e in own if time - reach <= e[3] <= time]
                held.sort(key=lambda e: (e[3], e[2], e[0], e[1]))
                held = held if self.rows is None else held[-self.rows :]
                held.sort(key=lambda e: (e[2], e[3], e[0], e[1]))
                if held and len(held) >= self.least:
                    value = AGGREGATES[self.aggregate]([v for _, v, _, _ in held])
                    found.add((((key, value) if self.grouped else (value,)), time, time))
        return found


@st.composite
def queries(draw: st.DrawFn) -> Query:
    rows = draw(st.sampled_from([None, 1, 2, 3]))
    reach = draw(st.integers(1, 12)) if rows is None or draw(st.booleans()) else None
    slide = draw(st.sampled_from([None, 1, 3, 5, 20])) if reach is not None else None
    return Query(
        draw(st.sampled_from(list(AGGREGATES))),
        reach,
        slide,
        rows,
        draw(st.booleans()),
        draw(st.sampled_from([0, 0, 2])),
    )


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    times = st.integers(0, 25)
    lengths = st.sampled_from([0, 0, 0, 2])
    one = st.tuples(st.integers(1, 2), st.integers(0, 4), times, lengths)
    return [(k, v, s, s + n) for k, v, s, n in draw(st.lists(one, max_size=10))]


@given(queries(), streams())
def test_a_query_finds_what_it_says_of_every_instant(query: Query, events: list[Event]) -> None:
    program = thence.compile(f"event e(k int, v int); CREATE EVENT r AS {query.text()};")
    rows = [{"k": k, "v": v, "start": start, "end": end} for k, v, start, end in events]
    assert rows_of(program.run({"e": rows}, until=END))["r"] == query.results(events)


@given(queries(), streams())
def test_a_session_gives_the_same(query: Query, events: list[Event]) -> None:
    program = thence.compile(
        f"event e(k int, v int) within 5 us; CREATE EVENT r AS {query.text()};"
    )
    session = program.session(allow_unbounded=True)
    found: set[Any] = set()
    ordered = sorted(events, key=lambda event: event[3])
    for part in (ordered[:3], ordered[3:5], ordered[5:]):
        rows = [{"k": k, "v": v, "start": start, "end": end} for k, v, start, end in part]
        more = rows_of(session.push({"e": rows}))["r"]
        assert not more & found
        found |= more
    found |= rows_of(session.advance(END))["r"]
    assert found == query.results(events)


def test_a_stream_forgets_what_has_left_its_windows() -> None:
    program = thence.compile(
        "event e(k int, v int); CREATE EVENT r AS "
        "SELECT k, SUM(v) AS total FROM e [RANGE BY 10 s SLIDE BY 5 s] GROUP BY k;"
    )
    session = program.session()
    sizes = []
    for second in range(200):
        session.push({"e": [{"k": second % 3, "v": 1, "time": second * 1_000_000}]})
        sizes.append(session.state_rows)
    assert max(sizes[100:]) == max(sizes[20:100]) < 50


def test_rows_without_a_time_have_no_bound() -> None:
    program = thence.compile(
        "event e(k int); CREATE EVENT r AS SELECT COUNT(*) AS n FROM e [ROWS 10];"
    )
    with pytest.raises(thence.StateError, match="state has no bound"):
        program.session()
