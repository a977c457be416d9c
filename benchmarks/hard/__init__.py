"""Programs that are easy to say and hard to do fast, or within the memory there is, with bars.

Each file but ``run.py`` and ``rows.py`` has a tuple ``ROWS``. All of them are run by
``python -m benchmarks.hard.run`` from the root of the project, or by ``make bench-hard``.
"""
