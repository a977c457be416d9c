"""Ctrl-C and SIGTERM end a command at once, and nothing temporary stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

WAITS = {
    "in Python": "while True: time.sleep(0.01)",
    # Compiled code that gives Python no turn; it would go on for hours.
    "in compiled code": "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 2**31 - 1)",
    "on the way out": "try:\n    time.sleep(600)\nfinally:\n    time.sleep(600)",
}
SHORT = "from thence.cli import signals; signals.PATIENCE = 0.2"
"""For what does not end by itself however long it is given."""
SCRIPT = """
import hashlib, sys, time
from pathlib import Path
from thence.cli.signals import ends_at_once
from thence.io.temporary import temporary, temporary_folder

with ends_at_once(), temporary(Path(sys.argv[1]) / "half a file") as path:
    path.write_text("half")
    folder = temporary_folder("thence-test-")
    (folder / "more").write_text("more")
    print("ready", flush=True)
    {wait}
"""


def ended(process: subprocess.Popen[str], ready: IO[str], number: int) -> int:
    """The exit code of a process that gets a signal once it says that it is ready."""
    try:
        assert ready.readline() == "ready\n"
        process.send_signal(number)
        return process.wait()
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", WAITS)
def test_a_signal_ends_the_command_and_what_it_had_begun(
    tmp_path: Path, wait: str, number: signal.Signals
) -> None:
    code = SCRIPT.format(wait=WAITS[wait].replace("\n", "\n    "))
    code = code if wait == "in Python" else SHORT + code
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": "", "TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert process.stdout is not None
    code_of = ended(process, process.stdout, number)
    # Python itself ends by the signal where nobody catches a Ctrl-C; a command does.
    assert code_of in (128 + number, -number)
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_ends_what_sees_to_the_first_by_itself() -> None:
    code = f"""
import signal, time
from thence.cli.signals import ends_at_once, patient
{SHORT}

with ends_at_once(), patient():
    signal.signal(signal.SIGINT, lambda number, frame: None)
    print("ready", flush=True)
    time.sleep(600)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    finally:
        process.kill()


@pytest.mark.spark
def test_a_stream_that_is_killed_softly_leaves_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    places = tmp_path / "tmp"
    places.mkdir()
    program, errors = tmp_path / "p.thence", tmp_path / "stderr"
    program.write_text("event order(id string);\nseen(id) <- order(id);")
    with errors.open("w") as err, (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "thence", "stream", program, "--source", "rate:50",
                "--master", "local[1]",
            ],
            stdout=out, stderr=err,
            env={**os.environ, "TMPDIR": str(places), "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
    try:
        while "batch" not in errors.read_text():
            assert process.poll() is None, errors.read_text()
            time.sleep(0.5)
        assert list(places.glob("thence-*"))
        process.send_signal(signal.SIGTERM)
        code = process.wait()
    finally:
        process.kill()
    assert code == 143, errors.read_text()
    assert list(places.glob("thence-*")) == []
