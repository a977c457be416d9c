"""The file of dead letters: JSON lines, which are appended whole, read, and taken out again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from thence.actions.letters import DeadLetter, Letter
from thence.model.errors import InputError
from thence.model.safe_text import shortened

_CHUNK = 10_000
_FIELDS = {"id": str, "reaction": str, "payload": dict, "reason": str, "tries": int}


def append(path: Path, dead: Sequence[DeadLetter]) -> None:
    """Append dead letters to a file: all of them, in one piece, on disk when this returns."""
    if not dead:
        return
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lines = "".join(
        f'{{"id": {json.dumps(each.letter.id)}, "time": "{now}", '
        f'"reaction": {json.dumps(each.letter.reaction, ensure_ascii=False)}, '
        f'"tries": {each.tries}, "reason": {json.dumps(shortened(each.reason))}, '
        f'"payload": {each.letter.payload}}}\n'
        for each in dead
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Where the file is put aside meanwhile, nobody may see what was appended: again, to a new one.
    while not _appended(path, lines.encode()):
        pass


def _appended(path: Path, lines: bytes) -> bool:
    """Append lines to a file in one piece; whether it still had its name then."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":  # the last line was cut off
                lines = b"\n" + lines
        written = os.write(file, lines)
        while written < len(lines):
            written += os.write(file, lines[written:])
        os.fsync(file)
        return _is_at(file, path)
    finally:
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file still has its name: another process may have taken it away."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def read(path: Path) -> Iterator[DeadLetter]:
    """The dead letters in a file."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _read_line(line, number, path)


def chunks(path: Path) -> Iterator[list[DeadLetter]]:
    """The same, some at a time."""
    letters = read(path)
    while some := list(islice(letters, _CHUNK)):
        yield some


def _read_line(line: str, number: int, path: Path) -> DeadLetter:
    try:
        found: Any = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(
        type(found.get(name)) is kind for name, kind in _FIELDS.items()
    ):
        raise InputError(f"line {number} of '{path}' is no dead letter: correct it, or take it out")
    payload = json.dumps(found["payload"], ensure_ascii=False)
    letter = Letter(found["id"], found["reaction"], payload)
    return DeadLetter(letter, found["tries"], found["reason"])


def take(path: Path) -> Path:
    """Put a file of dead letters aside, so that its letters can be tried again while new ones are
    appended. What an interrupted attempt put aside comes first, and again."""
    aside = path.with_name(path.name + ".replaying")
    if not aside.exists():
        try:
            path.rename(aside)
        except FileNotFoundError:
            raise InputError(f"there is no file of dead letters '{path}'") from None
    return aside
