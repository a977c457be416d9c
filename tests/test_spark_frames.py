"""Input DataFrames: which rows and columns reach Python, in which form, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from frames import (
    AB,
    NONE,
    ends,
    failure,
    frame,
    plan,
    rows,
    setting,
    wanted,
)

from thence.model.errors import InputError
from thence.model.time import EARLIEST, LATEST, parse_timestamp

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from thence.spark.frames import Input, read_frames

# -- the form of rows


def test_a_frame_per_event_becomes_rows_with_a_number_per_event(spark: Any) -> None:
    a = frame(spark, [(1, 10), (2, 20)], "id int, time bigint")
    b = frame(spark, [("x", 30)], "word string, time bigint")
    found = read_frames({"a": a, "b": b}, wanted(AB))
    assert found.layout.events == ("a", "b")
    assert found.layout.slots == {"a": {"id": "v0"}, "b": {"word": "v1"}}
    assert found.rows.dtypes == [
        ("event", "smallint"),
        ("end", "bigint"),
        ("v0", "bigint"),
        ("v1", "string"),
    ]
    assert rows(found) == [(0, 10, 1, None), (0, 20, 2, None), (1, 30, None, "x")]


def test_one_frame_with_a_type_per_row_becomes_the_same_rows(spark: Any) -> None:
    mixed = frame(
        spark,
        [("a", 1, None, 10), ("c", 7, "no", 15), ("a", 2, "not of an a", 20), ("b", 5, "x", 30)],
        "type string, id int, word string, time bigint",
    )
    found = read_frames(mixed, wanted(AB))
    assert rows(found) == [(0, 10, 1, None), (0, 20, 2, None), (1, 30, None, "x")]
    assert ends(found) == [10, 20, 30]


def test_a_frame_with_types_is_read_in_one_pass(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "mixed")
    row = [("a", 1, "x", 10)]
    frame(spark, row, "type string, id int, word string, time int").write.parquet(path)
    found = read_frames(spark.read.parquet(path), wanted(AB))
    assert plan(found.rows).count("FileScan") == 1


def test_attributes_of_the_same_name_and_type_share_a_column(spark: Any) -> None:
    a = frame(spark, [(1, 0.5, 10)], "id int, x double, time bigint")
    b = frame(spark, [(2, "s", 20)], "id int, x string, time bigint")
    text = "event a(id int, x float); event b(id int, x string);"
    found = read_frames({"a": a, "b": b}, wanted(text))
    assert found.layout.slots == {"a": {"id": "v0", "x": "v1"}, "b": {"id": "v0", "x": "v2"}}
    assert rows(found) == [(0, 10, 1, 0.5, None), (1, 20, 2, None, "s")]


def test_several_frames_may_hold_the_same_event(spark: Any) -> None:
    frames = [frame(spark, [(n, n)], "id int, time bigint") for n in (1, 2)]
    assert rows(read_frames({"a": frames}, wanted(AB))) == [(0, 1, 1, None), (0, 2, 2, None)]


def test_an_event_without_a_frame_has_no_rows(spark: Any) -> None:
    b = frame(spark, [("x", 30)], "word string, time bigint")
    found = read_frames({"b": b}, wanted(AB))
    assert rows(found) == [(1, 30, None, "x")]
    assert found.instants == {"a", "b"}


def test_no_frames_at_all_are_no_rows(spark: Any) -> None:
    found = read_frames({}, wanted(AB))
    assert (rows(found), ends(found)) == ([], [])


def test_a_frame_without_types_is_the_only_declared_event(spark: Any) -> None:
    events = frame(spark, [(1, 10)], "id int, time bigint")
    assert rows(read_frames(events, wanted("event a(id int);"))) == [(0, 10, 1)]


def test_events_that_last_have_a_start(spark: Any) -> None:
    a = frame(spark, [(1, 10, 15)], "id int, start bigint, end bigint")
    b = frame(spark, [("x", 30)], "word string, time bigint")
    found = read_frames({"a": a, "b": b}, wanted(AB))
    assert not found.layout.points
    assert found.rows.columns == ["event", "start", "end", "v0", "v1"]
    assert rows(found) == [(0, 10, 15, 1, None), (1, 30, 30, None, "x")]
    assert found.instants == {"b"}


def test_some_rows_may_have_a_time_and_others_a_start_and_an_end(spark: Any) -> None:
    a = frame(spark, [(5, None, None), (None, 6, 7)], "time int, start int, end int")
    assert rows(read_frames({"a": a}, wanted("event a();"))) == [(0, 5, 5), (0, 6, 7)]


def test_events_that_must_be_instants_need_no_start(spark: Any) -> None:
    a = frame(spark, [(5, 5)], "start int, end int")
    found = read_frames({"a": a}, wanted("event a();", instants=True))
    assert found.layout.points
    assert found.instants == {"a"}
    assert rows(found) == [(0, 5)]


# -- names of columns


def test_names_are_told_apart_by_case_whatever_spark_does(spark: Any) -> None:
    events = frame(spark, [(1, 2, 3)], "ID int, id int, time int")
    assert rows(read_frames(events, wanted("event a(id int);"))) == [(0, 3, 2)]
    assert rows(read_frames(events, wanted("event a(ID int);"))) == [(0, 3, 1)]


def test_names_with_dots_spaces_and_backticks_are_no_trouble(spark: Any) -> None:
    events = frame(spark, [(1, 2, 3, 4)], "id int, `x.y` int, `a b``c` int, time int")
    assert rows(read_frames(events, wanted("event a(id int);"))) == [(0, 4, 1)]


def test_a_name_in_another_case_is_another_name(spark: Any) -> None:
    events = frame(spark, [(1, 3)], "ID int, time bigint")
    with pytest.raises(InputError, match=r"no column 'id'\. Did you mean 'ID'\?"):
        read_frames(events, wanted("event a(id int);"))


# -- times


def test_times_are_utc_in_every_session_time_zone(spark: Any) -> None:
    at = datetime(2026, 3, 8, 2, 30, 15, 123_456, UTC)  # a local time that New York skips
    micros = parse_timestamp("2026-03-08T02:30:15.123456Z")
    events = frame(spark, [(at.replace(tzinfo=None),)], "time timestamp_ntz")
    texts = frame(spark, [("2026-03-08T02:30:15.123456",)], "time string")
    days = frame(spark, [(date(2026, 3, 8),)], "time date")
    instants = frame(spark, [(at,)], "time timestamp")
    for zone in ("America/New_York", "UTC", "Asia/Kolkata"):
        with setting(spark, "spark.sql.session.timeZone", zone):
            for each in (events, texts, instants):
                assert ends(read_frames({"a": each}, wanted("event a();"))) == [micros]
            found = read_frames({"a": days}, wanted("event a();"))
            assert ends(found) == [parse_timestamp("2026-03-08")]


def test_texts_are_the_times_that_they_are_in_this_process(spark: Any) -> None:
    texts = [
        "2026-01-01", " 2026-01-01T06:00 ", "2026-01-01 06:00:07", "2026-01-01t06:00:07z",
        "2026-01-01T06:00:07.5", "2026-01-01T06:00:07,25Z", "2026-01-01T06:00:07.123456000Z",
        "2026-01-01T06:00+02", "2026-01-01T06:00-0230", "2026-01-01T06:00:07.1 +02:30",
        "1969-12-31T23:59:59.999999Z", "0001-01-01", "9999-12-31T23:59:59.999999",
        "2024-02-29T00:00:00-12:00",
    ]  # fmt: skip
    events = frame(spark, [(text,) for text in texts], "time string")
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        found = read_frames({"a": events}, wanted("event a();")).times.collect()
    assert [row.end for row in found] == [parse_timestamp(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "12345", "2026", "2026-1-1", "2026-02-30", "2026-01-01T24:00:00Z",
     "2026-01-01T06:00:00 Europe/Berlin", "2026-01-01T06:00:00.1234567Z", "2026-01-01T6:00"],
)  # fmt: skip
def test_a_text_that_is_no_time_makes_the_query_fail(spark: Any, text: str) -> None:
    events = frame(spark, [(text,)], "time string")
    message = failure(read_frames({"a": events}, wanted("event a();")))
    assert f"frames['a']: event 'a', column 'time': '{text}' cannot be used" in message


def test_the_first_and_the_last_instant_are_times(spark: Any) -> None:
    events = frame(spark, [(EARLIEST,), (LATEST,)], "time bigint")
    assert ends(read_frames({"a": events}, wanted("event a();"))) == [EARLIEST, LATEST]


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("time timestamp", (None,), "event 'a': 'time' is null, and every event needs a time"),
        ("time bigint", (LATEST + 1,), "column 'time': 253402300800000000 microseconds is outside"),
        ("time bigint", (EARLIEST - 1,), "is outside the years 1 to 9999"),
        ("start bigint, end bigint", (1, None), "'start' or 'end' is null"),
        ("start bigint, end bigint", (None, 1), "'start' or 'end' is null"),
        ("start bigint, end bigint", (-(2**63), 1), "column 'start': -9223372036854775808"),
        ("start bigint, end bigint", (1, 2**63 - 1), "column 'end': 9223372036854775807"),
        (
            "start bigint, end bigint",
            (2_000_000, 1_000_000),
            "it starts at 1970-01-01T00:00:02.000000Z, after it ends at 1970-01-01T00:00:01",
        ),
        (
            "start bigint, end bigint",
            (0, 60_000_001),
            "event 'a' lasts 60.000001 s, and the program declares at most 1 min.",
        ),
        ("time int, start int, end int", (1, 1, 1), "it has 'time' and also 'start' or 'end'"),
        ("time int, start int, end int", (1, 1, None), "it has 'time' and also 'start' or 'end'"),
        ("time int, start int, end int", (None, 1, None), "'time', or 'start' or 'end', is null"),
    ],
)
def test_a_row_without_a_usable_time_makes_the_query_fail(
    spark: Any, columns: str, row: tuple[Any, ...], message: str
) -> None:
    events = frame(spark, [row], columns)
    found = read_frames({"a": events}, wanted("event a() within 1 min;"))
    assert message in failure(found)
    with pytest.raises(PySparkException):
        found.times.agg(F.max("end")).collect()


def test_an_event_that_lasts_as_long_as_declared_is_fine(spark: Any) -> None:
    events = frame(spark, [(0, 60_000_000)], "start bigint, end bigint")
    found = read_frames({"a": events}, wanted("event a() within 1 min;"))
    assert rows(found) == [(0, 0, 60_000_000)]


def test_each_event_of_a_frame_with_types_has_its_own_limit(spark: Any) -> None:
    text = "event a() within 1 min; event b() within 1 h; event c();"

    def found(event: str, end: int) -> Input:
        row = (event, 0, end)
        return read_frames(
            frame(spark, [row], "type string, start bigint, end bigint"), wanted(text)
        )

    assert "at most 1 min" in failure(found("a", 90_000_000))
    assert rows(found("b", 90_000_000)) == [(1, 0, 90_000_000)]
    assert rows(found("c", LATEST)) == [(2, 0, LATEST)]


def test_an_interval_is_refused_where_instants_are_relied_on(spark: Any) -> None:
    events = frame(spark, [(0, 2_000_000)], "start bigint, end bigint")
    message = failure(read_frames({"a": events}, wanted("event a();", instants=True)))
    assert "event 'a' lasts 2.0 s, but this program's state has a bound only if" in message
    assert "event a(…) within <duration>;" in message


def test_a_row_that_says_no_type_makes_the_query_fail(spark: Any) -> None:
    events = frame(spark, [(None, 1)], "type string, time int")
    message = failure(read_frames(events, wanted("event a(); event b();", b=NONE)))
    assert "frames: in some row 'type' is null" in message


# -- attributes


@pytest.mark.parametrize(
    ("declared", "given", "value", "expected"),
    [
        ("int", "tinyint", 7, 7),
        ("int", "double", -3.0, -3),
        ("int", "decimal(20,2)", Decimal("12.00"), 12),
        ("float", "float", 0.5, 0.5),
        ("float", "smallint", 3, 3.0),
        ("float", "bigint", 2**60, float(2**60)),
        ("float", "decimal(5,2)", Decimal("2.50"), 2.5),
        ("bool", "boolean", True, True),
        ("string", "string", "ü", "ü"),
        ("string", "binary", "ü".encode(), "ü"),
        ("timestamp", "timestamp_ntz", datetime(2026, 1, 1), datetime(2026, 1, 1)),
        ("timestamp", "date", date(2026, 1, 1), datetime(2026, 1, 1)),
        ("timestamp", "bigint", 1_000_000, datetime(1970, 1, 1, 0, 0, 1)),
        ("timestamp", "string", "2026-01-01T01:00+01:00", datetime(2026, 1, 1)),
        ("duration", "interval day to second", timedelta(3, 4, 5), timedelta(3, 4, 5)),
        ("duration", "interval hour", timedelta(hours=-3), timedelta(hours=-3)),
        ("duration", "bigint", -1_500_000, timedelta(seconds=-1.5)),
        ("decimal(6, 2)", "decimal(9,4)", Decimal("1234.5600"), Decimal("1234.56")),
        ("decimal(6, 2)", "int", 1234, Decimal("1234.00")),
        ("decimal(6, 2)", "double", 0.1, Decimal("0.10")),
        ("list<float>", "array<int>", [1, None], [1.0, None]),
        ("list<string>", "array<string>", ["x"], ["x"]),
    ],
)
def test_values_are_kept_in_the_declared_type(
    spark: Any, declared: str, given: str, value: Any, expected: Any
) -> None:
    events = frame(spark, [(value, 1), (None, 2)], f"x {given}, time int")
    with setting(spark, "spark.sql.session.timeZone", "Asia/Kolkata"):
        found = read_frames({"a": events}, wanted(f"event a(x {declared});"))
        if declared == "timestamp":
            values = found.rows.selectExpr("end", "unix_micros(v0) as v0")
            expected = (expected - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        else:
            values = found.rows
        assert [row.v0 for row in values.sort("end").collect()] == [expected, None]


@pytest.mark.parametrize(
    ("declared", "given", "value", "reason"),
    [
        ("int", "double", 0.5, "0.5 cannot be used; it is not a whole number"),
        ("int", "double", float("nan"), "NaN cannot be used; it is not a whole number"),
        ("int", "decimal(30,0)", Decimal(2**63), "it is not a whole number of 64 bits"),
        ("int", "double", 2.0**63, "it is not a whole number of 64 bits"),
        ("int", "float", 2.0**63, "it is not a whole number of 64 bits"),
        ("float", "bigint", 2**63 - 1, "it has more digits than a float can hold"),
        ("decimal(6, 2)", "decimal(9,4)", Decimal("0.0001"), "does not fit into decimal(6, 2)"),
        ("decimal(6, 2)", "int", 12345, "does not fit into decimal(6, 2)"),
        ("string", "binary", b"\xff", "FF cannot be used; it is not text in UTF-8"),
        ("timestamp", "bigint", LATEST + 1, "it is outside the years 1 to 9999"),
        ("timestamp", "string", "soon", "'soon' cannot be used; text must be a date and time"),
        ("list<int>", "array<double>", [1.0, 0.5], "0.5 cannot be used"),
    ],
)
def test_a_value_that_does_not_fit_makes_the_query_fail(
    spark: Any, declared: str, given: str, value: Any, reason: str
) -> None:
    events = frame(spark, [(value, 1)], f"x {given}, time int")
    message = failure(read_frames({"a": events}, wanted(f"event a(x {declared});")))
    assert "frames['a']: event 'a', column 'x': " in message
    assert reason in message


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("int", "string"), ("int", "boolean"), ("int", "timestamp"), ("float", "string"),
        ("bool", "int"), ("bool", "string"), ("string", "int"), ("timestamp", "double"),
        ("duration", "string"), ("duration", "interval year"), ("decimal(6, 2)", "string"),
        ("list<int>", "int"), ("list<int>", "array<string>"), ("int", "array<int>"),
        ("string", "struct<x:int>"),
    ],
)  # fmt: skip
def test_a_column_of_another_type_is_refused_at_once(spark: Any, declared: str, given: str) -> None:
    events = frame(spark, [], f"x {given}, time int")
    with pytest.raises(InputError) as raised:
        read_frames({"a": events}, wanted(f"event a(x {declared});"))
    assert f"column 'x' holds {given} where {declared} is declared" in str(raised.value)


def test_a_collation_does_not_change_what_equal_means(spark: Any) -> None:
    events = spark.sql("select 'A' collate UTF8_LCASE as word, 1 as time")
    found = read_frames({"b": events}, wanted(AB))
    assert found.rows.where("v1 = 'a'").count() == 0
    assert rows(found) == [(1, 1, None, "A")]


# -- mistakes in what is given


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ({"aa": "id int, time int"}, "no input event 'aa'. Did you mean 'a'? Declared are: 'a'"),
        ({"a": "idd int, time int"}, "['a']: event 'a' has no column 'id'. Did you mean 'idd'?"),
        ({"a": "id int, tim int"}, "no column 'time', nor 'start' and 'end'. Its columns are:"),
        ({"a": "id int, start int"}, "event 'a' has 'start' for its time. Give 'time' alone, or"),
        ({"a": "id int, end int, time int"}, "event 'a' has 'end' and 'time' for its time"),
        ({"a": "id int, time double"}, "'time' holds double where a time is asked for: a time"),
        ("id int, time int", "frames has no column 'type' that says which event a row is."),
        ("type int, id int, time int", "column 'type' holds int; it must hold the names"),
    ],
)  # fmt: skip
def test_a_frame_that_does_not_fit_is_refused_at_once(
    spark: Any, frames: Any, message: str
) -> None:
    given = (
        frame(spark, [], frames)
        if isinstance(frames, str)
        else {name: frame(spark, [], schema) for name, schema in frames.items()}
    )
    with pytest.raises(InputError, match=re.escape(message)):
        read_frames(given, wanted(AB))


def test_an_event_of_a_frame_with_types_may_lack_columns_if_it_does_not_occur(spark: Any) -> None:
    events = frame(spark, [("a", 1, 10)], "type string, id int, time int")
    assert rows(read_frames(events, wanted(AB))) == [(0, 10, 1, None)]
    occurs = frame(spark, [("b", 1, 10)], "type string, id int, time int")
    assert "event 'b' has no column 'word'" in failure(read_frames(occurs, wanted(AB)))


def test_two_columns_of_one_name_are_refused(spark: Any) -> None:
    events = spark.range(1).select(
        F.lit(1).alias("id"), F.lit(2).alias("id"), F.lit(3).alias("time")
    )
    with pytest.raises(InputError, match=r"frames\['a'\] has 2 columns named 'id'"):
        read_frames({"a": events}, wanted(AB))


def test_what_is_no_spark_frame_is_refused(spark: Any) -> None:
    import pandas as pd

    with pytest.raises(
        InputError, match=r"frames\['a'\]: this DataFrame is not a Spark DataFrame. Make"
    ):
        read_frames({"a": pd.DataFrame({"id": [1]})}, wanted(AB))
    with pytest.raises(InputError, match=r"this str is not a Spark DataFrame. Read it first"):
        read_frames("events.parquet", wanted(AB))
    with pytest.raises(InputError, match=r"frames\['a'\]\[0\]: this int is not"):
        read_frames({"a": [3]}, wanted(AB))


def test_streams_and_tables_do_not_mix(spark: Any) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value as id", "timestamp as time")
    table = frame(spark, [], "word string, time int")
    with pytest.raises(InputError, match=r"frames\['a'\] is a stream and frames\['b'\] is not"):
        read_frames({"a": stream, "b": table}, wanted(AB))
