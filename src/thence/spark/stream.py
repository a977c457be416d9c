"""A program as a stream: one lazy DataFrame, whose query keeps its state in Spark's state store."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.engine.limits.growth import Limits
from thence.engine.window.coverage import EVER, Gap
from thence.model.errors import InputError, InputWarning
from thence.model.events import Events
from thence.spark.blocks import BLOCKS_DDL, LATE, MEASURE, PROGRESS
from thence.spark.carry import carried, carried_processor
from thence.spark.chain import Chain
from thence.spark.entrance import packed
from thence.spark.facts import shipped
from thence.spark.frames import Input
from thence.spark.idle import SINCE, idle_figures
from thence.spark.output import Output, Unpack
from thence.spark.processor import ShardWork
from thence.spark.progress import Asked
from thence.spark.schema import result_schema
from thence.spark.sessions import CHANGELOG, ROCKSDB, STATE_STORE

PROVIDER = f"{STATE_STORE}.providerClass"
MEASURES = ("late", "state_rows", "state_bytes", "state_written", "idle")


@dataclass(frozen=True, slots=True)
class Timing:
    """How late inputs may come that have horizons of their own, where they do; the times over
    which inputs are not known; by how many milliseconds Spark's watermark is behind; and after how
    long a quiet input is idle, if ever."""

    delays: Mapping[str, int] | None
    gaps: Mapping[str, Sequence[Gap]]
    behind: int
    idle_after: int | None


def stream_job(
    chains: tuple[Chain, ...],
    given: Input,
    output: Output,
    name: str,
    tables: Sequence[Mapping[str, Events]],
    limits: Limits,
    timing: Timing,
    progress: Asked | None = None,
) -> DataFrame:
    """The query that finds what chains give that run side by side; ``tables`` are the rows of
    static tables for each of them, and ``limits`` what each task may take. With ``progress`` it
    tells how far rules have come, instead of what they give."""
    spark = given.rows.sparkSession
    _check_store(spark)
    chains = tuple(
        replace(
            chain,
            limits=limits,
            delays=timing.delays,
            gaps=_gaps(chain, timing.gaps),
            idle_after=timing.idle_after,
        )
        for chain in chains
    )
    blocks, end = packed(given, chains, tick=True), chains[0].end
    for place in range(end):
        facts = tuple(
            shipped(rows, () if hop is None else hop.part.looked_into, spark)
            for hop, rows in zip((chain.hop_at(place) for chain in chains), tables, strict=True)
        )
        work = carried_processor(ShardWork(chains, place, facts, timing.behind, progress))
        blocks = blocks.groupBy("place").transformWithState(work, BLOCKS_DDL, "append", "eventTime")
    rows, hop_of = F.col("rows"), F.col("hop")
    names = (*MEASURES, *idle_figures(chains[0]))
    figure = {m: (hop_of == MEASURE) & (F.col("event") == m) for m in names}
    measures = [_total(rows, hop_of == end, "results")]
    measures += [
        _since(rows, c, m) if m.startswith(SINCE) else _total(rows, c, m) for m, c in figure.items()
    ]
    found = blocks.observe(name, *measures).filter(
        hop_of.isin(end, LATE) if progress is None else hop_of == PROGRESS
    )
    return found.mapInArrow(carried(Unpack(output)), result_schema(output))


def _gaps(chain: Chain, gaps: Mapping[str, Sequence[Gap]]) -> dict[str, Sequence[Gap]]:
    """The times of which the rules of a chain know nothing: those before it began as well."""
    inputs = chain.hops[0].part.origins
    before = [] if chain.begin is None else [(-EVER, chain.begin)]
    found = {name: [*gaps.get(name, ()), *before] for name in sorted(inputs)}
    return {name: times for name, times in found.items() if times}


def _total(value: Any, condition: Any, name: str) -> Any:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0)).alias(name)


def _since(value: Any, condition: Any, name: str) -> Any:
    return F.max(F.when(condition, value)).alias(name)


def _check_store(spark: Any) -> None:
    """Refuse a state store that cannot do it, and warn of one that takes longer than it need."""
    provider = spark.conf.get(PROVIDER)
    if "RocksDB" not in provider:
        raise InputError(
            f"a stream needs Spark's RocksDB state store, and the session has another one "
            f"({provider.rpartition('.')[2]}). Before the query is started, set\n"
            f'  spark.conf.set("{PROVIDER}",\n    "{ROCKSDB}")'
        )
    if spark.conf.get(CHANGELOG, "false").lower() != "true":
        warnings.warn(
            "Spark will write whole files of its state store in every trigger, and not only what "
            f'is new. Before the query is started, set\n  spark.conf.set("{CHANGELOG}", "true")',
            InputWarning,
            stacklevel=4,
        )
