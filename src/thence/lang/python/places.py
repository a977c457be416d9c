"""Where in a user's Python something was made, so that an error can say so."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_OWN = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a Python file, shown the way a traceback shows it, which editors can follow."""

    file: str
    line: int

    def __str__(self) -> str:
        return f'File "{self.file}", line {self.line}'


def calling_place() -> Place:
    """The line outside this package that is being run: the one that a user wrote."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)
