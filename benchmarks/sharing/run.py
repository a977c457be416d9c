"""Many rules that share work, against one of them: ``python -m benchmarks.sharing.run``.

For each family (``families.py``) one rule and many of them run by turns in this process, on one
thread; the times are of CPU, the ratio is that of the medians. Ends with exit code 1 if a bar is
not held, or if a rule finds something else among many than by itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
import thence
from benchmarks import measure
from benchmarks.generate import w1
from benchmarks.sharing.families import FAMILIES, Family, events

EVENTS = 1_000_000
CHECKED = 20_000
ROUNDS = 7


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    table = w1(options.events)
    print(f"{'':<10} {'rules':>5} {'one':>10} {'many':>10} {'ratio':>7} {'asked':>7}")
    report: list[dict[str, Any]] = []
    for family in FAMILIES:
        if options.only is None or family.name in options.only:
            found = measured(family, table, options.rounds)
            report.append(found)
            print(_line(family, found), flush=True)
    held = not any(found["problems"] for found in report)
    measure.write("sharing", {"events": options.events, "held": held, "families": report})
    return 0 if held else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sharing.run", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="how many events of W1")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is run")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the families")
    return parser.parse_args(arguments)


def measured(family: Family, table: Any, rounds: int) -> dict[str, Any]:
    """How long one rule of a family takes, and how long many take."""
    given = events(table, family.one_stream)
    programs = {count: thence.compile(family.text(count)) for count in (1, family.many)}
    results = {count: rows(program, given) for count, program in programs.items()}
    samples: dict[int, list[float]] = {count: [] for count in programs}
    for _ in range(rounds):
        for count, program in programs.items():
            samples[count].append(measure.timed(lambda p=program: answers(p, given)).cpu)
    one, many = median(samples[1]), median(samples[family.many])
    wrong = differing(family, events(table.slice(0, CHECKED), family.one_stream))
    problems = [f"{name} finds something else among many" for name in wrong]
    if many > family.bar * one:
        problems.append("too slow")
    return {
        "family": family.name,
        "what": family.what,
        "rules": family.many,
        "one": one,
        "many": many,
        "ratio": many / one,
        "bar": family.bar,
        "results": {str(count): sum(found.values()) for count, found in results.items()},
        "problems": problems,
    }


def answers(program: thence.Program, given: Any) -> dict[str, Any]:
    """The tables of all rules."""
    found = program.run(given)
    return {name: found[name] for name in found}


def rows(program: thence.Program, given: Any) -> Mapping[str, int]:
    return {name: table.num_rows for name, table in answers(program, given).items()}


def differing(family: Family, given: Any) -> list[str]:
    """Rules that find something else among many than where nothing is shared."""
    text = family.text(family.many)
    shared = answers(thence.compile(text), given)
    alone = answers(thence.compile(text, without=thence.optimisations()), given)
    return [name for name in alone if measure.as_rows(shared[name]) != measure.as_rows(alone[name])]


def _line(family: Family, found: Mapping[str, Any]) -> str:
    times = f"{1e3 * found['one']:>7.1f} ms {1e3 * found['many']:>7.1f} ms"
    verdict = "ok" if not found["problems"] else "FAIL " + ", ".join(found["problems"])
    counts = " / ".join(f"{count:,}" for count in found["results"].values())
    return (
        f"{family.name:<10} {family.many:>5} {times} {found['ratio']:>7.2f} {family.bar:>7.1f}  "
        f"{verdict}  {counts} results: {family.what}"
    )


if __name__ == "__main__":
    sys.exit(main())
