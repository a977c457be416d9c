"""A program as a batch job: one lazy DataFrame, from rows of events to rows of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.engine.limits.growth import Limits
from thence.model.events import Events
from thence.plan.partition.parts import cut
from thence.plan.tree import Plan
from thence.spark.batch_work import Evaluate
from thence.spark.blocks import BLOCKS_DDL
from thence.spark.carry import carried
from thence.spark.chain import Chain, make_chain
from thence.spark.entrance import packed
from thence.spark.facts import shipped
from thence.spark.frames import Input
from thence.spark.output import Output
from thence.spark.route import ticks
from thence.spark.schema import result_schema
from thence.spark.shards import batch_shards


@dataclass(frozen=True, slots=True)
class Known:
    """What is said of how far inputs are known: up to when all of them, where that is said, and up
    to when some; and over which times some are not."""

    horizon: int | None
    until: Mapping[str, int]
    gaps: Mapping[str, Sequence[tuple[int, int]]]


def batch_job(
    plan: Plan,
    given: Input,
    emit: tuple[str, ...],
    output: Output,
    shards: int | None,
    lineage: bool,
    known: Known,
    tables: Mapping[str, Events],
    limits: Limits,
) -> DataFrame:
    """The job that finds the events in ``emit``; ``tables`` are the rows of static tables, and
    ``limits`` what each task may take."""
    declared = {s.name: s.longest for s in plan.checked.program.events if s.longest is not None}
    lengths = declared | dict.fromkeys(given.instants, 0)
    pieces = cut(plan, lengths, slices=True)
    count = shards or batch_shards(given.rows.sparkSession)
    chain = make_chain(pieces, plan.schemas, emit, count, lineage, known.horizon)
    chain = replace(chain, limits=limits, until=known.until, gaps=known.gaps)
    blocks = _with_horizon(chain, given, _packed(chain, given))
    for hop in chain.hops:
        last = hop.number + 1 == chain.end
        schema: Any = result_schema(output) if last else blocks.schema
        facts = shipped(tables, hop.part.looked_into, given.rows.sparkSession)
        task = carried(Evaluate(chain, hop.number, output, facts))
        blocks = blocks.repartition(len(hop.places), "place").mapInArrow(task, schema)
    return blocks


def _packed(chain: Chain, given: Input) -> DataFrame:
    blocks = packed(given, (chain,), tick=False)
    always = [block for hop in chain.hops if hop.always for block in ticks(hop)]
    if not always:
        return blocks
    # Rules that need no event must be looked at even where there are no rows, hence no task.
    looks = [(block.place, block.hop, block.event, block.rows, b"") for block in always]
    return blocks.union(given.rows.sparkSession.createDataFrame(looks, BLOCKS_DDL))


def _with_horizon(chain: Chain, given: Input, blocks: DataFrame) -> DataFrame:
    """Blocks with the time up to which everything is there, where rules wait and nobody says it."""
    if not chain.waits or chain.horizon is not None:
        return blocks
    latest = given.times.agg(F.max("end").alias("horizon"))
    return blocks.crossJoin(F.broadcast(latest))
