"""What a push costs, by how much a session retains: ``python -m benchmarks.state.run``.

Sessions of Q1 and Q2 are filled to 20,000, a million and ten million retained rows; then single
events come, as records by ``push`` and by ``push_one``, and batches of a thousand: of the twenty
types of W1, and of those alone that the query reads. Below stand programs for every operator that
remembers something: with a million rows a push may cost so many times what it costs with 20,000, no
more. Sessions that are compared take turns, push by push.

Times are CPU milliseconds of a push, the median over all pushes of a kind; wall times stand beside
them, with the 99th percentile and the longest push: now and then one push merges runs. The last row
is W1 in 100 pushes, in units of S, the time of sorting it. Ends with exit code 1 if a bar is not
held.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import numpy as np

import thence
from benchmarks import measure
from benchmarks.generate import w1
from benchmarks.queries import BY_NAME
from benchmarks.state.subjects import BARRED, OPERATORS, Feed, Subject

SMALL, LARGE, HUGE = 20_000, 1_000_000, 10_000_000
ONE_BARS = {SMALL: 0.5, LARGE: 1.0, HUGE: 1.5}
"""How many milliseconds a push of one event takes at most, by how many rows are retained."""

MANY, MANY_BAR = 1_000, 3.0
"""How many events a batch has, and how many milliseconds its push takes with a million retained."""

GROWTH_BAR = 3.0
"""How many times what it costs with 20,000 rows a push costs with a million, at most."""

SESSION_BAR = 2.0
"""How many S the hundred pushes of W1 take at most."""

WARM = 50
"""So many rounds come before those that are measured: code is loaded, indexes are made."""


@dataclass(slots=True)
class Pushes:
    """The times of pushes of one kind, in milliseconds."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def time(self, push: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        push()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.cpu.append(1e3 * cpu)
        self.wall.append(1e3 * wall)

    @property
    def figures(self) -> dict[str, float]:
        return {
            "cpu": median(self.cpu),
            "wall": median(self.wall),
            "p99": float(np.percentile(self.wall, 99)),
            "longest": max(self.wall),
            "pushes": len(self.wall),
        }


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    rows: list[dict[str, Any]] = []
    head = f"{'CPU ms':>8} {'wall ms':>8} {'99 %':>8} {'longest':>8} {'bar':>6}"
    print(f"{'':<11} {'retained':>10} {'pushed':<12} {head}")
    sizes = [size for size in (SMALL, LARGE, HUGE) if size <= options.retained]
    for found in _measured(sizes, options):
        rows.append(found)
        print(_line(found), flush=True)
    if options.only is None:
        found = w1_in_pushes(1 if options.quick else 7)
        rows.append(found)
        print(
            f"\nW1 in 100 pushes: {found['in_S']:.2f} S, bar {found['bar']:.1f}  {_verdict(found)}"
        )
    held = all(found["held"] for found in rows)
    measure.write("state", {"held": held, "rows": rows})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state.run", description=__doc__)
    parser.add_argument("--retained", type=int, default=HUGE, help="fill sessions no further")
    parser.add_argument("--rounds", type=int, default=500, help="so many pushes of each kind")
    parser.add_argument("--quick", action="store_true", help="few pushes, up to a million retained")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the programs")
    options = parser.parse_args(arguments)
    if options.quick:
        options.retained, options.rounds = min(options.retained, LARGE), min(options.rounds, 100)
    return options


def _measured(sizes: Sequence[int], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each program, size and kind of push."""

    def chosen(subjects: Sequence[Subject]) -> Iterator[Subject]:
        return (each for each in subjects if options.only is None or each.name in options.only)

    for subject in chosen(BARRED):
        # The largest stands alone: two of them would take twice the memory.
        for together in ([s for s in sizes if s < HUGE], [s for s in sizes if s >= HUGE]):
            feeds = [Feed(subject, size) for size in together]
            for (feed, kind), pushes in singly(feeds, options.rounds).items():
                yield _row(feed, kind, pushes, ONE_BARS.get(feed.retained))
            for feed in feeds:
                bar = MANY_BAR if feed.retained == LARGE else None
                count = options.rounds // 5
                yield _row(
                    feed, f"{MANY:,} of W1", in_batches(feed.session, feed.mixed, count), bar
                )
                yield _row(feed, f"{MANY:,}", in_batches(feed.session, feed.batch, count), None)
            del feeds
    for subject in chosen(OPERATORS):
        feeds = [Feed(subject, size) for size in sizes if size < HUGE]
        found = singly(feeds, options.rounds // 2, by_name=False)
        for (feed, kind), pushes in found.items():
            row = _row(feed, kind, pushes, None)
            if feed is not feeds[0]:
                row["growth"] = row["cpu"] / median(found[feeds[0], kind].cpu)
                row["held"] = row["growth"] <= GROWTH_BAR
            yield row


def singly(
    feeds: Sequence[Feed], rounds: int, by_name: bool = True
) -> dict[tuple[Feed, str], Pushes]:
    """The times of pushing one event of each type, by turns into each session: by ``push``, and
    with ``by_name`` by ``push_one`` as well."""
    found: dict[tuple[Feed, str], Pushes] = {}
    gc.collect()
    for place in range(WARM + rounds):
        for feed in feeds:
            session = feed.session
            for name, record in feed.one():
                times = found.setdefault((feed, name), Pushes())
                times.time(lambda n=name, r=record, s=session: s.push({n: [r]}))  # type: ignore[misc]
            for name, record in feed.one() if by_name else ():
                times = found.setdefault((feed, f"{name} push_one"), Pushes())
                times.time(lambda n=name, r=record, s=session: s.push_one(n, **r))  # type: ignore[misc]
        if place == WARM - 1:
            found.clear()
    return found


def in_batches(session: thence.Session, events: Callable[[int], Any], rounds: int) -> Pushes:
    """The times of pushing batches of many events."""
    found = Pushes()
    for place in range(WARM // 10 + rounds):
        batch = events(MANY)
        if place == WARM // 10:
            found = Pushes()
        found.time(lambda: session.push(batch))  # noqa: B023 (it is called at once)
    return found


def w1_in_pushes(rounds: int) -> dict[str, Any]:
    """How many S the pushes of W1 take."""
    table = w1(1_000_000)
    call = measure.prepare(BY_NAME["q2_session"], table)
    call()
    ratios = []
    for _ in range(rounds):
        unit = measure.timed(lambda: measure.sort(table)).cpu
        ratios.append(measure.timed(call).cpu / unit)
    ratio = median(ratios)
    return {"program": "w1", "in_S": ratio, "bar": SESSION_BAR, "held": ratio <= SESSION_BAR}


def _row(feed: Feed, kind: str, pushes: Pushes, bar: float | None) -> dict[str, Any]:
    figures = pushes.figures
    return {
        "program": feed.subject.name,
        "what": feed.subject.what,
        "retained": feed.retained,
        "rows": feed.session.state_rows,
        "pushed": kind,
        **figures,
        "bar": bar,
        "held": bar is None or figures["cpu"] <= bar,
    }


def _line(row: dict[str, Any]) -> str:
    times = " ".join(f"{row[name]:>8.3f}" for name in ("cpu", "wall", "p99", "longest"))
    bar = "" if row["bar"] is None else f"{row['bar']:.1f}"
    if "growth" in row:
        bar = f"{row['growth']:.1f} x"
    return (
        f"{row['program']:<11} {row['retained']:>10,} {row['pushed']:<12} {times} {bar:>6}  "
        f"{_verdict(row) if bar else ''}"
    )


def _verdict(row: dict[str, Any]) -> str:
    return "ok" if row["held"] else "FAIL"


if __name__ == "__main__":
    sys.exit(main())
