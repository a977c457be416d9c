"""What the library has: books, patrons and places, with names for people to read."""

from __future__ import annotations

from types import MappingProxyType

DOORS = ("door-n", "door-s")
COUNTER = "counter"
SHELVES = ("shelf-1", "shelf-2", "shelf-3", "shelf-4")

PLACES = MappingProxyType(
    {
        "door-n": "the north door",
        "door-s": "the south door",
        COUNTER: "the counter",
        **{shelf: f"shelf {shelf[-1]}" for shelf in SHELVES},
    }
)

_TITLES = (
    "Beloved", "Brave New World", "Buddenbrooks", "Catch-22", "Cloud Atlas", "Don Quixote",
    "Dracula", "Dubliners", "Dune", "Emma", "Faust", "Frankenstein", "Hamlet", "Invisible Man",
    "Jane Eyre", "Kim", "Lolita", "Macbeth", "Middlemarch", "Moby-Dick", "Momo", "Mrs Dalloway",
    "Nana", "Neuromancer", "Nostromo", "Oblomov", "Orlando", "Persuasion", "Pnin", "Rebecca",
    "Siddhartha", "Solaris", "Stoner", "The Castle", "The Idiot", "The Trial", "Ulysses", "Walden",
    "War and Peace", "Wuthering Heights",
)  # fmt: skip
_REFERENCE = ("the atlas", "the dictionary", "the encyclopedia", "the thesaurus")
_NAMES = (
    "Ada", "Ben", "Chloe", "David", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaya",
    "Lena", "Milan", "Nora", "Omar", "Paula", "Quentin", "Rosa", "Samir", "Tilda",
)  # fmt: skip

BOOKS = MappingProxyType({f"B{number:03}": title for number, title in enumerate(_TITLES, 1)})
"""The books that can be borrowed, by their tags."""

REFERENCE = MappingProxyType(
    {f"B{number:03}": title for number, title in enumerate(_REFERENCE, 901)}
)
"""One book for each shelf that never leaves it."""

PATRONS = MappingProxyType({f"P{number:03}": name for number, name in enumerate(_NAMES, 1)})
"""The patrons, by their cards."""


def shelf_of(book: str) -> str:
    """The shelf on which a book belongs.

    >>> shelf_of("B001"), shelf_of("B006"), shelf_of("B904")
    ('shelf-1', 'shelf-2', 'shelf-4')
    """
    return SHELVES[(int(book[1:]) % 100 - 1) % len(SHELVES)]


def name_of(key: str) -> str:
    """What people call a book, a patron or a place.

    >>> name_of("B009"), name_of("P001"), name_of("door-n")
    ('Dune', 'Ada', 'the north door')
    """
    for names in (BOOKS, REFERENCE, PATRONS, PLACES):
        if key in names:
            return names[key]
    return key
