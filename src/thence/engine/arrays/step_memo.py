"""What is known of arrays for as long as a step takes, so that rules over one relation share it.

Arrays do not change, so what was found out about one (the codes of a key, an order, an index) holds
for the next rule that reads the same one. Only arrays of some size are worth it, and none is kept
that is so large that holding on to it would matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_SMALLEST, _LARGEST = 1 << 8, 1 << 18
"""Between how many rows an array has to have."""

_MOST = 512
"""So many things are remembered at most; then the oldest are forgotten."""

_known: ContextVar[dict[tuple[Any, ...], tuple[Any, Any]] | None] = ContextVar(
    "known", default=None
)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember what is found out about arrays, up to the end of a block."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def remembered(
    what: str, arrays: tuple[Any, ...], details: tuple[Any, ...], find: Callable[[], T]
) -> T:
    """What ``find`` gives for some arrays, which are told by identity, and for some details.

    >>> with remembering():
    ...     array = list(range(1000))
    ...     first = remembered("sum", (array,), (), lambda: [sum(array)])
    ...     first is remembered("sum", (array,), (), lambda: [sum(array)])
    True
    """
    known = _known.get()
    if known is None or not _SMALLEST <= max(map(len, arrays)) <= _LARGEST:
        return find()
    key = (what, *map(id, arrays), *details)
    entry = known.get(key)
    if entry is None:
        if len(known) >= _MOST:
            del known[next(iter(known))]
        # The arrays are held on to, so that no other one has their identity.
        entry = known[key] = arrays, find()
    found: T = entry[1]
    return found
