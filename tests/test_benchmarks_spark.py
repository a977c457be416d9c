"""The benchmarks of Spark ask both sides the same, and notice a wrong answer or a bar not held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from benchmarks import reference
from benchmarks.generate import w1
from benchmarks.parquet import FILES
from benchmarks.spark import batch, latency, sql, stream
from benchmarks.spark.child import Task, measured, with_bytes
from benchmarks.spark.data import batch_folder, stream_folder
from benchmarks.spark.report import details, judge, show, unfinished
from benchmarks.spark.resources import Cpu, Snapshot, bytes_shuffled, cpu_used, event_log
from benchmarks.spark.works import BY_NAME, Sizes, Work

TINY = Sizes(events=20_000, unkeyed=4_000, per_trigger=4_000, triggers=2, rounds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


# The events


def test_a_folder_holds_the_events_in_several_files(folder: Path) -> None:
    written = batch_folder(20_000, within=folder)
    assert len(list(written.iterdir())) == FILES
    assert pq.read_table(written).equals(w1(20_000))


def test_a_folder_is_written_once(folder: Path) -> None:
    before = batch_folder(20_000, within=folder).stat().st_mtime_ns
    assert batch_folder(20_000, within=folder).stat().st_mtime_ns == before


def test_the_files_of_a_stream_have_the_age_of_their_events(folder: Path) -> None:
    files = sorted(stream_folder(500, 3, within=folder).iterdir())
    ages = [path.stat().st_mtime for path in files]
    assert [pq.read_metadata(path).num_rows for path in files] == [500, 500, 500]
    assert ages == sorted(set(ages))


# The same question


@pytest.mark.parametrize("name", ["q1", "q2", "q5"])
def test_every_way_to_ask_a_query_finds_the_same(name: str, spark: Any, folder: Path) -> None:
    figures = measured(Task(name, TINY), spark, folder)
    assert set(figures["ways"]) >= {"thence", "sql", "sql buckets"}
    answered = [found for found in figures["ways"].values() if found["results"] is not None]
    assert len(answered) >= 3
    assert len({found["checksum"] for found in answered}) == 1
    assert {found["results"] for found in answered} == {figures["expected"]}
    assert figures["expected"] > 0


def test_the_join_without_a_key_finds_the_same_as_that_on_pieces_of_time(
    spark: Any, folder: Path
) -> None:
    events = spark.read.parquet(str(batch_folder(TINY.unkeyed, within=folder)))
    in_pieces = batch.answer(sql.query(sql.TUNED["q5"]["buckets"], events))
    assert batch.answer(sql.query(sql.PLAIN["q5"], events)) == in_pieces


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_a_query_that_takes_too_long_is_stopped(spark: Any, limit: float) -> None:
    """Also where the time is over before there is a job that could be stopped."""
    endless = spark.range(200_000).crossJoin(spark.range(200_000)).selectExpr("sum(1)")
    found = batch.limited(spark, endless, limit)
    assert (found["finished"], found["wall"] >= limit) == (False, True)


def test_a_query_that_takes_less_time_is_left_alone(spark: Any) -> None:
    assert batch.limited(spark, spark.range(10), limit=1800.0)["finished"]


@pytest.mark.parametrize("way", ["thence", "join rocksdb", "join hdfs"])
def test_a_stream_finds_what_the_reference_counts(way: str, spark: Any, folder: Path) -> None:
    files = stream_folder(TINY.per_trigger, TINY.triggers, within=folder)
    run = stream.run(spark, files, way)
    expected = reference.count("q2", w1(TINY.per_trigger * TINY.triggers))
    assert run.answer.results == expected > 0
    assert len(run.seconds) == TINY.triggers
    assert run.state_rows > 0


def test_a_stream_leaves_the_settings_of_the_session_alone(spark: Any) -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(key)
    with stream.settings_of(spark, {key: stream.HDFS}):
        assert spark.conf.get(key) == stream.HDFS
    assert spark.conf.get(key) == before


@pytest.mark.parametrize("name", list(batch.NOTHING))
def test_rules_over_nothing_find_nothing(name: str, spark: Any, folder: Path) -> None:
    ways = measured(Task(name, TINY), spark, folder)["ways"]
    assert [found["results"] for found in ways.values()] == [0, 0]


def test_latency_is_the_time_from_the_last_event_to_the_result(spark: Any) -> None:
    found = latency.measure(spark, seconds=2, unsettled=0)
    assert found["results"] > 0
    assert 0 < found["median"] <= found["p95"] <= found["longest"]


# What was used


def test_the_cpu_of_java_is_known_where_proc_is(spark: Any) -> None:
    used = cpu_used()
    if Path("/proc/self/stat").exists():
        assert used is not None
        assert sum(used.java.values()) > 0
    else:
        assert used is None


def test_a_worker_that_ended_does_not_make_the_time_of_others_less() -> None:
    before = Snapshot(java={1: 5.0}, python={2: 3.0, 3: 1.0})
    after = Snapshot(java={1: 9.0}, python={3: 1.5, 4: 0.25})
    assert after - before == Cpu(java=4.0, python=0.75)


def test_bytes_are_counted_for_each_job_group(tmp_path: Path) -> None:
    def stage(number: int, group: str) -> dict[str, Any]:
        return {
            "Event": "SparkListenerStageSubmitted",
            "Stage Info": {"Stage ID": number},
            "Properties": {"spark.jobGroup.id": group},
        }

    def task(number: int, written: int) -> dict[str, Any]:
        metrics = {"Shuffle Write Metrics": {"Shuffle Bytes Written": written}}
        return {"Event": "SparkListenerTaskEnd", "Stage ID": number, "Task Metrics": metrics}

    log = [stage(0, "q2 sql"), task(0, 5), stage(1, "q2 thence"), task(1, 3), task(0, 6)]
    (tmp_path / "local-1").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    assert bytes_shuffled(tmp_path) == {"q2 sql": 11, "q2 thence": 3}


def test_the_log_of_events_goes_to_the_folder(tmp_path: Path) -> None:
    assert event_log(tmp_path)["spark.eventLog.dir"] == tmp_path.as_uri()


def test_bytes_are_given_for_one_run() -> None:
    figures = {"ways": {"sql": {"group": "q2 sql", "wall": 1.0}}}
    assert with_bytes(figures, {"q2 sql": 30}, rounds=3) == {
        "ways": {"sql": {"wall": 1.0, "shuffled": 10}}
    }


# The verdict


def figures(ours: float, theirs: float, *, found: int = 7, checksum: int = 1) -> dict[str, Any]:
    def way(wall: float, results: int, checksum: int) -> dict[str, Any]:
        used = {"java": 1.0, "python": None}
        return {"results": results, "checksum": checksum, "wall": wall, **used}

    ways = {"thence": way(ours, found, 1), "sql": way(theirs, 7, checksum)}
    return {"events": 1_000, "expected": 7, "ways": ways}


@pytest.mark.parametrize(("theirs", "verdict"), [(5.0, "ok"), (4.9, "FAIL")])
def test_a_bar_is_held_or_not(theirs: float, verdict: str) -> None:
    assert judge(BY_NAME["q2"], figures(1.0, theirs)).verdict == verdict


def test_without_bars_only_answers_are_judged() -> None:
    assert judge(BY_NAME["q2"], figures(1.0, 1.0), bars=False).verdict == ""
    assert judge(BY_NAME["q2"], figures(1.0, 9.0, found=6), bars=False).verdict == "WRONG"


def test_a_wrong_number_of_results_is_noticed() -> None:
    line = judge(BY_NAME["q2"], figures(1.0, 9.0, found=6))
    assert line.problems == ("q2: thence has 6 results instead of 7",)


def test_other_results_of_the_same_number_are_noticed() -> None:
    line = judge(BY_NAME["q2"], figures(1.0, 9.0, checksum=2))
    assert line.problems == ("q2: sql has other results than thence",)


@pytest.mark.parametrize(("ours", "verdict"), [(2.5, "ok"), (3.5, "FAIL")])
def test_nothing_may_take_some_seconds_more(ours: float, verdict: str) -> None:
    assert judge(BY_NAME["no_such_type"], figures(ours, 1.0)).verdict == verdict


def streams(**rates: float) -> dict[str, Any]:
    names = {"thence": "thence", "rocksdb": "join rocksdb", "hdfs": "join hdfs"}
    return {
        "expected": 7,
        "per_trigger": 10,
        "ways": {
            names[name]: {"results": 7, "checksum": 1, "events_per_second": rate}
            for name, rate in rates.items()
        },
    }


def test_the_stream_is_compared_with_the_join_on_the_same_state_store() -> None:
    assert judge(BY_NAME["stream"], streams(thence=25, rocksdb=5, hdfs=10)).held
    assert not judge(BY_NAME["stream"], streams(thence=24, rocksdb=5, hdfs=4)).held


def test_larger_triggers_must_be_faster_not_as_fast() -> None:
    triggers = BY_NAME["triggers"]
    assert judge(triggers, {"few": streams(thence=10), "many": streams(thence=11)}).held
    assert not judge(triggers, {"few": streams(thence=10), "many": streams(thence=10)}).held


def test_a_work_that_did_not_finish_fails() -> None:
    line = unfinished(BY_NAME["q2"])
    assert not line.right
    assert "did not finish" in line.problems[0]


def test_a_line_shows_what_was_measured() -> None:
    line = show(judge(BY_NAME["q2"], figures(1.0, 5.5)))
    assert line.split() == ["q2", "1.00", "s", "5.50", "s", "5.50", ">=", "5.0", "ok", "7"]


def test_details_name_every_way_and_leave_out_what_is_unknown() -> None:
    shown = [text.split() for text in details(BY_NAME["q2"], figures(0.5, 2.0))]
    assert shown == [
        ["q2:", "thence", "0.50", "2,000", "1.00"],
        ["q2:", "sql", "2.00", "500", "1.00"],
    ]


def test_every_work_has_a_bar_except_those_that_are_figures() -> None:
    def has_no_bar(work: Work) -> bool:
        return work.bar is None

    assert [work.name for work in BY_NAME.values() if has_no_bar(work)] == ["latency"]
