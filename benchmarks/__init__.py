"""Benchmarks: generated events, queries with bars, a reference that counts differently, a runner.

Run them as modules from the root of the project, ``python -m benchmarks.run``; or ``make bench``.
"""
