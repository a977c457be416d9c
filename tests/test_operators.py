"""Every operator and kind of expression goes the whole way: check, plan, text, Python, oracle.

A class without an example here fails, and so does one that some part of the way does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from sys import modules

import pytest
from hosts import HOSTS
from notation import parse_events, parse_rows
from python_objects import definitions, in_order

from thence.engine.aggregates.aggregate import AGGREGATES as COMPUTATIONS
from thence.lang.parser import parse_program
from thence.lang.python.program import lower_program
from thence.lang.text import format_program
from thence.logic.changes import changed
from thence.logic.check import check_program
from thence.logic.conjunct import Column, NodeTime
from thence.logic.expr import (
    Attr,
    Call,
    CausedBy,
    Const,
    Expr,
    Folded,
    TimeOf,
    Var,
    leaves,
    read_by,
)
from thence.logic.functions import AGGREGATES
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    At,
    Atom,
    Label,
    LogicProgram,
    Moments,
    NoFact,
    Not,
    Or,
    Par,
    Pattern,
    Ref,
    Repeat,
    SemiJoin,
    Seq,
    Since,
    Ticks,
    Timer,
    Until,
    Using,
    Where,
    While,
    Within,
    children,
    exprs_of,
    walk,
)
from thence.logic.roles import PART, roles
from thence.model.source import Source
from thence.plan.make import make
from thence.plan.tree import Plan

DECLARED = "event a(k int, n int); event b(k int, n int); event c(k int, n int); table t(k int);\n"
EVENTS = parse_events(
    """
    a(1, 1) @ 1
    a(2, 2) @ [2, 5]
    b(1, 3) @ 3
    b(2, 1) @ [3, 4]
    c(1, 5) @ 6
    b(1, 4) @ 8
    c(2, 2) @ [8, 9]
    a(1, 7) @ 10
    c(1, 1) @ 11
    """
)
ROWS = parse_rows("t(1)")

WRITTEN: dict[type, str] = {
    Atom: "p(k) <- a(k, 1);",
    Label: "p(x.n) <- x: a(1, _);",
    Ref: "p <- x: a(k, _), y: b(k, _), x before y;",
    Seq: "p(k) <- a(k, _) seq b(k, _) seq c(k, _);",
    Until: "p(k) <- a(k, _) until (b(k, _) or c(k, _));",
    And: "p(k) <- a(k, _) and b(k, _);",
    Or: "p(k) <- a(k, _) or b(k, _);",
    Par: "p(k) <- a(k, _) par b(k, _);",
    Allen: "p(k) <- b(k, _) during a(k, _);",
    Not: "p(k) <- not(b(k, _)).[a(k, _), c(k, _)];",
    Within: "p(k) <- a(k, _) seq b(k, _) within 3 s;",
    Where: "p(k) <- a(k, n) where n > 1;",
    At: "p(k) <- a(k, _) seq at '1970-01-01T00:00:09Z';",
    Timer: "p(k, w.end) <- x: a(k, _), w: extend(x, 1 s);",
    While: "p(k) <- x: a(k, _), w: extend(x, 2 s), while w: not c(k, _);"
    "q(k, sum(n)) <- x: c(k, _), w: extend_backward(x, 9 s), while w: collect b(k, n);",
    NoFact: "p(k) <- a(k, _), not t(k);",
    Moments: "p <- notfollows(a(_, _), b(_, _), 2 s);"
    "q(count()) <- aperiodic*(a(1, 1), b(_, _), c(_, _));",
    Repeat: "p(k, list(n)) <- a(k, _) seq b(k, n)+ seq c(k, _);",
    AnyOne: "p <- anyone(a(_, _), b(_, _));",
    Ticks: "p <- ticks(b(1, _), 2 s, 4 s);",
    Using: "p(k) <- (a(k, _) seq b(_, _) using chronicle) and c(k, _);",
    Const: "p(3, 'x') <- a(_, _);",
    Var: "p(k) <- a(k, _);",
    Attr: "p(x.n) <- x: a();",
    TimeOf: "p(x.start) <- x: a();",
    Call: "p(n + 1) <- a(_, n);",
    CausedBy: "q(k) <- a(k, _) seq b(k, _); p <- x: q(_), y: b(_, _) where caused_by(x, y);",
    Folded: "p(k) <- a(k, _) seq b(k, _)+ seq c(k, _) where count() > 1;",
}
"""What shows each class, in a program of a user."""

REWRITTEN: dict[type, str] = {
    SemiJoin: WRITTEN[CausedBy],
    Since: "p <- relative+(a(_, _) seq b(_, _) until c(_, _));",
    Column: WRITTEN[Atom],
    NodeTime: WRITTEN[TimeOf],
}
"""What shows the classes that cannot be written, in a plan."""


def concrete(kind: type) -> set[type]:
    """The classes of operators, or of expressions, that logic has."""
    found = {sub for sub in kind.__subclasses__() if sub.__module__.startswith("thence.logic")}
    # What `slots` replaces by a class of the same name is still there, until it is collected.
    return {each for each in found if getattr(modules[each.__module__], each.__name__) is each}


def nodes(program: LogicProgram) -> Iterator[Pattern | Expr]:
    """Every operator and every expression of a program."""
    for rule in program.rules:
        yield from walk(rule.body)
        for expr in exprs_of(rule):
            yield from leaves(expr)
            yield from read_by(expr)
            if list(leaves(expr)) != [expr]:
                yield expr


def planned(plan: Plan) -> Iterator[Pattern | Expr]:
    yield from nodes(plan.checked.program)
    for prepared in plan.prepared:
        conjunct = prepared.conjunct
        for expr in (*conjunct.predicates, *conjunct.head.terms, *conjunct.having):
            if isinstance(expr, Expr):
                yield from leaves(expr)


def test_every_class_has_an_example() -> None:
    assert concrete(Pattern) | concrete(Expr) == WRITTEN.keys() | REWRITTEN.keys()


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_the_example_shows_its_class(kind: type) -> None:
    assert kind in {type(node) for node in nodes(parse_program(Source(DECLARED + WRITTEN[kind])))}


@pytest.mark.parametrize("kind", REWRITTEN, ids=lambda kind: kind.__name__)
def test_the_plan_of_the_example_shows_its_class(kind: type) -> None:
    program = parse_program(Source(DECLARED + REWRITTEN[kind]))
    assert kind in {type(node) for node in planned(make(check_program(program)))}


@pytest.mark.parametrize("kind", {**WRITTEN, **REWRITTEN}, ids=lambda kind: kind.__name__)
def test_every_class_goes_the_whole_way(kind: type) -> None:
    text = DECLARED + {**WRITTEN, **REWRITTEN}[kind]
    program = parse_program(Source(text))
    checked = check_program(program)
    assert make(checked).stages
    assert parse_program(Source(format_program(program))) == program
    assert lower_program(definitions(program)) == in_order(program)
    given = [*EVENTS, *ROWS]
    meant = HOSTS["oracle"](text, given, None)
    assert all(meant.values()), "an example finds something"
    assert HOSTS["batch"](text, given, None) == meant
    assert HOSTS["micro_batches"](text, given, None) == meant


# -- aggregates: a row in logic, and one in the engine


def test_every_aggregate_can_be_computed() -> None:
    assert AGGREGATES.keys() == COMPUTATIONS.keys()


VALUES = {"int": "k", "string": "t", "duration": "duration(e)", "timestamp": "e.start"}


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_goes_the_whole_way(name: str) -> None:
    row = AGGREGATES[name]
    over = [value for kind, value in VALUES.items() if row.takes is None or kind in row.takes]
    terms = [f"{name}({value})" for value in over]
    terms += [f"{name}(distinct {value})" for value in over if row.distinct]
    terms += [f"{name}()"] * row.bare
    text = (
        "event a(k int, t string); event o();"
        f"p({', '.join(terms)}) <- x: o, w: extend_backward(x, 9 s), while w: collect e: a(k, t);"
        f"q({', '.join(terms)}) <- x: o, over 1 h of x: collect e: a(k, t);"
        f"r({', '.join(terms)}) <- e: a(k, t)+ seq o using greedy;"
    )
    events = parse_events("a(1, 'x') @ 1\na(2, null) @ [2, 5]\na(2, 'y') @ 6\no @ 7\no @ 9")
    program = parse_program(Source(text))
    assert make(check_program(program)).stages
    assert parse_program(Source(format_program(program))) == program
    assert lower_program(definitions(program)) == in_order(program)
    meant = HOSTS["oracle"](text, events, None)
    assert all(meant.values())
    assert HOSTS["batch"](text, events, None) == meant
    assert HOSTS["micro_batches"](text, events, None) == meant


# -- what holds others says in which role


@pytest.mark.parametrize(
    "kind", sorted(concrete(Pattern) | concrete(Expr), key=str), ids=lambda kind: kind.__name__
)
def test_every_field_that_holds_others_has_a_role(kind: type) -> None:
    roles(kind)


def test_of_expressions_only_calls_hold_others() -> None:
    holding = {kind for kind in concrete(Expr) if any(said == "value" for _, said in roles(kind))}
    assert holding == {Call}


@dataclass(frozen=True)
class _Forgetful(Pattern):
    """An operator that does not say what its parts are for."""

    parts: tuple[Pattern, ...]


def test_an_operator_that_does_not_say_what_its_parts_are_is_refused() -> None:
    forgetful = _Forgetful((Atom("a"),))
    for look in (children, lambda node: list(walk(node)), lambda node: changed(node, _as_it_is)):
        with pytest.raises(TypeError, match=r"_Forgetful\.parts has no role"):
            look(forgetful)


def _as_it_is(node: object) -> object:
    return node


def test_what_must_be_absent_is_no_part() -> None:
    assert dict(roles(Not)) == {"absent": "absent", "first": PART["role"], "last": PART["role"]}
