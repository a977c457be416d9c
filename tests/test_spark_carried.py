"""What a query brings along is all that a program needs, in a Python that does not have Thence.

No Spark here: the bytes that would travel with tasks are given to another Python as they are.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from carried_tasks import Kept, results
from case_files import Case
from compiled_loops import loops, watched
from hosts import batch

import thence

pyspark = pytest.importorskip("pyspark")
from cluster_query import POLICIES, kinds, large, policies  # noqa: E402
from pyspark import cloudpickle  # noqa: E402
from spark_hosts import batch_results  # noqa: E402

from thence.spark.batch_work import Evaluate  # noqa: E402
from thence.spark.carry import installer, packed_task  # noqa: E402

TESTS = Path(__file__).parent

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


def tasks_of(case: Case) -> list[tuple[Any, ...]]:
    """The tasks of a batch job for a case: the chain, which hop it is, the facts, and its input."""
    tasks: list[tuple[Any, ...]] = []
    run = Evaluate.__call__

    def noted(task: Evaluate, batches: Iterable[Any]) -> Iterator[Any]:
        given = list(batches)
        tasks.append((task.chain, task.number, task.facts, given))
        return run(task, given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluate, "__call__", noted)
        batch_results(thence.compile(case.program), case.events, case.until, Random(1), shards=1)
    return tasks


def run_there(tasks: list[tuple[Any, ...]], folder: Path) -> list[Any]:
    """What tasks give in a Python without Thence."""
    (folder / "installer").write_bytes(cloudpickle.dumps(installer()))
    (folder / "tasks").write_bytes(packed_task(tasks))
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [bare_python(folder / "python"), TESTS / "carried_tasks.py", folder],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = pickle.loads((folder / "found").read_bytes())  # noqa: S301
    return found


def test_the_cases_use_every_compiled_loop() -> None:
    with watched() as used:
        for case in (*kinds(), *large()):
            batch(case.program, case.events, case.until)
    assert used == set(loops())


@pytest.mark.parametrize("word", POLICIES)
def test_the_cases_have_every_policy(word: str) -> None:
    assert any(word in asked for case in kinds() for asked in policies(case.program))


def test_every_kind_of_rule_finds_there_what_it_finds_here(tmp_path: Path) -> None:
    tasks = [task for case in (*kinds(), *large()) for task in tasks_of(case)]
    here = [
        results(Evaluate(chain, number, Kept(), facts), batches)  # type: ignore[arg-type]
        for chain, number, facts, batches in tasks
    ]
    assert any(isinstance(found, tuple) and found[1] for given in here for found in given)
    assert run_there(tasks, tmp_path) == here
