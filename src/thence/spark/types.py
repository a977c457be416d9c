"""Thence's types in Spark, and columns of a DataFrame in the types that a program declares.

A column is taken if its values can be kept as they are: the rules are those for tables in this
process (:mod:`thence.io.columns`). Where single values may not fit, the query fails at the first
one that does not, with a message that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    NullType,
    StringType,
    TimestampType,
)

from thence.model.types import Type
from thence.spark.time_columns import TEXT, WHOLE, Place, in_range, micros

_PLAIN: dict[str, DataType] = {
    "int": LongType(),
    "float": DoubleType(),
    "bool": BooleanType(),
    "string": StringType(),
    "timestamp": TimestampType(),
    "duration": DayTimeIntervalType(),
}
_NUMBERS = (*WHOLE, FloatType, DoubleType, DecimalType)
_BYTEWISE = "UTF8_BINARY"
_MICROSECOND_IN_SECONDS = "0.000001"


@dataclass(frozen=True, slots=True)
class Converted:
    """A column in a declared type.

    ``value`` may make the query fail at a value that does not fit. ``bare`` cannot, and is equal to
    it wherever it does not fail, so that a filter on it can go to the source of the data; None
    where there is no such column.
    """

    value: Column
    bare: Column | None


def spark_type(declared: Type) -> DataType:
    """The Spark type in which values of a type are held.

    >>> from thence.model.types import DECIMAL, INT, list_of
    >>> spark_type(INT), spark_type(DECIMAL), spark_type(list_of(INT))
    (LongType(), DecimalType(18,6), ArrayType(LongType(), True))
    """
    if declared.kind == "decimal":
        return DecimalType(declared.precision, declared.scale)
    if declared.kind == "list":
        assert declared.of is not None
        return ArrayType(spark_type(declared.of))
    return _PLAIN[declared.kind]


def nothing(declared: Type) -> Column:
    """A null of a type."""
    return F.lit(None).cast(spark_type(declared))


def converted(
    column: Column, kind: DataType, declared: Type, name: str, place: Place
) -> Converted | None:
    """The column in the declared type; None where its type can never be used for that."""
    requested = spark_type(declared)
    if isinstance(kind, NullType):
        return _safe(column.cast(requested))
    if declared.kind == "timestamp":
        return _timestamp(column, kind, name, place)
    if declared.kind == "duration":
        return _duration(column, kind)
    if declared.kind == "string":
        return _string(column, kind, name, place)
    if declared.kind == "list":
        return _list(column, kind, declared, name, place)
    if kind == requested:
        return _safe(column)
    if declared.kind == "bool" or not isinstance(kind, _NUMBERS):
        return None
    if _always_fits(kind, declared):
        return _safe(column.cast(requested))
    return _exactly(column, kind, declared, name, place)


def _safe(column: Column) -> Converted:
    return Converted(column, column)


def _always_fits(kind: DataType, declared: Type) -> bool:
    """Whether no value of a numeric Spark type is changed or refused by a declared type."""
    if declared.kind == "int":
        return isinstance(kind, WHOLE)
    if declared.kind == "float":
        # As in this process, a decimal becomes the float that is nearest to it.
        return not isinstance(kind, LongType)
    return (
        isinstance(kind, DecimalType)
        and kind.scale <= declared.scale
        and kind.precision - kind.scale <= declared.precision - declared.scale
    )


def _exactly(column: Column, kind: DataType, declared: Type, name: str, place: Place) -> Converted:
    """Numbers of which each must survive the way there and back."""
    there = column.try_cast(spark_type(declared))
    fits = there.try_cast(kind) == column
    if isinstance(kind, LongType) or declared.kind == "int":
        # Spark takes 2^63 for the greatest int of 64 bits, which is one less.
        fits = fits & ((there if declared.kind == "float" else column) < F.lit(2.0**63))
    reason = {
        "int": "it is not a whole number of 64 bits",
        "float": "it has more digits than a float can hold",
    }.get(declared.kind, f"it does not fit into {declared}")
    refused = place.refuse(name, column, reason)
    return Converted(F.when(column.isNull() | fits, there).otherwise(refused), None)


def _timestamp(column: Column, kind: DataType, name: str, place: Place) -> Converted | None:
    instants = micros(column, kind, name, place)
    if instants is None:
        return None
    given = isinstance(kind, TimestampType)
    refused = place.refuse(name, instants, "it is outside the years 1 to 9999")
    checked = F.when(
        instants.isNull() | in_range(instants), column if given else F.timestamp_micros(instants)
    ).otherwise(refused)
    return Converted(checked, column if given else None)


def _duration(column: Column, kind: DataType) -> Converted | None:
    if isinstance(kind, DayTimeIntervalType):
        whole = DayTimeIntervalType()
        return _safe(column if kind == whole else column.cast(whole))
    if isinstance(kind, WHOLE):
        seconds = column.cast("decimal(19,0)") * F.lit(_MICROSECOND_IN_SECONDS).cast("decimal(6,6)")
        interval = seconds.cast("decimal(19,6)").cast("interval second")
        return _safe(interval.cast("interval day to second"))
    return None


def _string(column: Column, kind: DataType, name: str, place: Place) -> Converted | None:
    if isinstance(kind, BinaryType):
        fits = column.isNull() | F.is_valid_utf8(column.cast("string"))
        refused = place.refuse(name, F.hex(column), "it is not text in UTF-8")
        return Converted(F.when(fits, column.cast("string")).otherwise(refused), None)
    if not isinstance(kind, TEXT):
        return None
    if kind == StringType():
        return _safe(column)
    # Thence compares texts by their code points, whatever the column's own collation.
    return _safe(F.collate(column.cast("string"), _BYTEWISE))


def _list(
    column: Column, kind: DataType, declared: Type, name: str, place: Place
) -> Converted | None:
    assert declared.of is not None
    if not isinstance(kind, ArrayType):
        return None
    if kind.elementType == spark_type(declared.of) and declared.of.kind != "timestamp":
        return _safe(column)
    element, inner = kind.elementType, declared.of
    if converted(F.lit(None), element, inner, name, place) is None:
        return None

    def each(value: Column) -> Column:
        found = converted(value, element, inner, name, place)
        assert found is not None
        return found.value

    return Converted(F.transform(column, each), None)
