"""What is wrong with a program made of Python objects is shown where it stands in Python."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import thence
from thence import Event, absent, derived, event, fn, moments, var
from thence.lang.parser import parse_program
from thence.logic.ops import Atom, LogicProgram, Rule
from thence.model.source import Source

Tick = event("tick", id=str, price=float)
Alarm = event("alarm", room=str)
Listed = thence.table("listed", id=str)
a, b, c = Tick("a"), Tick("b"), Alarm("c")


def refused(*definitions: Any) -> tuple[thence.Diagnostic, ...]:
    with pytest.raises(thence.CheckError) as caught:
        thence.build(*definitions)
    return caught.value.diagnostics


def pointed_at(found: thence.Diagnostic) -> str:
    """The text over the carets."""
    assert found.excerpt is not None
    _, text, carets = found.excerpt.splitlines()
    return text[carets.index("^") : len(carets)]


WRONG: list[tuple[Callable[[], Any], str, str]] = [
    # what is made, what the carets point at, the message
    (lambda: a.where(a.price == "x").select("r"), 'a.price == "x"', "cannot take float and string"),
    (lambda: a.where(var("z") > 1).select("r"), 'var("z")', "'z' is not bound"),
    (lambda: a.where(a.price).select("r"), "a.price", "must be true or false"),
    (lambda: a.where(fn.count() > 3).select("r"), "fn.count()", "only over what a rule repeats"),
    (lambda: (a & Tick(price=fn.sum(a.price))).select("r"), "fn.sum(a.price)", "only over what"),
    (lambda: a.select("r", n=fn.round(a.price, 1, 2)), "fn.round(a.price, 1, 2)", "3 arguments"),
    (lambda: a.select("r", x=None), 'a.select("r", x=None)', "so it has no type"),
    (lambda: a.select("r", start=a.end), "a.end", "a column cannot be called 'start'"),
    (lambda: a.select("follows"), 'a.select("follows")', "that is an operator"),
    (lambda: a.select("tick"), 'a.select("tick")', "no rule can derive it"),
    (lambda: event("e", time=int)().select("r"), 'event("e", time=int)', "called 'time'"),
    (lambda: event("e", within=timedelta(-1))().select("r"), 'event("e", within=timedelta(-1))',
     "less than no time"),
    (lambda: (Tick("x") & Alarm("x")).select("r"), 'Alarm("x")', "already stands for something"),
    (lambda: a.where(var("a") == a.price).select("r"), 'var("a")', "'a' is a label, not a value"),
    (lambda: (a & Tick("w").extend("1 h").label("o")
              & Tick("o").extend("1 h").label("w")).select("r"),
     'Tick("w").extend("1 h").label("o")', "relative to itself"),
    (lambda: thence.follows(a, b, "-1 s").select("r"), 'thence.follows(a, b, "-1 s")', "negative"),
    (lambda: moments.periodic(a, "0 s", b).select("r"), 'moments.periodic(a, "0 s", b)', "period"),
    (lambda: moments.without(a, c, Tick("k")).select("r"), 'Tick("k")', "cannot carry a label"),
    (lambda: thence.ticks(a, "0 s", "1 s").select("r"), 'thence.ticks(a, "0 s", "1 s")', "more"),
    (lambda: (a >> absent(c).inside(a)).select("r"), "absent(c).inside(a)", "there is no event"),
    (lambda: (a >> Listed("k")).select("r"), 'Listed("k")', "`seq` cannot be about it"),
    (lambda: ((a >> b) & (b >> a)).select("r"), "(b >> a)", "can never hold"),
    (lambda: (a >> b).using("recently").select("r"), '(a >> b).using("recently")', "no policy"),
    (lambda: (a >> b).select("r").using("first", "last"), '(a >> b).select("r")', "contradicts"),
    (lambda: (a & absent(derived("r")()).inside(a.extend("1 h"))).select("r"),
     'derived("r")()', "own absence"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "where", "message"), WRONG)
def test_an_error_points_at_the_python(made: Callable[[], Any], where: str, message: str) -> None:
    definition = made()
    found = refused(definition)[0]
    assert message in found.message
    assert pointed_at(found) in (where, where.strip("()"))
    lines, first = inspect.getsourcelines(made)
    assert first <= found.line < first + len(lines)
    assert found.file == __file__
    assert f'  File "{__file__}", line {found.line}\n' in str(found)


def test_a_part_is_shown_where_it_was_made_and_not_where_it_is_used() -> None:
    condition = a.price == "x"
    made = condition._place
    definition = a.where(condition).select("r")
    assert f"{made}\n" in str(refused(definition)[0])
    assert str(made) != str(definition.place)


def test_a_chain_over_several_lines_is_shown_at_the_call_that_is_wrong() -> None:
    definition = (
        (a >> b)
        .within("10 s")
        .where(a.price == "x")
        .select("r", a.id)
    )  # fmt: skip
    assert pointed_at(refused(definition)[0]) == 'a.price == "x"'


def test_a_class_is_shown_where_it_is_declared() -> None:
    class Wrong(Event, name="count"):
        id: str

    found = refused(Wrong().select("r"))[0]
    assert "class Wrong(Event" in str(found)
    assert "an event cannot be called 'count'" in found.message


def test_errors_in_several_files(tmp_path: Path) -> None:
    defined: list[Any] = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.py"
        path.write_text(f"\n\nmade = tick.where(tick.price == '{name}').select('{name}')\n")
        scope = {"tick": Tick("t")}
        exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102 (our own text)
        defined.append(scope["made"])
    found = refused(*defined)
    assert [(Path(each.file).name, each.line, pointed_at(each)) for each in found] == [
        ("one.py", 3, "tick.price == 'one'"),
        ("two.py", 3, "tick.price == 'two'"),
    ]


def test_letters_of_several_bytes_are_one_column() -> None:
    definition = a.where(a.id != "äöü€", a.price == "x").select("r")
    assert pointed_at(refused(definition)[0]) == 'a.price == "x"'


def test_python_that_cannot_be_read_is_shown_by_its_line() -> None:
    scope = {"a": a}
    exec(compile("\n\nmade = a.where(a.price == 'x').select('r')", "<gone>", "exec"), scope)  # noqa: S102
    (found,) = refused(scope["made"])
    assert (found.file, found.line, found.excerpt) == ("<gone>", 3, '  File "<gone>", line 3')


def test_python_without_columns_is_shown_as_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n  made = a.where(a.price == 'x').select('r')\n"
    code = compile(text.replace("  made", "made"), "<noted>", "exec")
    monkeypatch.setitem(linecache.cache, "<noted>", (len(text), None, text.splitlines(True), ""))
    scope = {"a": a}
    exec(_without_columns(code), scope)  # noqa: S102
    (found,) = refused(scope["made"])
    assert pointed_at(found) == "made = a.where(a.price == 'x').select('r')"


def _without_columns(code: Any) -> Any:
    """What `python -X no_debug_ranges` compiles: each instruction with its line, and no more."""
    further, same, no_columns = b"\2", b"\0", bytes([0x80 | 13 << 3])
    assert code.co_firstlineno == 1  # and everything but the start is on the next line
    rest = len(code.co_code) // 2 - 1
    return code.replace(co_linetable=no_columns + further + (no_columns + same) * rest)


def test_warnings_point_at_python_too() -> None:
    program = thence.build((a & b).within("1 s").select("r", a.id, b.id))
    (found,) = program.check()
    assert pointed_at(found) == "b.id"
    assert found.message == (
        "this column of 'r' is called 'c2', not 'id': another column has that name"
    )


def test_limits_show_the_definition() -> None:
    program = thence.build((a & b).select("pairs", a.id))
    rows = [{"id": "x", "price": 1.0, "time": n} for n in range(100)]
    with pytest.raises(thence.LimitError) as caught:
        program.run({"tick": rows}, max_matches=10)
    assert '(a & b).select("pairs", a.id)' in str(caught.value)
    assert f'File "{__file__}"' in str(caught.value)


def test_a_trace_tells_the_line_of_the_definition() -> None:
    pairs = (a >> b).within("1 s").select("pairs", a.id)
    line = int(re.findall(r"line (\d+)", str(pairs.place))[0])
    rows = [{"id": "x", "price": 1.0, "time": n} for n in range(2)]
    found = thence.build(pairs).run({"tick": rows}, trace=True)
    assert found.trace("pairs", 0).derivations[0].line == line


def test_no_text_is_read_to_build_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("a text was read")

    monkeypatch.setattr("thence.lang.parser.parse_syntax", parse)
    monkeypatch.setattr("thence.lang.text.format_program", parse)
    assert thence.build((a >> b).select("r", a.id)).derived[0].names == ("id",)


def test_logic_without_a_source_makes_a_program() -> None:
    logic = parse_program(Source("event a(x int); r(x) <- a(x);"))
    program = thence.Program.from_logic(LogicProgram(logic.events, logic.rules))
    assert program.source.text == program.text()
    with pytest.raises(thence.CheckError, match="there is no event 'b'"):
        thence.Program.from_logic(LogicProgram((), (Rule("r", (), Atom("b")),)))
