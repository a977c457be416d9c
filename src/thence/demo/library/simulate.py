"""A day in the library, made up from a seed: what the sensors report, and what really happened.

People come alone or in pairs, take books to the counter or walk out with one, bring books back,
and some do what they should not. The same seed gives the same day.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from thence.demo.library.catalogue import BOOKS, PATRONS, REFERENCE, SHELVES, shelf_of
from thence.demo.library.findings import Finding
from thence.demo.library.sensors import Carrier, Sensors, Signal, delivered, one_at_a_time
from thence.demo.library.stock import Stock
from thence.demo.library.ways import Ways
from thence.model.errors import InputError

LIMIT = 3
"""How many books a patron may have, as in the program."""

SHORTEST, LONGEST = 5, 600
"""Minutes that a library can be open."""

MOST_VISITS = 6
"""How many visits a minute the doors can take."""

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_SWEEP = 2 * _SECOND
_AFTERWARDS = 30 * _SECOND
"""How long the shelves are watched after the last visitor has left, so that all is judged."""

_SCRIPTS = ("lift", "pair", "overlimit", "walk", "counter", "counter", "bring back")
_COMMON = ("browse", "walk", "walk", "counter", "counter", "bring back", "bring back")


@dataclass(frozen=True, slots=True)
class Day:
    """What the sensors report, by the time of arrival, and what really happened.

    Times are milliseconds after the opening; ``ends`` is that of the last signal.
    """

    signals: tuple[tuple[int, Signal], ...]
    planted: tuple[Finding, ...]
    ends: int


def simulate(seed: int, visits: int = 24, minutes: int = 15) -> Day:
    """A day with so many visits in so many minutes.

    >>> day = simulate(seed=1)
    >>> day == simulate(seed=1), day == simulate(seed=2)
    (True, False)
    """
    if not SHORTEST <= minutes <= LONGEST:
        raise InputError(f"the library is open for {SHORTEST} to {LONGEST} minutes, not {minutes}")
    if not 1 <= visits <= MOST_VISITS * minutes:
        raise InputError(
            f"in {minutes} minutes there are 1 to {MOST_VISITS * minutes} visits, not {visits}: "
            "more do not fit through the doors"
        )
    random = Random(seed)
    library = _Library(random)
    scripts = [*_SCRIPTS, *random.choices(_COMMON + _SCRIPTS, k=visits)][:visits]
    random.shuffle(scripts)
    last = minutes * _MINUTE - 2 * _MINUTE
    arrivals = sorted(random.randrange(2 * _SECOND, last) for _ in scripts)
    for arrival, script in zip(arrivals, scripts, strict=True):
        library.visit(script, arrival)
    library.watch_shelves()
    signals = one_at_a_time(library.sensors.signals)
    arriving = delivered(signals, random)
    return Day(tuple(arriving), tuple(sorted(library.planted)), signals[-1].at)


class _Library:
    """The library while its day is made up. Visits are made up in the order of their arrival."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sensors = Sensors(random)
        self.ways = Ways(random, self.sensors)
        self.stock = Stock(self.sensors)
        self.loans: dict[str, list[str]] = {patron: [] for patron in PATRONS}
        self.away_until: dict[str, int] = dict.fromkeys(PATRONS, 0)
        self.planted: list[Finding] = []

    def visit(self, script: str, arrival: int) -> None:
        """Play one visit. Who lacks the books for it only looks around."""
        match script:
            case "lift":
                self.lift(arrival)
            case "pair":
                self.pair(arrival)
            case "overlimit":
                self.borrow_too_much(arrival)
            case "walk":
                self.walk_out(arrival)
            case "counter":
                self.borrow(arrival)
            case "bring back":
                self.bring_back(arrival)
            case _:
                self.browse(arrival)

    # -- what visitors do

    def browse(self, arrival: int) -> None:
        """Come, perhaps look into a book, and go."""
        patron = self.patron(arrival)
        tags = () if patron is None else (patron,)
        _, entered = self.ways.enter(arrival, [Carrier(tags)])
        for book in self.stock.on_shelf(entered, self.random, 1):
            taken = self.stock.take(book, entered + self.seconds(10, 30))
            self.stock.put_back(book, taken + self.seconds(5, 20))
        self.go(patron, entered + self.seconds(60, 90), [Carrier(tags)])

    def lift(self, arrival: int) -> None:
        """Somebody without a card takes a book, and leaves with it."""
        _, entered = self.ways.enter(arrival, [Carrier(())])
        books = self.take_books(entered, 1)
        door, left = self.ways.leave(entered + self.seconds(60, 90), [Carrier(tuple(books))])
        self.plant(left, "booklifting", door, books)

    def pair(self, arrival: int) -> None:
        """Two patrons leave side by side, one with a book, sometimes checked out before."""
        one = self.patron(arrival)
        other = self.patron(arrival, unlike=one)
        if one is None or other is None:
            self.browse(arrival)
            return
        # Behind each other by less than a second, so the door's sensors see one passage.
        lag = self.random.randint(100, 900)
        _, entered = self.ways.enter(arrival, [Carrier((one,)), Carrier((other,), lag)])
        holder = self.random.choice((one, other))
        known = self.random.random() < 0.3 and len(self.loans[holder]) < LIMIT
        books = self.take_books(entered, 1)
        carriers = [
            Carrier((who, *(books if who == holder else ())), behind)
            for who, behind in ((one, 0), (other, lag))
        ]
        earliest = entered + self.seconds(60, 90)
        if known and books:
            door, left = self.check_out(holder, books, earliest, carriers)
        else:
            door, left = self.ways.leave(earliest, carriers)
            self.plant(left, "booklifting", door, books)
        self.plant(left, "confusion", door, books, *sorted((one, other)))
        self.away_until |= dict.fromkeys((one, other), left + _MINUTE)

    def borrow(self, arrival: int) -> None:
        """Take one book or two to the counter, and leave."""
        patron = self.patron(arrival, room=1)
        self.to_the_counter(arrival, patron, self.random.randint(1, 2))

    def borrow_too_much(self, arrival: int) -> None:
        """Have more books than allowed in the end; who has all that is allowed walks out with one
        more."""
        full = [p for p in self.here(arrival) if len(self.loans[p]) >= LIMIT]
        if full:
            self.through_the_door(arrival, self.random.choice(full))
            return
        patron = self.patron(arrival)
        missing = 0 if patron is None else LIMIT + 1 - len(self.loans[patron])
        self.to_the_counter(
            arrival, patron, missing + self.random.randint(0, 1), even_too_many=True
        )

    def walk_out(self, arrival: int) -> None:
        """Take a book and walk out with it, alone: the door checks it out."""
        self.through_the_door(arrival, self.patron(arrival, room=1))

    def bring_back(self, arrival: int) -> None:
        """Come in with books that are on loan, which go back to their shelves."""
        having = [patron for patron in self.here(arrival) if self.loans[patron]]
        if not having:
            self.borrow(arrival)
            return
        patron = self.random.choice(having)
        held = self.loans[patron]
        books = self.random.sample(held, self.random.randint(1, len(held)))
        door, entered = self.ways.enter(arrival, [Carrier((patron, *books))])
        self.plant(entered, "return", door, books, patron)
        for book in books:
            held.remove(book)
            self.stock.put_back(book, entered + self.seconds(10, 40))
        self.go(patron, entered + self.seconds(60, 90), [Carrier((patron,))])

    # -- what that is made of

    def to_the_counter(
        self, arrival: int, patron: str | None, requested: int, even_too_many: bool = False
    ) -> None:
        if patron is None:
            self.browse(arrival)
            return
        _, entered = self.ways.enter(arrival, [Carrier((patron,))])
        if not even_too_many:
            requested = min(requested, LIMIT - len(self.loans[patron]))
        books = self.take_books(entered, requested)
        carriers = [Carrier((patron, *books))]
        if books:
            _, left = self.check_out(patron, books, entered + self.seconds(60, 90), carriers)
            self.away_until[patron] = left + _MINUTE
        else:
            self.go(patron, entered + self.seconds(60, 90), carriers)

    def through_the_door(self, arrival: int, patron: str | None) -> None:
        if patron is None:
            self.browse(arrival)
            return
        _, entered = self.ways.enter(arrival, [Carrier((patron,))])
        books = self.take_books(entered, 1)
        door, left = self.go(patron, entered + self.seconds(60, 90), [Carrier((patron, *books))])
        for book in books:
            self.lend(patron, book, left, "walk-through", door)

    def check_out(
        self, patron: str, books: list[str], earliest: int, carriers: list[Carrier]
    ) -> tuple[str, int]:
        """Go to the counter, and leave soon after."""
        door, left, scans = self.ways.leave_by_the_counter(earliest, carriers, len(books))
        self.sensors.scan(patron, scans[0])
        for book, at in zip(books, scans[1:], strict=True):
            self.sensors.scan(book, at)
            self.lend(patron, book, at, "checkout", "counter")
        return door, left

    def lend(self, patron: str, book: str, at: int, kind: str, place: str) -> None:
        self.plant(at, kind, place, [book], patron)
        if len(self.loans[patron]) >= LIMIT:
            self.plant(at, "over the limit", place, [book], patron)
        self.loans[patron].append(book)

    def take_books(self, entered: int, requested: int) -> list[str]:
        """Take books from the shelves, as far as there are any."""
        books = self.stock.on_shelf(entered, self.random, requested)
        for book in books:
            self.stock.take(book, entered + self.seconds(10, 40))
        return books

    def go(self, patron: str | None, earliest: int, carriers: list[Carrier]) -> tuple[str, int]:
        door, left = self.ways.leave(earliest, carriers)
        if patron is not None:
            self.away_until[patron] = left + _MINUTE
        return door, left

    def plant(self, at: int, kind: str, place: str, books: list[str], *persons: str) -> None:
        self.planted += [Finding(at, kind, place, book, persons) for book in books]

    def here(self, arrival: int) -> list[str]:
        """The patrons who can come at a time: they are not in the library, nor just gone."""
        return [patron for patron, until in self.away_until.items() if until <= arrival]

    def patron(self, arrival: int, unlike: str | None = None, room: int = 0) -> str | None:
        """Somebody who can come, other than one, and may have so many books more."""
        choices = [
            patron
            for patron in self.here(arrival)
            if patron != unlike and len(self.loans[patron]) + room <= LIMIT
        ]
        return self.random.choice(choices) if choices else None

    def seconds(self, least: int, most: int) -> int:
        return self.random.randint(least * _SECOND, most * _SECOND)

    def watch_shelves(self) -> None:
        """Each shelf's antenna looks at one of its books after another, all day long."""
        closing = max(signal.at for signal in self.sensors.signals) + _AFTERWARDS
        standing = self.stock.standing(closing)
        for shelf in SHELVES:
            books = [book for book in (*REFERENCE, *BOOKS) if shelf_of(book) == shelf]
            for number, at in enumerate(range(0, closing, _SWEEP)):
                there = [book for book in books if standing(book, at)]
                self.sensors.sweep(there[number % len(there)], shelf, at)
        # The last look is never missed: it says that everything before it has been seen.
        self.sensors.handling(next(iter(REFERENCE)), SHELVES[0], closing)
