"""What happened in the library, what the program found, and whether the two are the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from thence.demo.library.catalogue import name_of

OPENS = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SAME = 5_000
"""Milliseconds between an incident and its finding, at most: of a window and of the sensors."""


def written(at: int) -> str:
    """A time of the day, for records.

    >>> written(1_500)
    '2026-03-02T10:00:01.500Z'
    """
    return f"{OPENS + at * _MILLISECOND:%Y-%m-%dT%H:%M:%S}.{at % 1_000:03}Z"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that happened, in milliseconds after the opening. ``kind`` is a key of KINDS."""

    at: int
    kind: str
    place: str
    book: str
    persons: tuple[str, ...] = ()

    @property
    def clock(self) -> str:
        """The time of day."""
        return f"{OPENS + self.at * _MILLISECOND:%H:%M:%S}"

    @property
    def sentence(self) -> str:
        """What happened, in plain words.

        >>> Finding(7_000, "booklifting", "door-n", "B009").sentence
        "'Dune' left through the north door"
        >>> Finding(7_000, "confusion", "door-s", "B009", ("P001", "P002")).sentence
        "Ada and Ben left through the south door with 'Dune'"
        """
        people = " and ".join(map(name_of, self.persons))
        book, place = f"'{name_of(self.book)}'", name_of(self.place)
        return KINDS[self.kind].words.format(people=people, book=book, place=place)

    def same_as(self, other: Finding) -> bool:
        """Whether two are about the same thing, at nearly the same time."""
        mine = (self.kind, self.place, self.book, self.persons)
        theirs = (other.kind, other.place, other.book, other.persons)
        return mine == theirs and abs(self.at - other.at) <= _SAME


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of finding: the event that the program derives, and how it is told."""

    event: str
    many: str
    words: str
    colour: str
    persons: tuple[str, ...] = ("person_id",)


KINDS: Mapping[str, Kind] = {
    "checkout": Kind(
        "CounterCheckout", "checkouts at the counter", "{people} took {book} at {place}", "green"
    ),
    "walk-through": Kind(
        "DoorCheckout",
        "checkouts at a door",
        "{people} walked out through {place} with {book}, checked out there",
        "green",
    ),
    "return": Kind("Returned", "returns", "{people} brought {book} back through {place}", "cyan"),
    "booklifting": Kind(
        "BookliftingAlert", "bookliftings", "{book} left through {place}", "bold red", ()
    ),
    "confusion": Kind(
        "ConfusionAlert",
        "confusions",
        "{people} left through {place} with {book}",
        "bold yellow",
        ("person1_id", "person2_id"),
    ),
    "over the limit": Kind(
        "OverlimitAlert",
        "checkouts over the limit",
        "{people} took {book} at {place} and has too many books",
        "bold magenta",
    ),
}
EVENTS = {kind.event: name for name, kind in KINDS.items()}


def found(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Rows of results as findings, in the order of time.

    A row has the name of its event as ``type``, the columns of that event, and ``end``.
    """
    return sorted(_finding(row) for row in rows)


def _finding(row: Mapping[str, Any]) -> Finding:
    name = EVENTS[row["type"]]
    persons = tuple(row[column] for column in KINDS[name].persons)
    at = (row["end"].astimezone(UTC) - OPENS) // _MILLISECOND
    return Finding(at, name, row["loc_id"], row["book_id"], persons)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was planted and not found, and what was found and not planted, for each kind."""

    planted: Mapping[str, int]
    found: Mapping[str, int]
    missed: tuple[Finding, ...]
    unexpected: tuple[Finding, ...]

    @property
    def equal(self) -> bool:
        """Whether everything was found, and nothing else."""
        return not (self.missed or self.unexpected)


def compare(planted: Sequence[Finding], found: Sequence[Finding]) -> Comparison:
    """Pair each finding with what it is about; each of both is used once."""
    left = sorted(planted)
    unexpected: list[Finding] = []
    for finding in sorted(found):
        about = next((each for each in left if each.same_as(finding)), None)
        if about is None:
            unexpected.append(finding)
        else:
            left.remove(about)
    return Comparison(_counts(planted), _counts(found), tuple(left), tuple(unexpected))


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    return {name: sum(each.kind == name for each in findings) for name in KINDS}
