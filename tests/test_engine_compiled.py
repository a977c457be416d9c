"""Compiled loops where nothing can be kept on disk, and where there is no Numba."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import thence

PROGRAM = """
    event a(k int);
    event b(k int, v int);
    pair(k)  <- a(k) seq b(k, _) using chronicle;
    rise(list(x.v)) <-
        a(k) seq x: b(k, _)+ seq a(k) where x.v > prev(x.v) using greedy;
    near(list(x.v)) <-
        a(k) seq x: b(k, _)+ seq a(k) where abs(x.v - prev(x.v)) < 3 using greedy;
"""
CODE = f"""
import thence
events = [
    {{"type": "a", "k": 1, "time": 1}}, {{"type": "a", "k": 1, "time": 2}},
    {{"type": "b", "k": 1, "v": 5, "time": 3}}, {{"type": "b", "k": 1, "v": 7, "time": 4}},
    {{"type": "a", "k": 1, "time": 5}},
]
print(thence.__file__)
for name, table in thence.compile({PROGRAM!r}).run(events).items():
    print(name, table.to_pylist())
"""


def python(code: str, source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the Thence of some folder."""
    environment = {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA")}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=kept | environment
    )


def test_a_read_only_installation_compiles_in_memory(tmp_path: Path) -> None:
    """Nothing can be written beside the sources, and there is no home folder either: a file stands
    where each folder would be, which stops the system's administrator too."""
    installed = tmp_path / "installed"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(thence.__file__).parent, installed / "thence", ignore=ignored)
    (installed / "thence" / "engine" / "__pycache__").touch()
    (tmp_path / "home").touch()
    nowhere = {name: str(tmp_path / "home" / "x") for name in ("HOME", "XDG_CACHE_HOME")}

    ours = python(CODE, Path(thence.__file__).parents[1])
    there = python(CODE, installed, **nowhere)
    assert (there.returncode, there.stderr) == (0, "")
    where, *found = there.stdout.splitlines()
    assert where.startswith(str(installed))
    assert found == ours.stdout.splitlines()[1:]
    assert len(found) == 3
    assert not any(line.endswith("[]") for line in found)


def test_without_numba_the_message_says_what_to_install() -> None:
    source = Path(thence.__file__).parents[1]
    done = python(f"import sys; sys.modules['numba'] = None\n{CODE}", source)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("thence.model.errors.EvaluationError: policies, repetitions and ")
    assert sys.executable in last
    assert "pip install numba" in last
