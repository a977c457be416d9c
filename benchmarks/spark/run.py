"""The benchmark of Thence on Spark: ``python -m benchmarks.spark.run``.

Each work runs in a process of its own with a Spark session of its own, on ``local[2]``: all ways
to do it once, to compare their answers and to warm up, then in turn for some rounds. Times are
medians on the wall, since Spark runs on several cores; CPU seconds stand beside them. Ends with
exit code 1 if an answer is wrong or a bar is not held.

With ``--quick`` the tables are a tenth, and bars are not judged: at that size Spark's own start of
a query, which is the same for all, is most of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.spark.child import Task
from benchmarks.spark.report import DETAILS_HEAD, HEAD, Line, details, judge, show, unfinished
from benchmarks.spark.works import BY_NAME, FULL, QUICK, WORKS, Sizes, Work

ROOT = Path(__file__).resolve().parent.parent.parent
BUSY = 0.5  # load of others that disturbs


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    sizes = QUICK if options.quick else FULL
    if options.rounds:
        sizes = replace(sizes, rounds=options.rounds)
    works = [BY_NAME[name] for name in options.only] if options.only else list(WORKS)

    load = _others()
    if load > BUSY:
        print(f"the machine is busy (load {load:.1f}): times on the wall say little, see CPU\n")
    print(f"{sizes.events:,} events (Q5: {sizes.unkeyed:,}), median of {sizes.rounds} rounds\n")
    print(show(HEAD), flush=True)
    lines: list[Line] = []
    report: dict[str, Any] = {}
    for work in works:
        try:
            figures = measure_work(work, sizes)
            line = judge(work, figures, bars=not options.quick)
        except subprocess.CalledProcessError:  # it has said why
            figures, line = {}, unfinished(work)
        print(show(line), flush=True)
        lines.append(line)
        report[work.name] = {
            "what": work.what,
            "against": work.against,
            "bar": work.bar,
            "held": line.held,
            "ratio": line.ratio,
            "problems": list(line.problems),
            **figures,
        }
    for problem in (problem for line in lines for problem in line.problems):
        print(f"WRONG  {problem}")
    print(f"\n{DETAILS_HEAD}")
    for work in works:
        for text in details(work, report[work.name]):
            print(text)
    held = all(line.right and line.held is not False for line in lines)
    name = "spark_quick" if options.quick else "spark"
    measure.write(
        name, {"sizes": asdict(sizes), "load_before": load, "held": held, "works": report}
    )
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, metavar="K")
    parser.add_argument("--quick", action="store_true", help="small tables, one round, no bars")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="WORK")
    return parser.parse_args(arguments)


def _others() -> float:
    """How many processes wanted to run in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def measure_work(work: Work, sizes: Sizes) -> dict[str, Any]:
    """The figures of a work: of one process, or of one for each number of cores."""
    if work.kind == "cores":
        masters = ("local[1]", "local[2]")
        return {master: _in_child(Task(work.name, sizes, master)) for master in masters}
    return _in_child(Task(work.name, sizes))


def _in_child(task: Task) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="thence-bench-") as folder:
        out = Path(folder, "figures.json")
        command = [sys.executable, "-m", "benchmarks.spark.child", task.to_json(), str(out)]
        subprocess.run(command, cwd=ROOT, check=True)
        return dict(json.loads(out.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
