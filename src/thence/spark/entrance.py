"""The way into Python: relevant rows of DataFrames become blocks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.spark.blocks import BLOCKS_DDL
from thence.spark.carry import carried
from thence.spark.chain import Chain
from thence.spark.frames import Input
from thence.spark.pack import SPARE_BITS, WHEN, Pack


def packed(given: Input, chain: Chain, tick: bool) -> DataFrame:
    """The relevant rows as blocks.

    Every column of a row costs time on its way into Python, so where types are few their numbers
    travel in one column with the times.
    """
    layout, rows = given.layout, given.rows
    if len(layout.events) <= 1 << SPARE_BITS:
        when = F.shiftleft("end", SPARE_BITS).bitwiseOR(F.col("event").cast("bigint"))
        others = [name for name in rows.columns if name not in ("event", "end")]
        rows = rows.select(when.alias(WHEN), *others)
    return rows.mapInArrow(carried(Pack(chain, layout, tick)), BLOCKS_DDL)
