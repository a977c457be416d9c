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
        self._files: dict[str, tuple[Source, int, int]] = {}
        self._lines: dict[int, list[Lines]] = {}
        self._known: dict[tuple[int, int], Span] = {}

    @property
    def source(self) -> Source:
        """The files, as what spans point at."""
        return Sources.of(self._parts)

    def of(self, place: Place) -> Span:
        """The span of a place."""
        # By identity: to compare code takes as long as there is of it.
        key = (id(place.code), place.instruction)
        if key not in self._known:
            lines = self._lines.setdefault(key[0], [])
            lines += [] if lines else _lines(place.code)
            self._known[key] = self._made(place.code.co_filename, *lines[place.instruction])
        return self._known[key]

    def _made(
        self, name: str, first: int | None, last: int | None, left: int | None, right: int | None
    ) -> Span:
        if first is None:
            return NOWHERE
        last = last or first
        file, offset = self._file(name, last)
        text, end = file.line(first), file.line(last).rstrip()
        left = len(text) - len(text.lstrip()) if left is None else _letters(text, left)
        right = len(end) if right is None else _letters(end, right)
        start = offset + file.offset(first, left + 1)
        return Span(start, max(start + 1, offset + file.offset(last, right + 1)))

    def _file(self, name: str, line: int) -> tuple[Source, int]:
        """A file that has so many lines, which are empty where its text is not to be had, and the
        offset at which it begins."""
        file, start, lines = self._files.get(name, (Source(""), 0, 0))
        if line > lines:
            linecache.checkcache(name)
            text = linecache.getlines(name)
            text = [*text, *["\n"] * (0 if len(text) >= line else 2 * line)]
            file, start = Source("".join(text), name), self._size
            self._files[name] = file, start, len(text)
            self._parts.append(file)
            self._size += len(file.text)
        return file, start


def _letters(text: str, size: int) -> int:
    """How many letters so many bytes of a text are."""
    return len(text.encode("utf-8", "replace")[:size].decode("utf-8", "replace"))
