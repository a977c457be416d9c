"""Where an event goes: the same place for equal keys, and all places used."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thence.engine.arrays.hashing import hash_columns
from thence.spark.placing import partition_of, places


def hashes(values: list[Any], type_: Any, kind: str) -> list[int]:
    return hash_columns([pa.array(values, type_)], [kind], len(values)).tolist()


@pytest.mark.parametrize(
    ("values", "type_", "kind"),
    [
        (list(range(1000)), pa.int64(), "int"),
        ([i * 1000 for i in range(1000)], pa.int64(), "int"),
        ([f"order-{i:06}" for i in range(1000)], pa.string(), "string"),
        ([i / 7 for i in range(1000)], pa.float64(), "float"),
        (list(range(1000)), pa.timestamp("us", "UTC"), "timestamp"),
        ([Decimal(i) for i in range(1000)], pa.decimal128(9, 2), "decimal"),
    ],
)
def test_different_values_spread_evenly(values: list[Any], type_: Any, kind: str) -> None:
    counts = np.bincount(np.array(hashes(values, type_, kind), np.uint64) % np.uint64(8))
    assert len(counts) == 8
    assert counts.min() > 80


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_a_slice_of_a_column_has_the_hashes_of_its_values(shift: int) -> None:
    words = pa.array(["", "a", "b", None, "żółw", "a", "", "longer than the others"])
    whole = hash_columns([words], ["string"], len(words))
    part = words.slice(shift, 4)
    assert hash_columns([part], ["string"], 4).tolist() == whole[shift : shift + 4].tolist()


def test_texts_that_share_letters_differ() -> None:
    found = hashes(["ab", "ba", "a", "b", "", "\0", "\0\0", "aa"], pa.string(), "string")
    assert len(set(found)) == len(found)


def test_zero_and_minus_zero_meet() -> None:
    a, b = hashes([0.0, -0.0], pa.float64(), "float")
    assert a == b


def test_what_is_identical_meets_though_it_equals_nothing() -> None:
    odd = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    a, b, c, d = hashes([*odd.tolist(), None, None], pa.float64(), "float")
    assert a == b != c == d


def test_decimals_are_told_apart_by_all_their_digits() -> None:
    numbers = [Decimal("5.01"), Decimal("5.02"), Decimal("-5.01"), None, Decimal("5.01")]
    a, b, c, _, again = hashes(numbers, pa.decimal128(9, 2), "decimal")
    assert len({a, b, c}) == 3
    assert again == a


def test_numbers_that_are_none_are_hashed_all_the_same() -> None:
    odd = [float("nan"), float("inf"), float("-inf"), 1e300, None]
    assert len(hashes(odd, pa.float64(), "float")) == 5


def test_huge_decimals_are_hashed() -> None:
    huge = [Decimal(10) ** 30, Decimal(-(10**30)), Decimal(1)]
    assert len(hashes(huge, pa.decimal128(38, 2), "decimal")) == 3


def test_every_column_of_a_key_counts() -> None:
    first, second = pa.array([1, 1, 2]), pa.array(["x", "y", "x"])
    assert len(set(hash_columns([first, second], ["int", "string"], 3).tolist())) == 3


@pytest.mark.parametrize("shards", [1, 2, 7, 64])
def test_each_shard_has_a_partition_of_its_own(shards: int) -> None:
    assert [partition_of(place, shards) for place in places(shards)] == list(range(shards))


def test_in_more_partitions_than_shards_no_two_shards_meet() -> None:
    assert len({partition_of(place, 200) for place in places(8)}) == 8


def test_partitions_are_those_that_spark_chooses(spark: Any) -> None:
    from pyspark.sql import functions as F

    frame = spark.range(64).select(F.col("id").cast("int").alias("place"))
    rows = frame.repartition(7, "place").select("place", F.spark_partition_id().alias("at"))
    found = {row.place: row.at for row in rows.collect()}
    assert found == {number: partition_of(number, 7) for number in range(64)}
