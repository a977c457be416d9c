"""How reactions are delivered: how often, how patiently, and where what is left is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thence.model.errors import InputError
from thence.model.instants import length

DEAD_LETTERS = "dead-letters.jsonl"


@dataclass(frozen=True, slots=True)
class Delivery:
    """How reactions are delivered. Durations are texts such as ``"10 s"``, or timedeltas.

    ``tries`` is how often a delivery is tried, and ``timeout`` how long one try may take. Between
    them it waits: ``first_wait``, then twice as long each time, up to ``longest_wait``, less a
    random part of up to a half. What still fails is appended to the file ``dead_letters``.

    Deliveries wait on disk. With ``outbox`` (a folder) they are there after a crash as well, and
    whoever opens it next delivers them; without, they are gone with the process, but what is left
    when a session is closed, or when Python exits, goes to ``dead_letters``. At most ``capacity``
    wait; more go to ``dead_letters`` at once.

    ``patience`` is how long ``run``, ``close`` and the exit of Python wait for what is outstanding.
    """

    tries: int = 5
    timeout: Any = "10 s"
    first_wait: Any = "500 ms"
    longest_wait: Any = "1 min"
    patience: Any = "1 min"
    capacity: int = 1_000_000
    outbox: str | Path | None = None
    dead_letters: str | Path | None = None

    def __post_init__(self) -> None:
        for name in ("tries", "capacity"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number from 1 on, not {value!r}")
        for name in ("timeout", "first_wait", "longest_wait", "patience"):
            length(getattr(self, name), name)
        if not length(self.timeout, "timeout"):
            raise InputError("timeout must be more than nothing")
        for name in ("outbox", "dead_letters"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str | Path):
                raise InputError(f"{name} must be a path, not {value!r}")

    def seconds(self, name: str) -> float:
        """One of the durations, in seconds."""
        return length(getattr(self, name), name) / 1_000_000

    @property
    def dead_letter_file(self) -> Path:
        """Where dead letters go: a file in the outbox, if nothing else is said."""
        if self.dead_letters is not None:
            return Path(self.dead_letters)
        return Path(DEAD_LETTERS) if self.outbox is None else Path(self.outbox) / DEAD_LETTERS

    def wait(self, tries: int, luck: float) -> float:
        """How many seconds to wait after so many tries; ``luck`` is a random number below 1.

        >>> [Delivery().wait(tries, 0.0) for tries in (1, 2, 3, 20)]
        [0.5, 1.0, 2.0, 60.0]
        """
        longest = self.seconds("longest_wait")
        doubled = self.seconds("first_wait") * 2.0 ** min(tries - 1, 60)
        return min(doubled, longest) * (1 - luck / 2)
