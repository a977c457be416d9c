"""Names that are nearly right: which one was probably meant."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise

LONGEST = 200
"""A longer name than this is no slip of a known one, and would take long to compare."""
FEW = 64
"""Up to so many known names are all compared."""
COMPARED = 4
"""Of more than a few known names, so many are compared."""


def nearest(name: str, known: Iterable[str], also: Iterable[str] = ()) -> str | None:
    """The known name that is most like the one given, if any is much like it; case is no matter.

    What is known only in some place, such as the labels of a rule, is given as ``also``: the other
    names, if they are many, are prepared once for all that is looked up in them.

    >>> nearest("ordr", ["shipped", "order"])
    'order'
    >>> nearest("x", ["shipped", "order"]) is None
    True
    """
    if len(name) > LONGEST:
        return None
    requested = name.lower()
    found: list[str] = []
    for names in (tuple(known), tuple(also)):
        found += names if len(names) <= FEW else _prepared(names).likest(requested)
    lowered = {each.lower(): each for each in sorted(found, reverse=True)}
    likest = get_close_matches(requested, lowered, n=1)
    return lowered[likest[0]] if likest else None


_RECENT: deque[_Index] = deque(maxlen=4)
"""The names that were looked up in last. To compare thousands of them, which are mostly the very
same objects, takes less than to hash them."""


def _prepared(known: tuple[str, ...]) -> _Index:
    for index in tuple(_RECENT):
        if len(index.known) == len(known) and index.known == known:
            return index
    index = _Index(known)
    _RECENT.appendleft(index)
    return index


class _Index:
    """Many names by the pairs of neighbouring letters in them, their ends included.

    Names that are much alike share pairs, so only those that share the most need be compared letter
    by letter.
    """

    def __init__(self, known: tuple[str, ...]) -> None:
        import numpy as np  # noqa: PLC0415 (slow to load, and rarely needed)

        self.known = known
        found: dict[str, list[int]] = {}
        for at, each in enumerate(known):
            for pair in _pairs(each.lower()):
                found.setdefault(pair, []).append(at)
        # A pair that many names have is a row of all names, which is added faster.
        many = len(known) // 8
        self.names_with = {pair: np.array(at) for pair, at in found.items() if len(at) <= many}
        self.rows = {
            pair: np.bincount(at, minlength=len(known)).astype(np.float32)
            for pair, at in found.items()
            if len(at) > many
        }
        self.lengths = np.array([len(each) for each in known], np.float32)

    def likest(self, name: str) -> list[str]:
        """The names that share the most with one in lower case, for their lengths."""
        import numpy as np  # noqa: PLC0415

        shared = np.zeros(len(self.known), np.float32)
        for pair in _pairs(name):
            if pair in self.rows:
                shared += self.rows[pair]
            elif pair in self.names_with:
                shared[self.names_with[pair]] += 1.0
        alike = shared / (self.lengths + len(name) + 2)
        near = np.flatnonzero(alike >= 0.6 * alike.max())
        if len(near) > COMPARED:
            near = near[np.argpartition(alike[near], -COMPARED)[-COMPARED:]]
        return [self.known[at] for at in near.tolist()]


def _pairs(name: str) -> set[str]:
    return set(map("".join, pairwise(f"\n{name}\n")))


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str | None = None, also: Iterable[str] = ()
) -> str | None:
    """A hint that names the known name most like the one given, or else the hint given.

    >>> did_you_mean("pruduct", ["id", "product"])
    "did you mean 'product'?"
    """
    close = nearest(name, known, also)
    return otherwise if close is None else f"did you mean '{close}'?"


def no_attribute(event: str, attribute: str, known: Iterable[str]) -> tuple[str, str]:
    """What to say where an attribute is read that an event does not have, and a hint.

    >>> no_attribute("order", "pruduct", ["id", "product"])
    ("'order' has no attribute 'pruduct'", "did you mean 'product'?")
    """
    listed = tuple(known)
    hint = did_you_mean(attribute, listed) or f"it has {', '.join(listed)}"
    return f"'{event}' has no attribute '{attribute}'", hint


def question(name: object, known: Iterable[str]) -> str:
    """The same as a sentence to go on with, or nothing.

    >>> question("Ordr", ["order"])
    " Did you mean 'order'?"
    """
    close = nearest(str(name), known)
    return "" if close is None else f" Did you mean '{close}'?"
