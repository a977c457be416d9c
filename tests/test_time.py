"""Durations and timestamps as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.model.time import format_duration, format_timestamp, parse_duration, parse_timestamp

INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("7 us", 7),
        ("7 µs", 7),
        ("1 microsecond", 1),
        ("200 ms", 200_000),
        ("2 milliseconds", 2_000),
        ("10 s", 10_000_000),
        ("10s", 10_000_000),
        ("1.5 sec", 1_500_000),
        ("1 min", 60_000_000),
        ("2m", 120_000_000),
        ("1.5h", 5_400_000_000),
        ("2 days", 172_800_000_000),
        ("1 D", 86_400_000_000),
        ("2 WEEKS", 1_209_600_000_000),
        ("-6h", -21_600_000_000),
        ("- 6 hours", -21_600_000_000),
        (".5 s", 500_000),
        ("0 s", 0),
        ("0.1 h", 360_000_000),
    ],
)
def test_a_duration_is_a_number_with_a_unit(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "has no unit of time"),
        ("10 parsecs", "'parsecs' is not a unit of time"),
        ("soon", "is not a duration"),
        ("", "is not a duration"),
        ("s", "is not a duration"),
        ("1 h 30 min", "is not a duration"),
        ("0.1 us", "not a whole number of microseconds"),
        ("1.0000001 s", "not a whole number of microseconds"),
        ("1." + "3" * 5000 + " h", "not a whole number of microseconds"),
        ("300000000 days", "is too long"),
        ("9" * 5000 + " s", "is too long"),
    ],
)
def test_what_is_no_duration_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


def test_durations_are_exact() -> None:
    assert parse_duration("2562047788.015215 h") == 9_223_372_036_854_774_000


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (21_600_000_000, "6 h"),
        (1_500_000, "1.5 s"),
        (200_000, "200 ms"),
        (1_001, "1.001 ms"),
        (90_000_000, "90 s"),
        (86_400_000_000, "1 d"),
        (-21_600_000_000, "-6 h"),
        (0, "0 s"),
    ],
)
def test_a_duration_is_shown_in_a_fitting_unit(microseconds: int, text: str) -> None:
    assert format_duration(microseconds) == text


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_a_shown_duration_reads_back(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01 00:01", 60),
        ("1970-01-01t00:00:10z", 10),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T02:00:00+02", 0),
        ("1969-12-31T23:00:00-0100", 0),
        ("2026-01-01T06:00:00Z", 1_767_247_200),
    ],
)
def test_a_timestamp_is_iso_8601_and_utc_unless_it_says_otherwise(text: str, seconds: int) -> None:
    assert parse_timestamp(text) == seconds * 1_000_000


def test_a_timestamp_may_have_a_fraction_down_to_microseconds() -> None:
    assert parse_timestamp("1970-01-01T00:00:00.000001Z") == 1
    assert parse_timestamp("1970-01-01T00:00:00.5000000000Z") == 500_000


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "",
        "2026-02-30",
        "2026-01-01T25:00:00Z",
        "2026-01-01x06:00:00Z",
        "2026-01-01T00:00:00.0000001Z",
        "2026-01-01T06:00.5Z",
        "2026-01-01T06:00:00 Europe/Berlin",
        "0000-01-01",
        "1767247200",
    ],
)
def test_what_is_no_timestamp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"timestamp|microsecond"):
        parse_timestamp(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_shown_timestamp_is_what_the_standard_library_says(moment: datetime) -> None:
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    text = format_timestamp(microseconds)
    assert datetime.fromisoformat(text) == moment
    assert parse_timestamp(text) == microseconds


@given(INT64)
def test_every_instant_can_be_shown(microseconds: int) -> None:
    assert format_timestamp(microseconds).endswith("Z")


def test_years_that_iso_8601_cannot_write_plainly_carry_a_sign() -> None:
    assert format_timestamp(253_402_300_800_000_000) == "+10000-01-01T00:00:00Z"
