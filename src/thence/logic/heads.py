"""How the columns of a derived event are called.

A column takes the name that ``as`` gives it, else the variable's or the attribute's, else
``c<position>``. A name that is taken, or that every result has anyway (``start``, ``end``, …),
falls back to the position too. All rules of one head share the names of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from thence.logic.expr import Aggregate, Attr, Expr, TimeOf, Var
from thence.model.schema import RESERVED_ATTRIBUTES


def preferred_name(value: Expr | Aggregate) -> str | None:
    """The name that a head term suggests by itself.

    >>> preferred_name(Var("id")), preferred_name(Attr("b", "price"))
    ('id', 'price')
    >>> preferred_name(Aggregate("count", None)) is None
    True
    """
    match value:
        case Var(name) | Attr(_, name):
            return name
        case TimeOf(_, which):
            return which
    return None


def column_names(terms: Sequence[tuple[str | None, str | None]]) -> tuple[str, ...]:
    """The columns of a head from each term's ``as`` name and preferred name.

    >>> column_names([(None, "id"), (None, None), (None, "id"), ("n", "x")])
    ('id', 'c2', 'c3', 'n')
    """
    names: list[str | None] = [alias for alias, _ in terms]
    taken = set(RESERVED_ATTRIBUTES).union(name for name in names if name is not None)
    for at, (_, preferred) in enumerate(terms):
        if names[at] is None and preferred is not None and preferred not in taken:
            names[at] = preferred
            taken.add(preferred)
    for at, name in enumerate(names):
        if name is None:
            name = f"c{at + 1}"
            while name in taken:
                name += "_"
            names[at] = name
            taken.add(name)
    return tuple(name for name in names if name is not None)
