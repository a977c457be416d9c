"""Events in Python: declared as classes, or by :func:`event`; derived ones by name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from thence.lang import syntax as s
from thence.lang.parser import parse_syntax
from thence.lang.python.identity import Origin, Tag
from thence.lang.python.patterns import Occurrence
from thence.lang.python.values import Attribute as AttributeType
from thence.lang.python.values import is_name, micros
from thence.model.errors import BuildError, ParseError
from thence.model.schema import Attribute, EventSchema, RowsFrom, Validity
from thence.model.source import Source
from thence.model.table_names import parts_of
from thence.model.types import (
    BOOL,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

E = TypeVar("E", bound="Event")

_PYTHON_TYPES: dict[Any, Type] = {
    int: INT, float: FLOAT, bool: BOOL, str: STRING, datetime: TIMESTAMP, timedelta: DURATION,
    Decimal: DECIMAL,
}  # fmt: skip


def _check_names(*names: str) -> None:
    for each in names:
        if not is_name(each):
            raise BuildError(f"names of events and attributes are one line, unlike {each!r}")


def _validity(valid: Any, name: str) -> Validity:
    """The columns that say when rows are valid.

    >>> print(_validity(("since", None), "rank"))
    valid from since
    """
    match valid:
        case (str() | None as since, str() | None as until) if since != until:
            _check_names(*(column for column in valid if column is not None))
            return Validity(since, until)
    raise BuildError(
        f"valid of '{name}' must be two columns, ('since', 'until'), one of which may be None, not "
        f"{valid!r}"
    )


def _check_validity(schema: EventSchema) -> None:
    for column in () if schema.valid is None else schema.valid.columns:
        kind = schema.type_of(column)
        if kind is not None and kind != TIMESTAMP:
            raise BuildError(
                f"'{column}' says when rows of '{schema.name}' are valid, so it cannot be {kind}: "
                "declare it as datetime, or leave it out"
            )


class Event(Occurrence):
    """A type of event, declared as a class; calling the class makes an event for a pattern.

    >>> class Order(Event, name="order"):
    ...     id: str
    ...     qty: int
    >>> Order("o", qty=3)
    <thence event o: order(qty=3)>

    ``name`` is what the event is called, the class's name if not given; ``within`` is how long
    such an event lasts at most.
    """

    _declared: ClassVar[Origin | None] = None
    _is_table: ClassVar[bool] = False

    def __init__(self, label: str | None = None, /, **attributes: Any) -> None:
        origin = type(self)._declared
        if origin is None:
            raise BuildError(
                "Event is what types of events are made of; declare one: "
                "class Order(Event): …, or event('order', id=str)"
                if not self._is_table
                else "Table is what tables are made of; declare one: class Catalogue(Table): …, or "
                "table('catalogue', id=str)"
            )
        self._fill(origin, Tag(label), attributes)

    def __init_subclass__(
        cls,
        name: str | None = None,
        within: Any = None,
        attributes: Mapping[str, Any] | None = None,
        source: Any = None,
        valid: Any = None,
        **others: Any,
    ) -> None:
        super().__init_subclass__(**others)
        called = cls.__name__ if name is None else name
        given = _annotated(cls) if attributes is None else attributes
        _check_names(called, *given)
        if cls._is_table and within is not None:
            raise BuildError(
                f"the rows of '{called}' have no time, so `within` says nothing of them"
            )
        if source is not None and not cls._is_table:
            raise BuildError(f"'{called}' is an event, whose rows are given when a program is run")
        if valid is not None and not cls._is_table:
            raise BuildError(
                f"'{called}' is an event, which happens when it happens: only rows of "
                "tables are `valid`"
            )
        schema = EventSchema(
            called,
            tuple(
                Attribute(each, type_of(kind, f"{called}.{each}")) for each, kind in given.items()
            ),
            None if within is None else micros(within, "within"),
            cls._is_table,
            rows_from=None if source is None else _rows_from(source, called),
            valid=None if valid is None else _validity(valid, called),
        )
        _check_validity(schema)
        cls._declared = Origin(called, schema.names, schema=schema)


class Table(Event, attributes={}):
    """A static table, declared as a class; calling the class makes a row for a pattern.

    Its rows are facts: true at all times, and given beside the events when a program is run.

    >>> class Catalogue(Table, name="catalogue"):
    ...     book: str
    ...     title: str
    >>> Catalogue("c", title="Emma")
    <thence row c: catalogue(title='Emma')>

    ``source`` is where its rows are, unless others are given: the path of a file, or the name of a
    table of Spark or of PostgreSQL, as in ``source=("postgres", "public.books")``. ``valid`` names
    the columns that say from when, and up to when, a row is valid, ``valid=("since", "until")``;
    None in place of one is a side without a bound.
    """

    _is_table = True


Table._declared = None


def event(
    name: str, attributes: Mapping[str, Any] | None = None, /, *, within: Any = None, **named: Any
) -> type[Event]:
    """Declare a type of event: ``Tick = event("tick", id=str, price=float)``.

    Types are Python's (``int``, ``float``, ``bool``, ``str``, ``datetime``, ``timedelta``,
    ``Decimal``, ``list[int]``) or text as in the rule language, ``"decimal(10, 2)"``. Attributes
    whose names are not Python's stand in a dict before the others.
    """
    if not isinstance(name, str):
        raise BuildError(f"an event needs a name: event('tick', id=str), not {name!r}")
    listed = {**(attributes or {}), **named}
    return _made(Event, name, "event", {"attributes": listed, "within": within})


def table(
    name: str,
    attributes: Mapping[str, Any] | None = None,
    /,
    *,
    source: Any = None,
    valid: Any = None,
    **named: Any,
) -> type[Table]:
    """Declare a static table: ``Catalogue = table("catalogue", book=str, title=str)``.

    Its columns have the types that attributes of events have; see :func:`event`. ``source`` is
    where its rows are, and ``valid`` when they are valid, as for :class:`Table`.
    """
    if not isinstance(name, str):
        raise BuildError(f"a table needs a name: table('catalogue', id=str), not {name!r}")
    listed = {**(attributes or {}), **named}
    if not listed:
        raise BuildError(f"a table needs columns: table({name!r}, id=str)")
    return _made(Table, name, "table", {"attributes": listed, "source": source, "valid": valid})


def _rows_from(source: Any, name: str) -> RowsFrom:
    """Where rows are: a path, or a pair of what has them and a table's name there.

    >>> print(_rows_from("books.csv", "b"), _rows_from(("spark", "db.books"), "b"))
    from 'books.csv' from spark 'db.books'
    """
    match source:
        case str() | Path():
            found = RowsFrom("file", str(source))
        case ("spark" | "postgres" as kind, str(where)):
            found = RowsFrom(kind, where)
        case _:
            raise BuildError(
                f"source of '{name}' must be a path, ('spark', 'db.name') or ('postgres', "
                f"'schema.name'), not {source!r}"
            )
    if not found.name.strip() or "\n" in found.name:
        raise BuildError(f"source of '{name}' must be one line, and not empty, unlike {source!r}")
    if found.kind == "postgres":
        try:
            parts_of(found.name)
        except ValueError as problem:
            raise BuildError(f"source of '{name}' is no name of a table: {problem}") from None
    return found


def _made(base: type[E], name: str, kind: str, options: dict[str, Any]) -> type[E]:
    _check_names(name)
    doc = {"__doc__": f"The {kind} {name}."}
    return types.new_class(name, (base,), {"name": name, **options}, lambda made: made.update(doc))


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived event that is defined elsewhere, or later. Made by :func:`derived`."""

    name: str
    columns: tuple[str, ...]
    rows: bool = False

    def __call__(self, label: str | None = None, /, **attributes: Any) -> Occurrence:
        """An occurrence of the derived event, with a label if one is given; or a row of the
        relation."""
        origin = Origin(self.name, self.columns, rows=self.rows)
        return Occurrence._made(origin, Tag(label), attributes)


def derived(name: str, *columns: str) -> Derived:
    """A derived event by its name and columns, for patterns that stand before its definition.

    Two definitions that need each other can be written with it.
    """
    if not all(isinstance(each, str) for each in (name, *columns)):
        raise BuildError("derived takes names: derived('path', 'x', 'y')")
    _check_names(name, *columns)
    return Derived(name, columns)


def relation(name: str, *columns: str) -> Derived:
    """A relation by its name and columns, for patterns that stand before its definition, as the
    rules of a recursion do: ``Reachable = relation("reachable", "x", "y")``.
    """
    if not all(isinstance(each, str) for each in (name, *columns)):
        raise BuildError("relation takes names: relation('reachable', 'x', 'y')")
    _check_names(name, *columns)
    return Derived(name, columns, rows=True)


def _annotated(cls: type) -> dict[str, Any]:
    """The attributes that a class and those it is made of declare, with their types."""
    try:
        hints = get_type_hints(cls)
    except NameError as problem:
        raise BuildError(
            f"the type of an attribute of {cls.__name__} is not known here: {problem}; declare it "
            "where its type is imported, or with event(…)"
        ) from None
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Event) and base not in (Event, Table):
            names |= dict.fromkeys(inspect.get_annotations(base))
    for name in names:
        if hasattr(cls, name) and name in vars(cls):
            raise BuildError(f"the attribute '{name}' of {cls.__name__} cannot have a default")
    return {name: hints[name] for name in names}


def type_of(kind: Any, what: str) -> Type:
    """The type of the language that a Python type, or a text, stands for.

    >>> str(type_of(list[int], "x")), str(type_of("decimal(10, 2)", "x")), str(type_of(str, "x"))
    ('list<int>', 'decimal(10, 2)', 'string')
    """
    if isinstance(kind, Type):
        return kind
    if isinstance(kind, str):
        return _written(kind, what)
    if get_origin(kind) in (Union, types.UnionType):
        # Every attribute may be null, so `str | None` says nothing more than `str`.
        inner = [each for each in get_args(kind) if each is not type(None)]
        if len(inner) == 1:
            return type_of(inner[0], what)
    if get_origin(kind) is AttributeType:
        return type_of(get_args(kind)[0], what)
    if get_origin(kind) is list:
        return list_of(type_of(get_args(kind)[0], what))
    found = _PYTHON_TYPES.get(kind) if isinstance(kind, type) else None
    if found is None:
        raise BuildError(
            f"{what} has the type {kind!r}, which events do not have; use int, float, bool, str, "
            "datetime, timedelta, Decimal, list[…], or text such as 'decimal(10, 2)'"
        )
    return found


def _written(text: str, what: str) -> Type:
    try:
        (declared,) = parse_syntax(Source(f"event e(x {text});"))
    except (ParseError, ValueError):
        declared = None
    if not isinstance(declared, s.EventDecl) or len(declared.columns) != 1:
        raise BuildError(
            f"{what} has the type {text!r}, which is none; types are int, float, bool, string, "
            "timestamp, duration, decimal(p, s) and list<…>"
        )
    return declared.columns[0].type
