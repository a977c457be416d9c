"""Look-ups in static tables: ``python -m benchmarks.tables.run``.

Times are CPU seconds in units of S, the time of sorting W1, measured in turn with the query; each
is the median of several rounds. A look-up by key in a table of a million rows is measured by what
it adds to Q2. By range, a million values go to 10,000 ranges, which touch and do not overlap; by
place, as many points to 10,000 squares. Ends with exit code 1 if a bar is not held, or an answer is
wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import numpy as np
import pyarrow as pa

import thence
from benchmarks import measure
from benchmarks.generate import w1
from benchmarks.queries import BY_NAME

EVENTS = 1_000_000
ROUNDS = 5
SIDE = 100
"""How many squares lie side by side; there are as many ranges as squares."""
ADDED = 0.5
"""What the look-up by key may add to Q2, in S."""
BARS = {"range": 5.0, "place": 20.0}
"""What the look-ups by range and by place may take, in S: a product would take hundreds."""

RANGES = """
event e(x float);
table t(n int, low float, high float);
r(n) <- e(x), t(n, low, high), low <= x and x < high;
"""
PLACES = """
event e(x float, y float);
table t(n int, shape string);
r(n) <- e(x, y), t(n, shape), inside(x, y, shape);
"""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    n, side = (20_000, 10) if options.quick else (EVENTS, SIDE)
    events, random = w1(n), np.random.default_rng(1)
    calls = {
        "q2": _q2(events, ""),
        "q2 and a look-up by key": _q2(events, "item(id, kind)", _items(n, random)),
        "a look-up by range": _ranged(events, side, random),
        "a look-up by place": _placed(events, side, random),
    }
    expected = {name: call() for name, call in calls.items()}
    right = expected["q2"] == expected["q2 and a look-up by key"]
    right = right and all(expected[f"a look-up by {way}"] == n for way in BARS)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(2 if options.quick else ROUNDS):
        unit = measure.timed(lambda: measure.sort(events)).cpu
        for name, call in calls.items():
            times[name].append(measure.timed(call).cpu / unit)
    found = {name: median(samples) for name, samples in times.items()}
    for name, ratio in found.items():
        print(f"{name:<25} {ratio:>7.2f} S  {expected[name]:>9,} results")
    added = found["q2 and a look-up by key"] - found["q2"]
    print(f"the look-up by key adds   {added:>7.2f} S, bar {ADDED}")
    held = {"key": added <= ADDED}
    held |= {way: found[f"a look-up by {way}"] <= bar for way, bar in BARS.items()}
    if not right:
        print("WRONG: an answer is not what it must be")
    report = {"events": n, "in_S": found, "added": added, "samples": times, "held": held}
    measure.write("tables", report)
    return 0 if right and (options.quick or all(held.values())) else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few events, and no bars")
    return parser.parse_args(arguments)


def _counted(text: str, events: Any, tables: dict[str, Any]) -> Callable[[], int]:
    program = thence.compile(text)
    (name,) = [schema.name for schema in program.derived]
    return lambda: int(program.run(events, tables=tables)[name].num_rows)


def _q2(events: Any, lookup: str, table: Any = None) -> Callable[[], int]:
    query = BY_NAME["q2"].text.rstrip().removesuffix(";")
    if not lookup:
        return _counted(f"{query};", events, {})
    text = f"table item(id int, kind int);\n{query}, {lookup};"
    return _counted(text.replace("as p2)", "as p2, kind)"), events, {"item": table})


def _items(n: int, random: np.random.Generator) -> Any:
    size = max(n, 1000)
    return pa.table({"id": random.permutation(size), "kind": random.integers(0, 50, size)})


def _ranged(events: Any, side: int, random: np.random.Generator) -> Callable[[], int]:
    count = side * side
    low = random.permutation(count) * 10.0
    table = pa.table({"n": np.arange(count), "low": low, "high": low + 10})
    x = pa.array(random.uniform(0, 10.0 * count, events.num_rows))
    return _counted(RANGES, {"e": pa.table({"time": events["time"], "x": x})}, {"t": table})


def _placed(events: Any, side: int, random: np.random.Generator) -> Callable[[], int]:
    squares = [
        f"POLYGON (({i} {j}, {i + 1} {j}, {i + 1} {j + 1}, {i} {j + 1}, {i} {j}))"
        for i in range(side)
        for j in range(side)
    ]
    table = pa.table({"n": np.arange(len(squares)), "shape": squares})
    x, y = (random.uniform(0, side, events.num_rows) for _ in range(2))
    given = pa.table({"time": events["time"], "x": x, "y": y})
    return _counted(PLACES, {"e": given}, {"t": table})


if __name__ == "__main__":
    sys.exit(main())
