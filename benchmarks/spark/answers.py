"""What a query found, in two numbers, so that two ways to ask it can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_SMALL = 2**31  # hashes below this can be added up by the billion


@dataclass(frozen=True, slots=True)
class Answer:
    """How many results there are, and a number that changes if any value of any of them does."""

    results: int
    checksum: int


def checks(result: DataFrame) -> tuple[Column, Column]:
    """To be observed in a query: ``results`` and ``checksum``.

    The names of the columns do not matter, their order and types do; the order of rows does not.
    """
    values = F.xxhash64(*(F.col(f"`{column}`") for column in result.columns))
    return (
        F.count(F.lit(1)).alias("results"),
        F.coalesce(F.sum(F.pmod(values, F.lit(_SMALL))), F.lit(0)).alias("checksum"),
    )
