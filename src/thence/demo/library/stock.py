"""Which books stand on their shelves, and since when."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from thence.demo.library.catalogue import BOOKS, REFERENCE, shelf_of
from thence.demo.library.sensors import Sensors


class Stock:
    """The shelves, as books are taken and put back, in milliseconds after the opening."""

    def __init__(self, sensors: Sensors) -> None:
        self._sensors = sensors
        self._since: dict[str, int] = dict.fromkeys(BOOKS, 0)
        self._stood: dict[str, list[tuple[int, int]]] = {}

    def on_shelf(self, at: int, random: Random, requested: int) -> list[str]:
        """Some of the books that stand on the shelves from a time on, as far as there are any."""
        there = [book for book, since in self._since.items() if since <= at]
        return random.sample(there, min(requested, len(there)))

    def take(self, book: str, at: int) -> int:
        """Take a book from its shelf."""
        self._stood.setdefault(book, []).append((self._since.pop(book), at))
        self._sensors.handling(book, shelf_of(book), at)
        return at

    def put_back(self, book: str, at: int) -> None:
        """Put a book on its shelf."""
        self._since[book] = at
        self._sensors.handling(book, shelf_of(book), at)

    def standing(self, closing: int) -> Callable[[str, int], bool]:
        """Whether a book stands on its shelf at a time, once the day is over."""
        stood = {book: list(spans) for book, spans in self._stood.items()}
        for book, since in self._since.items():
            stood.setdefault(book, []).append((since, closing))

        def there(book: str, at: int) -> bool:
            return book in REFERENCE or any(a <= at < b for a, b in stood.get(book, ()))

        return there
