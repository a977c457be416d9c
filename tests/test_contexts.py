"""Every operator of SNOOP in every context: what is found is what the oracle finds."""

from __future__ import annotations

import random

import pytest
from conftest import PROFILE
from hosts import batch, micro_batches, oracle
from notation import Written

DECLARED = "event a(n int);\nevent b(n int);\nevent c(n int);\n"
OPERATORS = {
    "or": "m() <- anyone(a(_), b(_))",
    "and": "m(x.n as x, y.n as y) <- any(2, x: a(_), y: b(_))",
    "any": "m() <- any(2, a(_), b(_), c(_))",
    "sequence": "m(x.n as x, y.n as y) <- then(x: a(_), y: b(_))",
    "A": "m(x.n as x, y.n as y) <- aperiodic(x: a(_), y: b(_), c(_))",
    "A*": "m(count() as n, list(y.n) as ys) <- aperiodic*(a(_), y: b(_), c(_))",
    "P": "m() <- periodic(a(_), 2 s, b(_))",
    "P*": "m(x.n as x) <- periodic*(x: a(_), 2 s, b(_))",
    "negation": "m(x.n as x) <- without(x: a(_), b(_), c(_))",
}
CONTEXTS = ["unrestricted", "recent", "chronicle", "continuous", "cumulative"]
SECOND = 1_000_000
SEEDS = 100 if PROFILE == "long" else 8


def some_events(seed: int) -> list[Written]:
    """A few instants with a few events each."""
    chance = random.Random(seed)
    found = []
    for number in range(chance.randint(3, 9)):
        at = chance.randint(0, 7) * SECOND
        found.append(Written(chance.choice("abc"), (number,), at, at))
    return found


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_in_a_context(operator: str, context: str) -> None:
    program = f"{DECLARED}{OPERATORS[operator]} using {context};"
    for seed in range(SEEDS):
        events = some_events(seed)
        expected = oracle(program, events, 8 * SECOND)
        assert batch(program, events, 8 * SECOND) == expected
        assert micro_batches(program, events, 8 * SECOND) == expected


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_occurs_among_these_events(operator: str) -> None:
    """So that what is compared is something."""
    program = f"{DECLARED}{OPERATORS[operator]};"
    assert any(batch(program, some_events(seed), 8 * SECOND)["m"] for seed in range(SEEDS))
