"""Values as codes, range search over (key, time), and telling rows apart, against brute force."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_values import canonical, order

from thence.engine.arrays import ranges
from thence.engine.arrays.codes import combine, identity_codes, join_codes
from thence.engine.arrays.ranges import TimeIndex, expand, stable_order
from thence.engine.arrays.rows import concat, distinct, row_ids, take, unique_by
from thence.engine.arrays.value_order import order_codes, sort_order
from thence.model.events import Events

NAN = float("nan")
INSTANT = datetime(2026, 1, 1, tzinfo=UTC)

# For each Arrow type, values among which some are the same and some only look alike.
SAMPLES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63), 2**31, 2**30 - 1, None]),
    "float": (pa.float64(), [0.0, -0.0, 1.0, NAN, -NAN, math.inf, -math.inf, 5e-324, None]),
    "string": (pa.string(), ["", "a", "A", "a ", "é", "e\u0301", "\x00", "a\x00", None]),
    "bool": (pa.bool_(), [True, False, None]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [INSTANT, INSTANT + timedelta(microseconds=1), datetime(1, 1, 1, tzinfo=UTC), None],
    ),
    "duration": (pa.duration("us"), [timedelta(0), timedelta(days=1), timedelta(-1), None]),
    "decimal": (
        pa.decimal128(38, 2),
        [Decimal("1.00"), Decimal("1.10"), Decimal("-1.00"), Decimal("9" * 36), None],
    ),
    "list of int": (pa.list_(pa.int64()), [[], [1], [1, 1], [11], [None], [2**63 - 1], None]),
    "list of string": (
        pa.list_(pa.string()),
        [[], [""], ["a", "b"], ["a, b"], ["a', 'b"], [None], ["None"], None],
    ),
    "list of float": (pa.list_(pa.float64()), [[], [0.0], [-0.0], [1.0], [NAN], [None], None]),
}


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same: null is null, NaN is NaN, -0.0 is 0.0."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return a is b or (a is not None and b is not None and a == b)


def joins(a: Any, b: Any) -> bool:
    """Whether two values are equal in a join: null and NaN equal nothing."""
    return a is not None and b is not None and bool(a == b)


@pytest.mark.parametrize("name", SAMPLES)
def test_identity_codes_are_equal_just_for_the_same_value(name: str) -> None:
    kind, values = SAMPLES[name]
    twice = values + values[::-1]
    codes, size = identity_codes(pa.array(twice, kind))
    assert codes.dtype == np.int64
    assert codes.min() >= 0
    assert codes.max() < size
    for i, a in enumerate(twice):
        for j, b in enumerate(twice):
            assert (codes[i] == codes[j]) == same(a, b), (a, b)


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.startswith("list")])
@pytest.mark.parametrize("without_null", [True, False])
def test_join_codes_are_equal_just_for_values_that_join(name: str, without_null: bool) -> None:
    kind, values = SAMPLES[name]
    if without_null:
        values = [value for value in values if value is not None]
    left, right = values, values[::-1]
    (one, other), size = join_codes([pa.array(left, kind), pa.array(right, kind)])
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            assert (one[i] >= 0 and one[i] == other[j]) == joins(a, b), (a, b)
    assert max(one.max(), other.max()) < size


def test_columns_without_rows_have_codes_too() -> None:
    for kind, _ in SAMPLES.values():
        codes, _ = identity_codes(pa.array([], kind))
        assert len(codes) == 0
        (left, right), _ = join_codes([pa.array([], kind), pa.array([None], kind)])
        assert (len(left), right.tolist()) == (0, [-1])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2**63 - 1, -(2**63), 2**40, None]),
            st.sampled_from(["x", "y", None]),
            st.integers(-(2**63), 2**63 - 1),
            st.sampled_from([0.0, -0.0, NAN, None]),
        ),
        max_size=12,
    )
)
def test_codes_of_several_columns_tell_rows_apart_whatever_their_range(
    rows: list[tuple[Any, ...]],
) -> None:
    kinds = [pa.int64(), pa.string(), pa.int64(), pa.float64()]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    codes, size = combine([identity_codes(column) for column in columns])
    assert size < 2**63
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert (codes[i] == codes[j]) == all(map(same, a, b))


def test_a_missing_code_in_any_column_is_missing_in_all() -> None:
    codes, _ = combine([(np.array([0, -1, 1]), 2), (np.array([1, 1, -1]), 2)])
    assert codes.tolist() == [1, -1, -1]


# --- range search ---------------------------------------------------------------------------------

keyed = st.lists(st.tuples(st.integers(-1, 3), st.integers(-5, 5)), max_size=12)
limits = st.none() | st.integers(-8, 8)


def in_range(rows: list[tuple[int, int]], key: int, low: int | None, high: int | None) -> list[int]:
    return [
        i
        for i, (code, time) in enumerate(rows)
        if code == key
        and code >= 0
        and (low is None or low <= time)
        and (high is None or time <= high)
    ]


@given(keyed, st.lists(st.integers(-1, 5), max_size=6), limits, limits, st.booleans())
def test_a_key_and_a_range_find_what_a_loop_finds(
    rows: list[tuple[int, int]],
    probes: list[int],
    low: int | None,
    high: int | None,
    spread: bool,
) -> None:
    """``spread`` moves times so far apart that key and time do not fit one number: then ranks
    stand for times."""
    scale = 2**58 if spread else 1
    codes = np.array([code for code, _ in rows], dtype=np.int64)
    times = np.array([time * scale for _, time in rows], dtype=np.int64)
    index = TimeIndex(times, codes, 6)
    lows = None if low is None else np.full(len(probes), low, dtype=np.int64) * scale
    highs = None if high is None else np.full(len(probes), high, dtype=np.int64) * scale
    first, last = index.find(np.array(probes, dtype=np.int64), lows, highs, len(probes))
    for probe, a, b in zip(probes, first, last, strict=True):
        assert sorted(index.rows(a, b).tolist()) == in_range(rows, probe, low, high)


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-5, 5)), max_size=30),
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-6, 6), st.integers(-2, 9)), max_size=20),
    st.booleans(),
    st.sampled_from([0, 1, 4]),
)
def test_many_probes_walk_through_an_index(
    rows: list[tuple[int, int]], probes: list[tuple[int, int, int]], ascending: bool, short: int
) -> None:
    """Where probes and rows are many, the two are merged, and ends are looked for one by one."""
    probes = sorted(probes) if ascending else probes
    codes = np.array([code for code, _ in rows], dtype=np.int64)
    times = np.array([time for _, time in rows], dtype=np.int64)
    asked, lows, lengths = np.array(probes, dtype=np.int64).reshape(-1, 3).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "CACHED", 2)
        patch.setattr(ranges, "SHORT", short)
        index = TimeIndex(times, codes, 4)
        first, last = index.find(asked, lows, lows + lengths, len(probes))
    for (probe, low, length), a, b in zip(probes, first, last, strict=True):
        assert sorted(index.rows(a, b).tolist()) == in_range(rows, probe, low, low + length)


@given(
    st.lists(st.integers(-(2**61), 2**61) | st.integers(-3, 70_000), max_size=20),
    st.sampled_from([0, 2**62]),
)
def test_the_order_of_many_numbers_keeps_equal_ones_as_they_come(
    numbers: list[int], more: int
) -> None:
    """``more`` spreads them over more than 62 bits."""
    values = [*numbers, *numbers[:3], more, -more]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "CACHED", 2)
        found = stable_order(np.array(values, dtype=np.int64))
    assert found.tolist() == sorted(range(len(values)), key=values.__getitem__)


@given(st.lists(st.integers(-5, 5), max_size=12), limits, limits)
def test_a_range_without_a_key(times: list[int], low: int | None, high: int | None) -> None:
    index = TimeIndex(np.array(times, dtype=np.int64), None, 1)
    first, last = index.find(None, low, high, 2)
    expected = in_range([(0, time) for time in times], 0, low, high)
    for a, b in zip(first, last, strict=True):
        assert sorted(index.rows(a, b).tolist()) == expected


@pytest.mark.parametrize("groups", [2**30, 2**40, 2**60])
def test_keys_of_any_width_work_with_times_of_any_width(groups: int) -> None:
    """Two integer columns of a billion values each make keys that leave no room for times."""
    codes = np.array([0, groups - 1, groups // 2, groups - 1, 7], dtype=np.int64)
    times = np.array([0, 2**57, -(2**57), 5, 5], dtype=np.int64)
    index = TimeIndex(times, codes, groups)
    probes = np.array([groups - 1, groups - 1, 0, 7, groups // 2, 8], dtype=np.int64)
    low = np.array([0, 6, 0, 6, -(2**57), 0], dtype=np.int64)
    first, last = index.find(probes, low, None, len(probes))
    found = [sorted(index.rows(a, b).tolist()) for a, b in zip(first, last, strict=True)]
    assert found == [[1, 3], [1], [0], [], [2], []]


def test_keys_that_would_wrap_round_do_not_meet() -> None:
    """In 64 bits, 0 * 1024 and 2**54 * 1024 are one number."""
    times = np.arange(1021, dtype=np.int64)
    codes = np.full(1021, 1, dtype=np.int64)
    codes[0] = 2**54
    index = TimeIndex(times, codes, 2**59)
    first, last = index.find(np.array([0, 2**54, 2**58]), None, None, 3)
    assert (last - first).tolist() == [0, 1, 0]


# --- expanding ranges -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), max_size=10), st.integers(1, 12))
def test_ranges_expand_to_all_their_pairs_in_chunks(
    spans: list[tuple[int, int]], chunk: int
) -> None:
    first = np.array([begin for begin, _ in spans], dtype=np.int64)
    last = np.array([begin + size for begin, size in spans], dtype=np.int64)
    expected = [(probe, at) for probe, (b, n) in enumerate(spans) for at in range(b, b + n)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "CHUNK", chunk)
        parts = [list(zip(a.tolist(), b.tolist(), strict=True)) for a, b in expand(first, last)]
    assert [pair for part in parts for pair in part] == expected
    for part in parts:
        probes = [probe for probe, _ in part]
        assert len(part) <= chunk or len(set(probes)) == 1
    owners = [probe for part in parts for probe in {probe for probe, _ in part}]
    assert len(owners) == len(set(owners)), "a probe's pairs must stay together"


# --- rows -----------------------------------------------------------------------------------------

values = st.sampled_from([0.0, -0.0, 1.5, NAN, None])
row = st.tuples(st.integers(0, 2), st.integers(0, 1), values)


def events(rows: list[tuple[int, int, Any]], points: bool) -> Events:
    start = np.array([start for start, _, _ in rows], dtype=np.int64)
    end = start if points else start + np.array([length for _, length, _ in rows], dtype=np.int64)
    return Events(start, end, {"v": pa.array([v for _, _, v in rows], pa.float64())})


def keys_of(rows: list[tuple[int, int, Any]], points: bool) -> list[str]:
    def key(start: int, length: int, value: float | None) -> str:
        number = None if value is None else value + 0.0
        return repr((start, 0 if points else length, number))

    return [key(*r) for r in rows]


@given(st.lists(row, max_size=10), st.lists(row, max_size=6), st.booleans(), st.booleans())
def test_each_row_once_and_none_that_is_known(
    new: list[Any], known: list[Any], points: bool, known_points: bool
) -> None:
    fresh = distinct(events(new, points), events(known, known_points))
    seen = set(keys_of(known, known_points))
    expected = []
    for key in keys_of(new, points):
        if key not in seen:
            seen.add(key)
            expected.append(key)
    triples = zip(
        fresh.start.tolist(),
        (fresh.end - fresh.start).tolist(),
        fresh.columns["v"].to_pylist(),
        strict=True,
    )
    assert keys_of(list(triples), points=False) == expected


@given(st.lists(row, max_size=10), st.booleans())
def test_row_ids_are_equal_just_for_equal_rows(rows: list[Any], points: bool) -> None:
    ids = row_ids(events(rows, points)).tolist()
    keys = keys_of(rows, points)
    for i, a in enumerate(keys):
        for j, b in enumerate(keys):
            assert (ids[i] == ids[j]) == (a == b)


@given(st.lists(row, max_size=8), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_what_tells_rows_apart(
    rows: list[Any], points: bool, column: bool, start: bool, end: bool
) -> None:
    claimed = unique_by(events(rows, points), ["v"] if column else [], start, end)
    shown = [
        (
            repr(None if v is None else v + 0.0) if column else "",
            s if start else "",
            (s if points else s + length) if end else "",
        )
        for s, length, v in rows
    ]
    assert claimed == (len(set(shown)) == len(shown))


def test_taking_and_joining_rows_keeps_points_points() -> None:
    points = events([(0, 0, 1.0), (1, 0, None)], points=True)
    assert (taken := take(points, np.array([True, False]))).start is taken.end
    assert (both := concat([points, points])).start is both.end
    longer = events([(0, 1, 1.0)], points=False)
    mixed = concat([points, longer])
    assert mixed.end.tolist() == [0, 1, 1]
    assert mixed.start.tolist() == [0, 1, 0]


SCALARS: list[tuple[Any, list[Any]]] = [
    (pa.int64(), [1, 2, -(2**63), 2**63 - 1, None]),
    (pa.float64(), [0.5, -0.0, 0.0, -1e300, float("inf"), float("-inf"), float("nan"), None]),
    (pa.string(), ["", "a", "ab", "é", "z", None]),
    (pa.bool_(), [True, False, None]),
    (pa.decimal128(10, 2), [Decimal("0.10"), Decimal("-3.00"), Decimal("99.99"), None]),
    (pa.duration("us"), [timedelta(0), timedelta(days=-1), timedelta(microseconds=1), None]),
]


@st.composite
def columns_of_values(draw: st.DrawFn) -> Any:
    """A column of values of some type, or of lists of them, or of lists of lists."""
    kind, values = draw(st.sampled_from(SCALARS))
    strategy: st.SearchStrategy[Any] = st.sampled_from(values)
    for _ in range(draw(st.integers(0, 2))):
        kind = pa.list_(kind)
        strategy = st.none() | st.lists(strategy, max_size=3)
    return pa.array(draw(st.lists(strategy, max_size=12)), kind)


@given(columns_of_values())
def test_codes_have_the_order_of_values(column: Any) -> None:
    codes = order_codes(column).tolist()
    values = [canonical(value) for value in column.to_pylist()]
    for (one, a), (two, b) in product(zip(values, codes, strict=True), repeat=2):
        assert (order(one) < order(two)) == (a < b)
    ordered = [values[row] for row in sort_order([column])]
    assert ordered == sorted(values, key=order)
