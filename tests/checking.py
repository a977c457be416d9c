"""What the checks say of a program text, in a form that is easy to compare."""

from __future__ import annotations

from thence.lang.parser import parse_program
from thence.logic.check import Checked, check_program
from thence.model.errors import CheckError, Diagnostic
from thence.model.source import Source

EVENTS = """
event a(x int, n string);
event b(y float, t timestamp);
event c(x int, z int);
event g();
"""
"""The events of most tests; the rule under test begins on line 6."""
FIRST_LINE = EVENTS.count("\n") + 1


def checked(rules: str) -> Checked:
    """A program that passes, from rules over the events above."""
    return check_program(parse_program(Source(EVENTS + rules)))


def found(rules: str) -> list[Diagnostic]:
    """The errors of a program, from rules over the events above."""
    program = parse_program(Source(EVENTS + rules))
    try:
        check_program(program)
    except CheckError as problem:
        return list(problem.diagnostics)
    return []


def only(rules: str) -> Diagnostic:
    """The one error of a program."""
    errors = found(rules)
    assert len(errors) == 1, [str(error) for error in errors]
    return errors[0]


def place(rules: str, mark: str, which: int = 0) -> tuple[int, int]:
    """Line and column of a piece of text in the rules, as the whole program counts them."""
    at = -1
    for _ in range(which + 1):
        at = rules.index(mark, at + 1)
    before = rules[:at]
    return FIRST_LINE + before.count("\n"), at - (before.rfind("\n") + 1) + 1
