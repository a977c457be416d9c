"""The experiments of paper 4, section 5: ``python -m benchmarks.etalis.run``.

Rules (6) to (11) over streams of 25,000 to 1 million events, over selectivities of 10 to 100 %, and
1, 8 and 16 times (``rules.py``); drawn as the figures of the paper. The works of a figure run by
turns in this process, on one thread; times are of CPU, and medians. Ends with exit code 1 if

- a work finds another number of results than follows from how its stream was made,
- throughput of rules (6) to (10) is lower over the largest stream than over the smallest,
- a result of rule (11) costs more than ``LINEAR`` times as much over the largest stream, or in the
  longest chain, as over any smaller one: its results are many, and leave the processor's cache, or
- the closure of a chain of 800 links takes more than ``DEEP`` seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import thence
from benchmarks import measure
from benchmarks.etalis.draw import FOLDER, draw
from benchmarks.etalis.rules import Figure, Work, closure, figures

SMALL = 25_000
SIZES = (SMALL, 100_000, 400_000, 1_000_000)
QUICK = (2_000, 10_000)

CHAINS = (200, 400, 800, 1_600)
QUICK_CHAINS = (20, 40)
LINEAR = 2.5
DEEP_CHAIN, DEEP = 800, 1.0

ROUNDS = 7
LEAST = 0.25
"""So many seconds of CPU a sample takes at least: a short work is run several times for one."""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    sizes, lengths = (QUICK, QUICK_CHAINS) if options.quick else (SIZES, CHAINS)
    problems: list[str] = []
    report: dict[str, Any] = {}
    for figure in figures(sizes[0], sizes):
        if options.only is None or figure.name in options.only:
            seconds, wrong = measured(
                {place: figure.work(place) for place in figure.places}, options.rounds
            )
            rates = {place: figure.work(place).events / cpu for place, cpu in seconds.items()}
            found = [*wrong, *([] if options.quick else falls(figure, rates))]
            report[figure.name] = {"title": figure.title, "events per second": rates}
            problems += [f"{figure.name}: {each}" for each in found]
            drawn = draw(figure, rates, options.folder)[0]
            print(line(figure, rates, found), f"\n     {drawn}", flush=True)
    if options.only is None or "chains" in options.only:
        seconds, wrong = measured({n: closure(n, n) for n in lengths}, options.rounds)
        found = [*wrong, *([] if options.quick else costs_more(seconds))]
        report["chains"] = {"seconds": seconds}
        problems += [f"chains: {each}" for each in found]
        print(chains_line(seconds, found))
    held = not problems
    if not options.quick:
        measure.write("etalis", {"held": held, "problems": problems, "figures": report})
    for problem in problems:
        print(f"not held: {problem}")
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.etalis.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few events, and no bars of time")
    parser.add_argument("--rounds", type=int, default=None, help="how often each work is run")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the figures, or chains")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where figures are drawn")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else ROUNDS)
    return options


def measured(works: Mapping[int, Work], rounds: int) -> tuple[dict[int, float], list[str]]:
    """How many seconds each work takes, run by turns; and which find a wrong number of results."""
    programs = {place: thence.compile(work.program) for place, work in works.items()}
    wrong, times = [], {}
    for place, work in works.items():
        found = answered(programs[place], work)
        if found != work.results:
            wrong.append(f"{found:,} results instead of {work.results:,} at {place:,}")
        once = measure.timed(lambda p=place: answered(programs[p], works[p])).cpu
        times[place] = max(1, round(LEAST / max(once, 1e-6))) if rounds > 1 else 1
    samples: dict[int, list[float]] = {place: [] for place in works}
    for _ in range(rounds):
        for place, count in times.items():
            samples[place].append(_seconds(programs[place], works[place], count))
    return {place: median(own) for place, own in samples.items()}, wrong


def answered(program: thence.Program, work: Work) -> int:
    """How many results a program gives, as tables."""
    results = program.run(work.tables)
    return sum(results[name].num_rows for name in results)


def _seconds(program: thence.Program, work: Work, times: int) -> float:
    """What one run takes, measured over several."""

    def act() -> None:
        for _ in range(times):
            answered(program, work)

    return measure.timed(act).cpu / times


def falls(figure: Figure, rates: Mapping[int, float]) -> list[str]:
    """That throughput is lower over the largest stream than it may be, if it is."""
    last = max(rates)
    if figure.growth == "linear":
        least = max(rates.values()) / LINEAR
    elif figure.growth == "at least":
        least = rates[min(rates)]
    else:
        return []
    if rates[last] < least:
        return [f"{rates[last]:,.0f} events/s over {last:,} events, less than {least:,.0f}"]
    return []


def costs_more(seconds: Mapping[int, float]) -> list[str]:
    """That a result of a long chain costs more than one of a shorter, or a chain too much."""
    costs = {links: cpu / closure(links, links).results for links, cpu in seconds.items()}
    longest, found = max(costs), []
    if costs[longest] > LINEAR * min(costs.values()):
        found.append(f"a result costs {costs[longest] / min(costs.values()):.1f} times as much")
    if seconds[DEEP_CHAIN] > DEEP:
        found.append(f"{DEEP_CHAIN} links take {seconds[DEEP_CHAIN]:.2f} s")
    return found


def line(figure: Figure, rates: Mapping[int, float], problems: Sequence[str]) -> str:
    """A figure in one line."""
    said = "  ".join(f"{place:,}: {rate / 1e6:.2f} M/s" for place, rate in rates.items())
    return f"{figure.name:<4} {figure.title:<30} {'FAIL' if problems else 'ok':<4} {said}"


def chains_line(seconds: Mapping[int, float], problems: Sequence[str]) -> str:
    """The closures of single chains in one line."""
    said = "  ".join(
        f"{links:,} links, {closure(links, links).results:,} results: {cpu:.2f} s"
        for links, cpu in seconds.items()
    )
    return f"{'':<4} {'one chain, rule (11)':<30} {'FAIL' if problems else 'ok':<4} {said}"


if __name__ == "__main__":
    sys.exit(main())
