"""The experiments of the paper behind event SQL, as one run that measures and draws its figures.

A sequence is asked for by Thence and as a join with a selection, in one process (DuckDB) and on
Spark (Spark SQL), while the window, the partitioning attribute or the length of the sequence grows.

``python -m benchmarks.figures.run`` from the root of the project; or ``make bench-figures``.
"""
