"""The columns of a definition: what they hold, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thence.lang.python.values import (
    Aggregated,
    AttributeOf,
    EndPoint,
    Value,
    Variable,
    is_name,
    value_of,
)
from thence.logic.heads import column_names
from thence.model.errors import BuildError

Term = tuple[str | None, Value | Aggregated]
"""A column's own name, if it was given one, and what it holds."""


def columns_of(
    event: object, values: Sequence[object], named: Mapping[str, object]
) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """The columns of a derived event and their names, which follow the rules of a head."""
    if not isinstance(event, str) or not is_name(event):
        raise BuildError(
            f"the name of an event is text on one line, not {event!r}: select('late', id=o.id)"
        )
    terms: list[Term] = []
    for value in values:
        if not isinstance(value, (Value, Aggregated)):
            raise BuildError(
                "a column that is neither attribute, variable nor computed needs a name: "
                f"select({event!r}, column={value!r})"
            )
        terms.append((None, value))
    for alias, value in named.items():
        if not is_name(alias):
            raise BuildError(f"the name of a column is one line, unlike {alias!r}")
        given = value if isinstance(value, Aggregated) else value_of(value, f"select({alias}=…)")
        terms.append((alias, given))
    return tuple(terms), column_names([(alias, preferred(value)) for alias, value in terms])


def preferred(value: Value | Aggregated) -> str | None:
    """The name that a value suggests by itself."""
    match value:
        case Variable(name) | AttributeOf(_, name):
            return name
        case EndPoint(_, which):
            return which
    return None
