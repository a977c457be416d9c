"""A row of the table of hard programs: a program, its events, and what is asked of them.

The other files have a tuple ``ROWS`` of them each, which ``run.py`` puts together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import thence

Made = Mapping[str, Any]
"""Tables of events by type."""


def run(program: thence.Program, events: Made) -> int:
    """Run a program; how many results it has in all."""
    return sum(table.num_rows for table in program.run(events).values())


@dataclass(frozen=True, slots=True)
class Row:
    """One row: ``bar`` is the CPU time asked for, in seconds, ``memory`` the peak of memory above
    that of the events, in bytes, and ``results`` how many results there are.

    ``act`` is what is timed, where that is not a plain run; it gives the number of results. With
    ``refused`` the program must end in an error of this kind, and the time is that until it does.
    ``seconds`` gives the time where that of this process would not tell.
    """

    name: str
    program: str
    events: Callable[[], Made]
    bar: float | None = None
    results: int | None = None
    memory: int | None = None
    act: Callable[[thence.Program, Made], int] = run
    refused: type[Exception] | None = None
    seconds: Callable[[], float] | None = None


def every(count: int, step: int, first: int = 0, **columns: Any) -> Any:
    """A table of events at regular times, in microseconds, with columns of its own.

    >>> every(3, 10, n=[7, 8, 9]).to_pylist()[1]
    {'n': 8, 'time': 10}
    """
    times = pa.array(range(first, first + count * step, step), pa.int64())
    return pa.table({**columns, "time": times})
