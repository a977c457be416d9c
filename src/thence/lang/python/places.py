"""Where in a user's Python something was made, and what errors point at there."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from types import CodeType

from thence.model.source import NOWHERE, Source, Sources, Span

_OWN = (__package__, "dataclasses", "types")
"""Modules that stand between a user's line and what it makes."""

Lines = tuple[int | None, int | None, int | None, int | None]
"""From which line to which, and from which column to which, the latter in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An instruction of a user's code, shown the way a traceback shows it, which editors follow.

    What it says of lines and columns is worked out only where somebody asks.
    """

    code: CodeType
    instruction: int

    def __str__(self) -> str:
        line, *_ = _lines(self.code)[self.instruction]
        return f'File "{self.code.co_filename}", line {line}'


def calling_place() -> Place:
    """The instruction outside this package that is being run: what a user wrote."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.f_back
    return Place(frame.f_code, frame.f_lasti // 2)


def _lines(code: CodeType) -> list[Lines]:
    """The lines and columns of each instruction."""
    return list(code.co_positions())


class Spans:
    """The files that places are in, and each place as a span of them."""

    def __init__(self) -> None:
        self._parts: list[Source] = []
        self._size = 0
        self._files: dict[str, _File] = {}
        self._lines: dict[int, tuple[CodeType, list[Lines]]] = {}
        self._known: dict[tuple[int, int], Span] = {}

    @property
    def source(self) -> Source:
        """The files, as what spans point at."""
        return Sources.of(self._parts)

    def of(self, place: Place) -> Span:
        """The span of a place."""
        key = (id(place.code), place.instruction)
        if key not in self._known:
            self._known[key] = self._made(place)
        return self._known[key]

    def _made(self, place: Place) -> Span:
        code = place.code
        # By identity: to compare code takes as long as there is of it.
        _, lines = self._lines.setdefault(id(code), (code, []))
        lines += [] if lines else _lines(code)
        first, last, left, right = lines[place.instruction]
        if first is None:
            return NOWHERE
        file = self._file(code.co_filename, max(first, last or first))
        start = file.offset(first, left)
        return Span(start, max(start + 1, file.offset(last or first, right, end=True)))

    def _file(self, name: str, line: int) -> _File:
        """A file that has so many lines, which are empty where its text is not to be had."""
        known = self._files.get(name)
        if known is None or line > len(known.lines):
            linecache.checkcache(name)
            lines = linecache.getlines(name)
            lines = [*lines, *["\n"] * (0 if len(lines) >= line else 2 * line)]
            known = self._files[name] = _File(lines, self._size)
            self._parts.append(Source("".join(lines), name))
            self._size += len(self._parts[-1].text)
        return known


class _File:
    """The lines of a file, and at which offset each begins."""

    def __init__(self, lines: list[str], start: int) -> None:
        self.lines, self.starts = lines, [start]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, column: int | None, end: bool = False) -> int:
        """Where a column of a line is; without one, where its text begins or ends."""
        text, start = self.lines[line - 1].rstrip(), self.starts[line - 1]
        if column is None:
            return start + len(text) - (0 if end else len(text.lstrip()))
        return start + len(text.encode("utf-8", "replace")[:column].decode("utf-8", "replace"))
