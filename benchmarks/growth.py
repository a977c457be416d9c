"""What must not grow: the time per event with the number of events, and a session's state."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import thence
from benchmarks import measure
from benchmarks.generate import STEP, w1
from benchmarks.queries import BY_NAME

SCALED = ("q1", "q2", "q3", "q2_session")
TIMES = 10
FLAT_TIME = 1.5  # caches get no larger with the table: S itself is not flat either
PUSH = 10_000  # events a push, whatever the number of events

WINDOW = 10_000_000 // STEP  # events in the 10 s that q1 and q2 look back
WINDOWS = 40
SETTLED = 10
FLAT_STATE = 1.25  # how many of the last 10,000 events are an a or a b varies by chance


def scale(n: int) -> tuple[dict[str, Any], bool]:
    """CPU time per event at ``n`` and at ten times as many events."""
    print(f"{'query':<11} {f'{n:,}':>14} {f'{n * TIMES:,}':>14}   ratio")
    small, large = w1(n), w1(n * TIMES)
    report: dict[str, Any] = {}
    held = True
    for name in ("S", *SCALED):
        per_event = [_per_event(name, table, rounds) for table, rounds in ((small, 5), (large, 3))]
        ratio = per_event[1] / per_event[0]
        flat = name == "S" or ratio <= FLAT_TIME
        held = held and flat
        shown = "".join(f" {seconds * 1e9:>11.1f} ns" for seconds in per_event)
        print(f"{name:<11}{shown}  {ratio:>6.2f}  {'' if name == 'S' else _verdict(flat)}")
        report[name] = {"seconds_per_event": per_event, "ratio": ratio, "bar": FLAT_TIME}
    return report, held


def _per_event(name: str, table: Any, rounds: int) -> float:
    if name == "S":

        def call() -> Any:
            return measure.sort(table)
    else:
        query = BY_NAME[name]
        batches = 1 if query.batches == 1 else table.num_rows // PUSH
        program = thence.compile(query.text)
        slices = measure.cut(table, batches)

        def call() -> Any:
            return measure.answer(query, program, slices)

    call()
    seconds = measure.middle([measure.timed(call) for _ in range(rounds)]).cpu
    return seconds / int(table.num_rows)


def memory(windows: int = WINDOWS) -> tuple[dict[str, Any], bool]:
    """The size of the saved state, and of Arrow's memory, after each window of a session."""
    table = w1(WINDOW * windows)
    report: dict[str, Any] = {"events": table.num_rows}
    held = True
    for name in ("q1", "q2"):
        query = BY_NAME[name]
        session = thence.compile(query.text).session()
        before = pa.total_allocated_bytes()
        states, arrow = [], []
        for window in measure.cut(table, windows):
            for batch in measure.cut(window, 10):
                session.push(batch)
            states.append(len(session.save()))
            arrow.append(pa.total_allocated_bytes() - before)
        ratio = max(states[SETTLED:]) / states[SETTLED - 1]
        flat = ratio <= FLAT_STATE
        held = held and flat
        shown = ", ".join(f"{states[after - 1]:,} ({after})" for after in (1, 2, SETTLED, windows))
        print(f"{name}: bytes of state (after so many windows): {shown}")
        print(f"    largest later / after {SETTLED} windows: {ratio:.2f}  {_verdict(flat)}")
        report[name] = {"state_bytes": states, "arrow_bytes": arrow, "ratio": ratio}
    return report, held


def _verdict(held: bool) -> str:
    return "ok" if held else "FAIL"
