"""By which columns remembered events are looked up, given events at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thence.logic.conjunct import Column

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

Link = tuple[str, str]
"""A column of a remembered event, and one of an event at hand that it must equal."""


def equal_columns(prepared: Prepared, atom: int, other: int) -> Iterator[Link]:
    """Columns of an atom, of the match or of a window, that equal one of an atom of the match."""
    window, links = prepared.window(atom), prepared.conjunct.links
    if window is None:
        for link in links:
            theirs = next((column.name for column in link if column.atom == other), None)
            if theirs is not None:
                yield from ((column.name, theirs) for column in link if column.atom == atom)
        return
    for name, expr in window.links:
        same = next((link for link in links if expr in link), (expr,))
        of_other = (c for c in same if isinstance(c, Column) and c.atom == other)
        yield from ((name, column.name) for column in of_other)
