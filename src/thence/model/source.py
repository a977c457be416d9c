"""Program text with positions, so that a message can point at what it is about."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets into a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the beginning of this one to the end of ``other``."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)

_PASSWORD = re.compile(r"(?<=://)[^/?#@\s'\"]+(?=@)")
"""The user and the password of an address, which no message shows."""


@dataclass(frozen=True)
class Source:
    """A program's text, its name, and its line starts.

    >>> source = Source("a <- b;\\nc <- d;")
    >>> source.position(9)
    (2, 2)
    >>> print(source.excerpt(Span(8, 9)))
      2 | c <- d;
        | ^
    """

    text: str
    name: str = field(default="<program>", compare=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def file(self, offset: int) -> str:
        """What the text at an offset is called."""
        return self.name

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        index = bisect_right(self._line_starts, offset) - 1
        return index + 1, offset - self._line_starts[index] + 1

    def offset(self, line: int, column: int) -> int:
        """Where a line and column are, both counted from 1."""
        return self._line_starts[line - 1] + column - 1

    def line(self, number: int) -> str:
        """The text of one line, without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")

    def excerpt(self, span: Span) -> str:
        """The line in which the span begins, with carets under the span."""
        number, column = self.position(span.start)
        text = self.line(number)
        if "://" in text:
            text = _PASSWORD.sub(lambda found: "*" * len(found[0]), text)
        width = max(1, min(span.end, span.start + len(text) - column + 1) - span.start)
        # A very long line is cut around the place that matters.
        left = max(0, column - 1 - 60)
        shown = text[left : left + 120]
        width = min(width, max(1, len(shown) - (column - 1 - left)))
        pad = "".join("\t" if c == "\t" else " " for c in text[left : column - 1])
        if left + 120 < len(text):
            shown += " …"
        if left:
            shown, pad = "… " + shown, "  " + pad
        gutter = f"  {number} | "
        blank = " " * (len(gutter) - 2) + "| "
        return f"{gutter}{shown}\n{blank}{pad}{'^' * width}"


@dataclass(frozen=True)
class Sources(Source):
    """Files one after another, so that an offset tells in which of them a place is, and where.

    >>> files = Sources.of([Source("x = 1\\n", "a.py"), Source("\\ny = 2\\n", "b.py")])
    >>> files.file(7), files.position(7)
    ('b.py', (2, 1))
    >>> print(files.excerpt(Span(7, 8)))
      File "b.py", line 2
      2 | y = 2
        | ^
    """

    parts: tuple[Source, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[Source]) -> Sources:
        """These files; of none, one that is empty."""
        given = tuple(parts) or (Source(""),)
        return cls("".join(part.text for part in given), given[0].name, given)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(part.text) for part in self.parts[:-1])]

    def _part(self, offset: int) -> tuple[Source, int]:
        """The file that an offset is in, and where that begins."""
        index = bisect_right(self._starts, offset) - 1
        return self.parts[index], self._starts[index]

    def file(self, offset: int) -> str:
        return self._part(offset)[0].name

    def position(self, offset: int) -> tuple[int, int]:
        part, start = self._part(offset)
        return part.position(offset - start)

    def excerpt(self, span: Span) -> str:
        """The file and the line, as a traceback shows them, and the text if there is some."""
        part, start = self._part(span.start)
        number, _ = part.position(span.start - start)
        shown = f'  File "{part.name}", line {number}'
        if not part.line(number).strip():
            return shown
        return f"{shown}\n{part.excerpt(Span(span.start - start, span.end - start))}"
