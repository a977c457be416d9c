"""Hard programs against their bars: ``python -m benchmarks.hard.run``.

Each row (``rows.py``) runs in a process of its own, so that one which takes too much takes
nothing else with it, and so that its peak of memory is its own. It runs twice, the first time to
warm up; the time is CPU time. Ends with exit code 1 if a bar is not held, an answer has the wrong
size, or a process dies.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import thence
from benchmarks import measure
from benchmarks.hard import compiling, limits, many_rules, policies, repetition, start, values
from benchmarks.hard.rows import Row

LONGEST = 300
"""Seconds that a row may take at most, on the wall."""

WARM = 30.0
"""A row that takes longer than this is not run a second time; to compile loops takes less."""

ROOT = Path(__file__).resolve().parents[2]

ROWS: tuple[Row, ...] = (
    *limits.ROWS,
    *policies.ROWS,
    *repetition.ROWS,
    *values.ROWS,
    *compiling.ROWS,
    *many_rules.ROWS,
    *start.ROWS,
)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.row is not None:
        print(json.dumps(_measured(ROWS[options.row])))
        return 0
    print(f"{'':<56} {'asked':>8} {'CPU s':>8} {'memory':>8}  {'':<4} results")
    report: list[dict[str, Any]] = []
    for number, each in enumerate(ROWS):
        if options.only is None or any(word in each.name for word in options.only):
            found = _in_process(number)
            problems = _problems(each, found)
            report.append({"row": each.name, "bar": each.bar, "problems": problems, **found})
            print(_line(each, found, problems), flush=True)
    held = not any(entry["problems"] for entry in report)
    measure.write("hard", {"held": held, "rows": report})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard.run", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="rows whose names hold a text")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _in_process(number: int) -> dict[str, Any]:
    """What a row measures in a process of its own; how that ended where it measures nothing."""
    command = [sys.executable, "-m", "benchmarks.hard.run", "--row", str(number)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return {"died": f"it took more than {LONGEST} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"died": f"exit code {done.returncode}: {said[-1] if said else ''}"}
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def _measured(each: Row) -> dict[str, Any]:
    """A row, run here."""
    if each.seconds is not None:
        return {"cpu": each.seconds(), "memory": 0, "found": 0}
    program, events = thence.compile(each.program), each.events()
    found: list[int | str] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def act() -> None:
        try:
            found.append(each.act(program, events))
        except thence.ThenceError as problem:
            found.append(type(problem).__name__)

    sample = measure.timed(act)
    if sample.cpu < WARM:
        sample = measure.timed(act)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"cpu": sample.cpu, "memory": (peak - before) * 1024, "found": found[-1]}


def _problems(each: Row, found: dict[str, Any]) -> list[str]:
    if "died" in found:
        return [found["died"]]
    problems = []
    if each.bar is not None and found["cpu"] > each.bar:
        problems.append("too slow")
    if each.memory is not None and found["memory"] > each.memory:
        problems.append("too much memory")
    if each.refused is not None and found["found"] != each.refused.__name__:
        problems.append(f"not refused with {each.refused.__name__}")
    if each.refused is None and isinstance(found["found"], str):
        problems.append("refused")
    if each.results is not None and found["found"] != each.results:
        problems.append(f"instead of {each.results:,}")
    return problems


def _line(each: Row, found: dict[str, Any], problems: list[str]) -> str:
    asked = "" if each.bar is None else f"{each.bar:.2f} s"
    said = ", ".join(problems)
    if "died" in found:
        return f"{each.name:<56} {asked:>8} {'':>8} {'':>8}  FAIL {said}"
    results = found["found"] if isinstance(found["found"], str) else f"{found['found']:,}"
    memory = f"{found['memory'] / 1e6:.0f} MB"
    verdict = "FAIL" if problems else "ok" if each.bar is not None else ""
    times = f"{asked:>8} {found['cpu']:>8.2f} {memory:>8}"
    return f"{each.name:<56} {times}  {verdict:<4} {results} {said}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
