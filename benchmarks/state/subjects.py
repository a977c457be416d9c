"""What the benchmark of state pushes into: programs whose sessions can be filled to any size.

Events of a few types come by turns, one each millisecond, with ids drawn uniformly. A window is
chosen so long that a session retains as many rows as asked for, and there are so many ids that a
key has as many rows in it as in W1: what a push meets does not grow with what is retained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import thence
from benchmarks.generate import STEP, TYPES
from benchmarks.queries import BY_NAME, DECLARATIONS

PER_ID = 0.5
"""How many rows of one type there are of an id within the window."""

BATCH = 300_000
"""A session is filled by pushes of so many events."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with a window ``{w}``, and the types of events that come to it by turns.

    ``kept`` is how many of the types a session retains. With ``delayed``, events may come late by a
    tenth of the window. ``table`` is a static table with as many rows as are to be retained;
    nothing else is then.
    """

    name: str
    what: str
    text: str
    types: str
    kept: int = 1
    delayed: bool = False
    table: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def _query(name: str, types: str, kept: int) -> Subject:
    query = BY_NAME[name]
    return Subject(name, query.what, query.text.replace("10 s", "{w}"), types, kept)


def _rules(name: str, what: str, rules: str, types: str, kept: int = 1, **more: Any) -> Subject:
    return Subject(name, what, DECLARATIONS + rules, types, kept, **more)


_PAIR = "(id, x.price as p1, y.price as p2) <- (x: a(id=id) seq y: b(id=id)) within {w}"

BARRED = (_query("q1", "abc", 2), _query("q2", "ab", 1))
"""The queries of which a push has a bar."""

OPERATORS = (
    _rules("absence", "a, then no b for so long", "out(id) <- notfollows(a(id=id), b(id=id), {w});",
           "ab", 2),
    _rules("before", "b, and no a for so long before it",
           "out(id) <- notprecedes(b(id=id), a(id=id), {w});", "ab", 1),
    _rules("collection", "how many a came before a b",
           "out(id, count(y) as n) <- o: b(id=id), w: extend_backward(o, {w}), "
           "while w: collect y: a(id=id);", "ab", 1),
    _rules("repetition", "a, as many b as there are, c",
           "out(id, count(y) as n) <- (a(id=id) seq y: b(id=id)+ seq c(id=id)) within {w} "
           "using greedy;", "abc", 2),
    _rules("recent", "the latest a before each b", f"out{_PAIR} using recent;", "ab", 1),
    _rules("exclusive", "pairs that use events up", f"out{_PAIR} using exclusive;", "ab", 1),
    _rules("once", "results that can be derived in many ways, and events that come late",
           "out(id) <- (a(id=id) and b(id=id)) within {w};", "ab", 2, delayed=True),
    _rules("recursion", "what goes on from its own results, and events that come late",
           "out(id) <- a(id=id); out(id) <- (out(id) seq b(id=id)) within {w};", "ab", 1,
           delayed=True),
    _rules("lineage", "pairs with their lineage, and events that come late", f"out{_PAIR};",
           "ab", 1, delayed=True, options={"lineage": True}),
    _rules("table", "a with its row of a large table",
           "table seat(id int, name string); out(id, name) <- a(id=id), seat(id, name);",
           "ab", 1, table="seat"),
)  # fmt: skip
"""One program for each operator that remembers something: a push must not pay for all of it."""


class Feed:
    """A session of a subject, filled, and the events that come to it from then on."""

    def __init__(self, subject: Subject, retained: int) -> None:
        self.subject = subject
        self.retained = retained
        self._random = np.random.default_rng(1)
        self._time = 0
        rounds = 1000 if subject.table else retained // subject.kept
        self._ids = max(1, int((retained if subject.table else rounds) / PER_ID))
        window = rounds * len(subject.types) * STEP
        options = dict(subject.options)
        if subject.delayed:
            options["max_delay"] = f"{window // 10} us"
        if subject.table:
            options["tables"] = {subject.table: _seats(retained)}
        program = thence.compile(subject.text.replace("{w}", f"{window} us"))
        self.session = program.session(**options)
        self._fill(rounds * len(subject.types))

    def _fill(self, events: int) -> None:
        for begin in range(0, events, BATCH):
            self.session.push(self.batch(min(BATCH, events - begin)))

    def batch(self, events: int) -> dict[str, Any]:
        """So many of the next events, as Arrow tables."""
        types = self.subject.types
        times = self._time + STEP * np.arange(1, events + 1)
        self._time = int(times[-1])
        ids = self._random.integers(0, self._ids, events)
        prices = self._random.uniform(0, 1000, events)
        turns = np.arange(events) % len(types)
        return {
            name: pa.table(
                {
                    "id": ids[turns == turn],
                    "price": prices[turns == turn],
                    "time": pa.array(times[turns == turn], pa.timestamp("us", "UTC")),
                }
            )
            for turn, name in enumerate(types)
        }

    def mixed(self, events: int) -> Any:
        """So many of the next events as W1 has them: of twenty types, in one table."""
        times = self._time + STEP * np.arange(1, events + 1)
        self._time = int(times[-1])
        turns = self._random.integers(0, len(TYPES), events)
        return pa.table(
            {
                "type": pa.array(TYPES).take(pa.array(turns)),
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "id": self._random.integers(0, self._ids, events),
                "price": self._random.uniform(0, 1000, events),
            }
        )

    def one(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """One next event of each type, as a record."""
        for name in self.subject.types:
            self._time += STEP
            yield (
                name,
                {
                    "id": int(self._random.integers(0, self._ids)),
                    "price": float(self._random.uniform(0, 1000)),
                    "time": self._time,
                },
            )


def _seats(rows: int) -> Any:
    ids = pa.array(np.arange(rows))
    return pa.table({"id": ids, "name": ids.cast(pa.string())})
