"""The runner of the tests, which takes two processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

IN_HALVES = Path(__file__).with_name("in_halves.py")
WAITING = """
import os, pathlib, time
import pytest

def waits(name):
    path = pathlib.Path(__file__).with_name(name)
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
    time.sleep(3600)

@pytest.mark.spark
def test_with_spark():
    waits("spark.pid")

def test_without():
    waits("others.pid")
"""


def test_both_halves_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = spark\n")
    (tmp_path / "test_waiting.py").write_text(WAITING)
    runner = subprocess.Popen(
        [sys.executable, IN_HALVES, "-q", tmp_path], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    files = [tmp_path / "spark.pid", tmp_path / "others.pid"]
    try:
        while not all(file.exists() for file in files):
            assert runner.poll() is None
            time.sleep(0.05)
    finally:
        runner.send_signal(signal.SIGTERM)
    assert runner.wait() == 128 + signal.SIGTERM
    assert [_runs(int(file.read_text())) for file in files] == [False, False]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
