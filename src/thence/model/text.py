"""Text that is safe to show."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text without anything that a terminal would act on, or that would break a line.

    >>> printable("a\\tb\\x1b[31m")
    'a\\\\tb\\\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
