"""The session that Thence makes: quiet, local, ready for streams, and clear when it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import thence
from thence import InputError, InputWarning
from thence import spark as ts
from thence.spark.errors import explain_failure, explained
from thence.spark.sessions import CHANGELOG, ROCKSDB, settings

pytestmark = pytest.mark.spark  # some are about sessions in processes of their own


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_an_active_session_is_given_back_as_it_is(spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    assert ts.session(**{"spark.sql.session.timeZone": "Europe/Berlin"}) is spark
    assert spark.conf.get("spark.sql.session.timeZone") == before


def test_the_session_of_another_thread_is_found(spark: Any) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(ts.session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext


def test_streams_have_the_state_store_they_need(spark: Any) -> None:
    assert spark.conf.get("spark.sql.streaming.stateStore.providerClass") == ROCKSDB


def test_a_state_store_that_writes_more_than_is_new_is_warned_of(spark: Any) -> None:
    program = thence.compile("event a(k int); r(k) <- a(k);")
    events = spark.readStream.format("rate").load().selectExpr("timestamp as time", "value as k")
    before = spark.conf.get(CHANGELOG)
    spark.conf.set(CHANGELOG, "false")
    try:
        with pytest.warns(InputWarning, match="write whole files of its state store") as caught:
            ts.detect(program, {"a": events})
    finally:
        spark.conf.set(CHANGELOG, before)
    assert CHANGELOG in str(caught[0].message)
    assert caught[0].filename == __file__


def test_times_are_in_utc_whatever_the_machine_says(spark: Any) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_cluster_is_not_told_how_many_partitions_to_use() -> None:
    assert "spark.sql.shuffle.partitions" not in settings("spark://host:7077")
    assert settings("local[3]")["spark.sql.shuffle.partitions"] == "3"


def test_workers_run_the_python_of_the_driver(spark: Any) -> None:
    def where(batches: Any) -> Any:
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"path": [sys.executable]})

    assert spark.range(1).mapInArrow(where, "path string").collect()[0].path == sys.executable


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A process that makes a session with settings, uses it, and asks for its log."""
    folder = tmp_path_factory.mktemp("own")
    done = python(
        "from thence import spark as ts\n"
        "s = ts.session('local[1]', name='mine', **{'spark.sql.shuffle.partitions': 7})\n"
        "s.range(3).count()\n"
        "print(s.conf.get('spark.sql.shuffle.partitions'), s.conf.get('spark.app.name'))\n"
        "print(ts.log_file().read_text())",
        TMPDIR=str(folder),
    )
    return done, folder


def test_spark_is_quiet_and_its_log_is_kept_for_whoever_asks(own: Any) -> None:
    done, folder = own
    assert (done.returncode, done.stderr) == (0, "")
    assert "log level" in done.stdout
    assert len(list(folder.glob("thence-spark-*/spark.log"))) == 1


def test_settings_are_taken_and_win_over_the_defaults(own: Any) -> None:
    assert own[0].stdout.splitlines()[0].split() == ["7", "mine"]


def test_the_log_goes_away_if_nobody_asked_for_it(tmp_path: Path) -> None:
    code = "from thence import spark as ts; ts.session('local[1]')"
    assert python(code, TMPDIR=str(tmp_path)).returncode == 0
    assert not list(tmp_path.glob("thence-spark-*"))


def test_without_java_the_message_says_what_to_install(tmp_path: Path) -> None:
    done = python("from thence import spark as ts; ts.session()", JAVA_HOME=str(tmp_path))
    assert "InputError: Spark needs Java, and there is none. Install Java 17" in done.stderr
    assert "py4j" not in done.stderr


def test_an_old_java_is_named(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\nexit 1\n")
    java.chmod(0o755)
    done = python("from thence import spark as ts; ts.session()", JAVA_HOME=str(tmp_path))
    assert "Spark needs Java 17 or newer, and this is Java 11." in done.stderr


@pytest.mark.parametrize("used", ["session()", "detect(None, None)", "explain(None)"])
def test_without_pyspark_the_message_says_what_to_install(used: str) -> None:
    done = python(
        "import sys; sys.modules['pyspark'] = None\n"
        "from thence import spark as ts\n"
        f"ts.{used}"
    )  # fmt: skip
    assert "InputError" in done.stderr
    assert "pip install 'thence[spark]'" in done.stderr


# -- what went wrong in a job


def fail(kind: type[Exception], message: str) -> Any:
    def task(batches: Any) -> Any:
        for _ in batches:
            raise kind(message)
        yield from ()  # an empty partition is no failure

    return task


def test_an_error_in_a_worker_comes_out_as_itself(spark: Any) -> None:
    message = "event 'order', row 3: it is wrong\n  hint: put it right"
    with pytest.raises(InputError) as caught, explained():
        spark.range(1).mapInArrow(fail(InputError, message), "id long").collect()
    assert str(caught.value) == message


def test_a_value_that_an_expression_refuses_is_an_input_error(spark: Any) -> None:
    with pytest.raises(InputError, match=r"^no time at all$"), explained():
        spark.sql("select raise_error('no time at all')").collect()


def test_a_failure_of_sparks_own_is_one_line_and_names_the_log(spark: Any) -> None:
    with pytest.raises(InputError) as caught, explained():
        spark.read.parquet("/there/is/no/such/folder")
    said = str(caught.value)
    assert said.startswith("Spark could not do this: Path does not exist")
    assert "\n" not in said
    assert str(ts.log_file()) in said


def test_a_mistake_that_is_not_ours_is_not_explained_away() -> None:
    assert explain_failure(ValueError("something else")) is None
