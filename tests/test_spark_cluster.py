"""Executors without Thence: everything that they need travels with the query.

The executors are processes of their own, with a Python that has what docs/spark.md asks for, and
not Thence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from compiled_loops import loops, watched
from hosts import batch
from spark_home import spark_home

import thence

pyspark = pytest.importorskip("pyspark")
from cluster_query import CHOSEN, POLICIES, kinds, large, policies  # noqa: E402

TESTS = Path(__file__).parent
# No marker `spark`: that runs in processes of their own.


NEEDED = (
    "pyspark", "py4j", "pyarrow", "numpy", "numpy.libs", "numba", "llvmlite", "pandas", "pytz",
    "dateutil", "tzdata", "six.py", "google", "grpc",
)  # fmt: skip
"""What executors need, and what that needs itself."""


def bare_python(folder: Path) -> Path:
    """A Python that has the packages that executors need, and no others."""
    venv.create(folder, with_pip=False, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    ours = Path(pyspark.__file__).parents[1]
    for name in NEEDED:
        if (ours / name).exists():
            (packages / name).symlink_to(ours / name)
    return folder / "bin" / "python"


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
        CHOSEN: json.dumps([case.name for case in kinds()]),
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


def test_the_cases_for_the_cluster_use_every_compiled_loop() -> None:
    cases = [*kinds(), *large()]
    with watched() as used:
        for case in cases:
            batch(case.program, case.events, case.until)
    assert used == set(loops())


@pytest.mark.parametrize("word", POLICIES)
def test_the_cases_for_the_cluster_have_every_policy(word: str) -> None:
    assert any(word in asked for case in kinds() for asked in policies(case.program))


def test_the_executors_have_no_thence(told: dict[str, Any]) -> None:
    executors = told["executors"]
    assert len({executor["folder"] for executor in executors}) == 2
    assert not any(executor["has"] for executor in executors)
    assert told["driver"]["python"] not in {executor["python"] for executor in executors}


def test_a_batch_brings_everything_along(told: dict[str, Any]) -> None:
    assert told["batch is as expected"]


def test_a_stream_brings_everything_along(told: dict[str, Any]) -> None:
    assert told["stream is as expected"]


def test_every_kind_of_rule_brings_everything_along(told: dict[str, Any]) -> None:
    assert told["cases that differ"] == {"batch": [], "stream": []}
