"""The benchmark of state on Spark counts what it is to count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thence

pytest.importorskip("pyspark")
from benchmarks.state import spark
from benchmarks.state.spark_events import EVERY, Retained

SMALL = Retained(megabytes=1, per_trigger=2_000, triggers=3)


def test_the_window_holds_what_is_to_be_retained() -> None:
    before = SMALL.before()
    assert before.num_rows == SMALL.kept == 62_500
    times = before["time"].cast(pa.int64()).to_numpy()
    assert times[-1] - times[0] + EVERY == SMALL.window


def test_the_results_that_are_expected_are_those_of_a_run() -> None:
    given = pa.concat_tables([SMALL.before(), SMALL.measured()])
    found = thence.compile(SMALL.text).run(given)["q2"]
    assert found.num_rows == SMALL.expected(SMALL.triggers) > 0


def test_the_files_that_fill_the_state_come_first(tmp_path: Path) -> None:
    files = sorted(SMALL.folder(tmp_path).iterdir())
    assert len(files) == SMALL.filling + SMALL.triggers
    counts = [pq.read_metadata(path).num_rows for path in files]
    assert counts == [SMALL.kept, *[SMALL.per_trigger] * SMALL.triggers]


def test_only_the_logs_of_the_measured_triggers_count(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "0" / "1"
    folder.mkdir(parents=True)
    for version in range(1, 6):
        (folder / f"{version}.changelog").write_bytes(b"x" * 10**version)
    (folder / "5.zip").write_bytes(b"x" * 7)
    assert spark._changelog(tmp_path, 2, 4) == 10**3 + 10**4
    assert spark._snapshots(tmp_path) == 7
