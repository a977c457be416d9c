"""Watching the library: the program over a day that goes by, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from threading import Event
from typing import Any

from thence.compiling import compile as compiled
from thence.demo.library.feed import Clock, Folder, Pace, batches
from thence.demo.library.findings import EVENTS, Finding, found
from thence.demo.library.sensors import MAX_DELAY
from thence.demo.library.simulate import Day
from thence.program import Program

PROGRAM = "library.thence"

Tell = Callable[[list[Finding]], None]
"""What is called with findings as they come, in the order of time."""


def program_text() -> str:
    """The program that watches the library."""
    return resources.files(__package__).joinpath(PROGRAM).read_text(encoding="utf-8")


def load_program() -> Program:
    """The program, compiled."""
    return compiled(program_text(), PROGRAM)


def watch(program: Program, day: Day, tell: Tell, pace: Pace, folder: Folder | None) -> None:
    """Push the day into a session, batch by batch. Readings are also kept in a folder, if given."""
    session = program.session(max_delay=MAX_DELAY)
    clock, stop = Clock(pace), Event()
    for batch in batches(day, pace.span):
        clock.wait(batch, stop)
        if folder is not None:
            folder.add(batch)
        tell(found(_rows(session.push(list(batch.records)))))
    tell(found(_rows(session.finish())))


def _rows(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for event in EVENTS:
        for row in results[event].to_pylist():
            yield {"type": event, **row}
