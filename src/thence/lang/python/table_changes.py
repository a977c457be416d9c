"""Tables that events change, in Python: ``on(o, insert(Linked, x=o.a, y=o.b))``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thence.lang.python.events import Table
from thence.lang.python.identity import Origin
from thence.lang.python.patterns import Definition, Pattern
from thence.lang.python.places import Place
from thence.lang.python.values import Value, value_of
from thence.model.errors import BuildError
from thence.model.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class TableChange:
    """A row that is inserted, or rows that are deleted. Made by ``insert`` and ``delete``."""

    verb: Literal["insert", "delete"]
    table: Origin
    terms: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ChangeReaction:
    """What an event does to a table. Made by ``on``; give it to ``thence.build``."""

    definition: Definition
    action: TableChange
    place: Place

    @property
    def schema(self) -> EventSchema:
        """That of the table that is changed."""
        assert self.action.table.schema is not None
        return self.action.table.schema


def insert(table: type[Table], /, *values: Any, **named: Any) -> TableChange:
    """A row that an event inserts into a table; it has a value in each column, in their order or by
    their names."""
    return _change("insert", table, values, named)


def delete(table: type[Table], /, *values: Any, **named: Any) -> TableChange:
    """The rows that an event deletes from a table: all that have some values in some columns."""
    return _change("delete", table, values, named)


def _change(
    verb: Literal["insert", "delete"],
    table: object,
    values: tuple[Any, ...],
    named: Mapping[str, Any],
) -> TableChange:
    if not (isinstance(table, type) and issubclass(table, Table)) or table._declared is None:
        raise BuildError(f"{verb} takes a table and values: {verb}(Linked, x=o.a), not {table!r}")
    columns = table._declared.columns
    given = dict(zip(columns, values, strict=False)) | dict(named)
    fits = len(given) == len(values) + len(named) and given.keys() <= set(columns)
    if not fits or (verb == "insert" and len(given) < len(columns)):
        raise BuildError(
            f"{verb}: the columns of this row are not those of {table._declared.schema}"
        )
    terms = tuple((name, value_of(given[name], verb)) for name in columns if name in given)
    return TableChange(verb, table._declared, terms)


def changed_by(pattern: Pattern, action: TableChange, place: Place) -> ChangeReaction:
    """What an event does to a table, wherever it happens."""
    name = f"{action.verb} {action.table.name}"
    columns = tuple(column for column, _ in action.terms)
    definition = Definition(name, columns, action.terms, pattern, place)
    return ChangeReaction(definition, action, place)
