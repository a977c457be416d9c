"""Names of events as names of files: the one way from what a rule is called to where it is written.

A rule may be called anything in backquotes, also ``../../etc`` or ``/dev/sda``. What is made of its
name here is a single part of a path on every file system: it holds no separator, no dot, no control
character, is never empty and never too long, and no two names share it. An ordinary name stays as
it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import unquote_to_bytes

LONGEST = 120
"""Bytes that a name takes at most; endings and the marks of temporary files come on top."""

_PLAIN = frozenset("_-")
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])")
"""What Windows takes for a device, whatever ending follows."""


def file_name(event: str) -> str:
    r"""The name of an event as a part of a path, without an ending.

    Whatever is not a letter, a digit, ``_`` or ``-`` is written as ``%`` and two digits for each of
    its bytes; so is a first letter that would hide the file or make a device of it.

    >>> file_name("BookLifted_2"), file_name("größe")
    ('BookLifted_2', 'größe')
    >>> file_name("../../victim"), file_name("a\0b"), file_name(""), file_name("con")
    ('%2E%2E%2F%2E%2E%2Fvictim', 'a%00b', '%', '%63on')
    """
    if not event:
        return "%"
    first = event[0]
    if first in _PLAIN or _DEVICES.fullmatch(event):
        written = _escaped(first) + _spelt(event[1:])
    else:
        written = _spelt(event)
    if len(written.encode()) <= LONGEST:
        return written
    # A digest tells long names apart; nothing else that is written here holds a tilde.
    kept = written.encode()[: LONGEST - 33].decode("utf-8", "ignore")
    return f"{kept}~{_digest(event, 32)}"


def file_names(events: Iterable[str]) -> dict[str, str]:
    """The names of events as parts of paths in one folder: no two are the same, even where case or
    the form of an accent makes no difference to a file system.

    >>> file_names(["Order", "shipped"])
    {'Order': 'Order', 'shipped': 'shipped'}
    >>> sorted(name[:6] for name in file_names(["Order", "order"]).values())
    ['Order~', 'order']
    """
    found = {event: file_name(event) for event in events}
    alike: dict[str, list[str]] = {}
    for event, name in found.items():
        alike.setdefault(_folded(name), []).append(event)
    for several in alike.values():
        for event in several if len(several) > 1 else ():
            if found[event] != _folded(found[event]):
                found[event] += f"~{_digest(event, 8)}"
    return found


def event_name(stem: str) -> str:
    """The event that a file is named after, as far as its name tells.

    >>> event_name("order"), event_name("%2E%2E%2Fvictim")
    ('order', '../victim')
    """
    if stem == "%":
        return ""
    try:
        return unquote_to_bytes(stem).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # somebody else's file, with a % of its own
        return stem


def _spelt(text: str) -> str:
    return "".join(c if c in _PLAIN or _is_ordinary(c) else _escaped(c) for c in text)


def _is_ordinary(character: str) -> bool:
    """A letter or digit that is written in one way only."""
    return character.isalnum() and unicodedata.normalize("NFKC", character) == character


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _digest(event: str, digits: int) -> str:
    return sha256(event.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name.casefold())
