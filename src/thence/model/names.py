"""Names that are nearly right: which one was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like the one given, if any is much like it; case is no matter.

    >>> nearest("ordr", ["shipped", "order"])
    'order'
    >>> nearest("x", ["shipped", "order"]) is None
    True
    """
    names = {each.lower(): each for each in sorted(known, reverse=True)}
    close = get_close_matches(name.lower(), names, n=1)
    return names[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint that names the known name most like the one given, or else the hint given.

    >>> did_you_mean("pruduct", ["id", "product"])
    "did you mean 'product'?"
    """
    close = nearest(name, known)
    return otherwise if close is None else f"did you mean '{close}'?"


def question(name: object, known: Iterable[str]) -> str:
    """The same as a sentence to go on with, or nothing.

    >>> question("Ordr", ["order"])
    " Did you mean 'order'?"
    """
    close = nearest(str(name), known)
    return "" if close is None else f" Did you mean '{close}'?"
