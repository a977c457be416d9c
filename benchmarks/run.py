"""The benchmark: ``python -m benchmarks.run``.

Prints, for each query, its time in units of S, where S is the time of sorting the same events by
id and time, measured right before the query in every round. Times are CPU seconds of the whole
process, which other work on the machine disturbs less than the clock on the wall; the system's
share and the wall time stand beside it. Ends with exit code 1 if an answer is wrong or a bar is
not held. Below are bars between two queries; every other round goes backwards, so that neither of
them always comes first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
from benchmarks import measure, reference
from benchmarks.growth import memory, scale
from benchmarks.queries import BY_NAME, QUERIES, RATIOS, Query


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
    turns = list(calls.items())
    for place in range(rounds):
        for name, call in turns if place % 2 == 0 else reversed(turns):
            units[name].append(measure.timed(lambda: measure.sort(tables[False])))
            times[name].append(measure.timed(call))

    unit = measure.middle([sample for samples in units.values() for sample in samples])
    print(f"{n:,} events, one thread, median of {rounds} rounds")
    print(f"S = {unit.cpu * 1e3:.1f} ms CPU, {unit.wall * 1e3:.1f} ms wall\n")
    times_head = f"{'CPU ms':>8} {'system':>8} {'wall ms':>8}"
    print(f"{'query':<12} {times_head} {'in S':>6} {'bar':>6}  {'':<4} results")

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
            f"{name:<12} {time.cpu * 1e3:>8.1f} {time.system * 1e3:>8.1f} {time.wall * 1e3:>8.1f}"
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
    ratios, held = _ratios(times)
    return {**report, "ratios": ratios}, all_held and held


def _ratios(times: Mapping[str, Sequence[measure.Sample]]) -> tuple[dict[str, Any], bool]:
    """Print how queries compare with each other, round by round, and say whether the bars hold."""
    report: dict[str, Any] = {}
    for ratio in RATIOS:
        if ratio.query not in times or ratio.base not in times:
            continue
        pairs = zip(times[ratio.query], times[ratio.base], strict=True)
        samples = [one.cpu / base.cpu for one, base in pairs]
        found = median(samples)
        held = found <= ratio.bar
        if not report:
            print(f"\n{'ratio':<17} {'':<30} {'times':>6} {'bar':>6}")
        print(
            f"{ratio.name:<17} {ratio.what:<30} {found:>6.2f} {ratio.bar:>6.1f}"
            f"  {'ok' if held else 'FAIL'}"
        )
        report[ratio.name] = {"ratio": found, "bar": ratio.bar, "held": held, "samples": samples}
    return report, all(part["held"] for part in report.values())


if __name__ == "__main__":
    sys.exit(main())
