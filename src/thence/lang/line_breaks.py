"""Lays out a statement that is too long for one line.

The text is broken where it is loosest: at the commas between the items of a body, then before
``within`` and ``where``, then before operators, and only then inside brackets. Nothing here knows
what the words mean, so whatever the printer writes can be laid out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thence.lang.words import INFIX

WIDTH = 100
_INDENT = "    "
_TOKEN = re.compile(r"'[^']*+(?:''[^']*+)*+'|`[^`]*+(?:``[^`]*+)*+`|\w+|\s+|.", re.DOTALL)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_SUFFIXES = frozenset({"within", "where"})


@dataclass(frozen=True, slots=True)
class _Word:
    text: str


@dataclass(frozen=True, slots=True)
class _Brackets:
    """What stands between two brackets."""

    left: str
    inside: tuple[_Piece, ...]
    right: str
    text: str


_Piece = _Word | _Brackets


_ARROWS = (" <- ", " :- ")


def laid_out(statement: str, width: int = WIDTH) -> str:
    """A statement in lines that are no longer than they must be.

    >>> print(laid_out("p(x) <- (a(x) seq b(x)) within 5 s where x > 1, c(x);", width=40))
    p(x) <-
        (a(x) seq b(x))
            within 5 s
            where x > 1,
        c(x);
    """
    if len(statement) <= width:
        return statement
    arrow = min(_ARROWS, key=lambda each: statement.find(each) % (len(statement) + 1))
    head, found, body = statement.partition(arrow)
    if not found:
        return "\n".join(_lines(_pieces(statement), "", width))
    lines = _lines(_pieces(f"{head}{arrow.rstrip()}"), "", width)
    return "\n".join([*lines, *_lines(_pieces(body), _INDENT, width)])


def _flat(pieces: Sequence[_Piece]) -> str:
    return "".join([piece.text for piece in pieces])


def _pieces(text: str) -> tuple[_Piece, ...]:
    """A text as words, and brackets that hold words."""
    stack: list[tuple[str, list[_Piece]]] = [("", [])]
    for token in _TOKEN.findall(text):
        if token in _OPEN:
            stack.append((token, []))
        elif token in _CLOSE:
            left, inside = stack.pop()
            stack[-1][1].append(_Brackets(left, tuple(inside), token, left + _flat(inside) + token))
        else:
            stack[-1][1].append(_Word(token))
    return tuple(stack[0][1])


def _lines(pieces: Sequence[_Piece], indent: str, width: int) -> list[str]:
    """Pieces as lines that begin with an indent; the loosest place is broken first."""
    text = indent + _flat(pieces).strip()
    if len(text) <= width:
        return [text]
    for split in (_at_commas, _before_suffixes, _before_operators):
        parts = split(pieces)
        if len(parts) > 1:
            # What follows the first part belongs to it, except that items are all alike.
            rest = indent if split is _at_commas else indent + _INDENT
            lines = _lines(parts[0], indent, width)
            for part in parts[1:]:
                lines.extend(_lines(part, rest, width))
            return lines
    return [line.rstrip() for line in _opened(pieces, indent, width)]


def _opened(pieces: Sequence[_Piece], indent: str, width: int) -> list[str]:
    """The longest brackets opened, their inside on lines of its own; others where that is not
    enough."""
    text = indent + _flat(pieces).lstrip()
    places = [i for i, each in enumerate(pieces) if isinstance(each, _Brackets) and each.inside]
    if len(text) <= width or not places:
        return [text]
    at = max(places, key=lambda place: len(pieces[place].text))
    brackets = pieces[at]
    assert isinstance(brackets, _Brackets)
    before = _opened(pieces[:at], indent, width)
    after = _opened((_Word(brackets.right), *pieces[at + 1 :]), indent, width)
    inside = _lines(brackets.inside, indent + _INDENT, width)
    return [*before[:-1], before[-1] + brackets.left, *inside, *after]


def _at_commas(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    parts: list[list[_Piece]] = [[]]
    for piece in pieces:
        parts[-1].append(piece)
        if piece.text == ",":
            parts.append([])
    return parts if parts[-1] else parts[:-1]


def _before_suffixes(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    return _before(pieces, _SUFFIXES)


def _before_operators(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    return _before(pieces, INFIX)


def _before(pieces: Sequence[_Piece], words: frozenset[str]) -> list[list[_Piece]]:
    parts: list[list[_Piece]] = [[]]
    for piece in pieces:
        if piece.text in words and _flat(parts[-1]).strip():
            parts.append([])
        parts[-1].append(piece)
    return parts
