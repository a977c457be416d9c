"""Whatever a text can say can be said with Python objects, and means the same."""

from __future__ import annotations

import pytest
from case_files import Case, load_cases
from hypothesis import given
from python_objects import definitions, in_order
from strategies import Example, examples
from test_lang_rules import EVENTS
from test_lang_text import BODIES, HEADS

import thence
from thence.lang.parser import parse_program
from thence.lang.python.program import lower_program
from thence.lang.readable import readable
from thence.lang.text import format_program
from thence.logic.ops import Label, LogicProgram, Ref, Rule, walk
from thence.model.source import Source

SAMPLES = [*(f"{EVENTS}p <- {text};" for text in BODIES), *(EVENTS + text for text in HEADS)]


def assert_said_in_python(text: str) -> None:
    program = readable(parse_program(Source(text)))
    if any(map(_refers_ahead, program.rules)):
        # Python has no names that stand before what they name.
        return
    made = lower_program(definitions(program))
    assert made == in_order(program)
    assert parse_program(Source(format_program(made))) == made


def _refers_ahead(rule: Rule) -> bool:
    known: set[str] = set()
    for node in walk(rule.body):
        if isinstance(node, Label):
            known.add(node.name)
        elif isinstance(node, Ref) and node.label not in known:
            return True
    return False


@pytest.mark.parametrize("text", SAMPLES)
def test_a_sample_in_python(text: str) -> None:
    assert_said_in_python(text)


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_a_case_in_python(case: Case) -> None:
    assert_said_in_python(case.program)


@given(examples())
def test_a_generated_program_in_python(example: Example) -> None:
    assert_said_in_python(example.program)


def test_few_cases_refer_ahead() -> None:
    programs = [readable(parse_program(Source(case.program))) for case in load_cases()]
    assert sum(_skipped(program) for program in programs) <= len(programs) // 20


def _skipped(program: LogicProgram) -> bool:
    return any(map(_refers_ahead, program.rules))


def test_a_case_runs_in_python_as_its_text_does() -> None:
    text = """
        event order(id string, qty int);
        event shipped(id string);
        overdue(id) <- o: order(id, qty), w: extend(o, 6 h), while w: not shipped(id), qty < 10;
    """
    events = {
        "order": [{"id": "a", "qty": 1, "time": 0}, {"id": "b", "qty": 50, "time": 0}],
        "shipped": [{"id": "c", "time": 5}],
    }
    made = thence.build(*definitions(parse_program(Source(text))))
    until = "1970-01-02"
    found = made.run(events, until=until)["overdue"].to_pylist()
    assert found == thence.compile(text).run(events, until=until)["overdue"].to_pylist()
    assert [row["id"] for row in found] == ["a"]
