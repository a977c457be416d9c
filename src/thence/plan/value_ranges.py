"""Rows of a table by a range of their values: ``lo <= x and x < hi``.

A row of a table has no time that a search could go by. But where a column of it must not be greater
than something that is known by then, and perhaps the same or another column not less, the rows that
can fit lie together once the table is in the order of the one column. So such rows are found by a
range search; the conditions are still looked at for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from thence.logic.conjunct import Column
from thence.logic.expr import Call, Expr

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Limit:
    """What a column of a row is compared with, and whether it may be equal to that."""

    column: str
    other: Expr
    equal: bool


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Rows with a column that is not above something, and one that is not below something."""

    most: Limit | None
    least: Limit | None

    @property
    def is_closed(self) -> bool:
        """Whether it has two ends."""
        return self.most is not None and self.least is not None


def value_range(
    prepared: Prepared, bound: Iterable[int], atom: int, predicates: Iterable[Expr]
) -> ValueRange | None:
    """The range in which the rows of a table lie that go with some bound atoms; None where nothing
    says so. One column with both ends comes before two columns with one each."""
    if not prepared.uses[atom].fact or not prepared.by_values:
        return None
    most: list[Limit] = []
    least: list[Limit] = []
    for predicate in predicates:
        match predicate:
            case Call("<" | "<=" | ">" | ">=" as sign, (left, right)):
                for own, other, word in ((left, right, sign), (right, left, _TURNED[sign])):
                    if not isinstance(own, Column) or own.atom != atom:
                        continue
                    if prepared.atoms_of(prepared.reads(other)) <= set(bound):
                        limit = Limit(own.name, other, word[-1] == "=")
                        (most if word[0] == "<" else least).append(limit)
    for above, below in product(most, least):
        if above.column == below.column:
            return ValueRange(above, below)
    if not most and not least:
        return None
    return ValueRange(most[0] if most else None, least[0] if least else None)
