"""What the tokens of a program stand for: names, texts, durations, instants, and their places."""

from __future__ import annotations

from thence.lang.problem import SyntaxProblem
from thence.model.source import Span
from thence.model.time import UNITS_IN_WORDS, parse_duration, parse_timestamp


class Token(str):
    """A piece of a program's text: which kind the grammar calls it, and where it stands."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    start_pos: int
    end_pos: int

    def __new__(cls, kind: str, text: str, start_pos: int, end_pos: int) -> Token:
        token = str.__new__(cls, text)
        token.type, token.start_pos, token.end_pos = kind, start_pos, end_pos
        return token


def start_of(token: Token) -> int:
    return token.start_pos


def end_of(token: Token) -> int:
    return token.end_pos


def token_span(token: Token) -> Span:
    return Span(token.start_pos, token.end_pos)


def unquoted(token: Token) -> str:
    """The identifier that a name token stands for: backquotes taken off."""
    if token[0] != "`":
        return str(token)
    if "\0" in token:
        raise SyntaxProblem(token_span(token), "a name cannot hold the character NUL")
    return token[1:-1].replace("``", "`")


def string_value(token: Token) -> str:
    """The text that a string token stands for: quotes taken off, doubled quotes made single."""
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def duration_of(token: Token) -> int:
    """The microseconds of ``10 s`` or ``'10 s'``."""
    if token.type in ("INT", "FLOAT"):
        raise SyntaxProblem(
            token_span(token),
            f"{token} has no unit of time",
            f"write for example {token} s; units are {UNITS_IN_WORDS}",
        )
    text = string_value(token) if token.type == "STRING" else str(token)
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise SyntaxProblem(token_span(token), str(problem)) from None


def positive_duration(token: Token) -> int:
    """The microseconds of a duration that is more than nothing."""
    micros = duration_of(token)
    if micros <= 0:
        raise SyntaxProblem(token_span(token), "this duration must be more than nothing")
    return micros


def positive_number(token: Token) -> int:
    """A number of rows, from one on."""
    # Whatever has more digits is as good as no limit.
    number = int(token) if len(token) <= 18 else 10**18
    if number == 0:
        raise SyntaxProblem(token_span(token), "no rows are nothing to look at", "write 1 or more")
    return number


def timestamp_of(token: Token) -> int:
    """The microseconds since 1970 of a time in quotes."""
    try:
        return parse_timestamp(string_value(token))
    except ValueError as problem:
        raise SyntaxProblem(token_span(token), str(problem)) from None
