"""The ways to ask a question in one process: Thence, and DuckDB.

Both begin with the same Arrow table and end with all results as another. DuckDB has as many threads
as the machine has cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

import thence
from benchmarks.figures.answers import Answer, of_table
from benchmarks.figures.questions import FOUND, Question

IN_PROCESS, ON_SPARK = "in one process", "on Spark"

Kind = Literal["ours", "join", "pieces"]  # Thence's rule, the paper's join, the one in pieces


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask one question: ``run`` is timed, and ``answer`` tells what such a run found."""

    name: str
    host: str
    kind: Kind
    run: Callable[[], Any]
    answer: Callable[[Any], Answer]


Ask = Callable[[Question], list[Way]]


@contextmanager
def in_process(events: Any) -> Iterator[Ask]:
    """How to ask about these events, an Arrow table."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {os.cpu_count() or 1}")
        connection.register("base", events)

        def ask(question: Question) -> list[Way]:
            program = thence.compile(question.rule)

            def found(table: Any) -> Answer:
                return of_table(table, question.columns_of_rule)

            def joined(name: str, kind: Kind, text: str) -> Way:
                text = text.replace("{base}", "base")
                return Way(
                    name,
                    IN_PROCESS,
                    kind,
                    lambda: connection.sql(text).to_arrow_table(),
                    lambda table: of_table(table, question.columns),
                )

            return [
                Way("Thence", IN_PROCESS, "ours", lambda: program.run(events)[FOUND], found),
                joined("DuckDB", "join", question.join),
                joined("DuckDB, in pieces", "pieces", question.join_in_pieces),
            ]

        yield ask
