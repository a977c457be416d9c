"""The ways to ask a question in one process: Thence, and DuckDB.

Both begin with events in memory and end with all results as an Arrow table. DuckDB has as many
threads as the machine has cores, and is asked three times: over the same Arrow table, over a table
of its own that was filled beforehand, and over that one joined in pieces of time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

import thence
from benchmarks.figures.answers import Answer, of_table
from benchmarks.figures.questions import FOUND, Question

IN_PROCESS, ON_SPARK = "in one process", "on Spark"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask one question.

    ``run`` is what is timed. ``judged`` tells the paper's join, which Thence has to be faster than,
    from what is measured beside it.
    """

    name: str
    host: str
    run: Callable[[], object]
    answer: Callable[[], Answer]
    ours: bool = False
    judged: bool = True


Ask = Callable[[Question], list[Way]]


@contextmanager
def in_process(events: Any) -> Iterator[Ask]:
    """How to ask about these events, an Arrow table."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {os.cpu_count() or 1}")
        connection.register("arrow_base", events)
        connection.execute("CREATE TABLE own_base AS SELECT * FROM arrow_base")

        def ask(question: Question) -> list[Way]:
            def joined(name: str, text: str, base: str, *, judged: bool = True) -> Way:
                text = text.replace("{base}", base)
                return _way(
                    name,
                    lambda: connection.sql(text).to_arrow_table(),
                    question.columns,
                    judged=judged,
                )

            program = thence.compile(question.rule)
            return [
                _way(
                    "Thence",
                    lambda: program.run(events)[FOUND],
                    question.columns_of_rule,
                    ours=True,
                ),
                joined("DuckDB, Arrow table", question.join, "arrow_base"),
                joined("DuckDB, own table", question.join, "own_base"),
                joined("DuckDB, in pieces", question.join_in_pieces, "own_base", judged=False),
            ]

        yield ask


def _way(
    name: str,
    run: Callable[[], Any],
    columns: tuple[str, ...],
    *,
    ours: bool = False,
    judged: bool = True,
) -> Way:
    return Way(
        name, IN_PROCESS, run, lambda: of_table(run(), columns), ours=ours, judged=judged or ours
    )
