"""Reactions as text: written, printed back, said in Python, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

import thence
from thence.lang.parser import parse_program
from thence.lang.text import format_program
from thence.model.source import Source

RULES = """
event order(id string, qty int);
overdue(id, qty) <- order(id, qty);
gate() <- order;
"""

WRITTEN = [
    "on overdue(id, _): post 'http://127.0.0.1:8080/alerts' with (order = id);",
    "on overdue(id, qty): post 'https://a.example/' with (id, text = 'late: ' || id, n = qty + 1);",
    "on overdue(id, _) where id != 'test': call notify(id);",
    "on o: overdue(id, 3) where o.start > o.end - 5 s: call notify(id, o.end, o.qty);",
    "on overdue(x, y) where z = y * 2 and z > y: call `two words`(a = z);",
    "on gate(): call f;",
    "on gate(): call f();",
    "on gate(): post 'https://a.example/?x=''y''' using bearer env 'T' header 'X-Key' env 'K';",
    "on gate(): post 'https://a.example/' with (type = 'gate', start = 1) using basic env 'LOGIN';",
]


def compiled(reaction: str) -> thence.Program:
    return thence.compile(RULES + reaction)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_reaction_is_printed_as_it_was_written(text: str) -> None:
    shown = compiled(text).text()
    assert " ".join(shown.splitlines()[-1].split()) == text or text in " ".join(shown.split())


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_printed_reads_back_as_the_same_program(text: str) -> None:
    program = parse_program(Source(RULES + text))
    assert parse_program(Source(format_program(program))) == program


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("on gate: call f;", "ON gate()\n: CALL f;"),
        ("on g: gate: call f;", "on g: gate() : call -- a remark\n f;"),
        ("on overdue(id, _): call f(id);", "on overdue(id = id): call f(id = id);"),
    ],
)
def test_what_may_be_left_out(one: str, other: str) -> None:
    assert parse_program(Source(RULES + one)) == parse_program(Source(RULES + other))


def test_on_post_and_call_stay_names_elsewhere() -> None:
    program = thence.compile(
        "event post(call int); on(call) <- post: post(call); call(on) <- on(on);"
        "on call(post): post 'https://a.example/' with (post);"
    )
    assert [schema.name for schema in program.derived] == ["on", "call"]


def test_reactions_change_nothing_of_what_is_detected() -> None:
    plain, reacting = thence.compile(RULES), compiled(WRITTEN[2])
    assert reacting.plan.to_json() == plain.plan.to_json()
    assert reacting.derived == plain.derived


class order(thence.Event):
    id: str
    qty: int


o = order("o")
overdue = o.select("overdue", o.id, o.qty)
late = overdue("l")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            thence.on(late, thence.post("https://a.example/", order=late.id)),
            "on l: overdue(): post 'https://a.example/' with (order = l.id);",
        ),
        (
            thence.on(late.where(late.qty > 3), thence.call("f", late.id, late.start)),
            "on l: overdue() where l.qty > 3: call f(l.id, l.start);",
        ),
        (thence.on(overdue(), thence.call("f")), "on overdue(): call f;"),
        (
            thence.on(
                overdue(),
                thence.post("https://a.example/").using(bearer="T", headers={"X-Key": "K"}),
            ),
            "on overdue(): post 'https://a.example/' using bearer env 'T' header 'X-Key' env 'K';",
        ),
    ],
)
def test_python_says_the_same_as_the_text(made: thence.Reaction, text: str) -> None:
    built, written = thence.build(overdue, made), compiled(text)
    assert built._checked.program.reactions == written._checked.program.reactions
    assert text in built.text()


def test_a_reaction_brings_along_the_definition_that_it_is_about() -> None:
    program = thence.build(thence.on(late, thence.call("f", late.id)))
    assert [schema.name for schema in program.derived] == ["overdue"]


@pytest.mark.parametrize(
    ("text", "under", "message", "hint"),
    [
        ("on nope(x): call f;", "nope", "unknown event 'nope'", "declare it"),
        ("on order(id, _): call f;", "order(id, _)", "'order' is an input", "seen_order"),
        ("on overdue(id): call f;", "overdue(id)", "only 1 is given", "write `_`"),
        ("on overdue(id, _): call f(idd);", "idd", "'idd' is not bound", "did you mean 'id'"),
        ("on overdue(id, 'x'): call f;", "'x'", "overdue.qty is int", ""),
        ("on overdue(id, _) where id: call f;", "id", "a condition must be true", "compare"),
        ("on overdue(id, _): call f(a = id + 1);", "id + 1", "string", ""),
        ("on overdue(id, _): call f(id, id = 2);", "id = 2", "another value has it", ""),
        ("on gate: call f(idempotency_key = 1);", "idempotency_key = 1", "id of a delivery", ""),
        ("on gate: call f(1 + 2);", "1 + 2", "needs a name", "name = value"),
        ("on gate: call f(x = null);", "x = null", "always be null", "leave it out"),
        ("on gate: call f(x = count());", "x = count()", "nothing to aggregate", "in the rule"),
        ("on gate: call f; on gate: call f;", "on gate: call f;", "written twice", "leave one"),
        ("on gate: drop x;", ": drop", "`drop` is nothing", "write post"),
        ("on gate(): remove x(y);", ": remove", "`remove` is nothing", "write post"),
        ("on gate: post 'ftp://a.example/';", "'ftp://a.example/'", "only http and https", ""),
        ("on gate: post 'https://';", "'https://'", "names no host", ""),
        ("on gate: post 'https://a b/';", "'https://a b/'", "holds a space", "%20"),
        ("on gate: post 'https://a.example/#x';", "'https://a.example/#x'", "never sent", ""),
        (
            "on gate: post 'https://a.example/' using bearer '12345';",
            "'12345'",
            "from the environment alone",
            "bearer env 'TOKEN'",
        ),
        (
            "on gate: post 'https://a.example/' using bearer text 'T';",
            "text",
            "from the environment alone",
            "env 'TOKEN'",
        ),
        (
            "on gate: post 'https://a.example/' using bearer env 'T' basic env 'L';",
            "basic env 'L'",
            "Authorization is given twice",
            "",
        ),
        (
            "on gate: post 'http://a.example/' using bearer env 'T';",
            "bearer env 'T'",
            "not sent over http",
            "https://",
        ),
        (
            "on gate: post 'https://a.example/' using header 'Host' env 'T';",
            "header 'Host' env 'T'",
            "cannot be given",
            "",
        ),
    ],
)
def test_an_error_points_at_the_text_and_says_what_to_write(
    text: str, under: str, message: str, hint: str
) -> None:
    (found, *_) = thence.check(RULES + text)
    assert found.severity == "error"
    assert message in found.message
    assert hint in (found.hint or "")
    line, carets = str(found.excerpt).splitlines()
    begin = carets.index("^")
    assert line[begin : begin + carets.count("^")] == under


def test_no_message_shows_a_password() -> None:
    (found,) = thence.check(RULES + "on gate: post 'https://me:s3cret@a.example/';")
    assert "no user and no password" in found.message
    assert "using basic env 'LOGIN'" in str(found.hint)
    assert "s3cret" not in str(found)
    assert "'https://*********@a.example/'" in str(found.excerpt)


def test_an_address_that_seems_to_hold_a_secret_is_worth_a_warning() -> None:
    (found,) = thence.check(RULES + "on gate: post 'https://a.example/?api_key=1';")
    assert (found.severity, "looks like a secret" in found.message) == ("warning", True)


def test_a_variable_that_only_names_an_attribute_is_no_slip_where_all_of_them_are_sent() -> None:
    assert compiled("on overdue(id, qty): call f;").check() == []
    assert [each.severity for each in compiled("on overdue(id, q): call f(id);").check()] == [
        "warning"
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: thence.on(late >> overdue(), thence.call("f")), "on takes an event"),
        (lambda: thence.on(late, "f"), "thence.post"),
        (lambda: thence.post(3), "an address as text"),
        (lambda: thence.call(""), "the name of a function"),
        (lambda: thence.call("f", late.qty + 1), "needs a name"),
        (lambda: thence.call("f", n=thence.fn.count()), "nothing to aggregate"),
        (lambda: thence.call("f").using(bearer="T"), "only a post"),
        (lambda: thence.post("https://a.example/").using(bearer=3), "as text"),
        (lambda: thence.build("f"), "takes definitions"),
    ],
)
def test_python_refuses_what_no_reaction_means(make: Any, message: str) -> None:
    with pytest.raises(thence.BuildError, match=message):
        make()


def test_an_error_points_at_the_line_of_python() -> None:
    with pytest.raises(thence.CheckError) as caught:
        thence.build(thence.on(late, thence.post("ftp://a.example/", late.id)))
    assert caught.value.diagnostics[0].file == __file__
