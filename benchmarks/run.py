"""The benchmark: ``python -m benchmarks.run``.

Prints, for each query, its time in units of S, where S is the time of sorting the same events by
id and time, measured right before the query in every round. Times are CPU seconds of the whole
process, which other work on the machine disturbs less than the clock on the wall; the system's
share and the wall time stand beside it. Ends with exit code 1 if an answer is wrong or a bar is
not held.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
from benchmarks import measure, reference
from benchmarks.growth import memory, scale
from benchmarks.queries import BY_NAME, Q6_BAR, Q6_NARROWEST, Q6_WIDEST, QUERIES, Query


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.scale:
        part, held = scale(options.events)
        name = "scale"
    elif options.memory:
        part, held = memory()
        name = "memory"
    else:
        queries = [BY_NAME[name] for name in options.only] if options.only else list(QUERIES)
        problems = [problem for query in queries if (problem := measure.wrong(query))]
        for problem in problems:
            print(f"WRONG  {problem}")
        part, held = _compare(queries, options.events, 2 if options.quick else options.rounds)
        part["wrong"] = problems
        held = held and not problems
        name = "queries"
    measure.write(name, {"events": options.events, "held": held, **part})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=7, metavar="K")
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="QUERY")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--scale", action="store_true", help="time per event at N and 10 N events")
    mode.add_argument("--memory", action="store_true", help="size of a session's state over time")
    return parser.parse_args(arguments)


def _compare(queries: list[Query], n: int, rounds: int) -> tuple[dict[str, Any], bool]:
    """Time every query against S, print the table, and say whether all bars hold."""
    tables = measure.tables(n)
    calls = {query.name: measure.prepare(query, tables[query.rare]) for query in queries}
    results = {name: call().num_rows for name, call in calls.items()}  # this warms up as well
    measure.timed(lambda: measure.sort(tables[False]))

    units: dict[str, list[measure.Sample]] = {name: [] for name in calls}
    times: dict[str, list[measure.Sample]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            units[name].append(measure.timed(lambda: measure.sort(tables[False])))
            times[name].append(measure.timed(call))

    unit = measure.middle([sample for samples in units.values() for sample in samples])
    print(f"{n:,} events, one thread, median of {rounds} rounds")
    print(f"S = {unit.cpu * 1e3:.1f} ms CPU, {unit.wall * 1e3:.1f} ms wall\n")
    times_head = f"{'CPU ms':>8} {'system':>8} {'wall ms':>8}"
    print(f"{'query':<11} {times_head} {'in S':>6} {'bar':>6}  {'':<4} results")

    report: dict[str, Any] = {"S": asdict(unit)}
    all_held = True
    for query in queries:
        name = query.name
        time = measure.middle(times[name])
        pairs = list(zip(times[name], units[name], strict=True))
        ratio = median(t.cpu / s.cpu for t, s in pairs)
        expected = reference.count(name, tables[query.rare])
        right = results[name] == expected
        held = right and (query.bar is None or ratio <= query.bar)
        all_held = all_held and held
        bar = f"{query.bar:.1f} S" if query.bar is not None else ""
        verdict = ("ok" if query.bar is not None else "") if held else "FAIL"
        note = "" if right else f" instead of {expected:,}"
        print(
            f"{name:<11} {time.cpu * 1e3:>8.1f} {time.system * 1e3:>8.1f} {time.wall * 1e3:>8.1f}"
            f" {ratio:>6.2f} {bar:>6}  {verdict:<4} {results[name]:,}{note}"
        )
        report[name] = {
            "what": query.what,
            **asdict(time),
            "in_S": ratio,
            "bar": query.bar,
            "results": results[name],
            "expected": expected,
            "held": held,
            "samples": [{**asdict(t), "S": s.cpu} for t, s in pairs],
        }
    if Q6_WIDEST in times and Q6_NARROWEST in times:
        pairs = list(zip(times[Q6_WIDEST], times[Q6_NARROWEST], strict=True))
        ratio = median(wide.cpu / narrow.cpu for wide, narrow in pairs)
        held = ratio <= Q6_BAR
        all_held = all_held and held
        print(
            f"\nq6: 10 s takes {ratio:.2f} times what 200 ms takes"
            f" (bar {Q6_BAR:.1f})  {'ok' if held else 'FAIL'}"
        )
        report["q6"] = {"ratio": ratio, "bar": Q6_BAR, "held": held}
    return report, all_held


if __name__ == "__main__":
    sys.exit(main())
