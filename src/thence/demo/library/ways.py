"""Ways into the library and out of it: through a door that is free, by the counter or not."""

from __future__ import annotations

from random import Random

from thence.demo.library.catalogue import DOORS
from thence.demo.library.sensors import Carrier, Sensors
from thence.demo.library.timetable import Timetable

_SECOND = 1_000
_APART = 10 * _SECOND
"""Between two passages of one door, so that those of one party are not mixed up with another."""

_BEFORE_LEAVING = (12 * _SECOND, 45 * _SECOND)
"""Whoever has been at the counter leaves so long after: within the minute of the program."""


class Ways:
    """The doors and the counter, each taken by one party at a time."""

    def __init__(self, random: Random, sensors: Sensors) -> None:
        self._random = random
        self._sensors = sensors
        self._doors = {door: Timetable() for door in DOORS}
        self._counter = Timetable()

    def enter(self, earliest: int, carriers: list[Carrier]) -> tuple[str, int]:
        """Come in as soon as a door is free; which one, and when."""
        return self._pass(earliest, "in", carriers)

    def leave(self, earliest: int, carriers: list[Carrier]) -> tuple[str, int]:
        """Leave as soon as a door is free; through which one, and when."""
        return self._pass(earliest, "out", carriers)

    def leave_by_the_counter(
        self, earliest: int, carriers: list[Carrier], books: int
    ) -> tuple[str, int, list[int]]:
        """Leave with books that are checked out right before.

        Also gives the times at which the card and then each book is scanned.
        """
        at = earliest
        while True:
            door = self._free_door(at)
            begin = self._free_counter(at, books) if door is not None else None
            if door is not None and begin is not None:
                break
            at += _SECOND
        scans = [begin]
        for _ in range(books):
            scans.append(scans[-1] + self._random.randint(2_000, 3_000))
        self._counter.take(begin - _SECOND, scans[-1] + 2 * _SECOND)
        self._take(door, at, "out", carriers)
        return door, at, scans

    def _pass(self, earliest: int, direction: str, carriers: list[Carrier]) -> tuple[str, int]:
        at = earliest
        while (door := self._free_door(at)) is None:
            at += _SECOND
        self._take(door, at, direction, carriers)
        return door, at

    def _take(self, door: str, at: int, direction: str, carriers: list[Carrier]) -> None:
        self._doors[door].take(at, at + _APART)
        self._sensors.passage(door, at, direction, carriers)

    def _free_door(self, at: int) -> str | None:
        for door in self._random.sample(DOORS, len(DOORS)):
            if self._doors[door].is_free(at, at + _APART):
                return door
        return None

    def _free_counter(self, leaving: int, books: int) -> int | None:
        """When to begin at the counter to leave at a time."""
        least, most = _BEFORE_LEAVING
        lasts = 3 * _SECOND * books
        for begin in range(leaving - least - lasts, leaving - most, -_SECOND):
            if self._counter.is_free(begin - _SECOND, begin + lasts + 2 * _SECOND):
                return begin
        return None
