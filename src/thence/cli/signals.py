"""How a command ends when it is told to: at once, and with nothing temporary left behind.

Ctrl-C and SIGTERM become exceptions, so that whatever is open is closed on the way out. Python
raises them between two of its own instructions, which may be a while where Arrow, NumPy or the
operating system is at work. So a thread looks on, and ends the process where that takes too long.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 2.0
"""Seconds that a command may take to end by itself."""

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _First:
    """Whose affair the first Ctrl-C is at present: the command's own, or ours."""

    own = False


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Let signals end the block. Only the main thread gets them; in another one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: signal.signal(number, _raised)
        for number in _ENDING
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL
    }
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    former = signal.set_wakeup_fd(sending, warn_on_full_buffer=False)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(receiving, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(former)
        os.close(sending)  # the watcher reads to the end, and is done as well
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def patient() -> Iterator[None]:
    """While the block runs, the first Ctrl-C is its own affair, and the second one ours."""
    _First.own = True
    try:
        yield
    finally:
        _First.own = False


def _raised(number: int, frame: FrameType | None) -> None:
    """What ``kill`` means: an exit like any other, with the number that a shell would give it."""
    raise SystemExit(128 + number)


def _watch(receiving: int, done: threading.Event) -> None:
    """Wait for a signal; end the process if it is still there a while later."""
    interrupts = 0
    try:
        while number := os.read(receiving, 1):
            if number[0] not in _ENDING:
                continue
            interrupts += 1
            if number[0] == signal.SIGINT and _First.own and interrupts == 1:
                continue
            if not done.wait(PATIENCE):
                _end(number[0])
    finally:
        os.close(receiving)


def _end(number: int) -> None:
    from thence.io.temporary import remove_all

    remove_all()
    if number == signal.SIGINT:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
    os._exit(128 + number)
