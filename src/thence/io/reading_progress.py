"""Who wants to know how far the reading of files has come."""

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
