"""Where a query spends its time: ``python -m benchmarks.profile q1``."""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys

from benchmarks import one_thread  # noqa: F401  (before NumPy is imported)

# isort: split
from benchmarks import measure
from benchmarks.queries import BY_NAME


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("query", choices=list(BY_NAME))
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--top", type=int, default=25, metavar="K", help="functions to show")
    parser.add_argument("--runs", type=int, default=3, metavar="K")
    parser.add_argument("--sort", choices=("tottime", "cumtime"), default="tottime")
    parser.add_argument("--out", metavar="FILE", help="keep the profile for other tools")
    options = parser.parse_args(arguments)

    query = BY_NAME[options.query]
    table = measure.tables(options.events)[query.rare]
    call = measure.prepare(query, table)
    call()
    plain = measure.middle([measure.timed(call) for _ in range(options.runs)])
    unit = measure.middle([measure.timed(lambda: measure.sort(table)) for _ in range(options.runs)])
    print(f"{query.name}: {query.what}\n{query.rule}")
    print(f"{plain.cpu * 1e3:.1f} ms without the profiler, {plain.cpu / unit.cpu:.2f} S")

    profiler = cProfile.Profile()
    for _ in range(options.runs):
        profiler.runcall(call)
    if options.out:
        profiler.dump_stats(options.out)
    print(f"\n{options.runs} runs, with the profiler:")
    pstats.Stats(profiler).strip_dirs().sort_stats(options.sort).print_stats(options.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
