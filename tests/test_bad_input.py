"""Input that is wrong, or only looks so: a clear error or the right answer, never a silent loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thence

PROGRAM = """
event order(id string, qty int, price float);
event shipped(id string);
done(id, qty, price) <- order(id, qty, price) seq shipped(id);
"""
ORDER = {"id": "o1", "qty": 2, "price": 9.5, "time": "2026-01-01T08:00:00Z"}
SHIPPED = {"id": "o1", "time": "2026-01-01T09:00:00Z"}


def done(orders: Any, shipped: Any = (SHIPPED,)) -> list[dict[str, Any]]:
    """What the program finds, without the times."""
    table = thence.compile(PROGRAM).run({"order": orders, "shipped": list(shipped)})["done"]
    return table.drop_columns(["start", "end"]).to_pylist()


def message(orders: Any) -> str:
    """How the program refuses these orders."""
    with pytest.raises(thence.InputError) as caught:
        done(orders)
    return str(caught.value)


def test_a_missing_column() -> None:
    assert message([{"id": "o1", "qtty": 2, "price": 9.5, "time": 0}]) == (
        "events['order']: event 'order' has no column 'qty'. Did you mean 'qtty'? "
        "Its columns are: 'id', 'qtty', 'price', 'time'."
    )


def test_a_missing_column_of_time() -> None:
    assert message([{"id": "o1", "qty": 2, "price": 9.5}]) == (
        "events['order']: event 'order' has no column 'time', nor 'start' and 'end'. "
        "Its columns are: 'id', 'price', 'qty'."
    )


def test_a_null_time() -> None:
    assert message([ORDER, {**ORDER, "time": None}]) == (
        "events['order']: event 'order', row 2: 'time' is null, and every event needs a time."
    )


def test_a_null_end() -> None:
    interval = {"id": "o1", "qty": 2, "price": 9.5, "start": 0, "end": None}
    assert "row 1: 'end' is null" in message([interval])


def test_text_where_a_number_is_declared() -> None:
    assert message(pa.table({k: [v] for k, v in {**ORDER, "qty": "2"}.items()})) == (
        "events['order']: event 'order', column 'qty', row 1: '2' cannot be used; it is text where "
        "int is declared (declare 'qty' with another type, or convert the column first)."
    )


def test_text_that_is_no_number_in_csv(tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("id,qty,price,time\no1,1,1,1\no2,two,1,1\n")
    assert message(tmp_path / "order.csv").endswith(
        "order.csv': event 'order', column 'qty', row 2: 'two' cannot be used; "
        "it is not a whole number."
    )


def test_an_unsorted_file_gives_the_same_answer(tmp_path: Path) -> None:
    rows = [{**ORDER, "id": f"o{i}", "time": 100 - i} for i in range(5)]
    ships = [{"id": f"o{i}", "time": 200 + (i * 7) % 5} for i in range(5)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "unsorted.parquet")
    assert {row["id"] for row in done(tmp_path / "unsorted.parquet", ships)} == {
        "o0", "o1", "o2", "o3", "o4",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["order.csv", "order.jsonl"])
def test_an_empty_file_is_no_events(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert done(tmp_path / name) == []


def test_an_empty_parquet_file_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "order.parquet").write_bytes(b"")
    assert "order.parquet' is not a readable Parquet file: " in message(tmp_path / "order.parquet")


@pytest.mark.parametrize("cut", [6, 300, -1])
def test_a_truncated_parquet_file(tmp_path: Path, cut: int) -> None:
    whole, part = tmp_path / "whole.parquet", tmp_path / "part.parquet"
    pq.write_table(pa.Table.from_pylist([ORDER] * 100), whole)
    assert len(done(whole)) == 1
    part.write_bytes(whole.read_bytes()[:cut])
    assert "part.parquet' is not a readable Parquet file: " in message(part)


def test_a_parquet_file_damaged_inside(tmp_path: Path) -> None:
    path = tmp_path / "order.parquet"
    pq.write_table(pa.Table.from_pylist([ORDER] * 1000), path, use_dictionary=False)
    damaged = bytearray(path.read_bytes())
    damaged[4:60] = b"\xff" * 56
    path.write_bytes(damaged)
    assert "order.parquet' is not a readable Parquet file: " in message(path)


def test_a_mix_of_time_zones_is_one_line_of_time() -> None:
    nine = ["2026-01-01T10:00:00+01:00", "2026-01-01T04:00:00-05:00", "2026-01-01T09:00:00"]
    eight = [{**ORDER, "id": f"o{i}", "time": f"2026-01-01T{8 + i}:30:00+0{i}:00"}
             for i in range(2, 4)]  # fmt: skip
    ships = [{"id": f"o{i}", "time": text} for i, text in enumerate(nine, 1)]
    assert [row["id"] for row in done(eight, ships)] == ["o2", "o3"]


def test_a_mix_of_zones_between_tables_is_one_line_of_time() -> None:
    berlin = pa.array([1_767_256_200_000_000], pa.timestamp("us", "Europe/Berlin"))
    naive = pa.array([1_767_256_200_001], pa.timestamp("ms"))
    orders = pa.table({"id": ["o1"], "qty": [1], "price": [1.0], "time": berlin})
    shipped = pa.table({"id": ["o1"], "time": naive})
    found = thence.compile(PROGRAM).run({"order": orders, "shipped": shipped})["done"]
    assert found.num_rows == 1


def test_a_start_after_its_end() -> None:
    backwards = {"id": "o1", "qty": 2, "price": 9.5, "start": 2_000_000, "end": 1_000_000}
    assert message([backwards]) == (
        "events['order']: event 'order', row 1: it starts at 1970-01-01T00:00:02Z, "
        "after it ends at 1970-01-01T00:00:01Z."
    )


def test_nan_and_infinity_are_values() -> None:
    prices = [float("nan"), float("inf"), float("-inf")]
    found = done([{**ORDER, "qty": i, "price": price} for i, price in enumerate(prices)])
    assert sorted(str(row["price"]) for row in found) == ["-inf", "inf", "nan"]


def test_nan_is_not_a_whole_number() -> None:
    assert "nan cannot be used; it is not a whole number" in message(
        [{**ORDER, "qty": float("nan")}]
    )


def test_a_number_too_large() -> None:
    assert "it does not fit into an int of 64 bits" in message([{**ORDER, "qty": 2**63}])


def test_a_time_beyond_the_calendar() -> None:
    assert "outside the years 1 to 9999" in message([{**ORDER, "time": 2**62}])


def test_a_time_finer_than_a_microsecond_is_not_rounded_in_silence() -> None:
    fine = pa.array([1_001], pa.timestamp("ns", "UTC"))
    orders = pa.table({"id": ["o1"], "qty": [1], "price": [1.0], "time": fine})
    assert "finer than a microsecond; round it first" in message(orders)


def test_an_unknown_event_in_the_mapping() -> None:
    with pytest.raises(thence.InputError, match="Did you mean 'order'"):
        thence.compile(PROGRAM).run({"ordr": [ORDER]})


def test_no_events_at_all() -> None:
    assert thence.compile(PROGRAM).run({})["done"].num_rows == 0
    assert thence.compile(PROGRAM).run([])["done"].num_rows == 0
