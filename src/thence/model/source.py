"""Program text with positions, so that a message can point at what it is about."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets into a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the beginning of this one to the end of ``other``."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


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

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        index = bisect_right(self._line_starts, offset) - 1
        return index + 1, offset - self._line_starts[index] + 1

    def line(self, number: int) -> str:
        """The text of one line, without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")

    def excerpt(self, span: Span) -> str:
        """The line in which the span begins, with carets under the span."""
        number, column = self.position(span.start)
        text = self.line(number)
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
