"""`thence stream`: from a source to a sink, with progress, late events, restarts and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Command, Done
from test_cli import rules

__all__ = ["rules"]  # fixture

pytestmark = pytest.mark.spark

ORDER_A = {"type": "order", "id": "a", "qty": 1, "time": "2026-01-01T00:00:00Z"}
ORDER_B = {"type": "order", "id": "b", "qty": 2, "time": "2026-01-01T01:00:00Z"}
SHIPPED_A = {"type": "shipped", "id": "a", "time": "2026-01-01T02:00:00Z"}
NEXT_DAY = {"type": "order", "id": "c", "qty": 3, "time": "2026-01-02T00:00:00Z"}


class Desk:
    """A folder of incoming files, and the command over it."""

    def __init__(self, folder: Path, thence: Command, rules: Path) -> None:
        self.folder, self.thence, self.rules = folder, thence, rules
        self.incoming = folder / "in"
        self.incoming.mkdir()
        self.number = 0

    def add(self, *records: dict[str, Any]) -> None:
        """One more file; each is a second younger than the one before."""
        path = self.incoming / f"{self.number:03}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        os.utime(path, (1_700_000_000 + self.number,) * 2)
        self.number += 1

    def stream(self, *options: object) -> Done:
        source = () if "--source" in options else ("--source", self.incoming)
        bounded = ("--available-now", "--allow-unbounded")
        return self.thence("stream", self.rules, *source, *bounded, *options)

    def found(self, folder: str = "out") -> list[dict[str, Any]]:
        files = sorted((self.folder / folder).glob("batch=*/part-*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def desk(spark: Any, tmp_path: Path, thence: Command, rules: Path) -> Desk:
    return Desk(tmp_path, thence, rules)


def test_results_come_as_json_lines_in_a_pipe_and_progress_beside_them(desk: Desk) -> None:
    desk.add(ORDER_A, ORDER_B)
    desk.add(SHIPPED_A)
    desk.add(NEXT_DAY)
    done = desk.stream("--sink", "console", "--max-files-per-trigger", "1")
    assert done.code == 0
    assert [(row["type"], row["id"]) for row in done.records] == [("done", "a"), ("overdue", "b")]
    assert "batch 0: 2 events (" in done.err
    assert "watermark 2026-01-01T02:00:00Z" in done.err
    assert "done: 4 events in " in done.err
    assert "2 results, 0 late; started again, it begins anew" in done.err


def test_quiet_shows_results_only(desk: Desk) -> None:
    desk.add(ORDER_A, SHIPPED_A)
    done = desk.stream("--quiet", "--emit", "done")
    assert [row["id"] for row in done.records] == ["a"]
    assert done.err == ""


def test_a_restart_goes_on_where_it_was_and_reports_nothing_twice(desk: Desk) -> None:
    sink = ("--sink", desk.folder / "out", "--format", "json")
    desk.add(ORDER_A, ORDER_B)
    assert f"goes on from {desk.folder}/out.checkpoint" in desk.stream(*sink).err
    assert desk.found() == []
    desk.add(SHIPPED_A, NEXT_DAY)
    desk.stream(*sink)
    desk.stream(*sink)
    assert sorted((row["type"], row["id"]) for row in desk.found()) == [
        ("done", "a"), ("overdue", "b"),
    ]  # fmt: skip


def test_a_source_that_has_gone_quiet_holds_nothing_up(desk: Desk) -> None:
    ships = desk.folder / "ships"
    ships.mkdir()
    (ships / "1.jsonl").write_text(json.dumps({**SHIPPED_A, "time": ORDER_A["time"]}) + "\n")
    sources = ("--source", f"order={desk.incoming}", f"shipped={ships}")
    sink = ("--sink", desk.folder / "out", "--format", "json", "--emit", "overdue")
    desk.add(ORDER_B)
    desk.stream(*sources, *sink)
    desk.add(NEXT_DAY)
    desk.stream(*sources, *sink)
    assert desk.found() == []
    # Each start has a trigger, later than the one before by a millisecond at least.
    for hour in ("01", "02"):
        desk.add({**NEXT_DAY, "time": f"2026-01-02T{hour}:00:00Z"})
        done = desk.stream(*sources, *sink, "--idle-after", "1ms")
    assert ", idle: shipped, " in done.err
    assert [row["id"] for row in desk.found()] == ["b"]


def test_late_events_go_to_a_folder_of_their_own(desk: Desk) -> None:
    sink = ("--sink", desk.folder / "out", "--format", "json", "--late", desk.folder / "late")
    desk.add(NEXT_DAY)
    desk.stream(*sink)
    desk.add(ORDER_B)
    done = desk.stream(*sink)
    assert ", 1 late" in done.err
    assert [(row["type"], row["id"]) for row in desk.found("late")] == [("order", "b")]


def test_parquet_is_written_and_is_read_as_a_source(desk: Desk) -> None:
    """Of one event, without a column `type`; a second stream takes the folder of the first."""
    desk.add(ORDER_A, SHIPPED_A)
    desk.stream("--sink", desk.folder / "out", "--emit", "done")
    written = [pq.read_table(path) for path in (desk.folder / "out").glob("batch=*/*.parquet")]
    table = pa.concat_tables(written)
    assert {"id", "qty", "start", "end"} <= set(table.column_names)
    assert table["id"].to_pylist() == ["a"]
    desk.rules.write_text("event done(id string, qty int);\nagain(id) <- done(id, _);")
    done = desk.stream("--source", f"done={desk.folder}/out")
    assert [row["id"] for row in done.records] == ["a"]


def test_csv_of_one_event_is_a_source(desk: Desk) -> None:
    folder = desk.folder / "orders"
    folder.mkdir()
    (folder / "1.csv").write_text("qty,time,id\n1,2026-01-01T00:00:00Z,a\n")
    desk.add(SHIPPED_A)
    done = desk.stream("--source", f"order={folder}", f"shipped={desk.incoming}", "--emit", "done")
    assert [(row["id"], row["qty"]) for row in done.records] == [("a", 1)]


def test_a_bad_value_is_named_with_its_file(desk: Desk) -> None:
    desk.add({**ORDER_A, "qty": "many"})
    done = desk.stream()
    assert done.code == 2
    assert f"{desk.incoming}/000.jsonl': event 'order', column 'qty', row 1: 'many'" in done.err
    assert "Traceback" not in done.err


def test_a_changed_program_that_does_not_fit_is_refused(desk: Desk) -> None:
    sink = ("--sink", desk.folder / "out")
    desk.add(ORDER_A)
    desk.stream(*sink)
    desk.rules.write_text(
        "event order(id string, qty int); event paid(id string);\n"
        "done(id) <- (order(id, _) seq paid(id)) within 1 day;"
    )
    done = desk.stream(*sink)
    assert done.code == 2
    assert "does not fit the changed program" in done.err


def test_a_changed_program_takes_the_place_of_the_one_before(desk: Desk) -> None:
    sink = ("--sink", desk.folder / "out", "--format", "json")
    desk.add(ORDER_A)
    desk.stream(*sink)
    old = desk.rules.rename(desk.folder / "old.thence")
    desk.rules.write_text(old.read_text() + "\nsent(id) <- shipped(id);")
    said = desk.stream(*sink, "--replaces", old).err
    assert "those for 'sent' are new or changed. Give begin=… (--begin)" in said
    early = desk.stream(*sink, "--replaces", old, "--begin", "2025-12-31T00:00:00Z")
    assert "new rules cannot begin at 2025-12-31T00:00:00Z: events up to 2026-01-01" in early.err
    desk.add(SHIPPED_A)
    desk.stream(*sink, "--replaces", old, "--begin", "2026-01-01T00:30:00Z")
    assert sorted((row["type"], row["id"]) for row in desk.found()) == [
        ("done", "a"), ("sent", "a"),
    ]  # fmt: skip
    many = desk.stream(*sink, "--begin", "2026-01-01T00:30:00Z")
    assert "give one time for each program of --replaces" in many.err


def test_results_of_another_stream_are_not_mixed_with(desk: Desk) -> None:
    desk.add(ORDER_A, SHIPPED_A)
    desk.stream("--sink", desk.folder / "out")
    done = desk.stream("--sink", desk.folder / "out", "--checkpoint", desk.folder / "new")
    assert done.code == 2
    assert "holds results of an earlier stream" in done.err


def test_a_state_without_bound_is_refused(spark: Any, thence: Command, desk: Desk) -> None:
    desk.add(ORDER_A)
    done = thence("stream", desk.rules, "--source", desk.incoming, "--available-now")
    assert done.code == 2
    assert "order" in done.err
    assert "shipped" in done.err


def test_kafka_without_its_connector_says_which_package_to_add(desk: Desk) -> None:
    for options in (("--source", "kafka:h:9092/t"), ("--sink", "kafka:h:9092/t")):
        desk.add(ORDER_A)
        done = desk.stream(*options)
        assert done.code == 2
        assert "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--source", "nowhere"), "'nowhere' is not there: give a folder"),
        (("--source", "ordr=rate"), "Did you mean 'order'?"),
        (("--source", "rate:fast"), "write rate:N"),
        (("--source", "kafka:topic"), "write kafka:SERVERS/TOPIC"),
        (("--max-delay", "10"), "--max-delay: '10' has no unit of time"),
        (("--idle-after", "30"), "--idle-after: '30' has no unit of time"),
        (("--idle-after", "30s", "--source-format", "json"), "all come in one DataFrame"),
        (("--trigger", "1 s"), "leave --trigger out"),
        (("--late", "kafka:h/t"), "to a folder or to the console"),
        (("--emit", "overdu"), "Did you mean 'overdue'?"),
    ],
)
def test_what_does_not_fit_is_said(desk: Desk, options: tuple[str, ...], said: str) -> None:
    done = desk.stream(*options)
    assert done.code == 2
    assert said in done.err


def test_an_empty_folder_needs_a_format(desk: Desk) -> None:
    assert "--source-format parquet, json or csv" in desk.stream().err
    assert desk.stream("--source-format", "json").code == 0


def test_ctrl_c_stops_with_a_summary_and_130(tmp_path: Path) -> None:
    """Made-up events, in a process of its own. Its results go to a file: a pipe that nobody reads
    fills up, and the stream waits."""
    program, found, errors = (tmp_path / name for name in ("p.thence", "stdout", "stderr"))
    program.write_text(
        "event order(id string); event shipped(id string);\n"
        "done(id) <- (order(id) seq shipped(id)) within 1 s;"
    )
    with found.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "thence", "stream", program, "--source", "rate:50",
                "--master", "local[1]",
            ],
            stdout=out, stderr=err,
        )  # fmt: skip
    try:
        while "batch" not in errors.read_text() and process.poll() is None:
            time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        code = process.wait()
    finally:
        process.kill()
    lines = errors.read_text().splitlines()
    assert code == 130
    assert lines[0].startswith("batch ")
    assert lines[-1].startswith("stopped: ")
    assert all(line.startswith(("batch ", "stopped: ")) for line in lines)
    assert {json.loads(line)["type"] for line in found.read_text().splitlines()} <= {"done"}
