"""Files and folders that are gone when they have served, however the process ends but by force."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATHS: set[Path] = set()
"""What there is at present; also for whoever has to end the process without further ado."""


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A path for a file or a folder that the block makes; what is left of it is removed."""
    _PATHS.add(path)
    try:
        yield path
    finally:
        _remove(path)


def temporary_folder(prefix: str) -> Path:
    """A new folder that lasts as long as the process."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    _PATHS.add(folder)
    atexit.register(_remove, folder)
    return folder


def keep(path: Path) -> None:
    """Let something temporary stay, because somebody was told of it."""
    _PATHS.discard(path)


def remove_all() -> None:
    """Remove everything temporary, now."""
    for path in list(_PATHS):
        _remove(path)


def _remove(path: Path) -> None:
    if path not in _PATHS:
        return
    _PATHS.discard(path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
