"""Generated programs over generated events: every host must find exactly what the oracle finds.

``THENCE_PROFILE=long`` runs many thousands of examples; a failure prints a blob to repeat it with.
"""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hosts import (
    MICROSECOND,
    Results,
    arrivals,
    batch,
    collect,
    cuts,
    given_out,
    in_a_session,
    oracle,
    rows_of,
    tables,
)
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st
from notation import Written
from strategies import LATEST, Example, examples

import thence

# Reasons for which a generated program may be refused; any other refusal is a failure.
IMPOSSIBLE = ("this can never hold", "nothing can ever be collected")
LEGITIMATE = (*IMPOSSIBLE, "may never end", "inside only where something must be absent")
SEEN: Counter[str] = Counter()

seeds = st.integers(0, 2**16)


def accepted(example: Example) -> thence.Program:
    """The compiled program, or on to the next example if it is refused for a good reason."""
    note(str(example.program))
    note("\n".join(map(str, example.events)))
    SEEN["generated"] += 1
    try:
        return thence.compile(example.program)
    except thence.ProgramError as refusal:
        for diagnostic in refusal.diagnostics:
            assert any(reason in diagnostic.message for reason in LEGITIMATE), str(refusal)
            if any(reason in diagnostic.message for reason in IMPOSSIBLE):
                assert_never_happens(example, diagnostic.line)
        SEEN["refused"] += 1
        reject()


def assert_never_happens(example: Example, line: int) -> None:
    """What is refused as impossible does not happen: the oracle finds nothing for that rule.

    Unless it is but one of several alternatives, or something that must be absent.
    """
    rule = example.program.splitlines()[line - 1]
    if re.search(r"\b(or|anyone|while|not\w*)\b", rule):
        return
    program = f"{example.program}\nrefused{rule[rule.index('(') :]}"
    assert not oracle(program, example.events, example.until)["refused"]


@given(examples())
def test_batch(example: Example) -> None:
    accepted(example)
    assert batch(*example[:3]) == oracle(*example[:3])


@given(examples(), st.integers(1, 5))
def test_results_given_out_in_batches(example: Example, rows: int) -> None:
    """Cut anywhere, each result is there, and is there once."""
    accepted(example)
    assert given_out(*example[:3], rows=rows) == oracle(*example[:3])


@settings(max_examples=settings().max_examples // 2)
@given(examples(), st.sampled_from([0, 10**9]))
def test_batch_on_the_paths_for_large_inputs(example: Example, few: int) -> None:
    """With its thresholds made tiny, the engine treats a few events like millions."""
    accepted(example)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thence.engine.arrays.ranges.CHUNK", 2)
        patch.setattr("thence.engine.arrays.ranges.CACHED", 2)
        patch.setattr("thence.engine.join.join.CACHED", 2)
        patch.setattr("thence.engine.join.search.FEW", few)
        searching_for_policies(patch, few % 7)
        found = batch(*example[:3])
    assert found == oracle(*example[:3])


@settings(max_examples=settings().max_examples // 2)
@given(examples(), seeds)
def test_micro_batches_in_which_policies_search(example: Example, seed: int) -> None:
    accepted(example)
    with pytest.MonkeyPatch.context() as patch:
        searching_for_policies(patch, seed)
        found = in_a_session(*example[:3], random.Random(seed), save=False)
    assert found == oracle(*example[:3])


def searching_for_policies(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Let policies search among few events, a few candidates at a time."""
    for name, value in (("FEW", 0), ("REQUESTS", 1 + seed % 3), ("REMEMBERED", 2), ("AHEAD", 1)):
        patch.setattr(f"thence.engine.policy.policy_search.{name}", value)


@given(examples(), seeds)
def test_micro_batches_cut_anywhere_and_out_of_order(example: Example, seed: int) -> None:
    accepted(example)
    found = in_a_session(*example[:3], random.Random(seed), save=False)
    assert found == oracle(*example[:3])


@given(examples(), seeds)
def test_saved_and_restored_in_the_middle(example: Example, seed: int) -> None:
    accepted(example)
    found = in_a_session(*example[:3], random.Random(seed), save=True)
    assert found == oracle(*example[:3])


@given(examples(), st.lists(st.integers(-1, 2 * LATEST), min_size=1, max_size=4))
def test_a_session_advanced_to_a_horizon_equals_a_batch_until_then(
    example: Example, horizons: list[int]
) -> None:
    """With all events seen, time passes in steps; each step adds what has become certain."""
    program = accepted(example)
    unit = example.unit
    session = program.session(max_delay=100 * unit * MICROSECOND, allow_unbounded=True)
    found: Results = {}
    collect(found, rows_of(session.push(tables(example.program, example.events))))
    for horizon in sorted(horizons):
        collect(found, rows_of(session.advance(horizon * unit)))
        assert found == oracle(example.program, example.events, horizon * unit)


@given(examples(), seeds)
def test_late_events_are_counted_and_change_nothing(example: Example, seed: int) -> None:
    program, chance = accepted(example), random.Random(seed)
    delay = chance.choice([0, 1, 2, 4]) * example.unit * MICROSECOND
    session = program.session(max_delay=delay, allow_unbounded=True)
    found: Results = {}
    in_time: list[Written] = []
    for part in cuts(chance.sample(example.events, len(example.events)), chance):
        seen = session.horizons
        in_time += [e for e in part if seen[e.type] is None or e.end > seen[e.type]]
        collect(found, rows_of(session.push(tables(example.program, part))))
    collect(found, rows_of(session.finish()))
    assert session.late_count == len(example.events) - len(in_time)
    assert found == oracle(example.program, in_time, None)


@given(examples(), seeds)
def test_a_session_that_forgets_what_it_no_longer_needs(example: Example, seed: int) -> None:
    """Where state has a bound, events are dropped as soon as nothing can need them any more."""
    program, chance = accepted(example), random.Random(seed)
    instants = [event._replace(end=event.start) for event in example.events]
    try:
        session = program.session()
    except thence.StateError:
        return
    found: Results = {}
    for part in cuts(arrivals(instants, 0, chance), chance):
        collect(found, rows_of(session.push(tables(example.program, part))))
    collect(found, rows_of(session.finish()))
    assert found == oracle(example.program, instants, None)


def test_few_programs_are_refused() -> None:
    """The strategies write programs that mean something: what is tested above is not the rest."""
    if SEEN["generated"] < 100:
        pytest.skip("needs the tests above to have run")
    assert SEEN["refused"] < 0.15 * SEEN["generated"]
