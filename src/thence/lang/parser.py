"""Reads a program: text in, a :class:`~thence.logic.ops.LogicProgram` out."""

from __future__ import annotations

from functools import lru_cache

from thence.lang import syntax as s
from thence.lang.build import Build
from thence.lang.lalr import Parser, Unexpected, read_tables
from thence.lang.link import link
from thence.lang.messages import explain
from thence.lang.problem import SyntaxProblem
from thence.lang.sql.syntax import CreateEvent
from thence.logic.ops import LogicProgram
from thence.model.errors import ParseError, diagnose
from thence.model.source import Source, Span


@lru_cache(maxsize=1)
def grammar() -> Parser:
    """The parser, made once."""
    return Parser(read_tables(), Build())


def parse_syntax(source: Source) -> tuple[s.Statement | CreateEvent, ...]:
    """The statements of a program as written, names not yet resolved. Raises ParseError."""
    _refuse_half_characters(source)
    try:
        statements: tuple[s.Statement | CreateEvent, ...] = grammar().parse(source.text)
    except Unexpected as unexpected:
        problem = explain(unexpected, source, grammar())
    except SyntaxProblem as found:
        problem = found
    else:
        return statements
    shown = problem.shown(source)
    raise ParseError((diagnose(shown, problem.span, problem.message, problem.hint),))


def _refuse_half_characters(source: Source) -> None:
    """Refuse what is no text, though Python may hold it in one: half of a surrogate pair."""
    try:
        source.text.encode()
    except UnicodeEncodeError as found:
        span = Span(found.start, found.start + 1)
        shown = Source(source.text.encode("utf-8", "replace").decode(), source.name)
        said = "the text holds half of a surrogate pair, which is no character"
        raise ParseError((diagnose(shown, span, said),)) from None


def parse_program(source: Source) -> LogicProgram:
    """The program that a text means.

    Raises ParseError where the text is not of the language, CheckError (with every error found)
    where its names, labels or arguments do not fit.

    >>> program = parse_program(Source("event a(x int); b(x) <- a(x);"))
    >>> program.rules[0].event, program.rules[0].body
    ('b', Atom(event='a', args=(('x', Var(name='x')),)))
    """
    statements = parse_syntax(source)
    try:
        return link(statements, source)
    except SyntaxProblem as found:
        problem = found
    raise ParseError((diagnose(source, problem.span, problem.message, problem.hint),))
