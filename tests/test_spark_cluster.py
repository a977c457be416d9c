"""Executors without Thence: everything that they need travels with the query.

The executors are processes of their own, with a Python that has PySpark, pyarrow and NumPy, and
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

import thence

pyspark = pytest.importorskip("pyspark")

TESTS = Path(__file__).parent
pytestmark = pytest.mark.timeout(900)  # not `spark`: that runs in processes of their own


def bare_python(folder: Path) -> Path:
    """A Python that has the packages that lie in this one's folder, but nothing that is installed
    as a reference to another folder: of further folders, Python reads no such references."""
    venv.create(folder, with_pip=False, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    ours = Path(pyspark.__file__).parents[1]
    (packages / "packages.pth").write_text(f"{ours}\n")
    return folder / "bin" / "python"


def spark_home(folder: Path) -> Path:
    """Spark as it is installed, in a folder where executors may write."""
    folder.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        if path.name != "work":
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a driver saw that ran a batch and a stream on a cluster, from an empty folder."""
    folder = tmp_path_factory.mktemp("cluster")
    empty = tmp_path_factory.mktemp("empty")
    python = bare_python(folder / "python")
    if (Path(pyspark.__file__).parents[1] / "thence").exists():
        pytest.skip("Thence is installed in the same folder as PySpark")
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
