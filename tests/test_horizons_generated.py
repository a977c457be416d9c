"""Generated programs whose inputs go on at paces of their own.

After every call, what a session has given is what the oracle asserts of the events so far with the
horizons so far: no less, since all that can be known is given, and no more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from hosts import MICROSECOND, Results, batch, collect, oracle, rows_of, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import Written
from run_sizes import drawn_run_sizes
from strategies import Example, examples
from test_generated import accepted

import thence

seeds = st.integers(0, 2**16)


def arrivals(
    events: Sequence[Written], delays: dict[str, int], chance: random.Random
) -> list[Written]:
    """The events in an order in which each input keeps to its own delay, and one may be far ahead
    of another."""
    paces = {name: chance.choice([0.2, 1, 5]) for name in delays}
    return sorted(
        events,
        key=lambda e: (
            paces[e.type] * (e.end + chance.randint(0, delays[e.type])),
            chance.random(),
        ),
    )


class Watched:
    """A session whose answer is compared with the oracle after every call."""

    def __init__(
        self, example: Example, chance: random.Random, without: Sequence[str] = ()
    ) -> None:
        self.text, self.unit, self.chance = example.program, example.unit, chance
        self.program = thence.compile(example.program, without=without)
        self.inputs = [schema.name for schema in self.program.events]
        self.delays = {name: chance.choice([0, 1, 3]) * self.unit for name in self.inputs}
        self.session = self.begun(None)
        self.events: list[Written] = []
        self.found: Results = {}

    def begun(self, state: bytes | None) -> thence.Session:
        delays = {name: delay * MICROSECOND for name, delay in self.delays.items()}
        return self.program.session(delays, state=state, allow_unbounded=True)

    def push(self, events: Sequence[Written]) -> None:
        """Some events, each input's in a table of its own."""
        horizons = self.session.horizons
        in_time = [e for e in events if horizons[e.type] is None or e.end > horizons[e.type]]
        late = self.session.late_count
        names = {event.type for event in events} | set(self.chance.sample(self.inputs, 1))
        given = {n: t for n, t in tables(self.text, events).items() if n in names}
        self.events += in_time
        self.take(self.session.push(given))
        assert self.session.late_count - late == len(events) - len(in_time)

    def advance(self) -> None:
        """Time passes for one input, or for some."""
        names = self.chance.sample(self.inputs, self.chance.randint(1, len(self.inputs)))
        latest = max((event.end for event in self.events), default=0)
        time = latest + self.chance.randint(-3, 3) * self.unit
        self.take(self.session.advance(time, names[0] if len(names) == 1 else names))

    def take(self, results: object) -> None:
        collect(self.found, rows_of(results))  # type: ignore[arg-type]
        self.compare()
        if self.chance.random() < 0.3:
            self.session = self.begun(self.session.save())

    def compare(self) -> None:
        assert self.found == oracle(self.text, self.events, self.session.horizons)


def paced(example: Example, seed: int, without: Sequence[str] = ()) -> None:
    chance = random.Random(seed)
    watched = Watched(example, chance, without)
    coming = arrivals(example.events, watched.delays, chance)
    with drawn_run_sizes(chance):
        while coming:
            count = chance.randint(1, 4)
            watched.push(coming[:count])
            coming = coming[count:]
            if chance.random() < 0.3:
                watched.advance()
        collect(watched.found, rows_of(watched.session.finish()))
    horizons = watched.session.horizons
    assert watched.found == oracle(example.program, watched.events, horizons)
    assert watched.found == batch(example.program, watched.events, horizons)  # type: ignore[arg-type]


@given(examples(), seeds)
def test_inputs_at_their_own_paces(example: Example, seed: int) -> None:
    accepted(example)
    paced(example, seed)


@settings(max_examples=settings().max_examples // 2)
@given(examples(), seeds, st.sets(st.sampled_from(sorted(thence.optimisations()))))
def test_paces_with_optimisations_switched_off(example: Example, seed: int, off: set[str]) -> None:
    accepted(example)
    paced(example, seed, sorted(off))
