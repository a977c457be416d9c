"""Generated facts and deductive rules mean what the oracle says, and what clingo finds.

clingo is an engine of another kind: it grounds a program and solves it. Programs without choice
have one answer there, and that is what everything is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import clingo
import pytest
from hosts import HOSTS, batch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from notation import parse_events

OPTIMISATIONS = ("closure", "demand")
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A program that fails is small as it is, and each try of a smaller one is a program to compile."""
TABLES = ("e", "f")
VARIABLES = ("x", "y", "z", "w")
FORMS = {
    "from": "(v, o) <- ask(v), {}(v, o)",
    "to": "(v, o) <- ask(v), {}(o, v)",
    "both": "(v) <- ask(v), {}(v, v)",
    "one": "(v, o) <- ask(v), {}(1, o)",
    "none": "(v) <- ask(v), not {}(v, _)",
}


@dataclass(frozen=True)
class Rule:
    """A rule in two languages. Terms are variables, or numbers as text."""

    head: str
    terms: tuple[str, str]
    atoms: tuple[tuple[str, str, str], ...]
    absent: tuple[tuple[str, str, str], ...] = ()
    conditions: tuple[str, ...] = ()
    aggregate: str | None = None
    """The aggregate that the second term of the head is in."""

    @property
    def parts(self) -> Iterator[tuple[str, tuple[str, str, str]]]:
        yield from (("", atom) for atom in self.atoms)
        yield from (("not ", atom) for atom in self.absent)

    def text(self) -> str:
        body = [f"{sign}{name}({a}, {b})" for sign, (name, a, b) in self.parts]
        first, second = self.terms
        second = f"{self.aggregate}({second}) as n" if self.aggregate else second
        return f"{self.head}({first}, {second}) :- {', '.join([*body, *self.conditions])};"

    def asp(self) -> str:
        body = [f"{sign}{name}({a.upper()},{b.upper()})" for sign, (name, a, b) in self.parts]
        said = ", ".join([*body, *(condition.upper() for condition in self.conditions)])
        first, second = (term.upper() for term in self.terms)
        if self.aggregate is None:
            return f"{self.head}({first},{second}) :- {said}."
        names = dict.fromkeys(v.upper() for _, a, b in self.atoms for v in (a, b) if v.isalpha())
        others = ",".join(name for name in names if name != first)
        weighed = others if self.aggregate == "count" else f"{second},{others}"
        return (
            f"group_{self.head}({first}) :- {said}. "
            f"{self.head}({first},N) :- group_{self.head}({first}), "
            f"N = #{self.aggregate} {{ {weighed} : {said} }}."
        )


def atoms(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str, str]]:
    terms = st.sampled_from([*VARIABLES, *VARIABLES, "1", "2"])
    return st.tuples(st.sampled_from(names), terms, terms)


@st.composite
def rules(
    draw: Any, head: str, names: tuple[str, ...], absent: tuple[str, ...] = (), folds: bool = False
) -> Rule:
    body = tuple(draw(st.lists(atoms(names), min_size=1, max_size=3)))
    bound = sorted({term for _, *terms in body for term in terms if term.isalpha()}) or ["1"]
    one_of = st.sampled_from(bound)
    conditions = []
    if draw(st.integers(0, 3)) == 0:
        conditions.append(
            f"{draw(one_of)} {draw(st.sampled_from(['<', '!=', '<=']))} {draw(one_of)}"
        )
    none = []
    if absent:
        none = [(draw(st.sampled_from(absent)), draw(one_of), draw(one_of))]
    terms = draw(one_of), draw(one_of)
    aggregate = None
    if folds:
        aggregate = draw(st.sampled_from(["count", "sum", "min", "max"]))
        if terms[0] == terms[1] or "1" in terms:
            aggregate = "count"
    elif draw(st.integers(0, 5)) == 0 and terms[1].isalpha():
        conditions.append(f"{terms[1]} < 5")
        terms = terms[0], f"{terms[1]} + 1"
    return Rule(head, terms, body, tuple(none), tuple(conditions), aggregate)


@dataclass(frozen=True)
class Program:
    rules: tuple[Rule, ...]
    rows: tuple[tuple[str, int, int], ...]
    asked: tuple[int, ...]
    forms: tuple[str, ...]
    """How relations are asked."""

    @property
    def relations(self) -> list[str]:
        return sorted({rule.head for rule in self.rules})

    def text(self) -> str:
        said = [f"{name}({x}, {y});" for name, x, y in self.rows]
        said += [rule.text() for rule in self.rules]
        lines = ["event ask(v int);", *(f"table {name}(x int, y int);" for name in TABLES), *said]
        lines += [f"{f}_{n}{FORMS[f].format(n)};" for n in self.relations for f in self.forms]
        return "\n".join(lines)

    def expected(self) -> dict[str, set[Any]]:
        """What follows, as clingo finds it."""
        facts = [f"{name}({x},{y})." for name, x, y in self.rows]
        control = clingo.Control(["--warn=none"])
        control.add("base", [], "\n".join([*facts, *(rule.asp() for rule in self.rules)]))
        control.ground([("base", [])])
        known: dict[str, set[tuple[int, int]]] = {name: set() for name in self.relations}
        with control.solve(yield_=True) as handle:
            (model,) = list(handle)
            for symbol in model.symbols(atoms=True):
                if symbol.name in known:
                    x, y = (argument.number for argument in symbol.arguments)
                    known[symbol.name].add((x, y))
        found: dict[str, set[Any]] = {}
        for name, pairs in known.items():
            at = {v: place for place, v in enumerate(self.asked)}
            times = [(v, second(place)) for v, place in at.items()]
            found[f"from_{name}"] = {((v, y), t, t) for v, t in times for x, y in pairs if x == v}
            found[f"to_{name}"] = {((v, x), t, t) for v, t in times for x, y in pairs if y == v}
            found[f"both_{name}"] = {((v,), t, t) for v, t in times if (v, v) in pairs}
            found[f"one_{name}"] = {((v, y), t, t) for v, t in times for x, y in pairs if x == 1}
            found[f"none_{name}"] = {
                ((v,), t, t) for v, t in times if not any(x == v for x, _ in pairs)
            }
        return {name: rows for name, rows in found.items() if name.split("_")[0] in self.forms}


def second(place: int) -> int:
    return place * 1_000_000


@st.composite
def programs(draw: Any) -> Program:
    recursive = ("p", "q")
    said = [draw(rules(name, TABLES)) for name in recursive]
    for name in recursive:
        said += draw(st.lists(rules(name, (*TABLES, *recursive)), min_size=1, max_size=2))
    said.append(draw(rules("r", (*TABLES, *recursive), absent=recursive)))
    if draw(st.booleans()):
        said.append(draw(rules("g", (*TABLES, "p", "r"), folds=True)))
    node = st.integers(1, 5)
    rows = draw(st.lists(st.tuples(st.sampled_from(TABLES), node, node), max_size=9))
    rows += [(name, 1, 2) for name in TABLES]
    asked = draw(st.lists(node, min_size=1, max_size=3, unique=True))
    forms = draw(st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=2, unique=True))
    return Program(tuple(said), tuple(rows), tuple(asked), tuple(forms))


def events_of(program: Program) -> Any:
    return parse_events("\n".join(f"ask({v}) @ {at}" for at, v in enumerate(program.asked)))


@settings(max_examples=60, phases=NO_SHRINKING)
@given(programs(), st.lists(st.sampled_from(OPTIMISATIONS), unique=True))
def test_everything_follows_that_clingo_finds(program: Program, without: list[str]) -> None:
    assert batch(program.text(), events_of(program), None, without) == program.expected()


@pytest.mark.parametrize("host", [name for name in HOSTS if name != "batch"])
@settings(max_examples=10, phases=NO_SHRINKING)
@given(program=programs())
def test_every_host_finds_it(program: Program, host: str) -> None:
    assert HOSTS[host](program.text(), events_of(program), None) == program.expected()
