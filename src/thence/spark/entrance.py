"""The way into Python: relevant rows of DataFrames become blocks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.spark.blocks import BLOCKS_DDL, HORIZONS
from thence.spark.carry import carried
from thence.spark.chain import Chain
from thence.spark.frames import Input
from thence.spark.pack import SPARE_BITS, WHEN, Pack


def packed(given: Input, chains: tuple[Chain, ...], tick: bool) -> DataFrame:
    """The relevant rows as blocks, for each of the chains that run side by side.

    Every column of a row costs time on its way into Python, so where types are few their numbers
    travel in one column with the times.
    """
    layout, rows = given.layout, given.rows
    if layout.numbers <= 1 << SPARE_BITS:
        when = F.shiftleft("end", SPARE_BITS).bitwiseOR(F.col("event").cast("bigint"))
        others = [name for name in rows.columns if name not in ("event", "end")]
        rows = rows.select(when.alias(WHEN), *others)
    blocks = rows.mapInArrow(carried(Pack(chains, layout, tick)), BLOCKS_DDL)
    return blocks if chains[0].idle_after is None else _clocked(blocks)


def _clocked(blocks: DataFrame) -> DataFrame:
    """Blocks of which those with horizons have the time of the trigger by the wall clock. In a
    stream that is the time that Spark keeps for the batch: run again, it has the same."""
    tells, now = F.col("event") == F.lit(HORIZONS), F.unix_millis(F.current_timestamp())
    return blocks.withColumn("rows", F.when(tells, now).otherwise(F.col("rows")))
