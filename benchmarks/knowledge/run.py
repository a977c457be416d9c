"""Deductive rules against libraries for graphs: ``python -m benchmarks.knowledge.run``.

Reachability over the roads of a town (100,000 edges) from 100 crossings, and between all pairs of
2,000 nodes of a random graph: by rules, and by searches of SciPy and rustworkx for the same pairs,
in turn. The time is CPU time, the median of several runs, and a bar is how many times the time of
the faster library it may be. Asked by events, every pair is a result as well: that is shown, and
has no bar. Ends with exit code 1 if a bar is not held, or if the answers differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import numpy as np

from benchmarks import measure
from benchmarks.knowledge import ways
from benchmarks.knowledge.graphs import Graph, random_graph, road_grid

RUNS = 7
FROM_SOURCES, ALL_PAIRS = 3.0, 5.0
"""How many times the time of the faster library rules may take."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knowledge.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small graphs, without bars")
    options = parser.parse_args(arguments)
    quick = options.quick
    roads = road_grid(400, 5) if quick else road_grid(100_000, 100)
    links = random_graph(60, 120) if quick else random_graph(2_000, 8_000)
    report: dict[str, Any] = {}
    held = True
    for name, graph, every, bar in (
        ("roads, from some crossings", roads, False, FROM_SOURCES),
        ("random links, all pairs", links, True, ALL_PAIRS),
    ):
        figures, fine = compared(graph, every, None if quick else bar, 2 if quick else RUNS)
        report[name], held = figures, held and fine
        print(f"{name}: {graph.nodes:,} nodes, {len(graph.x):,} edges, {figures['pairs']:,} pairs")
        for way, seconds in figures["cpu"].items():
            ratio = seconds / figures["library"]
            said = f"{ratio:.2f} times the faster library"
            barred = way in ways.RULES and not quick
            verdict = ("  ok" if ratio <= bar else "  FAIL") if barred else ""
            print(f"  {way:<22} {seconds:>8.3f} s  {said}{verdict}")
    if not held:
        print("a bar is not held, or answers differ: FAIL")
    if not quick:
        measure.write("knowledge", {"held": held, **report})
    return 0 if held else 1


def compared(
    graph: Graph, every: bool, bar: float | None, runs: int
) -> tuple[dict[str, Any], bool]:
    """What every way takes, and whether the answers are the same and the bar is held."""
    tasks: dict[str, Callable[[], Any]] = {}
    for name, recursion in ways.RULES.items():
        made = ways.program(recursion)
        tasks[name] = lambda made=made: ways.by_rules(made, graph, every)  # type: ignore[misc]
    asked = ways.program(ways.RULES["rules, to the right"])
    tasks["rules, asked by events"] = lambda: ways.by_events(asked, graph)
    tasks["SciPy"] = lambda: ways.by_scipy(graph)
    tasks["rustworkx"] = lambda: ways.by_rustworkx(graph)
    answers = {name: ways.others(task(), graph) for name, task in tasks.items()}
    right = all(np.array_equal(answer, answers["SciPy"]) for answer in answers.values())
    samples: dict[str, list[measure.Sample]] = {name: [] for name in tasks}
    for _ in range(runs):
        for name, task in tasks.items():
            samples[name].append(measure.timed(task))
    cpu = {name: measure.middle(each).cpu for name, each in samples.items()}
    library = max(min(cpu["SciPy"], cpu["rustworkx"]), 1e-9)
    figures = {"pairs": len(answers["SciPy"]), "cpu": cpu, "library": library}
    return figures, right and (bar is None or all(cpu[n] <= bar * library for n in ways.RULES))


if __name__ == "__main__":
    sys.exit(main())
