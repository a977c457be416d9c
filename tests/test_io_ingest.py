"""Events from every kind of table that a caller may have."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from thence.io.ingest import read_events
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import Attribute, EventSchema
from thence.model.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

ORDER = EventSchema("order", (Attribute("id", STRING), Attribute("qty", INT)))
SHIPPED = EventSchema("shipped", (Attribute("id", STRING),))
BOTH = {"order": ORDER, "shipped": SHIPPED}

ROWS = [
    {"type": "order", "id": "o1", "qty": 3, "time": 1_000_000},
    {"type": "shipped", "id": "o1", "qty": None, "time": 2_000_000},
    {"type": "invoice", "id": "i1", "qty": None, "time": 3_000_000},
    {"type": "order", "id": "o2", "qty": None, "time": 4_000_000},
]


def plain(events: Events) -> list[tuple[Any, ...]]:
    """Rows as tuples: start, end, then the attributes."""
    columns = [column.to_pylist() for column in events.columns.values()]
    return list(zip(events.start.tolist(), events.end.tolist(), *columns, strict=True))


def one(declared: Type, values: Any) -> pa.Array:
    """Read a single attribute of the declared type, and give its column back."""
    schema = EventSchema("e", (Attribute("x", declared),))
    times = list(range(len(values)))
    return read_events({"e": {"time": times, "x": values}}, {"e": schema})["e"].columns["x"]


def with_times(**columns: Any) -> Events:
    """Read events without attributes from the given columns of time."""
    return read_events({"e": columns}, {"e": EventSchema("e", ())})["e"]


TABLES = {
    "list of records": lambda: ROWS,
    "generator of records": lambda: (row for row in ROWS),
    "dict of columns": lambda: {key: [row[key] for row in ROWS] for key in ROWS[0]},
    "pyarrow table": lambda: pa.Table.from_pylist(ROWS),
    "record batch": lambda: pa.Table.from_pylist(ROWS).to_batches()[0],
    "record batch reader": lambda: pa.Table.from_pylist(ROWS).to_reader(),
    "many chunks": lambda: pa.concat_tables([pa.Table.from_pylist([r], SCHEMA) for r in ROWS]),
    "dictionary types": lambda: pa.table(
        {
            **{k: [row[k] for row in ROWS] for k in ("id", "qty", "time")},
            "type": pa.array([row["type"] for row in ROWS]).dictionary_encode(),
        }
    ),
    "polars": lambda: pl.DataFrame(ROWS),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas of objects": lambda: pd.DataFrame(ROWS, dtype=object),
    "list of tables": lambda: [pa.Table.from_pylist(ROWS[:2]), pl.DataFrame(ROWS[2:])],
}
SCHEMA = pa.schema(
    [("type", pa.string()), ("id", pa.string()), ("qty", pa.int64()), ("time", pa.int64())]
)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_one_table_of_any_kind_is_split_by_its_type_column(table: Any) -> None:
    found = read_events(table(), BOTH)
    assert plain(found["order"]) == [
        (1_000_000, 1_000_000, "o1", 3),
        (4_000_000, 4_000_000, "o2", None),
    ]
    assert plain(found["shipped"]) == [(2_000_000, 2_000_000, "o1")]


def test_a_table_per_event_needs_no_type_column() -> None:
    orders = pa.table({"id": ["o1"], "qty": [1], "time": [5]})
    found = read_events({"order": orders, "shipped": []}, BOTH)
    assert plain(found["order"]) == [(5, 5, "o1", 1)]
    assert len(found["shipped"]) == 0


def test_an_event_that_is_not_given_has_no_rows_but_its_columns() -> None:
    found = read_events({}, BOTH)
    assert {name: len(events) for name, events in found.items()} == {"order": 0, "shipped": 0}
    assert found["order"].columns["qty"].type == pa.int64()


def test_one_table_without_types_is_the_only_declared_event() -> None:
    found = read_events([{"id": "x", "time": 1}], {"shipped": SHIPPED})
    assert plain(found["shipped"]) == [(1, 1, "x")]


def test_only_needed_events_and_columns_are_read() -> None:
    table = pa.Table.from_pylist(ROWS).append_column("extra", pa.array([1] * 4))
    found = read_events(table, BOTH, needed={"order"}, columns={"order": ["id"]})
    assert list(found) == ["order"]
    assert list(found["order"].columns) == ["id"]


def test_a_column_that_is_not_needed_is_not_converted() -> None:
    rows = [{"type": "order", "id": "o1", "qty": "many", "time": 1}]
    found = read_events(rows, BOTH, columns={"order": ["id"]})
    assert plain(found["order"]) == [(1, 1, "o1")]


def test_an_event_left_out_of_the_columns_is_read_for_its_times() -> None:
    found = read_events(ROWS, BOTH, columns={"shipped": ["id"]})
    assert plain(found["order"]) == [(1_000_000, 1_000_000), (4_000_000, 4_000_000)]


def test_columns_that_fit_are_not_copied() -> None:
    table = pa.table({"id": ["a", "b"], "time": pa.array([1, 2], pa.timestamp("us", "UTC"))})
    found = read_events({"shipped": table}, {"shipped": SHIPPED})["shipped"]
    time_buffer, id_buffer = table["time"].chunk(0).buffers()[1], table["id"].chunk(0).buffers()[2]
    assert found.start.__array_interface__["data"][0] == time_buffer.address
    assert found.columns["id"].buffers()[2].address == id_buffer.address


def test_points_have_one_array_for_start_and_end() -> None:
    points = with_times(time=[1, 2])
    assert points.start is points.end


def test_intervals_come_from_start_and_end() -> None:
    assert plain(with_times(start=[1, 5], end=[4, 5])) == [(1, 4), (5, 5)]


def test_some_rows_may_have_a_time_and_others_a_start_and_an_end() -> None:
    rows = [{"time": 3}, {"start": 1, "end": 2}]
    found = read_events({"e": rows}, {"e": EventSchema("e", ())})["e"]
    assert plain(found) == [(3, 3), (1, 2)]


def test_an_event_longer_than_declared_is_an_error() -> None:
    brief = {"e": EventSchema("e", (), longest=2_000_000)}
    fits = read_events({"e": {"start": [0], "end": [2_000_000]}}, brief)
    assert plain(fits["e"]) == [(0, 2_000_000)]
    with pytest.raises(InputError, match="row 1 lasts 3 s, and the program declares at most 2 s"):
        read_events({"e": {"start": [0], "end": [3_000_000]}}, brief)


PLUS2 = timezone(timedelta(hours=2))
NOON = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z
INSTANTS = {
    "microseconds": [NOON],
    "utc datetime": [datetime(2026, 1, 1, 12, tzinfo=UTC)],
    "zoned datetime": [datetime(2026, 1, 1, 14, tzinfo=PLUS2)],
    "naive datetime": [datetime(2026, 1, 1, 12)],
    "iso text": ["2026-01-01T12:00:00Z"],
    "iso text with offset": ["2026-01-01T14:00:00+02:00"],
    "iso text without offset": ["2026-01-01 12:00:00"],
    "iso texts in Arrow": pa.array(["2026-01-01T12:00:00.000000Z"]),
    "iso texts in large Arrow": pa.array(["2026-01-01 12:00"], pa.large_string()),
    "seconds": pa.array([NOON // 1_000_000], pa.timestamp("s", "Europe/Berlin")),
    "milliseconds": pa.array([NOON // 1_000], pa.timestamp("ms")),
    "nanoseconds": pa.array([NOON * 1_000], pa.timestamp("ns", "UTC")),
    "numpy": np.array(["2026-01-01T12"], "datetime64[h]"),
    "numpy in a list": [np.datetime64("2026-01-01T12:00")],
    "pandas": pd.Series([pd.Timestamp("2026-01-01 13:00", tz="Europe/Berlin")]),
    "polars": pl.Series([datetime(2026, 1, 1, 12)]),
}


@pytest.mark.parametrize("times", INSTANTS.values(), ids=INSTANTS)
def test_every_way_to_write_a_time_means_the_same_instant(times: Any) -> None:
    assert with_times(time=times).start.tolist() == [NOON]


def test_dates_are_midnight_utc() -> None:
    midnight = NOON - 12 * 3_600_000_000
    assert with_times(time=[date(2026, 1, 1)]).start.tolist() == [midnight]
    assert with_times(time=pa.array([date(2026, 1, 1)])).start.tolist() == [midnight]
    assert with_times(time=["2026-01-01"]).start.tolist() == [midnight]


CONVERSIONS: list[tuple[Type, Any, list[Any]]] = [
    (INT, pa.array([1, None], pa.int8()), [1, None]),
    (INT, pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
    (INT, pa.array([3.0, None]), [3, None]),
    (INT, [3.0, np.int32(4), Decimal("5"), None], [3, 4, 5, None]),
    (INT, pa.array([7, 7]).dictionary_encode(), [7, 7]),
    (INT, pa.nulls(2), [None, None]),
    (FLOAT, pa.array([1, 2**53]), [1.0, 2.0**53]),
    (FLOAT, pa.array([0.5], pa.float32()), [0.5]),
    (FLOAT, [1, 2.5, Decimal("0.1")], [1.0, 2.5, 0.1]),
    (BOOL, pa.array([True, None]), [True, None]),
    (BOOL, [np.True_, False], [True, False]),
    (STRING, pa.array(["a"], pa.large_string()), ["a"]),
    (STRING, pa.array(["a", None], pa.string_view()), ["a", None]),
    (STRING, pa.array(["a"]).dictionary_encode(), ["a"]),
    (STRING, pa.array([b"caf\xc3\xa9"]), ["café"]),
    (TIMESTAMP, ["1970-01-01T01:00:00+01:00", None], [datetime(1970, 1, 1, tzinfo=UTC), None]),
    (TIMESTAMP, pa.array(["1970-01-01", None]), [datetime(1970, 1, 1, tzinfo=UTC), None]),
    (TIMESTAMP, pa.array([1, None], pa.date32()), [datetime(1970, 1, 2, tzinfo=UTC), None]),
    (
        DURATION,
        [timedelta(seconds=1), "2 s", 3],
        [timedelta(seconds=s) for s in (1, 2)] + [timedelta(microseconds=3)],
    ),
    (DURATION, pa.array([5], pa.duration("s")), [timedelta(seconds=5)]),
    (
        Type("decimal", precision=9, scale=2),
        [1, 0.1, Decimal("2.50"), None],
        [Decimal("1.00"), Decimal("0.10"), Decimal("2.50"), None],
    ),
    (Type("decimal", precision=9, scale=2), pa.array([Decimal("1.500")]), [Decimal("1.50")]),
    (Type("decimal", precision=9, scale=2), pa.array([12]), [Decimal("12.00")]),
    (list_of(INT), [[1, 2.0], [], None, [None]], [[1, 2], [], None, [None]]),
    (list_of(INT), pa.array([[1]], pa.large_list(pa.int32())), [[1]]),
]


@pytest.mark.parametrize(("declared", "values", "expected"), CONVERSIONS)
def test_what_loses_nothing_is_converted(declared: Type, values: Any, expected: list[Any]) -> None:
    column = one(declared, values)
    assert column.type == declared.arrow
    assert column.to_pylist() == expected


REFUSED: list[tuple[Type, Any, str]] = [
    (INT, [1, "12"], "row 2: '12' cannot be used; it is text where int is declared"),
    (INT, pa.array(["12"]), "row 1: '12' cannot be used; it is text where int is declared"),
    (INT, [1.5], "1.5 cannot be used; it is not a whole number"),
    (INT, pa.array([1.0, 1.5]), "row 2: 1.5 cannot be used; it is not a whole number"),
    (INT, [float("nan")], "nan cannot be used; it is not a whole number"),
    (INT, [2**63], "does not fit into an int of 64 bits"),
    (INT, pa.array([2**63], pa.uint64()), "does not fit into an int of 64 bits"),
    (INT, [True], "True cannot be used; it is true or false where int is declared"),
    (INT, [datetime(2026, 1, 1)], "it is a timestamp where int is declared"),
    (FLOAT, ["1.5"], "it is text where float is declared"),
    (FLOAT, [2**53 + 1], "it has more digits than a float can hold"),
    (FLOAT, pa.array([2**53 + 1]), "it has more digits than a float can hold"),
    (BOOL, [1], "it is a whole number where bool is declared"),
    (STRING, [12], "it is a whole number where string is declared"),
    (STRING, pa.array([12]), "it is a whole number where string is declared"),
    (STRING, [b"\xff"], "it is not text in UTF-8"),
    (STRING, ["\ud800"], "half of a surrogate pair"),
    (TIMESTAMP, ["soon"], "'soon' is not a timestamp"),
    (TIMESTAMP, [1.5], "it is a float where a time is asked for"),
    (TIMESTAMP, pa.array([1], pa.timestamp("ns")), "finer than a microsecond; round it first"),
    (TIMESTAMP, [2**60], "outside the years 1 to 9999"),
    (TIMESTAMP, pa.array([2**60], pa.timestamp("us")), "outside the years 1 to 9999"),
    (TIMESTAMP, pa.array([2**60], pa.timestamp("s")), "outside the years 1 to 9999"),
    (DURATION, ["10"], "has no unit of time"),
    (DURATION, [1.5], "it is a float where duration is declared"),
    (Type("decimal", precision=5, scale=2), [Decimal("1.005")], "more than 2 digits after"),
    (Type("decimal", precision=5, scale=2), [1000], "more than 3 digits before the point"),
    (Type("decimal", precision=5, scale=2), [float("inf")], "it is not a finite number"),
    (list_of(INT), [3], "it is a whole number where list<int> is declared"),
    (list_of(INT), [["a"]], "it is text where int is declared"),
]


@pytest.mark.parametrize(("declared", "values", "message"), REFUSED)
def test_what_would_lose_something_is_refused_with_row_and_value(
    declared: Type, values: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        one(declared, values)
    assert message in str(caught.value)
    assert "event 'e', column 'x', row " in str(caught.value)


def test_the_row_of_a_bad_value_is_its_row_in_the_whole_table() -> None:
    rows = [*ROWS, {"type": "order", "id": "o3", "qty": "x", "time": 9}]
    with pytest.raises(InputError, match="column 'qty', row 5: 'x'"):
        read_events(rows, BOTH)


def test_missing_values_of_pandas_are_null() -> None:
    assert one(INT, pd.Series([1, None])).to_pylist() == [1, None]
    assert one(STRING, pd.Series(["a", pd.NA], dtype=object)).to_pylist() == ["a", None]
    assert one(TIMESTAMP, [pd.NaT]).to_pylist() == [None]


def test_an_unknown_event_suggests_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        read_events({"order": [], "shiped": []}, BOTH)
    assert str(caught.value) == (
        "events: the program declares no input event 'shiped'. Did you mean 'shipped'? "
        "Declared are: 'order', 'shipped'."
    )


def test_a_table_without_a_type_column_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"no column 'type'.* Did you mean 'Type'"):
        read_events([{"Type": "order", "id": "a", "qty": 1, "time": 1}], BOTH)


def test_a_row_without_a_type_is_an_error() -> None:
    with pytest.raises(InputError, match="row 2: 'type' is null"):
        read_events([ROWS[0], {"id": "x", "time": 1}], BOTH)
    with pytest.raises(InputError, match="row 2: 'type' is null"):
        read_events(pa.table({"type": ["order", None], "time": [1, 2]}), BOTH)


def test_types_that_are_not_text_are_an_error() -> None:
    with pytest.raises(InputError, match="column 'type' holds int64"):
        read_events(pa.table({"type": [1], "time": [1]}), BOTH)


def test_a_record_may_leave_a_key_out_if_another_of_its_event_has_it() -> None:
    rows = [{"id": "a", "qty": 1, "time": 1}, {"id": "b", "time": 2}]
    assert plain(read_events({"order": rows}, BOTH)["order"])[1] == (2, 2, "b", None)


def test_columns_of_different_lengths_are_an_error() -> None:
    with pytest.raises(InputError, match=r"not equally long \(time: 2, id: 1\)"):
        read_events({"shipped": {"time": [1, 2], "id": ["a"]}}, BOTH)


def test_a_column_that_occurs_twice_is_an_error() -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array([1])], ["id", "id", "time"])
    with pytest.raises(InputError, match="2 columns named 'id'"):
        read_events({"shipped": table}, BOTH)


@pytest.mark.parametrize("thing", [42, b"bytes", pl.LazyFrame({"time": [1]})])
def test_what_is_no_table_is_an_error(thing: Any) -> None:
    with pytest.raises(InputError, match="is not a table"):
        read_events(thing, BOTH)


@pytest.mark.parametrize(
    "given",
    [
        {"order": {"id": "o1", "qty": 3, "time": 1_000_000}},
        {"order": {"id": "o1", "qty": 3, "start": 1_000_000, "end": 1_000_000}},
        {"order": {"id": "o1", "qty": 3, "time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}},
        {"order": {"id": "o1", "qty": 3, "time": np.datetime64(1, "s")}},
        {"type": "order", "id": "o1", "qty": 3, "time": "1970-01-01T00:00:01Z"},
    ],
)
def test_one_record_is_a_table_of_one_row(given: Any) -> None:
    found = read_events(given, BOTH)["order"]
    assert (found.start.tolist(), found.end.tolist()) == ([1_000_000], [1_000_000])
    assert {name: column.to_pylist() for name, column in found.columns.items()} == {
        "id": ["o1"], "qty": [3],
    }  # fmt: skip


def test_one_record_may_hold_a_list() -> None:
    schema = EventSchema("seen", (Attribute("ids", list_of(INT)),))
    found = read_events({"seen": {"ids": [1, 2], "time": 5}}, {"seen": schema})["seen"]
    assert (found.columns["ids"].to_pylist(), found.start.tolist()) == ([[1, 2]], [5])


def test_a_table_in_columns_with_one_time_for_all_is_not_guessed_at() -> None:
    with pytest.raises(InputError, match="id"):
        read_events({"order": {"id": ["o1", "o2"], "qty": [1, 2], "time": 5}}, BOTH)


def test_a_record_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError, match="row 2 is a int where a record"):
        read_events({"shipped": [{"id": "a", "time": 1}, 7]}, BOTH)


def test_files_and_tables_may_be_mixed(tmp_path: Path) -> None:
    file = tmp_path / "more.csv"
    file.write_text("id,time\nb,2\n")
    found = read_events({"shipped": [pa.table({"id": ["a"], "time": [1]}), file]}, BOTH)
    assert plain(found["shipped"]) == [(1, 1, "a"), (2, 2, "b")]
