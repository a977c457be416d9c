"""What a program costs before it has much to do grows with its rules, and no faster.

Counted in calls of functions, which no other work on the machine disturbs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import thence
from benchmarks.hard.many_rules import KINDS, SMALL, layered, unrelated

FEW = 12 * len(KINDS)


def calls(action: Callable[[], Any]) -> int:
    """How many functions an action calls, Python's own among them."""
    count = 0

    def noted(_frame: object, event: str, _what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(noted)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


LOOKS: dict[str, Callable[[thence.Program], Any]] = {
    "check": thence.Program.check,
    "explain": thence.Program.explain,
    "hierarchy": thence.Program.hierarchy,
    "run": lambda program: program.run(SMALL),
}


def counted(text: str) -> dict[str, int]:
    """How many calls it takes to compile a program, and for each look at it."""
    found = {"compile": calls(lambda: thence.compile(text))}
    program = thence.compile(text)
    return found | {name: calls(partial(look, program)) for name, look in LOOKS.items()}


@pytest.mark.parametrize(
    "text",
    [lambda n: unrelated(n, n // 4), lambda n: layered(n, n // 20, n // 4)],
    ids=["unrelated", "layered"],
)
def test_the_work_grows_with_the_number_of_rules(text: Callable[[int], str]) -> None:
    counted(text(FEW))  # so that everything is loaded
    few, many = counted(text(FEW)), counted(text(2 * FEW))
    for name in few:
        # A check works out which inputs each event waits for, and there are twice as many of them.
        assert many[name] < (2.6 if name == "check" else 2.2) * few[name], name
