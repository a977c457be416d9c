"""What is delivered, how, and what can go wrong with that."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from thence.engine.arrays.array_types import Index


class Letter(NamedTuple):
    """A payload on its way. ``reaction`` is the reaction as text, ``payload`` a JSON object."""

    id: str
    reaction: str
    payload: str


class DeadLetter(NamedTuple):
    """A letter that was given up: after how many tries, and why."""

    letter: Letter
    tries: int
    reason: str


class Failure(Exception):
    """A delivery that failed. ``final`` says that another try would fail as well; ``after`` for how
    many seconds the receiver asks to be left alone."""

    def __init__(self, reason: str, *, final: bool = False, after: float = 0) -> None:
        super().__init__(reason)
        self.reason, self.final, self.after = reason, final, after


@dataclass(frozen=True, slots=True)
class Handler(ABC):
    """What delivers the letters of a reaction. Those in one ``lane`` go one after another; lanes do
    not wait for each other."""

    lane: str

    @abstractmethod
    def deliver(self, letter: Letter) -> None:
        """Deliver a letter, or raise Failure."""


def letter_ids(reaction: str, events: Index) -> list[str]:
    """The ids of what a reaction sends for some events: they follow from what the event is and what
    the reaction says, so that a repetition has the same.

    >>> import numpy as np
    >>> letter_ids("on a(): call f;", np.array([1, -1]))
    ['0000000000000001-f570af2e6aea2289', 'ffffffffffffffff-f570af2e6aea2289']
    """
    own = _reaction_hash(reaction)
    return [f"{event & 0xFFFFFFFFFFFFFFFF:016x}-{own}" for event in events.tolist()]


@lru_cache(maxsize=1 << 12)
def _reaction_hash(reaction: str) -> str:
    return hashlib.blake2b(reaction.encode(), digest_size=8).hexdigest()


def counted(letters: Sequence[object] | int) -> str:
    """How many deliveries, in words."""
    number = letters if isinstance(letters, int) else len(letters)
    return "1 delivery" if number == 1 else f"{number:,} deliveries"
