"""Sorted runs in files of an executor, where all its Python workers find them.

Spark hands a shard now to one worker, now to another, and ends workers that have nothing to do. To
ask the state store for a large run takes long, so whoever has its bytes leaves them in a file, and
the others map that into memory, which they then share. The folder is Spark's own for the executor,
and goes with it. It is a cache: what is not there, or cannot be written, is read from the store.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

SHARE = 4
"""One part in so many of the disk space that is free is for runs."""

_FOLDER = "thence-runs"
_LOCAL_DIRS = "SPARK_LOCAL_DIRS"


class RunFiles:
    """Files in one folder that take at most so many bytes; those used longest ago go first."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self.most = most

    def read(self, name: str, size: int) -> memoryview | None:
        """The bytes of a run, mapped; None where there is no such file."""
        try:
            with (self._folder / name).open("rb") as file:
                if os.fstat(file.fileno()).st_size != size:
                    return None
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            return None

    def write(self, name: str, data: memoryview) -> bool:
        """Leave the bytes of a run for others, whole or not at all; whether that went well."""
        fresh = self._folder / f"{secrets.token_hex(8)}.new"
        try:
            if not self._make_room(data.nbytes):
                return False
            fresh.write_bytes(data)
            fresh.replace(self._folder / name)
        except OSError:
            fresh.unlink(missing_ok=True)
            return False
        return True

    def touch(self, names: Iterable[str]) -> None:
        """Say that runs have been used."""
        for name in names:
            try:
                os.utime(self._folder / name)
            except OSError:  # another worker has removed it
                continue

    def remove(self, names: Iterable[str]) -> None:
        """Remove runs that nobody will ask for again."""
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def _make_room(self, size: int) -> bool:
        """Remove what was used longest ago until there is room; whether there is any."""
        if size > self.most:
            return False
        files = []
        for entry in os.scandir(self._folder):
            try:
                found = entry.stat()
            except OSError:  # another worker has removed it
                continue
            files.append((found.st_mtime_ns, found.st_size, entry.path))
        total = size + sum(held for _, held, _ in files)
        for _, held, path in sorted(files):
            if total <= self.most:
                break
            Path(path).unlink(missing_ok=True)
            total -= held
        return True


@lru_cache(maxsize=1)
def executor_files() -> RunFiles | None:
    """The files of this executor; None where Spark names no folder, or it cannot be used."""
    local = os.environ.get(_LOCAL_DIRS, "").split(",")[0]
    if not local:
        return None
    folder = Path(local) / _FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return None
        return RunFiles(folder, shutil.disk_usage(folder).free // SHARE)
    except OSError:
        return None
