"""Reads a text by the tables of its grammar (``grammar.json``, which ``tools/grammar`` makes).

An LALR(1) parser with a lexer that knows what may come: a word is looked for only where the grammar
has a place for it, so words of event SQL stay free in rules. Nothing is built but what the methods
of ``Build`` give, one call for each piece of the grammar, innermost first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from thence.lang.tokens import Token

END = "$END"


class Unexpected(Exception):
    """Text that cannot go on like this, at a place: with what is there (nothing, if it is no token
    of the language) and with what could have been."""

    def __init__(self, at: int, token: Token | None, accepted: frozenset[str]) -> None:
        super().__init__(at)
        self.at, self.token, self.accepted = at, token, accepted


class _Rule(NamedTuple):
    """``origin`` is made of some symbols by a method; for a list that is to be spliced into what
    is around it, there is no method."""

    origin: str
    size: int
    parts: tuple[tuple[int, bool], ...] | None
    """Where the symbols are that the method sees, and which are lists; none where it sees all."""
    method: Callable[[list[Any]], Any] | None
    alone: bool
    """Whether a single part stands for the whole."""
    passes: bool
    """Whether that is so wherever the rule applies."""

    def made(self, values: list[Any]) -> Any:
        if self.parts is not None:
            seen: list[Any] = []
            for place, spliced in self.parts:
                if not spliced:
                    seen.append(values[place])
                elif seen:
                    seen += values[place]
                else:
                    seen = values[place]  # nothing else has that list
            values = seen
        if self.method is None or (self.alone and len(values) == 1):
            return values if self.method is None else values[0]
        return self.method(values)


class _Scanner:
    """Finds the next token, of some kinds; what comes first in the list wins."""

    def __init__(self, kinds: list[str], instead: dict[str, dict[str, str]], tables: Any) -> None:
        self.kinds, self.instead, self.tables = kinds, instead, tables
        self.pattern: re.Pattern[str] | None = None  # made when it is needed: many never are

    def next(self, text: str, at: int) -> Token | None:
        if self.pattern is None:
            terminals, ignored = self.tables["terminals"], self.tables["ignored"]
            kinds = "|".join(f"(?P<{kind}>{terminals[kind]})" for kind in self.kinds)
            self.pattern = re.compile(f"(?:{ignored})*+(?:{kinds})" if kinds else "(?!)")
        found = self.pattern.match(text, at)
        if found is None:
            return None
        kind = found.lastgroup
        assert kind is not None
        written = found[kind]
        if kind in self.instead:
            kind = self.instead[kind].get(written, kind)
        end = found.end()
        return Token(kind, written, end - len(written), end)


class Parser:
    """A parser whose pieces are made by the methods of an object."""

    def __init__(self, tables: Mapping[str, Any], build: object) -> None:
        self._ignored = re.compile(f"(?:{tables['ignored']})*+")
        self._scanners = [_Scanner(kinds, also, tables) for kinds, also in tables["scanners"]]
        self._anywhere = self._scanners[tables["anywhere"]]
        self._rules = [_rule(build, *each) for each in tables["rules"]]
        symbols = tables["symbols"]
        self._states = [
            (
                self._scanners[scanner],
                {symbols[row[at]]: row[at + 1] for at in range(0, len(row), 2)},
            )
            for scanner, row in tables["states"]
        ]
        self._first, self._last = tables["first"], tables["last"]

    def parse(self, text: str) -> Any:
        """What a text is made into. Raises Unexpected where it is not of the language."""
        rules, table, last = self._rules, self._states, self._last
        states: list[int] = [self._first]
        values: list[Any] = []
        at = 0
        while True:
            scanner, row = table[states[-1]]
            token = scanner.next(text, at) or self._outside(text, at, states)
            at, kind = token.end_pos, token.type
            while True:
                action = row.get(kind)
                if action is None:
                    raise Unexpected(token.start_pos, token, self._accepted(states))
                if action >= 0:
                    break
                rule = rules[-1 - action]
                size = rule.size
                if size:
                    del states[-size:]
                if not rule.passes:
                    parts = values[-size:] if size else []
                    if size:
                        del values[-size:]
                    values.append(rule.made(parts))
                state = table[states[-1]][1][rule.origin]
                states.append(state)
                if state == last and kind == END:
                    return values[-1]
                row = table[state][1]
            states.append(action)
            values.append(token)

    def tokens(self, text: str) -> Iterator[Token]:
        """The tokens of a text, as far as they can be told without their context."""
        at = 0
        while (token := self._anywhere.next(text, at)) is not None:
            yield token
            at = token.end_pos

    def _outside(self, text: str, at: int, states: list[int]) -> Token:
        """The end of the text. Raises Unexpected if there is more that cannot come here."""
        skipped = self._ignored.match(text, at)
        assert skipped is not None
        at = skipped.end()
        if at == len(text):
            return Token(END, "", at, at)
        raise Unexpected(at, self._anywhere.next(text, at), self._accepted(states))

    def _accepted(self, states: list[int]) -> frozenset[str]:
        """The kinds of tokens that could come in a state."""
        kinds = (kind for kind in self._states[states[-1]][1] if kind.isupper())
        return frozenset(kind for kind in kinds if self._accepts(kind, list(states)))

    def _accepts(self, kind: str, states: list[int]) -> bool:
        while (action := self._states[states[-1]][1].get(kind)) is not None:
            if action >= 0:
                return True
            rule = self._rules[-1 - action]
            del states[len(states) - rule.size :]
            states.append(self._states[states[-1]][1][rule.origin])
        return kind == END and states[-1] == self._last


def _rule(build: object, origin: str, parts: str, method: str | None, alone: bool) -> _Rule:
    """``parts`` has a sign for each symbol: ``1`` is seen, ``*`` a list, ``-`` left out."""
    kept = tuple((place, sign == "*") for place, sign in enumerate(parts) if sign != "-")
    seen = None if set(parts) <= {"1"} else kept
    make = None if method is None else getattr(build, method, _one)
    return _Rule(origin, len(parts), seen, make, alone, alone and parts == "1")


def _one(parts: list[Any]) -> Any:
    """What is made of one part where no method is named after it."""
    (part,) = parts
    return part


def read_tables() -> dict[str, Any]:
    """The tables of the language.

    ``terminals`` has the pattern of each kind of token and ``ignored`` that of what stands between
    them. Each of the ``scanners`` has the kinds that it looks for, in order, and kinds whose text
    makes them another one; ``anywhere`` is the one that knows all. ``rules`` have what they make,
    a sign for each symbol, a method, and whether one part stands alone. ``states`` have a scanner,
    and by symbol the state that follows, or -1 less the number of the rule that ends here.
    """
    text = files("thence.lang").joinpath("grammar.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
