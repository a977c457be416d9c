"""Fixtures of rewrites as text: a program, its plan before and its plan after.

A file ``tests/plans/<rewrite>.txt`` holds examples, each

    === what it shows
    <program, perhaps behind a line `-- emit: <names>`>
    --- before
    <stages of the plan with the rewrite off>
    --- after
    <stages of the plan with it on>

``THENCE_WRITE_PLANS=1 pytest tests/test_rewrites.py`` writes what is found into the files, for a
reader to look through before a commit.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import thence
from thence.explain import explain
from thence.plan import REWRITES

FOLDER = Path(__file__).parent / "plans"
WRITES = os.environ.get("THENCE_WRITE_PLANS") == "1"


@dataclass(frozen=True)
class Example:
    """One example of a rewrite."""

    rewrite: str
    title: str
    program: str
    before: str
    after: str

    @property
    def text(self) -> str:
        parts = (
            f"=== {self.title}",
            self.program,
            "--- before",
            self.before,
            "--- after",
            self.after,
        )
        return "\n".join(part.strip("\n") for part in parts) + "\n"


def examples_of(path: Path) -> list[Example]:
    """The examples in a file."""
    found = []
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = part.partition("\n")
        program, _, plans = rest.partition("--- before\n")
        before, _, after = plans.partition("--- after\n")
        found.append(
            Example(path.stem, title, *(each.strip("\n") for each in (program, before, after)))
        )
    return found


def stages(text: str, without: tuple[str, ...]) -> str:
    """The stages of a program's plan as text."""
    program = thence.compile(text, without=without)
    asked = re.match(r"-- emit: (.*)", text)
    emit = None if asked is None else asked[1].split(", ")
    explained = explain(program.plan_for(emit))
    return explained[explained.index("stage 1") :].strip("\n")


def as_it_is(example: Example) -> Example:
    """An example with the plans that there are now. All other rewrites are off, so that it shows
    this one alone."""
    others = tuple(each.__name__ for each in REWRITES if each.__name__ != example.rewrite)
    before = stages(example.program, (*others, example.rewrite))
    return replace(example, before=before, after=stages(example.program, others))
