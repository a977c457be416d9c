"""Who wants to know how far the reading of files has come, and what is about to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Watcher = Callable[[Path], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Have ``watcher`` called with each file that has been read, while the block runs."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def file_was_read(path: Path) -> None:
    """Tell whoever watches."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(path)


Check = Callable[[str, int], None]

_check: ContextVar[Check | None] = ContextVar("check", default=None)


@contextmanager
def checking(check: Check) -> Iterator[None]:
    """Have ``check`` called before something is read, with what it is and about how many bytes it
    will take, while the block runs. It may raise an error."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def about_to_read(what: str, size: int) -> None:
    """Ask whoever wants to be asked."""
    check = _check.get()
    if check is not None:
        check(what, size)
