"""When the rows of a DataFrame happened: columns of time as int64 microseconds UTC.

Whatever the time zone of the Spark session is, a time without an offset is UTC, as everywhere in
Thence. A row without a usable time makes the query fail with a message that names the event; the
checks are part of the column ``end``, which every query reads, so that none can be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    CharType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from thence.model.time import DAY, EARLIEST, HOUR, LATEST, MINUTE, SECOND

WHOLE = (ByteType, ShortType, IntegerType, LongType)
TEXT = (StringType, VarcharType, CharType)
TIMES_IN_WORDS = "a timestamp, a date, ISO text, or int microseconds"

_SHOWN = 60
_EARLIEST_DAY, _LATEST_DAY = EARLIEST // DAY, LATEST // DAY
# In Java's syntax what thence.model.time takes for a timestamp. The first is the common case, which
# Spark reads as it is.
_PLAIN = r"\A\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)\z"
_ISO = (
    r"\A\d{4}-\d\d-\d\d"
    r"([T ]\d\d:\d\d(:\d\d([.,]\d{1,6}0*)?)?\s*(Z|[+-]\d\d(:?\d\d)?)?)?\z"
)
_SHOW_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


@dataclass(frozen=True, slots=True)
class Place:
    """Where values come from, for messages: the frame, and the name of the event as a column."""

    source: str
    event: Column

    def about(self, *words: str | Column) -> Column:
        """The text of a message about an event."""
        texts = [F.lit(word) if isinstance(word, str) else word for word in words]
        return F.concat(F.lit(f"{self.source}: event '"), self.event, F.lit("'"), *texts)

    def refuse(self, column: str, value: Column, reason: str) -> Column:
        """A value that makes the query fail, with a message about what was found instead."""
        shown = F.coalesce(F.substring(value.cast("string"), 1, _SHOWN), F.lit("null"))
        return F.raise_error(
            self.about(f", column '{column}': ", shown, f" cannot be used; {reason}.")
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """How long an event may last, and what to say of one that lasts longer."""

    micros: Column
    message: Column


def micros(column: Column, kind: DataType, name: str, place: Place) -> Column | None:
    """A column of time as microseconds UTC; None where its type is no time."""
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, TimestampNTZType):
        return _micros_without_zone(column)
    if isinstance(kind, DateType):
        return _micros_of_day(column)
    if isinstance(kind, (*WHOLE, NullType)):
        return column.cast("bigint")
    if isinstance(kind, TEXT):
        return _micros_of_text(column, name, place)
    return None


def in_range(instants: Column) -> Column:
    """Whether microseconds lie in the years that a calendar shows; null where they are null."""
    return (instants >= F.lit(EARLIEST)) & (instants <= F.lit(LATEST))


def checked_instant(time: Column, name: str, place: Place) -> Column:
    """The time of an event, or the end of the query where there is none."""
    problem = F.when(
        time.isNull(), place.about(f": '{name}' is null, and every event needs a time.")
    ).otherwise(_outside(name, time, place))
    return F.when(in_range(time), time).otherwise(F.raise_error(problem))


def checked_end(
    start: Column, end: Column, limit: Limit | None, missing: str, place: Place
) -> Column:
    """The end of an event, or the end of the query where the two are not those of an interval."""
    fine = (start >= F.lit(EARLIEST)) & (end <= F.lit(LATEST)) & (start <= end)
    problem = (
        F.when(
            start.isNull() | end.isNull(),
            place.about(f": {missing} null, and every event needs a time."),
        )
        .when(~in_range(start), _outside("start", start, place))
        .when(~in_range(end), _outside("end", end, place))
        .when(
            start > end,
            place.about(": it starts at ", _shown(start), ", after it ends at ", _shown(end), "."),
        )
    )
    if limit is not None:
        fine = fine & (end <= F.try_add(start, limit.micros))
        lasts = (F.try_subtract(end, start) / F.lit(SECOND)).cast("string")
        problem = problem.otherwise(place.about(" lasts ", lasts, " s, ", limit.message))
    return F.when(fine, end).otherwise(F.raise_error(problem))


def merged(time: Column, start: Column, end: Column, place: Place) -> tuple[Column, Column]:
    """Start and end where some rows have ``time``, and the others ``start`` and ``end``."""
    both = time.isNotNull() & (start.isNotNull() | end.isNotNull())
    problem = F.raise_error(
        place.about(": it has 'time' and also 'start' or 'end'. Give one or the other.")
    )
    return (
        F.when(both, problem).otherwise(F.coalesce(time, start)),
        F.when(both, problem).otherwise(F.coalesce(time, end)),
    )


def _outside(name: str, instants: Column, place: Place) -> Column:
    return place.about(
        f", column '{name}': ",
        instants.cast("string"),
        " microseconds is outside the years 1 to 9999.",
    )


def _shown(instants: Column) -> Column:
    return F.date_format(F.timestamp_micros(instants), _SHOW_TIME)


def _micros_of_day(day: Column) -> Column:
    days = F.unix_date(day).cast("bigint")
    # Spark has dates of which the microseconds do not fit into 64 bits; those are out of range.
    fits = (days >= F.lit(_EARLIEST_DAY)) & (days <= F.lit(_LATEST_DAY))
    return F.when(fits, days * F.lit(DAY)).when(day.isNotNull(), F.lit(LATEST + 1))


def _micros_without_zone(time: Column) -> Column:
    """Part by part, because every direct way in Spark goes through the session's time zone."""
    fraction = F.date_part(F.lit("SECOND"), time)  # a decimal with six digits after the point
    of_day = (
        F.hour(time).cast("bigint") * F.lit(HOUR)
        + F.minute(time).cast("bigint") * F.lit(MINUTE)
        + (fraction * F.lit(SECOND)).cast("bigint")
    )
    return _micros_of_day(time.cast("date")) + of_day


def _micros_of_text(text: Column, name: str, place: Place) -> Column:
    trimmed = F.upper(F.regexp_replace(text.cast("string"), r"\A\s+|\s+\z", ""))
    complete = F.regexp_replace(trimmed, r"\A(.{10})\z", "$1T00:00")
    complete = F.regexp_replace(complete, r"\A(.{16})(?!:)", "$1:00")
    complete = F.regexp_replace(complete, r"\s+(?=[Z+-])", "")
    complete = F.regexp_replace(complete, r"\A(.{19}([.,]\d+)?)\z", "$1Z")
    complete = F.translate(complete, ",", ".")
    instants = F.when(text.rlike(_PLAIN), text.try_cast("timestamp")).otherwise(
        F.when(trimmed.rlike(_ISO), complete.try_cast("timestamp"))
    )
    reason = "text must be a date and time such as 2026-01-01T06:00:00Z"
    refused = place.refuse(name, F.concat(F.lit("'"), text, F.lit("'")), reason)
    return F.when(text.isNotNull(), F.coalesce(F.unix_micros(instants), refused))
