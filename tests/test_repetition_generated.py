"""Generated programs about repetition, over streams in which many events stand at few instants:
every host must find exactly what the oracle finds."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hosts import batch, in_a_session, oracle
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st
from repeat_writer import repetitions
from strategies import Example

import thence

# Reasons for which a generated program may be refused; any other refusal is a failure.
LEGITIMATE = (
    "this can never hold",
    "there is no room for a repetition",
    "which is evaluated on its own",
    "a repetition that may be empty needs",
    "has no value if this repetition is empty",
    "is repeated, so there may be many",
    "is repeated inside a repetition",
    "could be over several",
    "only over what a rule repeats",
    "is not bound",
    "there is no label",
    "inside only where something must be absent",
)
SEEN: Counter[str] = Counter()
fewer_examples = settings(max_examples=settings().max_examples // 3)


def accept(example: Example) -> None:
    """On to the next example if this one is refused for a good reason."""
    note(example.program)
    note("\n".join(map(str, example.events)))
    SEEN["generated"] += 1
    try:
        thence.compile(example.program)
    except thence.ProgramError as refusal:
        for diagnostic in refusal.diagnostics:
            assert any(reason in diagnostic.message for reason in LEGITIMATE), str(refusal)
        SEEN["refused"] += 1
        reject()


@given(repetitions)
def test_batch(example: Example) -> None:
    accept(example)
    found = oracle(*example[:3])
    SEEN["asked"] += 1
    SEEN["found"] += any(found.values())
    assert batch(*example[:3]) == found


@given(repetitions, st.sampled_from([0, 10**9]))
@fewer_examples
def test_batch_on_the_paths_for_large_inputs(example: Example, few: int) -> None:
    """With its thresholds made tiny, the engine treats a few events like millions."""
    accept(example)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thence.engine.arrays.ranges.CHUNK", 2)
        patch.setattr("thence.engine.join.search.FEW", few)
        found = batch(*example[:3])
    assert found == oracle(*example[:3])


@given(repetitions, st.integers(0, 2**16), st.booleans())
@fewer_examples
def test_sessions(example: Example, seed: int, save: bool) -> None:
    accept(example)
    found = in_a_session(*example[:3], random.Random(seed), save=save)
    assert found == oracle(*example[:3])


def test_most_programs_are_accepted_and_many_find_something() -> None:
    if SEEN["generated"] < 100:
        pytest.skip("needs the tests above to have run")
    assert SEEN["refused"] < 0.25 * SEEN["generated"]
    assert SEEN["found"] > 0.2 * SEEN["asked"]
