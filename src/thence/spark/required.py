"""What Thence uses of PySpark's core, or a message that says how to install it."""

from __future__ import annotations

from thence.model.errors import InputError

try:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession
except ModuleNotFoundError as problem:
    raise InputError(
        f"Spark's Python package is not complete: there is no '{problem.name}'. Run: pip install "
        "'thence[spark]' (Spark also needs Java 17 or newer). Without Spark, program.run(…) works, "
        "and so do 'thence run' and 'thence demo' with --engine embedded."
    ) from None

__all__ = [
    "Py4JError",
    "PySparkException",
    "SparkConf",
    "SparkContext",
    "SparkSession",
    "launch_gateway",
]
