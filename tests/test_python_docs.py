"""The tables that put Python beside the rule language are true, and leave nothing out."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest
from doc_pages import ROOT, code, rows, section

import thence
from thence import fn
from thence.lang.parser import parse_program
from thence.lang.python.program import lower_program
from thence.lang.timers import TIMERS
from thence.lang.words import AGGREGATES, FUNCTIONS, INFIX, WINDOW_OPERATORS
from thence.logic.ops import AllenRelation
from thence.model.source import Source

PAGE = ROOT / "docs" / "python.md"
DECLARED = """
event a();
event b();
event c();
event order(id string, product string, qty int);
event shipped(id string, qty int);
"""

Order = thence.event("order", id=str, product=str, qty=int)
Shipped = thence.event("shipped", id=str, qty=int)
TYPES = [*(thence.event(name) for name in "abc"), Order, Shipped]
NAMES: dict[str, Any] = {
    "Decimal": Decimal,
    **{name: getattr(thence, name) for name in thence.__all__},
    **{kind.__name__: kind() for kind in TYPES[:3]},
    "Order": Order, "o": Order("o"), "s": Shipped("s"), "timedelta": timedelta,
}  # fmt: skip


def pairs(heading: str) -> list[tuple[str, str]]:
    """Rows of two codes under a heading: Python, and the rule language."""
    listed = [(code(row[0]), code(row[1])) for row in rows(section(PAGE, heading))]
    return [(left[0], right[0]) for left, right in listed]


def said(python: str) -> Any:
    return eval(python, NAMES)  # noqa: S307 (our own documentation)


def assert_same(definition: Any, rule: str) -> None:
    assert lower_program([*TYPES, definition]) == parse_program(Source(DECLARED + rule))


PATTERNS = pairs("Patterns in Python")
VALUES = pairs("Values in Python")


@pytest.mark.parametrize(
    ("python", "text"), [p for p in PATTERNS if p[1].split("(")[0] not in TIMERS]
)
def test_patterns(python: str, text: str) -> None:
    assert_same(said(python).select("r"), f"r() <- {text};")


@pytest.mark.parametrize(("python", "text"), [p for p in PATTERNS if p[1].split("(")[0] in TIMERS])
def test_timers(python: str, text: str) -> None:
    assert_same((NAMES["o"] & said(python)).select("r"), f"r() <- o: order and {text};")


@pytest.mark.parametrize(
    ("python", "text"), [p for p in VALUES if p[1].split("(")[0] not in AGGREGATES]
)
def test_values(python: str, text: str) -> None:
    assert_same(NAMES["o"].select("r", v=said(python)), f"r({text} as v) <- o: order;")


@pytest.mark.parametrize(
    ("python", "text"), [p for p in VALUES if p[1].split("(")[0] in AGGREGATES]
)
def test_aggregates(python: str, text: str) -> None:
    collected = thence.collect(NAMES["s"]).inside(NAMES["o"])
    rule = f"r({text} as v) <- o: order, while o: collect s: shipped;"
    assert_same(collected.select("r", v=said(python)), rule)


def test_every_operator_stands_in_the_tables() -> None:
    words = {word for _, text in PATTERNS for word in re.findall(r"\w+", text)}
    assert INFIX | set(TIMERS) | WINDOW_OPERATORS <= words


def test_every_relation_and_timer_is_a_method() -> None:
    methods = {name for name, _ in inspect.getmembers(thence.Pattern, inspect.isfunction)}
    assert set(get_args(AllenRelation)) | set(TIMERS) <= methods


def test_every_function_and_aggregate_is_in_fn() -> None:
    functions = {
        name.rstrip("_")
        for name, value in vars(fn).items()
        if inspect.isfunction(value) and value.__module__ == fn.__name__
    }
    assert functions == FUNCTIONS | AGGREGATES | {"lit", "timestamp"}


def test_every_method_of_patterns_and_values_is_described() -> None:
    described = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    names = {name for kind in (thence.Pattern, thence.Value) for name in dir(kind)}
    assert {name for name in names if not name.startswith("_")} - described == set()
