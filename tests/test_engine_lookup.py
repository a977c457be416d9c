"""Few events in a large table: what is left out makes no difference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence.engine.join.lookup import FEW, having
from thence.model.events import Events


def rows(**columns: Any) -> Events:
    made = {name: pa.array(values) for name, values in columns.items()}
    times = np.zeros(len(next(iter(made.values()))), dtype=np.int64)
    return Events(times, times, made)


@pytest.mark.parametrize("values", [list(range(100)), [f"b{n}" for n in range(100)]])
def test_rows_with_other_keys_are_left_out(values: list[Any]) -> None:
    found = having(rows(k=values, n=range(100)), "k", pa.array([values[7], values[42], None]))
    assert found.columns["n"].to_pylist() == [7, 42]


def test_what_is_not_worth_it_or_not_plain_stays_whole() -> None:
    table = rows(k=[float(n) for n in range(100)], n=range(100))
    assert having(table, "k", pa.array([1.0])) is table
    many = pa.array(range(100 // FEW + 1))
    assert having(table, "n", many) is table


PROGRAM = thence.compile("""
    event a(id string, n int);
    event b(id string);
    table t(id string, n int);
    found(id, m)   <- a(id, _), t(id, m);
    both_(id)      <- a(id, n), t(id, n);
    missing(id)    <- a(id, _), not t(id, _);
    none_less(id)  <- a(id, n), not (t(id, m) where m < n);
    pair(id, m)    <- (a(id, n) seq b(id)) within 10 s, t(id, m), m >= n;
""")


def test_a_session_of_few_events_finds_what_a_run_of_all_finds() -> None:
    chance = random.Random(5)
    table = pa.table(
        {
            "id": [chance.choice([None, f"k{chance.randrange(900)}"]) for _ in range(2000)],
            "n": [chance.choice([None, 1, 2, 3]) for _ in range(2000)],
        }
    )
    events = [
        {
            "type": chance.choice("ab"),
            "id": chance.choice([None, *[f"k{key}" for key in range(0, 1000, 50)]]),
            "n": chance.choice([None, 1, 2]),
            "time": time * 1_000_000,
        }
        for time in range(300)
    ]
    expected = PROGRAM.run(events, tables={"t": table})
    session = PROGRAM.session(tables={"t": table})
    got: dict[str, list[Any]] = {name: [] for name in expected}
    for at in range(0, len(events), 7):
        for name, each in session.push(events[at : at + 7]).items():
            got[name] += each.to_pylist()
    for name, each in session.finish().items():
        got[name] += each.to_pylist()
    for name, each in expected.items():
        assert sorted(map(str, got[name])) == sorted(map(str, each.to_pylist()))
        assert got[name], name
