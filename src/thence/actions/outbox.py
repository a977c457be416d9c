"""Letters that wait, on disk: a small SQLite database in a folder, or a temporary one.

What a process has put there before it was killed is there for the next one. One process at a time
has a folder open. Nothing here is thread-safe: whoever owns an outbox has a lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from thence.actions.letters import Letter
from thence.model.errors import InputError

_FILE = "outbox.sqlite"
_TABLE = """
create table if not exists letters (
    number integer primary key autoincrement,
    id text not null unique,
    reaction text not null,
    lane text not null,
    payload text not null,
    tries integer not null default 0,
    due real not null default 0
)
"""
_INDEX = "create index if not exists by_lane on letters (lane, due, number)"


class Waiting(NamedTuple):
    """A letter that waits, with its number and how often it was tried."""

    number: int
    letter: Letter
    tries: int


class Outbox:
    """The letters that wait."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        # The empty name is a database on disk that is gone when it is closed.
        name = "" if folder is None else str(folder / _FILE)
        try:
            self._base = sqlite3.connect(
                name, timeout=0, isolation_level=None, check_same_thread=False
            )
            if folder is not None:
                self._base.execute("pragma locking_mode = exclusive")
                self._base.execute("pragma journal_mode = wal")
            self._base.execute("begin exclusive")
            self._base.execute(_TABLE)
            self._base.execute(_INDEX)
            self._base.execute("update letters set due = 0")
            self._base.execute("commit")
        except sqlite3.OperationalError as problem:
            raise InputError(
                f"the outbox '{folder}' cannot be opened ({problem}): one session or process at a "
                "time has it; give each a folder of its own"
            ) from None
        except sqlite3.DatabaseError as problem:
            raise InputError(f"'{folder}' holds no outbox: {problem}") from None

    def __len__(self) -> int:
        found: int = self._base.execute("select count(*) from letters").fetchone()[0]
        return found

    def add(self, letters: Iterable[tuple[Letter, str]]) -> int:
        """Keep letters, each with its lane; how many are new. They are on disk when this returns,
        even if power fails."""
        before = self._base.total_changes
        self._base.execute("pragma synchronous = full")
        self._base.execute("begin")
        try:
            self._base.executemany(
                "insert or ignore into letters (id, reaction, lane, payload) values (?, ?, ?, ?)",
                [(letter.id, letter.reaction, lane, letter.payload) for letter, lane in letters],
            )
        except BaseException:
            self._base.execute("rollback")
            raise
        self._base.execute("commit")
        # A mark that is lost only means that a letter is delivered again.
        self._base.execute("pragma synchronous = normal")
        return self._base.total_changes - before

    def due(self, lane: str, now: float, most: int) -> list[Waiting]:
        """Letters of a lane that are due, at most so many."""
        rows = self._base.execute(
            "select number, id, reaction, payload, tries from letters "
            "where lane = ? and due <= ? order by due, number limit ?",
            (lane, now, most),
        )
        return [
            Waiting(number, Letter(id_, reaction, payload), tries)
            for number, id_, reaction, payload, tries in rows
        ]

    def next_due(self, lane: str) -> float | None:
        """When the next letter of a lane is due; None where there is none."""
        found: float | None = self._base.execute(
            "select min(due) from letters where lane = ?", (lane,)
        ).fetchone()[0]
        return found

    def some(self, most: int, without: Sequence[str] = ()) -> list[Waiting]:
        """Letters in the order in which they came, those of some reactions left out."""
        marks = ", ".join("?" * len(without))
        rows = self._base.execute(
            "select number, id, reaction, payload, tries from letters "
            f"where reaction not in ({marks}) order by number limit ?",
            (*without, most),
        )
        return [Waiting(row[0], Letter(*row[1:4]), row[4]) for row in rows]

    def lanes(self) -> list[str]:
        """The lanes that letters wait in."""
        return [lane for (lane,) in self._base.execute("select distinct lane from letters")]

    def postpone(self, number: int, tries: int, due: float) -> None:
        """Note that a letter was tried, and when it is to be tried again."""
        self._base.execute(
            "update letters set tries = ?, due = ? where number = ?", (tries, due, number)
        )

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget letters."""
        self._base.execute("begin")
        self._base.executemany("delete from letters where number = ?", [(n,) for n in numbers])
        self._base.execute("commit")

    def close(self) -> None:
        self._base.close()
