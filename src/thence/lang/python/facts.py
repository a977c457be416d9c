"""Facts in Python: rows of a table, or of a relation that only facts say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thence.lang.python.events import Table
from thence.lang.python.identity import Origin
from thence.lang.python.places import Place, calling_place
from thence.lang.python.values import Literal_, is_name, value_of
from thence.logic.expr import Const
from thence.model.errors import BuildError
from thence.model.schema import EventSchema


@dataclass(frozen=True, slots=True)
class Stated:
    """A row that a program says itself. Made by :func:`fact`."""

    relation: str
    values: tuple[Const, ...]
    schema: EventSchema | None
    place: Place


def fact(relation: type[Table] | str, /, *values: Any, **named: Any) -> Stated:
    """A row of a table, given as its class, or of a relation, given by its name.

    Values come in the order of the columns; those of a table may be given by name instead.

    >>> from thence.lang.python.events import table
    >>> Linked = table("linked", x=str, y=str)
    >>> [each.value for each in fact(Linked, "a", y="b").values]
    ['a', 'b']
    """
    schema: EventSchema | None = None
    declared: Origin | None = getattr(relation, "_declared", None)
    if declared is not None and declared.is_table:
        schema, name, columns = declared.schema, declared.name, declared.columns
        given = dict(zip(columns, values, strict=False)) | named
        if set(given) != set(columns) or len(values) + len(named) != len(columns):
            raise BuildError(f"the columns of this row are not those of {schema}, each once")
        values = tuple(given[each] for each in columns)
    elif isinstance(relation, str) and is_name(relation) and not named:
        name = relation
    else:
        raise BuildError(
            "fact takes a table and its values, fact(Linked, 'a', 'b'), or the name of a relation "
            f"and values in order, fact('linked', 'a', 'b'), not {relation!r}"
        )
    if not values:
        raise BuildError(f"a fact has values: fact({name!r}, 'a', 'b')")
    found = [value_of(value, "fact") for value in values]
    for value in found:
        if not isinstance(value, Literal_):
            raise BuildError(f"a fact holds plain values, and {value!r} is none")
    literals = tuple(value.const for value in found if isinstance(value, Literal_))
    return Stated(name, literals, schema, calling_place())
