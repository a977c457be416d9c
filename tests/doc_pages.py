"""Reads the documentation: its fenced blocks, its drawings of time lines, its tables.

A block says by its tag what it is, and so how ``test_docs.py`` checks it:

``python``         is run; the blocks of a page share their names
``thence``         is a program; events that it does not declare are those of the page's block
                   ``thence events``
``thence error``   is a program that is refused
``console``        holds commands after ``$``, each with what it shows
``output``         is what the block before it shows; a line ``…`` stands for any lines
``timeline``       is a pattern, events drawn as intervals, and where the pattern occurs
``text``           is only read by people
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TAGS = {
    "python", "thence", "thence events", "thence error", "console", "output", "timeline", "text",
}  # fmt: skip

_FENCE = re.compile(r"^```(?P<tag>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_INTERVAL = re.compile(r"├─*┤|●")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, what it is, and what the next block says it shows."""

    page: Path
    line: int
    tag: str
    text: str
    shows: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, except those that are another's output."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for fence, after in zip_longest(fences, fences[1:]):
        if fence["tag"] != "output":
            line = text.count("\n", 0, fence.start("body")) + 1
            shows = after["body"] if after is not None and after["tag"] == "output" else None
            found.append(Block(page, line, fence["tag"], fence["body"], shows))
    return found


def agrees(shown: str, expected: str) -> bool:
    """Whether a text is what was expected, where a line ``…`` stands for any lines.

    >>> agrees("one\\ntwo\\nthree\\n", "one\\n…\\nthree\\n"), agrees("one\\n", "two\\n")
    (True, False)
    """
    pieces = re.split(r"^…\n", expected, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, pieces)), shown) is not None


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, continued lines joined, with what it shows."""
    for piece in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shows = re.sub(r"\\\n\s*", "", piece).partition("\n")
        yield command.partition("  #")[0].strip(), shows


@dataclass(frozen=True)
class Drawing:
    """A pattern over events ``a``, ``b``, …, where they are, and where it occurs.

    Every column is a second. A row ``H`` has the horizon; without one it is the drawing's end.
    """

    pattern: str
    events: dict[str, list[tuple[int, int]]]
    occurs: list[tuple[int, int]]
    horizon: int


def drawings(block: Block) -> Iterator[Drawing]:
    """The drawings of a block: a pattern in the first column, then rows below it."""
    for piece in re.split(r"\n(?=\S)", block.text.strip("\n")):
        pattern, *lines = piece.split("\n")
        rows: dict[str, list[tuple[int, int]]] = {}
        for line in filter(str.strip, lines):
            drawn = [(m.start(), m.end() - 1) for m in _INTERVAL.finditer(line)]
            rows.setdefault(line.split()[0], []).extend(drawn)
        end = max(interval[1] for drawn in rows.values() for interval in drawn)
        occurs = rows.pop("=")
        horizon = rows.pop("H", [(end, end)])[0][1]
        yield Drawing(pattern, rows, occurs, horizon)


def section(page: Path, heading: str) -> str:
    """The text under a heading, down to the next one of any level."""
    text = page.read_text(encoding="utf-8")
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"{page.name} has no heading '{heading}'"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without headers; code is taken out of its backquotes."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    tables = "\n".join(lines)
    body = re.sub(r"^\|[^\n]*\n\|[-:| ]+\|\n?", "", tables, flags=re.MULTILINE)
    split = [re.split(r"(?<!\\)\|", line.strip("|")) for line in body.splitlines()]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in split]


def prose(text: str) -> str:
    """A text without its fenced blocks."""
    return _FENCE.sub("", text)


def code(text: str) -> list[str]:
    """Everything between backquotes in the prose of a text.

    >>> code("either `a` or `b c`")
    ['a', 'b c']
    """
    return re.findall(r"`([^`]+)`", prose(text))
