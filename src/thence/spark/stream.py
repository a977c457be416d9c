"""A program as a stream: one lazy DataFrame, whose query keeps its state in Spark's state store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.engine.limits.growth import Limits
from thence.engine.state.state import fingerprint
from thence.lang.text import format_rule
from thence.model.errors import InputError
from thence.model.events import Events
from thence.plan.partition.parts import cut
from thence.plan.retention import Needs, bounded
from thence.plan.tree import Plan
from thence.spark.blocks import BLOCKS_DDL, LATE, MEASURE
from thence.spark.carry import carried, carried_processor
from thence.spark.chain import Chain, make_chain
from thence.spark.entrance import packed
from thence.spark.facts import shipped
from thence.spark.frames import Input
from thence.spark.output import Output, Unpack
from thence.spark.processor import ShardWork
from thence.spark.schema import result_schema
from thence.spark.sessions import ROCKSDB, STATE_STORE
from thence.spark.shard_state import described
from thence.spark.shards import stream_partitions

PROVIDER = f"{STATE_STORE}.providerClass"
MEASURES = ("late", "state_rows", "state_bytes")


def stream_needs(plan: Plan, allow_unbounded: bool) -> Needs:
    """What state a program needs; a refusal where it has no bound."""
    return plan.certain_needs if allow_unbounded else bounded(plan.needs)


def stream_job(
    plan: Plan,
    needs: Needs,
    given: Input,
    emit: tuple[str, ...],
    output: Output,
    shards: int | None,
    lineage: bool,
    late: bool,
    name: str,
    tables: Mapping[str, Events],
    limits: Limits,
) -> DataFrame:
    """The query that finds the events in ``emit``; ``tables`` are the rows of static tables, and
    ``limits`` what each task may take."""
    spark = given.rows.sparkSession
    _check_provider(spark)
    count = shards or stream_partitions(spark)
    chain = replace(stream_chain(plan, needs, emit, count, lineage, late), limits=limits)
    blocks = packed(given, chain, tick=True)
    for hop in chain.hops:
        facts = shipped(tables, hop.part.tables, spark)
        work = carried_processor(ShardWork(chain, hop.number, facts))
        blocks = blocks.groupBy("place").transformWithState(work, BLOCKS_DDL, "append", "eventTime")
    rows, hop_of = F.col("rows"), F.col("hop")
    measures = [_total(rows, hop_of == chain.end, "results")]
    measures += [_total(rows, (hop_of == MEASURE) & (F.col("event") == m), m) for m in MEASURES]
    found = blocks.observe(name, *measures).filter(hop_of.isin(chain.end, LATE))
    return found.mapInArrow(carried(Unpack(output)), result_schema(output))


def _total(value: Any, condition: Any, name: str) -> Any:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0)).alias(name)


def _check_provider(spark: Any) -> None:
    provider = spark.conf.get(PROVIDER)
    if "RocksDB" not in provider:
        raise InputError(
            f"a stream needs Spark's RocksDB state store, and the session has another one "
            f"({provider.rpartition('.')[2]}). Before the query is started, set\n"
            f'  spark.conf.set("{PROVIDER}",\n    "{ROCKSDB}")'
        )


def stream_chain(
    plan: Plan,
    needs: Needs,
    emit: tuple[str, ...],
    shards: int,
    lineage: bool,
    late: bool,
) -> Chain:
    """The chain of a stream, with a description of what its state holds."""
    pieces = cut(plan, needs.lengths, slices=False)
    chain = make_chain(
        pieces,
        plan.schemas,
        emit,
        shards,
        lineage,
        late=late,
        lengths=needs.lengths,
    )
    rules = _fingerprints(plan)
    return replace(chain, holds=tuple(described(chain, hop, rules) for hop in chain.hops))


def _fingerprints(plan: Plan) -> Mapping[str, str]:
    """For each derived event, a name for all the rules that it rests on."""
    texts: dict[str, list[str]] = {}
    for rule in plan.checked.program.rules:
        if not rule.hidden:
            texts.setdefault(rule.event, []).append(format_rule(rule))
    found: dict[str, str] = {}
    for stage in plan.stages:
        below = sorted(
            {
                found[use.event]
                for rule in stage.rules
                for alt in rule
                for use in alt.uses
                if use.event in found
            }
        )
        own = [text for event in stage.events for text in texts.get(event, [])]
        inner = [
            repr(alt.conjunct)
            for rule in stage.rules
            for alt in rule
            if not own or alt.demand is not None
        ]
        mark = fingerprint("\n".join([*own, *inner, *below]))
        found |= dict.fromkeys(stage.events, mark)
    return found
