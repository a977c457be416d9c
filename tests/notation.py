"""The notation for events in case files: ``order('o1', 2, null) @ [3, 7]``, one a line.

Times are seconds since 1970, up to microseconds (``2.000001``), or ISO timestamps; one time stands
for a point. Values are written as in programs, and ``@3`` is a timestamp, ``3s`` a duration and
``0.3d`` a decimal.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from oracle_values import EPOCH, NAN, instant

TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')"
    r"|(?P<iso>\d{4}-\d\d-\d\dT[\d:.]+Z)"
    r"|(?P<number>-?\d+(?:\.\d+)?)(?P<unit>[sd]\b)?"
    r"|(?P<word>-?[A-Za-z_]\w*)"
    r"|(?P<mark>[@(),\[\]]))"
)
WORDS = {"null": None, "true": True, "false": False, "NaN": NAN, "inf": float("inf")}
WORDS["-inf"] = -float("inf")
INFINITY = float("inf")


class Written(NamedTuple):
    """An event as written: type, values by position, start and end in microseconds.

    A row of a table has no time: it starts after and ends before everything, as the empty interval
    does.
    """

    type: str
    values: tuple[Any, ...]
    start: int | float
    end: int | float
    valid: tuple[int | float, int | float] | None = None
    """From when and up to when a row of a versioned table is valid."""

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a table."""
        return self.start > self.end


def parse_events(text: str) -> list[Written]:
    """The events of a text, one a line; ``--`` starts a comment.

    >>> parse_events("order('o1', 2.5, null) @ [3, 7]")
    [Written(type='order', values=('o1', 2.5, None), start=3000000, end=7000000, valid=None)]
    """
    lines = (line.split("--")[0].strip() for line in text.splitlines())
    return [_Reader(line).event() for line in lines if line]


def parse_rows(text: str) -> list[Written]:
    """The rows of tables, one a line, written like events without a time; after an ``@``, from when
    and up to when a row is valid, where ``inf`` is a side without a bound.

    >>> parse_rows("title('b1', 'Emma')")
    [Written(type='title', values=('b1', 'Emma'), start=inf, end=-inf, valid=None)]
    >>> parse_rows("rank('ann', 3) @ [2, inf]")[0].valid
    (2000000, inf)
    """
    lines = (line.split("--")[0].strip() for line in text.splitlines())
    return [_Reader(line).row() for line in lines if line]


def parse_time(text: str) -> int:
    """A time alone, in microseconds."""
    return _Reader(text).time()


class _Reader:
    def __init__(self, line: str) -> None:
        self.line = line
        self.tokens: list[re.Match[str]] = []
        at = 0
        while at < len(line):
            token = TOKEN.match(line, at)
            if token is None:
                raise ValueError(f"cannot read {line[at:]!r} in {line!r}")
            self.tokens.append(token)
            at = token.end()

    def event(self) -> Written:
        name = self.take("word")["word"]
        values = self.items("(", ")", self.value) if self.at("(") else ()
        self.take("mark", "@")
        return self.timed(name, values)

    def row(self) -> Written:
        name = self.take("word")["word"]
        values = self.items("(", ")", self.value)
        valid = None
        if self.at("@"):
            self.take("mark", "@")
            valid = self.items("[", "]", self.bound)
        if self.tokens:
            raise ValueError(f"a row of a table has no time: {self.line!r}")
        return Written(name, values, INFINITY, -INFINITY, valid)

    def bound(self) -> int | float:
        """A time, or no bound."""
        if self.tokens and self.tokens[0]["word"] in ("inf", "-inf"):
            return WORDS[self.take("word")["word"]]
        return self.time()

    def timed(self, name: str, values: tuple[Any, ...]) -> Written:
        if self.at("["):
            start, end = self.items("[", "]", self.time)
        else:
            start = end = self.time()
        if self.tokens:
            raise ValueError(f"more than one event in {self.line!r}")
        return Written(name, values, start, end)

    def items(self, opening: str, closing: str, item: Any) -> tuple[Any, ...]:
        self.take("mark", opening)
        found = []
        while not self.at(closing):
            found.append(item())
            if not self.at(closing):
                self.take("mark", ",")
        self.take("mark", closing)
        return tuple(found)

    def value(self) -> Any:
        if self.at("["):
            return self.items("[", "]", self.value)
        if self.at("@"):
            self.take("mark", "@")
            return instant(self.time())
        token = self.take()
        if token["string"]:
            return token["string"][1:-1].replace("''", "'")
        if token["word"]:
            return WORDS[token["word"]]
        if token["unit"] == "s":
            return timedelta(microseconds=int(Decimal(token["number"]) * 1_000_000))
        if token["unit"] == "d":
            return Decimal(token["number"])
        return float(token["number"]) if "." in token["number"] else int(token["number"])

    def time(self) -> int:
        token = self.take()
        if token["iso"]:
            return (datetime.fromisoformat(token["iso"]) - EPOCH) // timedelta(microseconds=1)
        return int(Decimal(token["number"]) * 1_000_000)

    def at(self, mark: str) -> bool:
        return bool(self.tokens) and self.tokens[0]["mark"] == mark

    def take(self, kind: str | None = None, mark: str | None = None) -> re.Match[str]:
        if not self.tokens:
            raise ValueError(f"something is missing at the end of {self.line!r}")
        token = self.tokens.pop(0)
        if (kind and not token[kind]) or (mark and token["mark"] != mark):
            raise ValueError(f"{token[0]!r} is not expected here, in {self.line!r}")
        return token
