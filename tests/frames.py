"""What the tests of input DataFrames share: small frames, what is wanted of them, what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import thence
from thence.logic.conjunct import Column
from thence.logic.expr import Call, Const
from thence.model.types import INT

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from thence.spark.frames import Input, Requested

EVERY = ((),)
NONE = ()
AB = "event a(id int); event b(word string);"


def wanted(text: str, instants: bool = False, **alternatives: Any) -> list[Requested]:
    """Every attribute and every row of each declared event, unless ``alternatives`` say less."""
    return [
        Requested(schema, schema.names, alternatives.get(schema.name, EVERY), instants)
        for schema in thence.compile(text).events
    ]


def above(name: str, least: int) -> Call:
    return Call(">", (Column(0, name), Const(least, INT)))


def rows(found: Input) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in found.rows.collect())


def ends(found: Input) -> list[int]:
    return sorted(row.end for row in found.times.collect())


def failure(found: Input) -> str:
    """The message with which a query over all rows fails."""
    with pytest.raises(PySparkException) as raised:
        found.rows.collect()
    return str(raised.value)


def plan(found: Any) -> str:
    return str(found._jdf.queryExecution().toString())


def frame(spark: Any, rows: Sequence[tuple[Any, ...]], columns: str) -> Any:
    """A small DataFrame, made without a Python worker, which takes long to start."""
    fields = StructType.fromDDL(columns)
    lines = [
        ", ".join(
            f"cast({literal(value)} as {field.dataType.simpleString()}) as {quoted(field.name)}"
            for value, field in zip(row, fields, strict=True)
        )
        for row in rows or [(None,) * len(fields)]
    ]
    found = spark.sql(" union all ".join(f"select {line}" for line in lines))
    return found if rows else found.where("false")


def literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bytes():
            return f"X'{value.hex()}'"
        case list():
            return f"array({', '.join(map(literal, value))})"
        case timedelta():
            minutes, seconds = divmod(value.seconds, 60)
            return (
                f"make_dt_interval({value.days}, 0, {minutes}, {seconds}.{value.microseconds:06})"
            )
    return f"'{value}'"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def setting(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)
