"""What the library's sensors report: many readings of one thing, and now and then none.

Antennas read whatever is near about five times a second, and miss some of it, but never twice
running: so the first reading of a passage comes at most 300 ms late, and between two readings of
one passage lies less than a second. That is what makes the truth recoverable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from thence.demo.library.catalogue import COUNTER

_POLL = 200
_MISSED = 0.25
_SLOWEST_DELIVERY = 400
MAX_DELAY = "500 ms"
"""How far out of order signals come, at most."""


@dataclass(frozen=True, slots=True, order=True)
class Signal:
    """A reading of a tag, or a motion sensor that fired, in milliseconds after the opening.

    ``subject`` is the tag or the sensor.
    """

    at: int
    event: str
    subject: str
    place: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """Somebody who passes a door with some tags, ``lag`` milliseconds behind the first."""

    tags: tuple[str, ...]
    lag: int = 0


class Sensors:
    """All sensors of the library; what they report is gathered in ``signals``."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.signals: list[Signal] = []

    def passage(self, door: str, at: int, direction: str, carriers: Sequence[Carrier]) -> None:
        """People pass a door. Its antennas wake up when both of its sensors have fired."""
        sensors = ("inner", "outer") if direction == "out" else ("outer", "inner")
        second = at + self._random.randint(300, 600)
        for sensor, begin in zip(sensors, (at, second), strict=True):
            for carrier in carriers:
                self._motion(sensor, door, begin + carrier.lag)
        for carrier in carriers:
            for tag in carrier.tags:
                near = second + carrier.lag + self._random.randint(20, 80)
                self._antenna(tag, door, near, self._random.randint(1000, 1800))

    def handling(self, book: str, shelf: str, at: int) -> None:
        """A book is taken from its shelf, or put back."""
        self._antenna(book, shelf, at, self._random.randint(300, 1200))

    def sweep(self, book: str, shelf: str, at: int) -> None:
        """An antenna looks whether a book is on its shelf."""
        if self._random.random() >= _MISSED:
            self._read(book, shelf, at)

    def scan(self, tag: str, at: int) -> None:
        """The barcode reader of the counter reads a card or a book, sometimes twice."""
        self._read(tag, COUNTER, at)
        if self._random.random() < 0.3:
            self._read(tag, COUNTER, at + self._random.randint(200, 700))

    def _motion(self, sensor: str, door: str, at: int) -> None:
        for _ in range(self._random.randint(1, 3)):
            self.signals.append(Signal(at, "Motion", sensor, door))
            at += self._random.randint(60, 150)

    def _antenna(self, tag: str, place: str, begin: int, lasts: int) -> None:
        at, missed = begin, False
        while at < begin + lasts:
            missed = not missed and self._random.random() < _MISSED
            if not missed:
                self._read(tag, place, at)
            at += _POLL + self._random.randint(-20, 20)

    def _read(self, tag: str, place: str, at: int) -> None:
        self.signals.append(Signal(at, "Reading", tag, place))


def one_at_a_time(signals: Sequence[Signal]) -> list[Signal]:
    """Signals in the order of time, no two at the same millisecond: the bus takes one by one.

    >>> [s.at for s in one_at_a_time([Signal(5, "Reading", tag, "counter") for tag in "ab"])]
    [5, 6]
    """
    found: list[Signal] = []
    last = -1
    for signal in sorted(signals):
        last = max(signal.at, last + 1)
        found.append(Signal(last, signal.event, signal.subject, signal.place))
    return found


def delivered(signals: Sequence[Signal], random: Random) -> list[tuple[int, Signal]]:
    """Signals in the order in which they arrive, each with the time of its arrival."""
    arriving = [(signal.at + random.randint(0, _SLOWEST_DELIVERY), signal) for signal in signals]
    return sorted(arriving)
