"""Spark Connect: a client without a Java process of its own, a server in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.connect")
pytest.importorskip("grpc")

SCRIPT = str(Path(__file__).with_name("connect_query.py"))
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server, while the tests of this module run. It takes a port that is free, and names it."""
    server = subprocess.Popen(
        [sys.executable, SCRIPT, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        ready, number = server.stdout.readline().split()
        assert ready == "ready"
        yield int(number)
    finally:
        server.communicate()
    assert server.returncode == 0


@pytest.fixture(scope="module")
def told(port: int, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a client saw that ran a batch and a stream, without any Java at hand."""
    folder = tmp_path_factory.mktemp("connect")
    environment = {**os.environ, "JAVA_HOME": str(folder / "no java")}
    client = subprocess.run(
        [sys.executable, SCRIPT, "query", str(port), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert client.returncode == 0, client.stderr
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    assert found["session"].startswith("pyspark.sql.connect")
    return found


def test_a_batch_over_connect_gives_what_a_run_gives(told: dict[str, Any]) -> None:
    assert told["batch is as expected"]


def test_a_stream_over_connect_gives_what_a_run_gives(told: dict[str, Any]) -> None:
    assert told["stream is as expected"]


def test_a_large_table_reaches_the_server_and_its_executors(told: dict[str, Any]) -> None:
    assert told["looked up"] == [["Emma"], ["Emma"]]


@pytest.mark.parametrize("where", ["progress", "heard"])
def test_a_client_sees_results_and_latecomers_counted(told: dict[str, Any], where: str) -> None:
    """In the query's progress, and with a listener."""
    assert sum(figures["results"] for figures in told[where]) == told["expected"]
    assert sum(figures["late"] for figures in told[where]) == told["late given"] > 0
