"""A suppressed sub-expression against an eager one: ``python -m benchmarks.suppress.run``.

Over W1, an alarm (one event in 10,000) asks for climbs: an ``a``, a ``b`` and a ``c`` of its id, at
rising prices, after it. The rule for climbs is evaluated with the optimisation and without it in
turn; the time is CPU time, the median of several runs. State is the most rows that a session of
100 pushes holds. Ends with exit code 1 if a bar is not held, or the answers differ.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import thence
from benchmarks import measure
from benchmarks.generate import w1

EVENTS = 1_000_000
RARE_EVERY = 10_000
RUNS = 7
PUSHES = 100
TIMES = 5.0
"""How many times as fast, and as small, as eagerly evaluated."""

PROGRAM = """
event a(id int, price float) within 0 s;
event b(id int, price float) within 0 s;
event c(id int, price float) within 0 s;
event z(id int) within 0 s;
climb(id, x) <- p: a(id, u), q: b(id, v), r: c(id, x), p before q, q before r,
                {p, r} within 3 min, u < v, v < x;
alarm(id, x) <- t: z(id), m: climb(id, x), t before m, {t, m} within 3 min;
"""
OFF = {"suppressed": (), "eager": ("suppress",)}


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    n = 50_000 if options.quick else EVENTS
    events = w1(n, rare_every=RARE_EVERY)
    programs = {name: thence.compile(PROGRAM, without=off) for name, off in OFF.items()}
    found = {name: _answer(program, events) for name, program in programs.items()}
    samples: dict[str, list[measure.Sample]] = {name: [] for name in programs}
    for _ in range(2 if options.quick else RUNS):
        for name, program in programs.items():
            samples[name].append(measure.timed(lambda p=program: _answer(p, events)))
    report: dict[str, Any] = {"events": n, "alarms": len(found["eager"])}
    for name, program in programs.items():
        answer, rows = _session(program, events)
        report[name] = {"cpu": measure.middle(samples[name]).cpu, "rows": rows}
        found[f"{name} in a session"] = answer
        print(f"{name:<11} {report[name]['cpu']:>8.3f} s  {rows:>8,} rows of state")
    right = all(answer == found["eager"] for answer in found.values())
    held = right
    for what in ("cpu", "rows"):
        ratio = report["eager"][what] / max(report["suppressed"][what], 1e-9)
        report[f"{what}_ratio"] = ratio
        held = held and (options.quick or ratio >= TIMES)
        print(f"{what}: {ratio:.1f} times, asked {TIMES:g}  {'ok' if ratio >= TIMES else 'FAIL'}")
    print(f"{report['alarms']} alarms{'' if right else ', but answers differ: FAIL'}")
    if not options.quick:
        measure.write("suppress", {"held": held, **report})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suppress.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few events, without bars")
    return parser.parse_args(arguments)


def _answer(program: thence.Program, events: Any) -> list[Any]:
    return _rows(program.run(events, emit="alarm"))


def _session(program: thence.Program, events: Any) -> tuple[list[Any], int]:
    """What a session finds, and the most rows that it remembers."""
    session = program.session(emit="alarm")
    found: list[Any] = []
    most = 0
    for part in measure.cut(events, PUSHES):
        found += _rows(session.push(part))
        most = max(most, session.state_rows)
    return sorted([*found, *_rows(session.finish())]), most


def _rows(results: thence.Results) -> list[Any]:
    return sorted(tuple(row.values()) for row in results["alarm"].to_pylist())


if __name__ == "__main__":
    sys.exit(main())
