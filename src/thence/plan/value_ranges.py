"""Rows of a table by their values: in a range, ``lo <= x and x < hi``, or around a point.

A row of a table has no time that a search could go by. But where a column of it must not be greater
than something that is known by then, and perhaps the same or another column not less, the rows that
can fit lie together once the table is in the order of the one column. So such rows are found by a
range search; the conditions are still looked at for each of them. Where a column holds shapes, and
a point must be inside, a spatial index does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from thence.logic.conjunct import Column, WindowUse
from thence.logic.expr import Call, Const, Expr
from thence.model.types import FLOAT

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

_FURTHER = 1.000000001
"""By how much further one must look, since distances are rounded."""
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


@dataclass(frozen=True, slots=True)
class Place:
    """Rows with a column that holds a shape, which a point must be inside of."""

    column: str
    x: Expr
    y: Expr


def _place(
    prepared: Prepared, bound: frozenset[int], atom: int, predicates: Sequence[Expr]
) -> Place | None:
    for predicate in predicates:
        match predicate:
            case Call("inside", (x, y, Column(of, name))) if of == atom:
                if prepared.atoms_of(prepared.reads(x) | prepared.reads(y)) <= bound:
                    return Place(name, x, y)
    return None


def ways_into(
    prepared: Prepared, bound: Iterable[int], atom: int, predicates: Sequence[Expr]
) -> tuple[ValueRange | None, Place | None]:
    """The range in which the rows of a table lie that go with some bound atoms, and the point that
    their shapes are around; None for what nothing says."""
    if not prepared.uses[atom].fact or not prepared.by_values:
        return None, None
    known = frozenset(bound)
    return (
        _value_range(prepared, known, atom, predicates),
        _place(prepared, known, atom, predicates),
    )


def ways_into_window(
    prepared: Prepared, window: WindowUse
) -> tuple[ValueRange | None, Place | None]:
    """The same for rows that a table must not have, given the whole match."""
    bound = prepared.conjunct.positive
    return ways_into(prepared, bound, window.atom, window.predicates)


def shape_columns(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """The tables of which some condition or result asks what is inside, and the columns."""
    conjunct = prepared.conjunct
    terms = [*conjunct.predicates, *(p for w in conjunct.windows for p in w.predicates)]
    stack: list[Any] = [*terms, *conjunct.head.terms, *conjunct.having]
    while stack:
        node = stack.pop()
        match node:
            case Call("inside", (_, _, Column(atom, name))) if prepared.uses[atom].fact:
                yield prepared.uses[atom].event, name
        if isinstance(node, Call):
            stack += node.args


def _value_range(
    prepared: Prepared, bound: frozenset[int], atom: int, predicates: Sequence[Expr]
) -> ValueRange | None:
    """One column with both ends comes before two columns with one each."""
    most: list[Limit] = []
    least: list[Limit] = []
    for predicate in (part for each in predicates for part in (each, *_implied(each, atom))):
        match predicate:
            case Call("<" | "<=" | ">" | ">=" as sign, (left, right)):
                for own, other, word in ((left, right, sign), (right, left, _TURNED[sign])):
                    if not isinstance(own, Column) or own.atom != atom:
                        continue
                    if prepared.atoms_of(prepared.reads(other)) <= bound:
                        limit = Limit(own.name, other, word[-1] == "=")
                        (most if word[0] == "<" else least).append(limit)
    for above, below in product(most, least):
        if above.column == below.column:
            return ValueRange(above, below)
    if not most and not least:
        return None
    return ValueRange(most[0] if most else None, least[0] if least else None)


def _implied(predicate: Expr, atom: int) -> Iterator[Expr]:
    """What follows for a column if a point of a table must not be far away: it is no further away
    along one axis."""
    match predicate:
        case Call("<" | "<=", (Call("distance", (x1, _, x2, _)), most)):
            pass
        case Call(">" | ">=", (most, Call("distance", (x1, _, x2, _)))):
            pass
        case _:
            return
    reach = Call("*", (most, Const(_FURTHER, FLOAT)))
    for own, other in ((x1, x2), (x2, x1)):
        if isinstance(own, Column) and own.atom == atom:
            yield Call("<=", (own, Call("+", (other, reach))))
            yield Call(">=", (own, Call("-", (other, reach))))
