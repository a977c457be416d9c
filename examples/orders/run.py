"""Orders on Spark: finds completed and overdue orders, and reports how busy shipping was.

    python examples/orders/run.py build/orders

Makes the events, runs ``orders.thence`` over them on a local Spark, writes what it finds as
Parquet, and says how long each step took.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import generate

import thence
from thence import spark as ts

PROGRAM = Path(__file__).with_name("orders.thence")
ROWS_SHOWN = 4


class Clock:
    """How long each step took, measured from its start to its end."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        yield
        self.steps.append((name, time.perf_counter() - start))

    def show(self) -> None:
        width = max(len(name) for name, _ in self.steps)
        print("\nHow long it took")
        for name, seconds in [*self.steps, ("in all", sum(s for _, s in self.steps))]:
            print(f"  {name:<{width}}  {seconds:6.1f} s")


def show(name: str, found: Any) -> None:
    """How many results there are of an event, and the first few of them."""
    count = found.count()
    print(f"\n{name}: {count:,}")
    rows = found.orderBy("start", *found.columns).limit(ROWS_SHOWN).toArrow().to_pylist()
    texts = [found.columns, *([shown(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for line in texts:
        print("  " + "  ".join(f"{text:<{w}}" for text, w in zip(line, widths, strict=True)))
    if count > len(rows):
        print("  …")


def shown(value: Any) -> str:
    return f"{value:%a %H:%M:%S}" if hasattr(value, "strftime") else str(value)


def main(folder: str = "build/orders", orders: int = generate.ORDERS) -> None:
    clock = Clock()
    place = Path(folder).absolute()
    program = thence.load(PROGRAM)
    with clock.step("make the events"):
        events = generate.events(orders)
        generate.write(events, place / "events")
    with clock.step("start Spark"):
        spark = ts.session(name="orders")
    frame = spark.read.parquet(str(place / "events"))
    names = [schema.name for schema in program.derived]
    for name in names:
        with clock.step(f"detect and write {name}"):
            found = ts.detect(program, frame, emit=name)
            found.write.mode("overwrite").parquet(str(place / name))

    print(f"{events.num_rows:,} events of a week, in {place / 'events'}")
    with clock.step("read and count the results"):
        for name in names:
            show(name, spark.read.parquet(str(place / name)))
    clock.show()
    print("\nThe results lie in " + ", ".join(str(place / name) for name in names))
    print(f"Rules and files of your own: {command()} run FILE --events PATH")


def command() -> str:
    """How the command is called here: by its name, or beside the Python that runs this."""
    beside = Path(sys.executable).with_name("thence")
    if shutil.which("thence") or not beside.exists():
        return "thence"
    return os.path.relpath(beside)


if __name__ == "__main__":
    main(*sys.argv[1:2])
