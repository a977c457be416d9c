"""Text that is no program: where the caret stands, what it says, and what it suggests."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.lang.parser import parse_program
from thence.lang.words import INFIX, RESERVED
from thence.model.errors import Diagnostic, ParseError, ProgramError
from thence.model.source import Source

EVENTS = "event a(x int, y int); event b(x int, y int); event gate;\n"


def problem(text: str) -> Diagnostic:
    """The one syntax error of a text, which stands below two declared events."""
    with pytest.raises(ParseError) as caught:
        parse_program(Source(EVENTS + text))
    (found,) = caught.value.diagnostics
    return found


def pointed_at(found: Diagnostic) -> str:
    """The text over the carets."""
    assert found.excerpt is not None
    text, carets = found.excerpt.splitlines()
    start = carets.index("^")
    return text[start : len(carets)]


CASES = [
    # text, what the carets point at, the message, the hint
    ("p <- a", "a", "a `;` is missing after this", "every statement ends with `;`"),
    ("p <- a(x, _)\nq <- b;", ")", "a `;` is missing after this", "ends with `;`"),
    ("p <- a(x, _)\nselect <- b;", ")", "a `;` is missing after this", "ends with `;`"),
    ("event e(x int)\nevent f;", ")", "a `;` is missing after this", "ends with `;`"),
    ("p <- a.", ".", "unexpected", "expected a name"),
    ("p <- a(x, _).\n", ".", "unexpected '.'", "a statement ends with `;`"),
    ("p <- a within 10;", "10", "10 has no unit of time", "write for example 10 s"),
    ("p <- a within 10 parsecs;", "parsecs", "is not a unit of time", "units are us, ms, s"),
    ("p <- a within 'soon';", "'soon'", "'soon' is not a duration", None),
    ("p <- a within '10';", "'10'", "'10' has no unit of time", None),
    ("p <- a within 0.1 us;", "0.1 us", "not a whole number of microseconds", None),
    ("p <- at 'soon' seq a;", "'soon'", "'soon' is not a timestamp", None),
    ("p <- at noon '2026-01-01';", "noon", "`at` needs a time", "at '2026-01-01T06:00:00Z'"),
    ("p = a;", "=", "after the head of a rule", "write head <- body;"),
    ("p(x) = a(x, _);", "=", "after the head of a rule", "write head <- body;"),
    ("p -> a;", "-", "after the head of a rule", "write head <- body;"),
    ("p <- a sequ b;", "sequ", "unexpected 'sequ'", "did you mean `seq`?"),
    ("p <- a then b;", "then", "unexpected 'then'", "did you mean `seq`?"),
    ("p <- a -> b;", "->", "unexpected '->'", "did you mean `seq`?"),
    ("p <- a(x, _) withn 10 s;", "withn", "unexpected 'withn'", "did you mean `within`?"),
    ("p <- a(x, _) xyzzy b;", "xyzzy", "unexpected", "`,`, `within`, `where` or `;`"),
    ("p : a;", ":", "after the head of a rule", "write head <- body;"),
    ("p <- a where x = 'abc;", "'abc;", "this string is not closed", "end it with '"),
    ('p <- a where x = "abc;', '"abc;', "this string is not closed", 'end it with "'),
    ("p <- `a;", "`a;", "this name is not closed", "end it with `"),
    ("p <- (a seq b;", "(", "this '(' is not closed", "write `)`"),
    ("p <- a(x, _", "(", "this '(' is not closed", "write `)`"),
    ("p(count(x) <- a;", "(", "this '(' is not closed", "write `)`"),
    ("p <- {a, b within 3 s;", "{", "this '{' is not closed", "write `}`"),
    ("p <- not(a).[b, gate);", "[", "this '[' is not closed before the ')'", "write `]`"),
    ("p <- a);", ")", "')' closes nothing", "no ( is open"),
    ("p <- seq;", "seq", "it is an operator of the language", "write `seq` in backquotes"),
    ("p <- a seq seq b;", "seq", "it is an operator of the language", "expected an event"),
    ("p <- a(Event, _);", "Event", "it is a word of the language", "write `Event` in backquotes"),
    ("event event(x int);", "event", "it is a word of the language", "in backquotes"),
    ("where <- a;", "where", "it is a word of the language", "in backquotes"),
    ("p <- ;", ";", "unexpected ';'", "expected an event, a value or `(`"),
    ("p <- a b;", "b", "unexpected 'b'", "expected an operator such as `seq` or `and`"),
    ("p <- a(x, );", ")", "unexpected ')'", "expected an event, a value or `(`"),
    ("p <- while w not a;", "not", "unexpected 'not'", "expected `:`"),
    ("p <- while w: a;", "a", "unexpected 'a'", "expected `not` or `collect`"),
    ("event e(x int y int);", "y", "unexpected 'y'", "expected `(`, `,` or `)`"),
    ("event e(int);", ")", "unexpected ')'", "expected a name"),
    ("event e(x blob);", "blob", "unknown type 'blob'", "types are int, float"),
    ("event e(x list);", "list", "a list needs the type of its elements", "list<int>"),
    ("event e(x int(3));", "int(3)", "int takes no size", "write int"),
    ("event e(x int<int>);", "int<int>", "int takes no type of elements", "list<…>"),
    ("event e(x decimal(40, 2));", "decimal(40, 2)", "is not possible", "1 to 38 digits"),
    ("event e(x decimal(4, 5));", "decimal(4, 5)", "is not possible", "1 to 38 digits"),
    ("p <- a && b;", "&", "unexpected character '&'", "write `and`"),
    ("p <- a where !x;", "!", "unexpected character '!'", "write `not`"),
    ("p <- größe;", "ö", "unexpected character 'ö'", "in backquotes"),
    ("# note\np <- a;", "#", "unexpected character '#'", "a comment starts with `--`"),
    ("p <- a; // note", "/", "unexpected comment", "a comment starts with `--`"),
    ("/* note */ p <- a;", "/", "unexpected comment", "a comment starts with `--`"),
    ("p <- a where 1 < x < 5;", "<", "in a row compare a truth value", "1 < x and x < 5"),
    ("p <- a where x between 3;", "between", "`between` needs two bounds", "x between 1 and 5"),
    ("p <- a where x seq y;", "seq", "`seq` joins events", "join conditions with `and`"),
    ("p <- a(x, y), x = 3 4;", "4", "unexpected '4'", "expected an operator"),
    ("p <- a, x = 9223372036854775808;", "9223372036854775808", "does not fit 64 bits", "float"),
    ("p <- a, x = " + "9" * 99 + ";", "9" * 99, "does not fit 64 bits", "float"),
    ("p <- a, x = 1e999;", "1e999", "too large for a float", None),
    ("p <- a, x = date '2026-01-01';", "'2026-01-01'", "cannot follow 'date'", "timestamp '"),
    ("p <- w: a, while w: not b seq a;", "b seq a", "takes one event", "(a seq b)"),
    ("p <- w: a, while w: not b where x > 1;", "b where x > 1", "takes one event", "(… where …)"),
    ("p <- (a).[b, gate];", ".", "unexpected '.'", "not(c).[a, b]"),
    ("p <- -(a).[b, gate];", "-", "cannot stand before", None),
    ("p <- (a seq b).3;", ".", "unexpected '.'", "write `(p) within 3 s`"),
    ("SELECT * FROM a;", "SELECT", "a query needs a name", "CREATE EVENT name AS SELECT …"),
    ("select a.x from a;", "select", "a query needs a name", "CREATE EVENT name AS SELECT …"),
    ("SELECT (x) FROM a;", "SELECT", "a query needs a name", "CREATE EVENT name AS SELECT …"),
    ("p <- a; SELECT * FROM p;", "SELECT", "a query needs a name", "CREATE EVENT name AS SELECT"),
    ("WITH q AS (SELECT * FROM a) SELECT * FROM q;", "WITH", "a query needs a name", "AS WITH …"),
    ('p(x as "from") <- a(x, _);', '"from"', "a name is needed here", "in backquotes: `from`"),
    ("p(x as 'is') <- a(x, _);", "'is'", "a name is needed here", "in backquotes: `is`"),
    ('event "two words"(x int);', '"two words"', "a name is needed here", "`two words`"),
    ('"a`b" <- a;', '"a`b"', "a name is needed here", "in backquotes: `a``b`"),
    ('p <- l: a where "l".x > 1;', '"l"', "a name is needed here", "in backquotes: `l`"),
    ('p <- l: a where l."x" > 1;', '"x"', "a name is needed here", "in backquotes: `x`"),
    ("p <- (0 seq 6);", "seq", "`seq` joins events", "written at '2026-01-01T06:00:00Z'"),
    ("p <- 0 before '2026-01-01';", "before", "`before` joins events", "written at '2026"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "message", "hint"), CASES)
def test_an_error_points_at_the_text_and_says_what_to_write(
    text: str, where: str, message: str, hint: str | None
) -> None:
    found = problem(text)
    assert pointed_at(found) == where
    assert message in found.message
    assert (hint is None) == (found.hint is None)
    assert hint is None or hint in str(found.hint)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("primitive x(y);", "primitive x"),
        ("complex x(y);", "complex x"),
    ],
)
def test_what_is_planned_is_said_to_be_missing(text: str, where: str) -> None:
    found = problem(text)
    assert pointed_at(found) == where
    assert "is not part of this version" in found.message


def test_create_is_a_name_like_any_other() -> None:
    parse_program(Source(EVENTS + "create <- a; complex(x) <- a(x, _); p <- create seq complex;"))


def test_an_error_is_shown_with_line_column_and_caret() -> None:
    with pytest.raises(ParseError) as caught:
        parse_program(Source("event gate;\n\np <- gate within 10;"))
    assert (caught.value.line, caught.value.column) == (3, 18)
    assert str(caught.value) == (
        "error: 10 has no unit of time (line 3, column 18)\n"
        "  3 | p <- gate within 10;\n"
        "    |                  ^^\n"
        "  hint: write for example 10 s; units are us, ms, s, min, h, d or w "
        "(or the words in full, such as 'hours')"
    )


@pytest.mark.parametrize("text", ["", "  \n", "-- nothing\n", "\ufeff"])
def test_an_empty_program_is_a_program(text: str) -> None:
    assert parse_program(Source(text)).rules == ()


def test_the_grammar_and_the_word_list_reserve_the_same_words() -> None:
    grammar = files("thence.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    name = re.search(r"^NAME: .*\(\?i:([a-z_|]+)\)", grammar, re.MULTILINE)
    infix = re.search(r"^INFIX\.3: .*\(\?i:([a-z_|]+)\)", grammar, re.MULTILINE)
    assert name is not None
    assert infix is not None
    assert set(name[1].split("|")) == RESERVED
    assert set(infix[1].split("|")) == INFIX


PIECES = (
    "a b gate p x y l w _ ( ) [ ] { } , ; : . .[ <- :- = < > != + - * / || 1 2.5 10s 'q' \"q\" ' ` "
    "event as within where while collect not at is in like between distinct true false null seq "
    "and or par before during extend(l,1h) follows( anyone( count( lower( a(x,y) l:a(x,y) -- \n é "
    "timestamp"
)


@given(st.lists(st.sampled_from(PIECES.split(" ")), max_size=25))
def test_any_text_is_a_program_or_has_errors_with_places(pieces: list[str]) -> None:
    text = EVENTS + "p <- " + " ".join(pieces) + ";"
    try:
        parse_program(Source(text))
    except ProgramError as error:
        assert error.diagnostics
        assert all(found.line >= 1 and found.excerpt for found in error.diagnostics)


@given(st.text(max_size=60))
def test_any_characters_are_a_program_or_have_errors_with_places(text: str) -> None:
    try:
        parse_program(Source(text))
    except ProgramError as error:
        assert error.diagnostics
