"""A program that is written as text again reads back as the same program."""

from __future__ import annotations

from dataclasses import replace

import pytest
from case_files import load_cases
from hypothesis import given
from strategies import Example, examples
from test_lang_rules import EVENTS, EXAMPLES

import thence
from thence.lang.line_breaks import laid_out
from thence.lang.parser import parse_program
from thence.lang.readable import readable
from thence.lang.text import (
    format_change,
    format_event,
    format_fact,
    format_pattern,
    format_program,
    format_rule,
)
from thence.lang.values_text import format_expr
from thence.logic.expr import Attr, Call, Const, Expr, Var
from thence.logic.ops import (
    And,
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Pattern,
    Rule,
    Timer,
    Where,
    Within,
)
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source
from thence.model.types import INT

BODIES = [
    "a(x, _) seq b(x, _) seq c(x, 3) within '1 min' where x is not null and x not in (1, 2)",
    "a(x, y), x is distinct from y + 1, x is not distinct from y and not (x = y)",
    "a(x, y), x <-5 or x > 3 and not x = 4, y between 1 and 2 or y is null",
    "x > 3 and gate and a(x, _)",
    "a(x, y) where (x > 3, y < 2) where not (x = 1 or y = 2)",
    "at '2026-01-01T06:00:00.5Z' seq gate during (at '2026-01-01' seq at '2026-01-02')",
    "follows(a(x, _), l: b(x, _) where l.y > 3, '10 s') or anyone(a, b, gate)",
    "o: a(x, _), e: extend(o, -6h), while e: not (s: b(x, y) where s.end > o.end + 3 s), x > 1",
    "o: gate, w: from_end_backward(o, 1 week), while w: collect (a or b), o.start = w.end",
    "l: (a(x, y) where y > 3 within 5 s), l.y = 3",
    "l: (a seq b) and m: (a or b) par (c equals a)",
    "not(c(x, y) where y > z).[a(x, z), n: not(b).[a, c seq b]]",
    "o: a, s: b, {o, s} within 2 days, o overlapped_by s",
    "a(x, y), x - (y - 1) - -3 > -(x) * (y + 2) % 4 / -y",
    "a(x, y), (x > 1) = (y > 1), x = -(-y), lower('it''s ' || x) like '%'",
    "a(x, y) where x",
    "a, b where starts_with('a', 'b')",
    "(a, b), c",
    "(a and b) and c",
    "(a seq b) seq (c seq a)",
    "a(y=x) and a(x=3, y=(x = 1))",
    "a(x, y), y = if(x > 1, timestamp '2026-01-01', null) + 2.5 ms",
    "`a`(`seq`, `two words`) and `a label`: b where `a label`.y = `seq`",
]
HEADS = [
    "p(x, x, l.start, l.y as `end of it`, x + 1, 'k', x as c7) <- l: a(x, _);",
    "p(count(), count(distinct x) as n, list(s.y)) <- w: gate, while w: collect s: a(x, _);",
    "p(x as k) <- a(x, _); p(z) <- b(z, _); q(k, _c) <- p(k) seq p(k=_c);",
]
SAMPLES = [EXAMPLES, *(f"{EVENTS}p <- {text};" for text in BODIES), *(EVENTS + h for h in HEADS)]


def assert_reads_back(text: str) -> None:
    program = parse_program(Source(text))
    written = format_program(program)
    again = parse_program(Source(written))
    assert again == readable(program)
    assert format_program(again) == written


@pytest.mark.parametrize("text", SAMPLES)
def test_a_sample_reads_back(text: str) -> None:
    assert_reads_back(text)


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_a_case_reads_back(case: object) -> None:
    assert_reads_back(case.program)  # type: ignore[attr-defined]


@given(examples())
def test_a_generated_program_reads_back(example: Example) -> None:
    assert_reads_back(example.program)


def test_long_rows_of_conditions_read_back() -> None:
    conditions = " and ".join(f"(x = {n} or y = {n})" for n in range(100))
    assert_reads_back(f"{EVENTS}p <- a(x, y) where {conditions};")


def test_text_is_tidy() -> None:
    text = EVENTS + "p(x) <- ((l:a(x,_))seq(b(_,_)))where(x>(1+(2*3))),gate within 90000ms;"
    assert format_program(parse_program(Source(text))).splitlines()[-1] == (
        "p(x) <- l: a(x, _) seq b() where x > 1 + 2 * 3, gate() within 90 s;"
    )


def test_arguments_are_named_where_the_attributes_are_not_known() -> None:
    assert format_pattern(Atom("a", (("x", Var("x")),))) == "a(x=x)"


def test_few_of_many_arguments_are_named() -> None:
    wide = {"e": ("k", "l", "m", "n", "o")}
    assert format_pattern(Atom("e", (("k", Const(1, INT)),)), wide) == "e(k=1)"


def test_a_timer_that_no_name_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="no timer is written"):
        format_pattern(Timer("o", "end", 1, "end", 5))


def test_a_limit_below_zero_reads_back() -> None:
    declared = (EventSchema("a", ()),)
    program = LogicProgram(declared, (Rule("p", (), Within(Atom("a"), -5)),))
    assert parse_program(Source(format_program(program))) == program


# -- layout


def test_a_long_body_has_an_item_a_line() -> None:
    items = ", ".join(f"l{n}: a(x, y{n})" for n in range(9))
    text = format_program(parse_program(Source(f"{EVENTS}p(x) <- {items};")))
    assert text.splitlines()[-10:-7] == ["p(x) <-", "    l0: a(x, y0),", "    l1: a(x, y1),"]


def test_a_long_row_is_broken_before_its_operators() -> None:
    row = " seq ".join(f"a(x, {n})" for n in range(20))
    text = format_program(parse_program(Source(f"{EVENTS}p(x) <- {row} within 5 s;")))
    assert text.splitlines()[-3:] == [
        "        seq a(x, 18)",
        "        seq a(x, 19)",
        "        within 5 s;",
    ]


def test_several_brackets_are_opened_where_one_is_not_enough() -> None:
    condition = " or ".join(f"y = {n} + x" for n in range(8))
    body = f"not(a(x, y) where {condition}).[a(x, _) where {condition.replace('y', 'x')}, b(x, _)]"
    text = format_program(parse_program(Source(f"{EVENTS}p(x) <- {body};")))
    assert max(map(len, text.splitlines())) <= 100
    assert "    not(" in text.splitlines()
    assert "    ).[" in text.splitlines()


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_breaking_lines_changes_nothing(case: object) -> None:
    program = parse_program(Source(case.program))  # type: ignore[attr-defined]
    statements = [*map(format_event, program.declared), *map(format_fact, program.facts)]
    statements += [format_rule(rule, arrow=":-") for rule in program.deductions]
    columns = {schema.name: schema.names for schema in program.tables}
    statements += [format_change(change, columns) for change in program.changes]
    statements += map(format_rule, program.rules)
    narrow = "\n".join(laid_out(statement, width=20) for statement in statements)
    written = tuple(replace(rule, hidden=False) for rule in program.rules)
    assert parse_program(Source(narrow)) == replace(program, rules=written)


def test_strings_are_never_broken() -> None:
    long = "a, where (b) " * 10
    text = format_program(parse_program(Source(f"{EVENTS}p <- a(x, y) where '{long}' = 'a';")))
    assert f"'{long}'" in text


def test_lines_are_short() -> None:
    for case in load_cases():
        written = thence.compile(case.program).text()
        assert max(map(len, written.splitlines())) <= 100, case.name


# -- names that nobody wrote


def test_hidden_events_get_names_that_can_be_written() -> None:
    hidden = Rule("#1", (HeadTerm("x", Var("x")),), Atom("a", (("x", Var("x")),)), hidden=True)
    user = Rule("p", (HeadTerm("x", Var("x")),), Atom("#1", (("x", Var("x")),)))
    program = LogicProgram((EventSchema("a", (Attribute("x", INT),)),), (hidden, user))
    text = format_program(program)
    assert text.splitlines()[2:] == ["inner_1(x) <- a(x);", "p(x) <- inner_1(x);"]
    assert_reads_back(text)


def test_a_hidden_event_takes_no_name_that_is_there() -> None:
    rules = (Rule("#late", (), Atom("a"), hidden=True), Rule("p", (), Atom("#late")))
    program = LogicProgram((EventSchema("a", ()), EventSchema("late", ())), rules)
    assert format_program(program).splitlines()[-1] == "p() <- late_2();"


def test_hidden_labels_and_variables_get_names_that_can_be_written() -> None:
    body = And(
        (
            Where(Label("l\n1", Atom("a")), Call(">", (Attr("l\n1", "x"), Const(1, INT)))),
            Atom("a", (("x", Var("x\n")),)),
        )
    )
    program = LogicProgram((EventSchema("a", (Attribute("x", INT),)),), (Rule("p", (), body),))
    assert format_program(program).splitlines()[-1] == "p() <- l_1: a() where l_1.x > 1, a(x);"


# -- nothing wrong is written


class _Unheard(Pattern):
    """An operator that the text has no form for."""


class _UnheardValue(Expr):
    """A value that the text has no form for."""


def test_an_operator_without_a_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="no text is known for _Unheard"):
        format_pattern(_Unheard())


def test_a_value_without_a_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="no text is known for _UnheardValue"):
        format_expr(_UnheardValue())
    with pytest.raises(AssertionError, match="the operator 'is_odd'"):
        format_expr(Call("is_odd", (Var("x"),)))
