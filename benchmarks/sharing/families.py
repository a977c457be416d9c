"""Families of rules that have much in common, or nothing, and how much they may cost together.

Each is a rule that a real program could have, over the million events of W1 (``generate.py``). For
rules that differ in a kind, the events are one stream whose ``kind`` is the type of W1 and the last
digit of the row's number in base five: a hundred kinds, each a hundredth of the events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.generate import TYPES
from benchmarks.queries import DECLARATIONS

ONE_STREAM = "event e(id int, kind string, price float);\n"
KINDS = tuple(f"{name}{digit}" for name in TYPES for digit in range(5))
PAIRS = tuple((one, other) for one in TYPES for other in TYPES if one != other)[::3]
"""Pairs of types, no two of them the same; every type is in some."""


@dataclass(frozen=True, slots=True)
class Family:
    """Rules ``rule(0)``, ``rule(1)`` … of which ``many`` may take ``bar`` times as long as the
    first, which finds the most."""

    name: str
    what: str
    many: int
    bar: float
    rule: Callable[[int], str]
    one_stream: bool = False

    def text(self, count: int) -> str:
        """A program with so many of the rules."""
        rules = "\n".join(self.rule(number) for number in range(count))
        return (ONE_STREAM if self.one_stream else DECLARATIONS) + rules


def events(table: Any, one_stream: bool) -> Any:
    """The events for a family's programs, from those of W1."""
    if not one_stream:
        return table
    digits = pa.array(np.arange(table.num_rows) % 5).cast(pa.string())
    kinds = pc.binary_join_element_wise(table["type"].combine_chunks(), digits, "")
    columns = {name: table[name] for name in ("time", "id", "price")}
    return {"e": pa.table({**columns, "kind": kinds})}


def _rising(one: str, other: str, window: str = "10 s", condition: str = "") -> str:
    """The body of q2 (``queries.py``) over two events."""
    return (
        f"(id, x.price as p1, y.price as p2) <- (x: {one} seq y: {other}) within {window} "
        f"where y.price > x.price{condition};"
    )


def _kind(kind: str) -> str:
    return f"e(id=id, kind='{kind}')"


A, B = "a(id=id)", "b(id=id)"

FAMILIES = (
    Family("equal", "q2", 16, 1.3, lambda n: f"r{n}{_rising(A, B)}"),
    Family(
        "limit",
        "q2, x.price > c, from 900 on",
        100,
        6.0,
        lambda n: f"r{n}{_rising(A, B, condition=f' and x.price > {900 + n}')}",
    ),
    Family(
        "kind",
        "x of kind c, then y of kind b1, on one id, 10 s, y.price > x.price",
        100,
        6.0,
        lambda n: f"r{n}{_rising(_kind(KINDS[n]), _kind('b1'))}",
        one_stream=True,
    ),
    Family(
        "select",
        "events of kind c",
        100,
        6.0,
        lambda n: f"r{n}(id, price) <- e(id=id, kind='{KINDS[n]}', price=price);",
        one_stream=True,
    ),
    Family(
        "window",
        "q2 within w, from 10 s down to 1.09 s",
        100,
        4.0,
        lambda n: f"r{n}{_rising(A, B, f'{10_000 - 90 * n} ms')}",
    ),
    Family(
        "apart",
        "q2 over two types, other ones in each rule",
        100,
        40.0,
        lambda n: f"r{n}{_rising(*(f'{name}(id=id)' for name in PAIRS[n]))}",
    ),
)
BY_NAME = {family.name: family for family in FAMILIES}
