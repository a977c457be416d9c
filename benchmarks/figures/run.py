"""The paper's experiments: ``python -m benchmarks.figures.run``.

Asks each question in every way, once to compare the answers and to warm up, then in turn for some
rounds. Times are medians on the wall, since DuckDB and Spark run on several cores, so the machine
should have nothing else to do. Draws Figures 7, 8 and 9 into ``build/figures``. Ends with exit code
1 if two answers differ, if Thence is slower than the join anywhere, or if the gap does not grow
along a figure.

With ``--quick`` the stream is short, figures have their first and last point only, and bars are not
judged: what is measured then is how long a query takes to begin.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import measure as machine
from benchmarks.figures.data import base, base_folder
from benchmarks.figures.draw import FOLDER as DRAWINGS
from benchmarks.figures.draw import draw
from benchmarks.figures.measure import FULL, QUICK, Effort, measured
from benchmarks.figures.questions import Figure, Question, figures
from benchmarks.figures.report import HEAD, Result, as_json, lines, verdicts
from benchmarks.figures.ways import Ask, in_process
from benchmarks.parquet import FOLDER

NAMES = ("7", "8", "9")
CORES = 2
BUSY = 0.5  # load of others that disturbs


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many events each figure is about: the first two, and that of the length."""

    events: int = 2_000_000
    events_of_length: int = 1_000_000


SMALL = Sizes(40_000, 20_000)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    sizes, effort = (SMALL, QUICK) if options.quick else (Sizes(), FULL)
    wanted = options.only or NAMES
    chosen = [
        figure.ends if options.quick else figure
        for figure in figures(**asdict(sizes))
        if figure.name in wanted
    ]
    load = os.getloadavg()[0]
    if load > BUSY:
        print(f"the machine is busy (load {load:.1f}): these times say little\n")
    with ExitStack() as stack:
        spark = None if options.no_spark else stack.enter_context(_session())
        found = run(chosen, effort, spark, bars=not options.quick)
    report, right, held = _judged(found, bars=not options.quick)
    for figure, results in found.items():
        for path in draw(figure, results, DRAWINGS):
            print(f"drawn: {path.relative_to(DRAWINGS.parent.parent)}")
    facts = {"duckdb": version("duckdb"), "load_before": load, "held": held}
    machine.write(
        "figures_quick" if options.quick else "figures",
        {"sizes": asdict(sizes), "effort": asdict(effort), **facts, **report},
    )
    return 0 if right and (held or options.quick) else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few events, one round, no bars")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="FIGURE")
    parser.add_argument("--no-spark", action="store_true", help="in one process only")
    return parser.parse_args(arguments)


@contextmanager
def _session() -> Iterator[Any]:
    from thence import spark as ts  # noqa: PLC0415  (only who asks for Spark needs it)

    spark = ts.session(f"local[{CORES}]", "thence-bench")
    try:
        yield spark
    finally:
        spark.stop()


def run(
    chosen: list[Figure],
    effort: Effort,
    spark: Any = None,
    *,
    bars: bool = True,
    folder: Path = FOLDER,
) -> dict[Figure, list[Result]]:
    """Measure and print every point. A question that two figures share is asked once."""
    found: dict[Figure, list[Result]] = {figure: [] for figure in chosen}
    for events in dict.fromkeys(figure.events for figure in chosen):
        known: dict[Question, Any] = {}
        with _asking(events, spark, folder) as asks:
            for figure in (figure for figure in chosen if figure.events == events):
                print(
                    f"figure {figure.name}: {figure.title}; {events:,} events\n{HEAD}", flush=True
                )
                for point in figure.points:
                    question = point.question
                    if question not in known:
                        ways = [way for ask in asks for way in ask(question)]
                        fresh = not any(found.values())
                        known[question] = tuple(measured(ways, effort.first if fresh else effort))
                    result = Result(point.x, events, known[question])
                    print("\n".join((*lines(result, bars=bars), "")), flush=True)
                    found[figure].append(result)
    return found


@contextmanager
def _asking(events: int, spark: Any, folder: Path) -> Iterator[list[Ask]]:
    with in_process(base(events)) as ask:
        if spark is None:
            yield [ask]
        else:
            from benchmarks.figures.spark_ways import on_spark  # noqa: PLC0415

            yield [ask, on_spark(spark, base_folder(events, within=folder))]


def _judged(found: dict[Figure, list[Result]], *, bars: bool) -> tuple[dict[str, Any], bool, bool]:
    """Print what is wrong and what is held; the report, whether all answers agree, and the bars."""
    right = held = True
    report: dict[str, Any] = {}
    for figure, results in found.items():
        for result in results:
            for problem in result.problems:
                right = False
                print(f"WRONG figure {figure.name} at {result.x}: {problem}")
        judged = list(verdicts(figure, results)) if bars else []
        for verdict in judged:
            held = held and verdict.held
            print(verdict)
        report[f"figure_{figure.name}"] = {
            "title": figure.title,
            "verdicts": [asdict(verdict) for verdict in judged],
            "points": [as_json(result) for result in results],
        }
    return report, right, right and held


if __name__ == "__main__":
    sys.exit(main())
