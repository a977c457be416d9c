"""The schema of the DataFrame that a user gets."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, StringType, StructField, StructType, TimestampType

from thence.spark.output import Output
from thence.spark.types import spark_type

_LINEAGE = ArrayType(
    StructType(
        [
            StructField("label", StringType()),
            StructField("event", StringType()),
            StructField("start", TimestampType()),
            StructField("end", TimestampType()),
            StructField("attributes", StringType()),
        ]
    )
)


def result_schema(output: Output) -> StructType:
    """The columns of results, in Spark's types."""
    fields = [StructField(name, spark_type(kind)) for name, kind in output.columns]
    return StructType([*fields, StructField("lineage", _LINEAGE)] if output.lineage else fields)
