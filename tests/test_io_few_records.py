"""A few records are read in a way of their own: with the answers and the errors of the other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.io import few_records, ingest
from thence.model.errors import InputError
from thence.model.schema import Attribute, EventSchema
from thence.model.types import BOOL, DECIMAL, DURATION, FLOAT, INT, STRING, TIMESTAMP, list_of

TYPES = (INT, FLOAT, BOOL, STRING, TIMESTAMP, DURATION, DECIMAL, list_of(INT), list_of(STRING))
EVENT = EventSchema("e", (Attribute("x", INT), Attribute("y", FLOAT)), longest=10)
TIMES = [*[("time",)] * 6, *[("start", "end")] * 4, ("start",), ("time", "end"), ()]
RECORD = {"x": 1, "y": 2.0, "time": 3}

values = st.one_of(
    st.sampled_from(
        [
            None, 0, 1, -1, 7, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, True,
            False, 0.0, -0.0, 1.5, 3.0, float("nan"), float("inf"), "", "x", "3", "1 s", "é",
            "\ud800", "2026-01-01T00:00:00Z", "2026-01-01", b"bytes", b"\xff", Decimal("1.5"),
            Decimal("0.1234567"), Decimal("NaN"), datetime(2026, 1, 1, tzinfo=UTC),
            datetime(2026, 1, 1), date(2026, 1, 1), timedelta(seconds=1), [1, 2], ["a"], [], [None],
            {}, object, np.int64(3), np.int32(3), np.float64(1.5), np.float32(0.1), np.bool_(True),
            np.str_("x"), np.datetime64("2026-01-01"), np.datetime64("NaT"), np.timedelta64(1, "s"),
            np.array([1, 2]), pd.NaT, pd.NA, pd.Timestamp("2026-01-01"), pd.Timedelta("1s"),
        ]
    ),
    st.integers(-5, 5),
    st.floats(allow_nan=True),
    st.text(max_size=3),
)  # fmt: skip
times = st.one_of(st.integers(0, 9), values)


@st.composite
def records(draw: Any) -> dict[str, Any]:
    """A record, often just as it should be."""
    record: dict[str, Any] = {}
    for name in ("x", "y"):
        if draw(st.integers(0, 19)):
            record[name] = draw(values)
    for name in draw(
        st.sampled_from(
            [("time",)] * 6 + [("start", "end")] * 4 + [("start",), ("time", "end"), ()]
        )
    ):
        record[name] = draw(times)
    return record


def outcome(schema: EventSchema, given: list[dict[str, Any]], requested: list[str]) -> Any:
    """What is read, or what is said to be wrong."""
    try:
        found = ingest.read_events({"e": given}, {"e": schema}, columns={"e": requested})["e"]
    except InputError as problem:
        return str(problem)
    columns = {name: (c.type, repr(c.to_pylist())) for name, c in found.columns.items()}
    return found.start.tolist(), found.end.tolist(), found.start is found.end, columns


@given(
    st.lists(records(), min_size=1, max_size=3),
    st.tuples(st.sampled_from(TYPES), st.sampled_from(TYPES)),
    st.sampled_from([None, 0, 3]),
    st.sampled_from([["x", "y"], ["y"], []]),
)
def test_few_records_give_what_a_table_gives(
    given_: list[dict[str, Any]], types: tuple[Any, Any], longest: int | None, requested: list[str]
) -> None:
    schema = EventSchema("e", (Attribute("x", types[0]), Attribute("y", types[1])), longest)
    quick = outcome(schema, given_, requested)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_records, "FEW", 0)
        assert quick == outcome(schema, given_, requested)


@pytest.mark.parametrize(
    "plain",
    [
        [RECORD],
        [RECORD, {"time": 9, "y": None, "x": None, "more": 1}],
        [{"x": 1, "y": 2, "start": 3, "end": 13}],
        [{"x": np.int64(1), "y": 2.0, "time": "2026-01-01T00:00:00Z"}],
        [RECORD] * few_records.FEW,
    ],
)
def test_plain_records_are_read_at_once(plain: list[dict[str, Any]]) -> None:
    found = few_records.few_records(plain, EVENT, ("x", "y"))
    assert found is not None
    assert len(found) == len(plain)


@pytest.mark.parametrize(
    "other",
    [
        [],
        [RECORD] * (few_records.FEW + 1),
        RECORD,
        (RECORD,),
        [{"x": 1, "time": 3}],
        [{"x": 1, "y": 2.0}],
        [{**RECORD, "start": 3}],
        [{"x": 1, "y": 2.0, "start": 3}],
        [{"x": 1, "y": 2.0, "start": 4, "end": 3}],
        [{"x": 1, "y": 2.0, "start": 4, "end": 15}],
        [{**RECORD, "time": None}],
        [{**RECORD, "x": "1"}],
        [RECORD, [1]],
    ],
)
def test_what_is_unusual_or_wrong_is_left_to_the_other_way(other: Any) -> None:
    assert few_records.few_records(other, EVENT, ("x", "y")) is None
