"""The examples do what they say, compared with a few lines of plain Python."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import thence

ORDERS = Path(__file__).resolve().parent.parent / "examples" / "orders"
SMALL = ("--orders", "2000", "--format", "jsonl")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("orders")
    runpy.run_path(str(ORDERS / "generate.py"))["main"]([str(folder), *SMALL])
    return folder / "events.jsonl"


@pytest.fixture(scope="module")
def records(events: Path) -> list[dict[str, Any]]:
    read = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    return [{**event, "time": datetime.fromisoformat(event["time"])} for event in read]


@pytest.fixture(scope="module")
def results(events: Path) -> Any:
    return thence.load(ORDERS / "orders.thence").run(events)


def by_id(records: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {event["id"]: event for event in records if event["type"] == kind}


def overdue_orders(records: list[dict[str, Any]]) -> dict[str, tuple[datetime, datetime]]:
    """The window of each order that was not shipped inside it, where the window has ended."""
    shipped = by_id(records, "shipped")
    seen_until = max(event["time"] for event in records)
    late = {}
    for name, order in by_id(records, "order").items():
        due = order["time"] + timedelta(hours=6 if order["qty"] < 10 else 12)
        if due <= seen_until and (name not in shipped or shipped[name]["time"] >= due):
            late[name] = (order["time"], due)
    return late


def test_the_same_events_are_made_each_time(events: Path, tmp_path: Path) -> None:
    command = [sys.executable, ORDERS / "generate.py", tmp_path, *SMALL]
    subprocess.run(command, check=True)
    assert (tmp_path / "events.jsonl").read_bytes() == events.read_bytes()


def test_orders_that_were_not_shipped_in_time_are_overdue(
    records: list[dict[str, Any]], results: Any
) -> None:
    found = {row["id"]: (row["start"], row["end"]) for row in results["overdue"].to_pylist()}
    assert found == overdue_orders(records)
    assert 50 < len(found) < 500


def test_orders_that_were_shipped_within_two_days_are_completed(
    records: list[dict[str, Any]], results: Any
) -> None:
    shipped = by_id(records, "shipped")
    expected = {
        (name, order["product"], order["time"], shipped[name]["time"])
        for name, order in by_id(records, "order").items()
        if name in shipped
        and order["time"] < shipped[name]["time"] <= order["time"] + timedelta(days=2)
    }
    assert {tuple(row.values()) for row in results["completed"].to_pylist()} == expected


def test_a_report_counts_the_shipments_of_the_last_day(
    records: list[dict[str, Any]], results: Any
) -> None:
    shipments = [event["time"] for event in records if event["type"] == "shipped"]
    expected = set()
    for start, end in overdue_orders(records).values():
        since = start - timedelta(hours=24)
        counted = sum(since < time < end for time in shipments)
        if counted:
            expected.add((counted, since, end))
    assert {tuple(row.values()) for row in results["report"].to_pylist()} == expected


def test_there_is_a_file_per_day_with_the_same_events(events: Path, tmp_path: Path) -> None:
    runpy.run_path(str(ORDERS / "generate.py"))["main"]([str(tmp_path), "--orders", "2000"])
    program = thence.load(ORDERS / "orders.thence")
    assert len(list(tmp_path.glob("day-*.parquet"))) >= 7
    assert program.run(tmp_path)["overdue"].equals(program.run(events)["overdue"])


def test_orders_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `make run` does, with fewer orders: the same results as in this process."""
    monkeypatch.syspath_prepend(str(ORDERS))
    runpy.run_path(str(ORDERS / "run.py"))["main"](str(tmp_path), 2000)
    said = capsys.readouterr().out
    results = thence.load(ORDERS / "orders.thence").run(tmp_path / "events")
    for name in ("completed", "overdue", "report"):
        assert f"{name}: {results.count(name):,}\n" in said
        found = spark.read.parquet(str(tmp_path / name)).toArrow().to_pylist()
        key = str
        assert sorted(found, key=key) == sorted(results[name].to_pylist(), key=key)
    for step in ("start Spark", "detect and write overdue", "in all"):
        assert step in said
    assert str(tmp_path / "report") in said
