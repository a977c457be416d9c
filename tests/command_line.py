"""The command ``thence`` as tests call it: in this process, or on a terminal of its own.

The fixture ``thence`` of ``conftest.py`` calls it in this process.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

EMBEDDED = ("--engine", "embedded")


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The output, where that is JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Done]


def on_terminal(*arguments: object, columns: int = 100) -> tuple[int, str]:
    """Run the command in a process of its own on a pseudo-terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "thence", *map(str, arguments)],
        stdin=slave, stdout=slave, stderr=slave, env=environment,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side has closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return process.wait(), shown.decode()
