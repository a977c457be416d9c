"""Generated recursions as the tasks of Spark, in this process: what the oracle finds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hosts import Results, arrivals, collect, cuts, oracle, rows_of
from hypothesis import given, note, settings
from hypothesis import strategies as st
from notation import Written
from test_recursion import Closure, closures
from test_recursion_back import Example, examples

import thence

pytest.importorskip("pyspark")
from spark_hosts import Stream, batch_results

SECOND = 1_000_000
seeds = st.integers(0, 2**16)


def check(text: str, events: Sequence[Written], chance: random.Random) -> None:
    """A batch job and a stream find what the oracle finds."""
    note("\n".join([text, *map(str, events)]))
    program = thence.compile(text)
    found = rows_of(batch_results(program, events, None, chance))
    assert found == oracle(text, events, None)
    delay = chance.choice([0, 1, 2 * SECOND, 10 * SECOND])
    stream = Stream(program, chance, delay)
    streamed: Results = {}
    for part in cuts(arrivals(events, delay, chance), chance):
        collect(streamed, rows_of(stream.push(part)))
    later = chance.choice([0, 20 * SECOND])
    collect(streamed, rows_of(stream.idle(max(stream.latest, 0) + later)))
    assert streamed == oracle(text, events, stream.horizon)


@settings(max_examples=15)
@given(closures(), seeds)
def test_chains(example: Closure, seed: int) -> None:
    check(*example, random.Random(seed))


@settings(max_examples=15)
@given(examples(), seeds)
def test_looking_back(example: Example, seed: int) -> None:
    check(example.program, example.events, random.Random(seed))
