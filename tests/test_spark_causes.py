"""``caused_by`` on Spark: effects, causes and what lies between in different hops."""

from __future__ import annotations

import random

import pytest
from hosts import arrivals, collect, cuts, rows_of, tables
from notation import Written
from spark_hosts import Stream, batch_results

import thence
from thence.plan.partition.parts import cut

SECOND = 1_000_000
EVENTS = "event s(k int, v int); event d(k int); event e(k int);"
ASKING = """
yes(x.k as effect, x.start as xs, x.end as xe, y.v as v, y.k as k, y.start as ys) <-
  x: l, y: s(_, _), caused_by(x, y);
no(x.k as effect, x.start as xs, x.end as xe, y.v as v, y.k as k, y.start as ys) <-
  x: l, y: s(_, _), not caused_by(x, y);
"""
# What is given on may get further derivations after it was sent.
APART = [
    "l(k) <- m(k) seq d(_); m(k) <- e(k); m(k) <- s(k, _);",
    "l(k) <- m(k) seq d(_); m(j) <- n(j) and e(_); n(k) <- d(k) or s(k, _);",
    "l(k) <- n(k) seq d(k); l(k) <- l(k) seq e(_); n(k) <- e(k) or s(k, _);",
    "l(k) <- m(k, _) seq d(k); m(v, k) <- s(k, v) seq e(k); m(k, k) <- e(k);",
    # Something else passes a hop, without a column that nobody reads.
    "l(k) <- m(k) seq d(_); m(k) <- e(k) or s(k, _); w(k, v) <- s(k, v) and e(k);"
    "z(k) <- yes(k, _, _, _, _, _) and w(k, _);",
]


def some_events(chance: random.Random) -> list[Written]:
    found = []
    for _ in range(12):
        event, second = chance.choice("ssde"), chance.randint(1, 8)
        k, v = chance.randint(1, 2), chance.randint(1, 3)
        values = (k, v) if event == "s" else (k,)
        found.append(Written(event, values, second * SECOND, second * SECOND))
    return found


@pytest.mark.parametrize("way", APART)
def test_derivations_travel_to_where_causes_are_read(way: str) -> None:
    program = thence.compile(f"{EVENTS} {way} {ASKING}")
    assert any(piece.part.carried for piece in cut(program.plan, {}, slices=False))
    for seed in range(6):
        chance = random.Random(seed)
        events = some_events(chance)
        given = tables(program.source.text, events)
        in_batch = rows_of(batch_results(program, events, 20 * SECOND, chance))
        assert in_batch == rows_of(_all(program, given, 20 * SECOND))
        delay = chance.choice([0, 2 * SECOND, 10 * SECOND])
        stream = Stream(program, chance, delay, tick=1)
        found: dict[str, set[object]] = {}
        for part in cuts(arrivals(events, delay, chance), chance):
            collect(found, rows_of(stream.push(part)))
        for later in (0, 30 * SECOND):
            collect(found, rows_of(stream.idle(max(stream.latest, 0) + later)))
        assert found == rows_of(_all(program, given, stream.horizon))


def _all(program: thence.Program, given: object, until: int) -> dict[str, object]:
    results = program.run(given, until=until)
    return {name: results[name] for name in program._emitted(None)}
