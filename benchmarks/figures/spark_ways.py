"""The ways to ask a question on Spark: Thence, and Spark SQL in the same session.

Both begin with Parquet files, and end with all columns of all results computed and thrown away.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import thence
from benchmarks.figures.answers import Answer, row_in_sql, sum_in_sql
from benchmarks.figures.questions import FOUND, Question
from benchmarks.figures.ways import ON_SPARK, Ask, Kind, Way
from thence import spark as ts


def on_spark(spark: SparkSession, folder: Path) -> Ask:
    """How to ask about the events in this folder."""
    base = spark.read.parquet(str(folder))

    def ask(question: Question) -> list[Way]:
        # All ways give the same columns: Thence's own would be one more, when a sequence starts.
        found = ts.detect(thence.compile(question.rule), base, emit=FOUND)
        found = found.select(*question.columns_of_rule)
        join, pieces = (
            spark.sql(text, base=base) for text in (question.join, question.join_in_pieces)
        )
        return [
            _way("Thence", "ours", found, question.columns_of_rule),
            _way("Spark SQL", "join", join, question.columns),
            _way("Spark SQL, in pieces", "pieces", pieces, question.columns),
        ]

    return ask


def _way(name: str, kind: Kind, result: DataFrame, columns: tuple[str, ...]) -> Way:
    def answer(_: None) -> Answer:
        return _answer(result, columns)  # a run has thrown its results away, so they are asked anew

    return Way(name, ON_SPARK, kind, lambda: _consume(result), answer)


def _consume(result: DataFrame) -> None:
    """Compute every column of every row, and throw it away."""
    result.write.format("noop").mode("overwrite").save()


def _answer(result: DataFrame, columns: tuple[str, ...]) -> Answer:
    types = dict(result.dtypes)
    numbers = result.selectExpr(
        *(
            f"unix_micros(`{name}`) AS `{name}`" if types[name] == "timestamp" else f"`{name}`"
            for name in columns
        )
    )
    rows = numbers.selectExpr(f"{row_in_sql(columns)} AS row")
    found = rows.selectExpr("count(1) AS results", f"{sum_in_sql('row')} AS checksum").first()
    assert found is not None
    return Answer(found["results"], found["checksum"])
