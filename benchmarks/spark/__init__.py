"""Benchmarks of Thence on Spark, side by side with the same queries in Spark SQL.

``python -m benchmarks.spark.run`` from the root of the project; or ``make bench-spark``.
"""
