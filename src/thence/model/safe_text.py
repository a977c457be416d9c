"""Text that is safe to show."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but for line breaks and tabs, and halves of characters."""
LONGEST = 1000
"""How many characters of a text are shown at most, where it is part of what is said."""


def shortened(text: str, most: int = LONGEST) -> str:
    """A text of which the middle is left out if it is long, such as one that quotes a program.

    >>> shortened("abcdefghij", 5)
    'abc … ij'
    """
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end]} … {text[-end:]}"


def printable(text: str) -> str:
    """The text without anything that a terminal would act on, or that would break a line.

    >>> printable("a\\tb\\x1b[31m")
    'a\\\\tb\\\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def message(text: str) -> str:
    """The text of a message, which may have several lines, without anything that a terminal would
    act on or that cannot be printed.

    >>> print(message("no file 'a\\x1b[2J\\ud800',\\n  anywhere"))
    no file 'a\\x1b[2J\\ud800',
      anywhere
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
