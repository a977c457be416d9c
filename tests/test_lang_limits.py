"""Programs that are very long or very deep: read, or refused with a place and a way out."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

import thence
from thence.lang.parser import parse_program
from thence.lang.syntax import MAX_DEPTH
from thence.lang.text import format_program
from thence.logic.check import check_program
from thence.logic.ops import LogicProgram, Seq, Where
from thence.model.errors import ParseError, ProgramError
from thence.model.source import Source

EVENTS = "event a(x int); event b(x int);\n"
DEEP = 5_000


def nested(levels: int, before: str, inside: str, after: str) -> str:
    return before * levels + inside + after * levels


SHAPES = {
    "parentheses": ("p <- ", "(", "a", ")"),
    "sequences": ("p <- ", "(b seq ", "a", ")"),
    "absences": ("p <- ", "not(", "a", ").[b, b]"),
    "windows": ("p <- ", "follows(b, ", "a", ", 3 s)"),
    "labels": ("p <- ", "l: ", "a", ""),
    "limits": ("p <- ", "(", "a", ") within 3 s"),
    "sums": ("p <- a(x) where 1 < ", "(", "x", " + 1)"),
    "sums to the right": ("p <- a(x) where 1 < ", "(1 + ", "x", ")"),
    "functions": ("p <- a(x) where 1 < ", "abs(", "x", ")"),
    "negations": ("p <- a(x), ", "not (", "x > 1", ")"),
    "bare negations": ("p <- a(x), ", "not ", "x > 1", ""),
    "signs": ("p <- a(x) where 1 < ", "-(", "x", ")"),
    "memberships": ("p <- a(x), ", "x in (", "1", ")"),
    "conditions": ("p <- a where ", "(1 < 2, ", "2 < 3", ")"),
    "arguments": ("p <- a(", "(", "x", " + 1)"),
    "heads": ("p(", "(", "x", " + 1)"),
}
ENDS = {"arguments": ");", "heads": ") <- a(x);"}


def shaped(shape: str, levels: int) -> str:
    opening, *parts = SHAPES[shape]
    return EVENTS + opening + nested(levels, *parts) + ENDS.get(shape, ";")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_too_deep_is_refused_with_a_place_and_a_way_out(shape: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_program(Source(shaped(shape, DEEP)))
    (found,) = caught.value.diagnostics
    assert found.message == f"this is nested more than {MAX_DEPTH} levels deep"
    assert found.line == 2
    assert found.column > MAX_DEPTH / 2
    assert found.hint is not None
    assert "a rule of its own" in found.hint


def called_deeply(text: str, frames: int) -> LogicProgram:
    return parse_program(Source(text)) if frames == 0 else called_deeply(text, frames - 1)


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - {"labels"}))
def test_what_is_nearly_too_deep_is_read_even_by_a_deep_caller(shape: str) -> None:
    program = called_deeply(shaped(shape, MAX_DEPTH // 2 - 5), sys.getrecursionlimit() // 5)
    assert parse_program(Source(format_program(program))) == program


def test_types_can_be_too_deep() -> None:
    text = f"event e(x {nested(DEEP, 'list<', 'int', '>')});"
    with pytest.raises(ParseError, match="nested more than"):
        parse_program(Source(text))


def test_an_unclosed_heap_of_parentheses_is_a_plain_error() -> None:
    with pytest.raises(ParseError, match="not closed"):
        parse_program(Source(EVENTS + "p <- " + "(" * DEEP + "a;"))


def test_a_long_row_of_one_operator_is_flat() -> None:
    program = parse_program(Source(EVENTS + "p <- " + " seq ".join(["a"] * DEEP) + ";"))
    assert isinstance(program.rules[0].body, Seq)
    assert len(program.rules[0].body.parts) == DEEP


def test_a_long_row_of_conditions_is_read() -> None:
    conditions = " or ".join(f"x = {n}" for n in range(DEEP))
    program = parse_program(Source(f"{EVENTS}p <- a(x) where {conditions};"))
    assert isinstance(program.rules[0].body, Where)


@pytest.mark.parametrize(
    "row", [" before ".join(["a"] * DEEP), "a where 1 < " + " + ".join(["1"] * DEEP)]
)
def test_a_long_row_that_leans_to_the_left_is_too_deep(row: str) -> None:
    with pytest.raises(ParseError, match="nested more than"):
        parse_program(Source(f"{EVENTS}p <- {row};"))


LARGE = "x" * 3_000_000
"""So much text that a few bytes for each character would be many megabytes."""
QUOTES = "''" * len(LARGE)


@pytest.mark.parametrize(
    "text",
    [
        f"event a(s string); r(s) <- a(s) where s = '{LARGE}';",
        f"event a(s string); r(s) <- a(s) where s = '{QUOTES}';",
        f'event a(s string); r(s) <- a(s) where s = "{LARGE}";',
        f"event a(`{LARGE}` string); r <- a(_);",
        f"event a(s string); r <- a(s)+ {' ' * len(LARGE)} ;",
        f"event a(s string); r <- a(s)+ --{LARGE}\n;",
    ],
)
def test_long_literals_names_and_blanks_take_little_memory(text: str) -> None:
    parse_program(Source("event b; r <- b;"))  # so that the parser is there
    tracemalloc.start()
    try:
        parse_program(Source(text))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(LARGE)


@pytest.mark.parametrize(
    "text",
    [
        f"r(s) <- a(s) '{LARGE}';",
        f"r(s as '{LARGE}') <- a(s);",
        f"r(s) <- a(s) {LARGE};",
        f"r(s) <- {LARGE}(s);",
        f"r(s) <- a(s) where {LARGE} > 3;",
        f"r(s) <- a(s) where {LARGE}(s);",
        f"r(s) <- a(s) where matches(s, '{LARGE}(');",
        f"r(s) <- a(s) where date_trunc('{LARGE}', timestamp '2026-01-01') = s;",
        f"CREATE EVENT r AS SELECT {LARGE} FROM a;",
    ],
)
def test_a_message_about_a_long_text_is_short(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check_program(parse_program(Source(f"event a(s string);\n{text}")))
    assert len(str(caught.value)) < 5_000


def test_explain_shows_long_literals_shortened() -> None:
    program = thence.compile(f"event a(s string); r(s) <- a(s) where s = '{LARGE}';")
    assert len(str(program.explain())) < 5_000
