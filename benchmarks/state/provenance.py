"""What lineage costs: ``python -m benchmarks.state.provenance``.

Q1 over W1, in-process, with ``lineage=True`` and without, in turn; the results are read as a table.
The time is CPU time, the median of several runs. Ends with exit code 1 if a bar is not held, or if
the results are not the same, or have no lineage.
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
from benchmarks.queries import BY_NAME

EVENTS = 1_000_000
RUNS = 5
BAR = 2.0
"""How many times as long as without lineage it may take."""

QUERY = BY_NAME["q1"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.state.provenance", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="few events, without bars")
    quick = parser.parse_args(arguments).quick
    events, program = w1(50_000 if quick else EVENTS), thence.compile(QUERY.text)
    plain, told = (_found(program, events, lineage) for lineage in (False, True))
    right = told.drop_columns("lineage").equals(plain) and all(
        len(entries) == 3 for entries in told["lineage"].to_pylist()
    )
    samples: dict[bool, list[measure.Sample]] = {False: [], True: []}
    for _ in range(2 if quick else RUNS):
        for lineage, own in samples.items():
            own.append(measure.timed(lambda asked=lineage: _found(program, events, asked)))
    without, with_it = (measure.middle(own).cpu for own in samples.values())
    ratio = with_it / without
    held = right and (quick or ratio <= BAR)
    print(f"q1 without lineage {1000 * without:7.1f} ms, with {1000 * with_it:7.1f} ms")
    print(f"{ratio:.2f} times, at most {BAR:g}  {'ok' if ratio <= BAR else 'FAIL'}")
    if not right:
        print("the results differ: FAIL")
    if not quick:
        measure.write(
            "provenance",
            {"held": held, "events": EVENTS, "without": without, "with": with_it, "ratio": ratio},
        )
    return 0 if held else 1


def _found(program: thence.Program, events: Any, lineage: bool) -> Any:
    return program.run(events, lineage=lineage)[QUERY.output]


if __name__ == "__main__":
    sys.exit(main())
