"""Executors without Thence: everything that they need travels with the query.

The executors are processes of their own, with a Python that has what docs/spark.md asks for, and
not Thence. That every kind of rule finds all that it needs there, ``test_spark_carried.py`` sees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark_home import spark_home

import thence

pytest.importorskip("pyspark")
from test_spark_carried import bare_python

TESTS = Path(__file__).parent
# No marker `spark`: that runs in processes of their own.


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a driver saw that ran a batch and a stream on a cluster, from an empty folder."""
    folder = tmp_path_factory.mktemp("cluster")
    empty = tmp_path_factory.mktemp("empty")
    python = bare_python(folder / "python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home(folder / "spark")),
    }
    source = str(Path(thence.__file__).parents[1])
    program = f"import sys; sys.path[:0] = {[source, str(TESTS)]!r}; import pathlib, cluster_query"
    driver = subprocess.run(
        [sys.executable, "-c", f"{program}; cluster_query.main(pathlib.Path({str(folder)!r}))"],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert driver.returncode == 0, driver.stderr
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return found


def test_the_executors_have_no_thence(told: dict[str, Any]) -> None:
    executors = told["executors"]
    assert len({executor["folder"] for executor in executors}) == 2
    assert not any(executor["has"] for executor in executors)
    assert told["driver"]["python"] not in {executor["python"] for executor in executors}


def test_a_batch_brings_everything_along(told: dict[str, Any]) -> None:
    assert told["batch is as expected"]


def test_a_stream_brings_everything_along(told: dict[str, Any]) -> None:
    assert told["stream is as expected"]


def test_rules_of_several_kinds_bring_everything_along(told: dict[str, Any]) -> None:
    assert told["cases that differ"] == {"batch": [], "stream": []}
