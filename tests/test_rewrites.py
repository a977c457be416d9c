"""Rewrites of plans: what each does, as text before and after."""

from __future__ import annotations

import pytest
from plan_fixtures import FOLDER, WRITES, Example, as_it_is, examples_of

import thence
from thence.plan import REWRITES

FILES = sorted(FOLDER.glob("*.txt"))
EXAMPLES = [example for path in FILES for example in examples_of(path)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.rewrite}: {e.title}")
def test_a_plan_before_and_after(example: Example) -> None:
    found = as_it_is(example)
    if WRITES:
        return
    assert found.before == example.before
    assert found.after == example.after


@pytest.mark.skipif(not WRITES, reason="only where fixtures are to be written")
def test_fixtures_are_written() -> None:
    for path in FILES:
        texts = [as_it_is(example).text for example in examples_of(path)]
        path.write_text("\n".join(texts), encoding="utf-8")


def test_every_rewrite_has_examples() -> None:
    assert {rewrite.__name__ for rewrite in REWRITES} <= {path.stem for path in FILES}


def test_an_optimisation_that_is_not_there_is_refused() -> None:
    with pytest.raises(thence.InputError, match="there is no optimisation 'speed'"):
        thence.compile("event a(); r() <- a();", without=["speed"])
