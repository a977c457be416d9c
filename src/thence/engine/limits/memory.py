"""How much memory there is: what this process holds, and how much more it may take.

Linux says it in files; a container says it in its control group, which knows less memory than the
machine has. Other systems of the Unix family say how much memory the machine has, and the most that
this process has held so far. Elsewhere nobody says it without help, and None stands for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path("/")
_STATM = ROOT / "proc/self/statm"
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident() -> int | None:
    """The bytes of memory that this process holds now; None where nobody says."""
    try:
        return int(os.pread(_statm(os.getpid()), 128, 0).split()[1]) * _PAGE
    except (OSError, ValueError, IndexError, AttributeError):  # not every system has pread
        return peak()


def peak() -> int | None:
    """The most bytes of memory that this process has held so far; None where nobody says."""
    try:
        import resource  # noqa: PLC0415 (not there on Windows)
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@lru_cache(maxsize=1)
def _statm(process: int) -> int:
    """The file that says it, opened once by each process: what is opened is about the opener."""
    return os.open(_STATM, os.O_RDONLY)


def cores() -> int:
    """On how many cores this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def available(root: Path = ROOT) -> int | None:
    """The bytes that this process may still take before the system would have to look for some:
    the least of what the machine, each control group around the process and its own limit leave.
    None where nobody says."""
    found = [_of_machine(root), _of_process(root), *_of_groups(root)]
    return min((left for left in found if left is not None), default=left_by_process())


def left_by_process() -> int | None:
    """What the machine has, less what this process holds, for systems that say no more; None for
    those that do not say that."""
    names, held = getattr(os, "sysconf_names", {}), resident()
    if "SC_PHYS_PAGES" not in names or held is None:
        return None
    return max(0, os.sysconf("SC_PHYS_PAGES") * _PAGE - held)


def _of_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_process(root: Path) -> int | None:
    """What is left of the address space, where that is limited (``ulimit -v``)."""
    for line in _lines(root / "proc/self/limits"):
        if line.startswith("Max address space"):
            limit = line.split()[3]
            taken = next(iter(_lines(root / "proc/self/statm")), "")
            if limit.isdigit() and taken:
                return max(0, int(limit) - int(taken.split()[0]) * _PAGE)
    return None


def _of_groups(root: Path) -> Iterator[int]:
    """What each control group leaves that the process is in, from the innermost to the outermost;
    of both versions of control groups."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            left = _of_group(base.joinpath(*parts[:depth]), *names)
            if left is not None:
                yield left


def _of_group(group: Path, limit: str, taken: str, cached: str) -> int | None:
    """What one control group leaves; files it has read and can forget count as left."""
    most, used = _number(group / limit), _number(group / taken)
    if most is None or used is None:
        return None
    for line in _lines(group / "memory.stat"):
        name, _, value = line.partition(" ")
        if name == cached and value.isdigit():
            used -= int(value)
    return max(0, most - max(0, used))


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none ("max")."""
    text = next(iter(_lines(path)), "")
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
