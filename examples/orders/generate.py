"""Makes a week of orders and shipments, the same every time, as one file of JSON lines.

    python examples/orders/generate.py build/orders

Most orders leave the house in time. Large ones take longer, a few are late, a few are forgotten,
and on the third day the packing machine is broken for some hours.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

ORDERS = 2_000
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
WEEK = timedelta(days=7)
BREAKDOWN = (BEGIN + timedelta(days=2, hours=9), BEGIN + timedelta(days=2, hours=16))
PRODUCTS = ("muffins", "bagels", "scones", "pretzels", "rye bread")
LARGE = 10


def shipping_time(random: Random, placed: datetime, qty: int) -> timedelta | None:
    """How long an order takes to leave the house; None if it never does."""
    if random.random() < 0.01:
        return None
    hours = random.lognormvariate(1.4 if qty >= LARGE else 0.7, 0.45)
    packed = placed + timedelta(hours=hours)
    if BREAKDOWN[0] <= packed < BREAKDOWN[1]:
        packed = BREAKDOWN[1] + timedelta(hours=random.uniform(0, 3))
    return timedelta(seconds=int((packed - placed).total_seconds()))


def events() -> list[dict[str, Any]]:
    """All orders and shipments, in the order of their times."""
    random = Random(20260302)
    made: list[dict[str, Any]] = []
    for number in range(1, ORDERS + 1):
        placed = BEGIN + timedelta(seconds=int(random.uniform(0, WEEK.total_seconds())))
        order_id = f"o{number:05}"
        qty = min(1 + int(random.expovariate(1 / 6)), 60)
        made.append(
            {
                "type": "order",
                "time": placed,
                "id": order_id,
                "product": random.choice(PRODUCTS),
                "qty": qty,
            }
        )
        taken = shipping_time(random, placed, qty)
        if taken is not None:
            tracking = f"t{random.randrange(16**8):08x}"
            made.append(
                {"type": "shipped", "time": placed + taken, "id": order_id, "tracking": tracking}
            )
    return sorted(made, key=lambda event: (event["time"], event["type"], event["id"]))


def main(folder: str) -> None:
    path = Path(folder) / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = events()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for event in made:
            time = event["time"].strftime("%Y-%m-%dT%H:%M:%SZ")
            file.write(json.dumps({**event, "time": time}) + "\n")
    print(f"{len(made):,} events in {path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "build/orders")
