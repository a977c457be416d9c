"""Programs that are easy to say and hard to do fast, or within the memory there is, with bars.

Each file but ``run.py`` and ``rows.py`` has a tuple ``ROWS``; ``python -m benchmarks.hard.run`` from
the root of the project, or ``make bench-hard``, runs all of them.
"""
