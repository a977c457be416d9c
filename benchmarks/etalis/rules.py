"""Rules (6) to (11) of paper 4, streams for them, and what each of them has to find.

As in the paper, every event is used for some result, but where a rule selects: an id has one event
of each type, one after another, and ids take turns. The closure of rule (11) is over chains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

Tables = Mapping[str, Any]

DECLARED = "event a(id int, x int); event b(id int, y int); event c(id int, z int);\n"

SEQUENCE = "d(id, x, y, z) <- a(id, x) seq b(id, y) seq c(id, z);"
SELECTED = "d(id, x, y) <- a(id, x) seq b(id, y) where y < {k};"
NEGATED = "d(id, x, y) <- not(c(id, _)).[a(id, x), b(id, y)];"
JOINT = "d(id, x, y) <- a(id, x) and b(id, y) and c(id, _);"
EITHER = "d(id, x, y) <- a(id, x) seq (b(id, y) or c(id, y));"
CLOSURE = """event a(x int, y int);
tc(x, y) <- a(x, y);
tc(x, y) <- tc(x, z) seq a(z, y);
"""

LINKS = 9
"""How many links a chain has where the size of the stream grows."""

SPREAD = 1_000
"""So many ids are under way at a time: the next event of an id comes after one of each other."""


@dataclass(frozen=True, slots=True)
class Work:
    """One point of a figure: a program, its events, and how many results it has."""

    program: str
    tables: Tables
    events: int
    results: int


def streams(events: int, types: str, share: Mapping[str, float] | None = None) -> dict[str, Any]:
    """So many events in all, of some types in turn; of a type only a share of the ids has one.

    The values of an id are its number among a hundred, so that selecting by them is by a share.
    """
    ids = events // len(types)
    at = np.arange(ids)
    found = {}
    for place, (name, column) in enumerate(zip("abc", "xyz", strict=True)):
        own = np.zeros(0, dtype=np.int64)
        if name in types:
            own = at[at % 100 < round(100 * (share or {}).get(name, 1.0))]
        block, within = np.divmod(own, SPREAD)
        turn = types.index(name) if name in types else place
        time = (block * len(types) + turn) * SPREAD + within
        found[name] = pa.table({"id": own, column: own % 100, "time": time})
    return found


def chains(events: int, links: int) -> dict[str, Any]:
    """So many events, each a link of a chain of so many links; chains take turns."""
    count = events // links
    chain = np.tile(np.arange(count), links)
    place = np.repeat(np.arange(links), count)
    node = chain * (links + 1) + place
    return {"a": pa.table({"x": node, "y": node + 1, "time": np.arange(count * links)})}


def _size(tables: Tables) -> int:
    return sum(table.num_rows for table in tables.values())


def sequence(events: int) -> Work:
    """Rule (6)."""
    tables = streams(events, "abc")
    return Work(DECLARED + SEQUENCE, tables, _size(tables), events // 3)


def selected(events: int, percent: int) -> Work:
    """Rule (7), where so many of a hundred values are selected."""
    tables = streams(events, "ab")
    chosen = int(np.count_nonzero(np.arange(events // 2) % 100 < percent))
    return Work(DECLARED + SELECTED.format(k=percent), tables, _size(tables), chosen)


def negated(events: int, percent: int) -> Work:
    """Rule (8), where so many of a hundred ids have what must not be there."""
    tables = streams(events, "acb", {"c": percent / 100})
    left = int(np.count_nonzero(np.arange(events // 3) % 100 >= percent))
    return Work(DECLARED + NEGATED, tables, _size(tables), left)


def joint(events: int) -> Work:
    """Rule (9)."""
    tables = streams(events, "bca")
    return Work(DECLARED + JOINT, tables, _size(tables), events // 3)


def either(events: int) -> Work:
    """Rule (10)."""
    tables = streams(events, "abc")
    tables["c"] = tables["c"].rename_columns(["id", "y", "time"])
    declared = DECLARED.replace("z int", "y int")
    # The values of one id are alike, but not the times.
    return Work(declared + EITHER, tables, _size(tables), 2 * (events // 3))


def closure(events: int, links: int = LINKS) -> Work:
    """Rule (11)."""
    tables = chains(events, links)
    return Work(CLOSURE, tables, _size(tables), events // links * links * (links + 1) // 2)


def copies(events: int, count: int) -> Work:
    """Rule (6) so many times, each under a name of its own."""
    tables = streams(events, "abc")
    rules = "\n".join(SEQUENCE.replace("d(", f"d{number}(", 1) for number in range(count))
    return Work(DECLARED + rules, tables, _size(tables), count * (events // 3))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper: what is on its x-axis, and a work for each place there."""

    name: str
    title: str
    x_title: str
    places: Sequence[int]
    work: Callable[[int], Work]
    growth: Literal["", "at least", "linear"] = ""
    """Where its x-axis is the size of the stream: whether throughput over the largest one is at
    least that over the smallest, or within a factor of the best."""


def figures(small: int, sizes: Sequence[int]) -> tuple[Figure, ...]:
    """All figures: those over one size of a stream, and those over several."""
    percents = (10, 25, 50, 75, 100)
    grows: Literal["at least"] = "at least"
    events, share, without = "events in the stream", "selected, %", "with c in between, %"
    return (
        Figure("3a", "sequence, rule (6)", events, sizes, sequence, grows),
        Figure("3b", "selection, rule (7)", share, percents, lambda p: selected(small, p)),
        Figure(
            "3c", "all selected, rule (7)", events, sizes, lambda n: selected(n, 100), "at least"
        ),
        Figure("4a", "negation, rule (8)", without, percents, lambda p: negated(small, p)),
        Figure("4b", "negation, rule (8)", events, sizes, lambda n: negated(n, 10), grows),
        Figure("4c", "conjunction, rule (9)", events, sizes, joint, grows),
        Figure("5a", "disjunction, rule (10)", events, sizes, either, grows),
        Figure("5b", "transitive closure, rule (11)", events, sizes, closure, "linear"),
        Figure("5c", "copies of rule (6)", "rules", (1, 8, 16), lambda n: copies(small, n)),
    )
