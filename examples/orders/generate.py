"""Makes a week of orders and shipments, the same every time.

    python examples/orders/generate.py build/orders/events --orders 150000

Most orders leave the house in time. Large ones take longer, a few are late, a few are forgotten,
and on the third day the packing machine is broken for some hours. Each day is a Parquet file, or,
with ``--format jsonl``, all days together are one file of JSON lines.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ORDERS = 150_000
BEGIN = np.datetime64("2026-03-02T00:00:00", "us")
MILLISECOND = 1_000
HOUR = 3_600_000_000
DAY = 24 * HOUR
BROKEN_FROM, BROKEN_UNTIL = 2 * DAY + 9 * HOUR, 2 * DAY + 16 * HOUR
PRODUCTS = ("muffins", "bagels", "scones", "pretzels", "rye bread")
LARGE = 10
FORGOTTEN = 0.01


def events(orders: int = ORDERS) -> pa.Table:
    """All orders and shipments, in the order of their times."""
    random = np.random.default_rng(20260302)
    number = np.arange(1, orders + 1)
    # No two orders in the same millisecond: totals over windows that coincide are slow to compute.
    placed = np.sort(random.choice(7 * DAY // MILLISECOND, orders, replace=False)) * MILLISECOND
    qty = np.minimum(1 + random.exponential(6, orders).astype(np.int64), 60)
    product = pa.array(PRODUCTS).take(pa.array(random.integers(0, len(PRODUCTS), orders)))
    packed = placed + shipping_time(random, qty)
    broken = (packed >= BROKEN_FROM) & (packed < BROKEN_UNTIL)
    packed = np.where(broken, BROKEN_UNTIL + random.integers(0, 3 * HOUR, orders), packed)
    kept = np.flatnonzero(random.random(orders) >= FORGOTTEN)
    ids = numbered("o", number, len(str(orders)))
    tracking = numbered("t", random.permutation(number)[kept] + 40_000_000, 8)
    made = pa.concat_tables(
        [
            table("order", placed, id=ids, product=product, qty=pa.array(qty)),
            table("shipped", packed[kept], id=ids.take(pa.array(kept)), tracking=tracking),
        ],
        promote_options="default",
    )
    return made.sort_by([("time", "ascending"), ("type", "ascending"), ("id", "ascending")])


def shipping_time(random: Any, qty: Any) -> Any:
    """How long orders take to leave the house, in microseconds."""
    hours = random.lognormal(np.where(qty >= LARGE, 1.4, 0.7), 0.45)
    return (hours * HOUR).astype(np.int64)


def numbered(letter: str, numbers: Any, digits: int) -> pa.Array:
    """Names such as o00017."""
    return pa.array(np.char.add(letter, np.char.zfill(numbers.astype(str), digits)).tolist())


def table(event: str, micros: Any, **columns: Any) -> pa.Table:
    """Events of one type; times are whole milliseconds."""
    whole = (micros // MILLISECOND * MILLISECOND).astype("timedelta64[us]")
    times = pa.array(BEGIN + whole).cast(pa.timestamp("us", "UTC"))
    kind = pa.repeat(pa.scalar(event), len(times))
    return pa.table({"type": kind, "time": times, **columns})


def write(made: pa.Table, folder: Path, kind: str = "parquet") -> list[Path]:
    """Write events to a folder; the answer is the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.*"):
        old.unlink()
    if kind == "jsonl":
        path = folder / "events.jsonl"
        path.write_text("".join(map(line, made.to_pylist())), encoding="utf-8", newline="\n")
        return [path]
    days = (made["time"].to_numpy() - BEGIN).astype(np.int64) // DAY
    paths = []
    for day in np.unique(days):
        paths.append(folder / f"day-{day + 1}.parquet")
        pq.write_table(made.filter(pa.array(days == day)), paths[-1])
    return paths


def line(event: dict[str, Any]) -> str:
    """A record with what this event has."""
    time = event["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return (
        json.dumps({key: value for key, value in {**event, "time": time}.items() if value}) + "\n"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make a week of orders and shipments.")
    parser.add_argument("folder", nargs="?", default="build/orders/events", type=Path)
    parser.add_argument("--orders", type=int, default=ORDERS, help="how many orders")
    parser.add_argument("--format", choices=("parquet", "jsonl"), default="parquet")
    given = parser.parse_args(arguments)
    made = events(given.orders)
    write(made, given.folder, given.format)
    print(f"{made.num_rows:,} events in {given.folder}")


if __name__ == "__main__":
    main()
