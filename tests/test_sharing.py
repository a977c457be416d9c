"""Work that rules share: generated rules that are alike find what the oracle finds, whatever is
shared, and in a session nothing is remembered twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hosts import batch, in_a_session, oracle, rows_of, tables
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st
from pattern_writer import BASE, DECIMAL, UNITS
from strategies import LATEST, Example, events_, examples

import thence
from thence.lang.parser import parse_program
from thence.lang.text import format_program
from thence.logic.changes import changed
from thence.logic.expr import Const
from thence.logic.ops import Rule, Within
from thence.model.source import Source
from thence.plan.selection import LENGTH

SHARING = ("share_equal_rules", "share_constants", "share_windows", "index_selections")
seeds = st.integers(0, 2**16)

COMPARED = {
    "int": ("0", "1", "2", "1.5"),
    "float": ("0.5", "1.0", "0", "-0.0", "1e-1"),
    "string": ("'x'", "'y'", "''"),
    "bool": ("true", "false"),
    DECIMAL: ("0.5", "1", "0.25", "-0.25"),
    "timestamp": tuple(f"timestamp '1970-01-01T00:00:0{second}Z'" for second in (2, 4, 5)),
    "duration": ("2 s", "1 s", "0 s"),
}


@st.composite
def alike(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Example:
    """Rules with one pattern, which differ in names, constants, windows, and what heads show."""
    read = draw(st.sampled_from(["ac", "aa", "cb", "ee", "bb", "a", "c", "e", "b"]))
    one, other = read[0], read[1:]
    columns = [(f"x.{name}", kind) for name, kind in BASE[one]]
    columns += [(f"y.{name}", kind) for name, kind in BASE.get(other, ())]
    compared = draw(st.lists(st.sampled_from(columns), min_size=0, max_size=2))
    functions = [draw(st.sampled_from(["=", ">", "<=", "<", ">=", "="])) for _ in compared]
    joined = draw(st.sampled_from(["seq", "and", "seq"]))
    windowed = draw(st.booleans())
    guard = draw(st.sampled_from(["", "", ", while w: not d()"]))
    rules = []
    for number in range(draw(st.integers(2, 9))):
        head = draw(st.permutations(columns))[: draw(st.integers(0, len(columns)))]
        if draw(st.booleans()):
            head = columns[:1]
        shown = ", ".join(f"{name} as n{place}" for place, (name, _) in enumerate(head))
        body = f"x: {one}({_anything(one)})"
        if other:
            key = f" where x.{BASE[one][0][0]} = y.{BASE[other][0][0]}" if one != "e" else ""
            limit = draw(st.integers(1, 4)) if windowed else 3
            body = f"({body} {joined} y: {other}({_anything(other)})) within {limit} s{key}"
            body = f"({body})"
        conditions = [
            f"{name} {function} {_constant(draw, kind)}"
            for (name, kind), function in zip(compared, functions, strict=True)
            if kind != "bool" or function == "="
        ]
        timer = ", w: extend(x, 2 s)" if guard else ""
        rules.append(f"r{number}({shown}) <- {', '.join([body, *conditions])}{timer}{guard};")
    declared = "\n".join(
        f"event {name}({', '.join(f'{n} {kind}' for n, kind in fields)});"
        for name, fields in BASE.items()
    )
    events = draw(st.lists(events_(UNITS["s"]), min_size=6, max_size=12))
    until = draw(st.sampled_from([None, None, 2 * LATEST * UNITS["s"]]))
    return Example(f"{declared}\n" + "\n".join(rules), tuple(events), until, UNITS["s"])


def _anything(event: str) -> str:
    return ", ".join("_" for _ in BASE[event])


def _constant(draw: Callable[[st.SearchStrategy[Any]], Any], kind: str) -> str:
    return str(draw(st.sampled_from(COMPARED[kind])))


def with_copies(text: str, random: random.Random) -> str:
    """A program and copies of its rules, with other names, constants and windows."""
    program = parse_program(Source(text))

    def other(node: object) -> object:
        match node:
            case Within(pattern, limit) if random.random() < 0.5:
                return replace(node, pattern=changed(pattern, other), limit=2 * limit)
            case Const(value) if random.random() < 0.5 and type(value) is int:
                return replace(node, value=value + random.choice([1, 2]))
        return node

    def copied(rule: Rule, number: int) -> Rule:
        return replace(rule, event=f"{rule.event}_{number}", body=changed(rule.body, other))

    copies = [copied(rule, number) for rule in program.rules for number in (1, 2, 3)]
    return format_program(replace(program, rules=(*program.rules, *copies)))


def compiled(text: str) -> None:
    """On to the next example if a program is refused, for whatever reason a copy may be."""
    note(text)
    try:
        thence.compile(text)
    except thence.ProgramError:
        reject()


@given(alike())
def test_rules_that_are_alike(example: Example) -> None:
    note(example.program)
    assert batch(*example[:3]) == oracle(*example[:3])


@given(alike(), seeds, st.booleans())
def test_rules_that_are_alike_in_a_session(example: Example, seed: int, save: bool) -> None:
    note(example.program)
    found = in_a_session(*example[:3], random.Random(seed), save=save)
    assert found == oracle(*example[:3])


@given(alike(), st.sampled_from(SHARING))
def test_rules_that_are_alike_with_less_sharing(example: Example, off: str) -> None:
    note(example.program)
    expected = batch(*example[:3])
    given_ = tables(example.program, example.events)
    for without in ((off,), tuple(name for name in SHARING if name != off)):
        program = thence.compile(example.program, without=without)
        assert rows_of(program.run(given_, until=example.until)) == expected


@settings(max_examples=settings().max_examples // 2)
@given(examples(), seeds)
def test_copies_of_generated_rules(example: Example, seed: int) -> None:
    text = with_copies(example.program, random.Random(seed))
    compiled(text)
    expected = oracle(text, *example[1:3])
    assert batch(text, *example[1:3]) == expected
    save = seed % 2 == 0
    assert in_a_session(text, *example[1:3], random.Random(seed), save=save) == expected


@given(alike())
def test_alike_rules_are_found_alike_with_a_column_sorted_in_many_looks(example: Example) -> None:
    note(example.program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thence.plan.rewrites.index_selections.MANY", 1)
        patch.setattr("thence.engine.run.selections._LOOKED_AT", 2)
        found = batch(*example[:3])
    assert found == oracle(*example[:3])


PAIRS = """
event a(id int, price float);
event b(id int, price float);
"""


def rule(name: str, window: str = "10 s", condition: str = "") -> str:
    return (
        f"{name}(id, x.price as p, y.price as q) <- "
        f"(x: a(id=id) seq y: b(id=id)) within {window}{condition};\n"
    )


def test_what_rules_share_is_remembered_once() -> None:
    same = thence.compile(PAIRS + "".join(rule(f"r{n}") for n in range(10)))
    one = thence.compile(PAIRS + rule("r0"))
    rows = [{"id": n % 3, "price": 1.0 * n, "time": n * 1_000_000} for n in range(30)]
    sessions = [program.session(max_delay="60 s") for program in (same, one)]
    for session in sessions:
        session.push({"a": rows[::2], "b": rows[1::2]})
    assert sessions[0].state_rows == sessions[1].state_rows


def test_many_conditions_on_one_column_sort_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = thence.compile(
        PAIRS
        + "".join(rule(f"w{n}", f"{n} s") for n in range(1, 21))
        + "".join(rule(f"c{n}", "9 s", f" where y.price > {n}") for n in range(20))
        + "".join(f"s{n}(id) <- a(id, price) where price > {n};\n" for n in range(20))
    )
    looked: list[str] = []
    sorts = "thence.engine.run.selections.Sorted.__init__"
    from thence.engine.run.selections import Sorted

    init = Sorted.__init__

    def counting(self: Sorted, events: Any, column: str) -> None:
        looked.append(column)
        init(self, events, column)

    monkeypatch.setattr(sorts, counting)
    rows = [{"id": 1, "price": 1.0 * n, "time": n * 1_000_000} for n in range(30)]
    found = program.run({"a": rows[::2], "b": rows[1::2]})
    assert sorted(looked) == [LENGTH, "price", "q"]
    assert found.count("w20") > found.count("w1") > 0 < found.count("c19")


def test_joins_are_as_many_as_there_are_different_ones() -> None:
    program = thence.compile(
        PAIRS
        + "".join(rule(f"e{n}") for n in range(5))
        + "".join(rule(f"w{n}", f"{n} s") for n in range(1, 6))
        + "".join(rule(f"c{n}", "9 s", f" where y.price > {n}") for n in range(5))
    )
    joins = [each for each in program.plan.prepared if each.selection is None]
    assert len(joins) == 2


def test_remarks_are_about_the_rules_that_were_written() -> None:
    program = thence.compile(
        PAIRS
        + "one(id) <- x: a(id=id) seq b(id=id) where x.price > 1;\n"
        + "two(id) <- x: a(id=id) seq b(id=id) where x.price > 2;\n"
    )
    found = [d.message for d in program.check() if "kept forever" in d.message]
    assert any("'one'" in text for text in found) and any("'two'" in text for text in found)
    assert not any("inner" in text for text in found)
    assert [m.made_of for layer in program.hierarchy().layers[1:] for m in layer] == [
        ("a", "b"),
        ("a", "b"),
    ]
