"""What is known of arrays for as long as a step takes, so that rules over one relation share it.

Arrays do not change, so what was found out about one (the codes of a key, an order, an index) holds
for the next rule that reads the same one. Only arrays of some size are worth it, and none is kept
that is so large that holding on to it would matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import ref

T = TypeVar("T")

_SMALLEST = 1 << 8
"""How many rows an array has to have at least."""


@dataclass(slots=True)
class Memo:
    """What is remembered: of arrays with at most so many rows, at most so many things; then those
    are forgotten that nobody has asked for the longest."""

    largest: int = 1 << 18
    most: int = 512
    entries: dict[tuple[Any, ...], tuple[Any, Any]] = field(default_factory=dict)


_known: ContextVar[Memo | None] = ContextVar("known", default=None)


@contextmanager
def remembering(memo: Memo | None = None) -> Iterator[None]:
    """Remember what is found out about arrays, up to the end of a block; with a memo, what is
    remembered there as well, and further on."""
    token = _known.set(Memo() if memo is None else memo)
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
    memo = _known.get()
    if memo is None or not _SMALLEST <= max(map(len, arrays)) <= memo.largest:
        return find()
    known = memo.entries
    key = (what, *map(id, arrays), *details)
    entry = known.pop(key, None)
    if entry is None:
        # The arrays are held on to, so that no other one has their identity.
        entry = arrays, find()
        if len(known) >= memo.most:
            del known[next(iter(known))]
    known[key] = entry
    found: T = entry[1]
    return found


_kept: dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]] = {}


def kept_with(
    what: str, arrays: tuple[Any, ...], details: tuple[Any, ...], find: Callable[[], T]
) -> T:
    """What ``find`` gives for some Arrow arrays, as long as these are there: for columns of tables,
    which outlast a step.

    >>> import pyarrow as pa
    >>> column = pa.array([3, 1])
    >>> first = kept_with("sorted", (column,), (), lambda: sorted(column.to_pylist()))
    >>> first is kept_with("sorted", (column,), (), lambda: sorted(column.to_pylist()))
    True
    """
    key = (what, *map(id, arrays), *details)
    entry = _kept.get(key)
    if entry is None or any(ref() is not each for ref, each in zip(entry[0], arrays, strict=True)):
        refs = tuple(ref(each, lambda _: _kept.pop(key, None)) for each in arrays)
        entry = _kept[key] = refs, find()
    found: T = entry[1]
    return found
