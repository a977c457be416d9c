"""Dependencies between events: the order of evaluation, and cycles that have no meaning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType

import pytest
from checking import checked, found, only, place

from thence.lang.parser import parse_program
from thence.logic.check import check_program, invents_values
from thence.logic.expr import Var
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Not, Rule
from thence.model.errors import CheckError, Diagnostic
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source
from thence.model.types import INT
from thence.plan import make


def test_what_is_used_comes_before_what_uses_it() -> None:
    assert checked("r <- q;\nq <- p;\np <- g;").strata == (("p",), ("q",), ("r",))


def test_events_that_depend_on_each_other_are_one_component() -> None:
    program = checked("t <- q;\nq <- p;\np <- q;\np <- g;\ns <- s;\ns <- g;")
    assert program.strata == (("q", "p"), ("t",), ("s",))
    assert program.recursive == {"p", "q", "s"}


@pytest.mark.parametrize(
    ("rules", "mark", "which", "message"),
    [
        (
            "p <- e: g, w: extend(e, 1h), while w: not p;", "p", 1,
            "'p' depends on its own absence: p -> not p",
        ),
        (
            "p <- e: g, w: extend_backward(e, 1h), v: extend(e, 1h), while w: not p;", "p", 1,
            "'p' depends on its own absence: p -> not p",
        ),
        (
            "p <- e: g, w: extend(e, 1h), while w: not q;\nq <- r;\nr <- p;", "q", 0,
            "'p' depends on its own absence: p -> not q -> r -> p",
        ),
        (
            "p <- notfollows(g, q, 1 min);\nq <- p;", "q", 0,
            "'p' depends on its own absence: p -> not q -> p",
        ),
        (
            "p <- g;\np <- p and g using chronicle;", "p and", 0,
            "the policy of 'p' chooses from what depends on it: p -> choose p",
        ),
        (
            "p(count()) <- e: g, w: extend(e, 1h), while w: collect q;\nq <- p(_);", "q", 0,
            "'p' is collected from what depends on it: p -> collect q -> p",
        ),
        (
            "q <- p;\np <- not(q seq g).[g, g];", "q seq", 0,
            "'p' depends on its own absence: p -> not q -> p",
        ),
    ],
)  # fmt: skip
def test_recursion_through_absence_or_collecting(
    rules: str, mark: str, which: int, message: str
) -> None:
    (error,) = refused(rules)
    assert error.message == message
    assert (error.line, error.column) == place(rules, mark, which)
    assert "let it only look back" in (error.hint or "")


def refused(rules: str) -> tuple[Diagnostic, ...]:
    """What is said of a recursion once it is known how its events lie in time."""
    with pytest.raises(CheckError) as problem:
        make(checked(rules))
    return problem.value.diagnostics


def test_recursion_through_repetition() -> None:
    error = only("p <- g;\np <- p+ seq g;")
    assert error.message == "'p' repeats what depends on it: p -> repeat p"
    assert "recursion may only go through events that occur" in (error.hint or "")


@pytest.mark.parametrize(
    "rules",
    [
        "p <- not(p).[g, g];",
        "p <- not(q).[g, g];\nq <- p;",
        "p <- notprecedes(g, q, 1 min);\nq <- p;",
        "p <- e: g, w: extend_backward(e, 1h), while w: not p;",
        "p(x) <- c(x, _);\n"
        "p(sum(x) as x) <- e: g, w: extend_backward(e, 1h), while w: collect p(x);",
        "p <- g;\np <- p seq g using chronicle;",
    ],
)
def test_recursion_that_looks_back(rules: str) -> None:
    assert make(checked(rules)).stages[-1].in_order


@pytest.mark.parametrize(
    "rules",
    [
        "p <- g;\nq <- not(p).[g, g];\nr <- not(q).[g, g];",
        "p(x, z) <- c(x, z);\np(x, z) <- p(x, y) seq c(y, z);",
        "p <- notfollows(p2, g, 1 min);\np2 <- g;",
        "p <- follows(p, g, 1 min);\np <- g;",
        "p <- p or g;",
    ],
)
def test_recursion_and_absence_that_mean_something(rules: str) -> None:
    assert found(rules) == []


def test_long_cycles_are_shortened() -> None:
    names = [f"p{i}" for i in range(100)]
    rules = "p0 <- notfollows(g, p99, 1 min);\n" + "".join(
        f"{name} <- {before};\n" for before, name in pairwise(names)
    )
    assert refused(rules)[0].message == (
        "'p0' depends on its own absence: p0 -> not p99 -> p98 -> p97 -> p96 -> p95 -> … -> "
        "p5 -> p4 -> p3 -> p2 -> p1 -> p0"
    )


def many_rules(count: int) -> LogicProgram:
    def rule(name: str, body: object) -> Rule:
        return Rule(name, (HeadTerm("x", Var("x")),), body)  # type: ignore[arg-type]

    def atom(name: str) -> Atom:
        return Atom(name, (("x", Var("x")),))

    rules = [rule(f"r{i}", atom(f"r{i - 1}")) for i in range(count - 1, 0, -1)]
    rules += [rule("r0", atom("e")), rule("r0", atom(f"r{count - 1}"))]
    return LogicProgram((EventSchema("e", (Attribute("x", INT),)),), tuple(rules))


def steps(program: LogicProgram) -> int:
    """How many instructions of Python it takes to check a program: the same on every machine."""
    count = 0

    def each(frame: FrameType, event: str, _: object) -> Callable[..., object]:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        check_program(program)
    finally:
        sys.settrace(before)
    return count


def test_the_work_of_checking_grows_with_the_rules_and_not_with_their_square() -> None:
    check_program(many_rules(10))  # what is kept for later is computed now
    assert steps(many_rules(400)) < 2.5 * steps(many_rules(200))


def test_thousands_of_rules_are_checked() -> None:
    result = check_program(many_rules(4_000))
    assert len(result.strata) == 1
    assert str(result.schemas["r3000"]) == "r3000(x int)"


def test_many_cycles_are_not_all_shown() -> None:
    program = many_rules(500)
    bad = tuple(
        Rule("r0", rule.terms, Not(Atom(f"r{i}"), Atom("e", (("x", Var("x")),)), Atom("e")))
        for i, rule in enumerate(program.rules[:400])
    )
    doubts = check_program(LogicProgram(program.events, program.rules + bad)).doubts
    assert 1 <= sum(map(len, doubts.values())) <= 10


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("p(x, 1, l.n, l.start) <- l: a(x, _);", False),
        ("p(q) <- a(x, _), q = x;", False),
        ("p <- e: g, w: extend(e, 1h);", False),
        ("p(x + 1) <- a(x, _);", True),
        ("p(q) <- a(x, _), q = x + 1;", True),
        ("p(r) <- a(x, _), r = q, q = x + 1;", True),
        ("p(x) <- a(x, _), q = x + 1, q > 2;", False),
        ("p <- e: g, w: extend_backward(e, 1h);", True),
        ("p <- e: g, w: shift(e, -1h);", True),
    ],
)
def test_rules_that_make_up_values(rule: str, expected: bool) -> None:
    events = "event a(x int, n string); event g();"
    assert invents_values(parse_program(Source(events + rule)).rules[0]) is expected
