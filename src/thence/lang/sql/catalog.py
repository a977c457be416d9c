"""Which columns the streams of a program have, as far as its queries need to know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thence.lang import syntax as s
from thence.lang.heads import head_of, suggested_name
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.model.schema import RESERVED_ATTRIBUTES
from thence.model.source import Span

Statement = s.Definition | q.CreateEvent


@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a query is called: by AS, or by the column that it reads, and its alias."""

    given: str | None
    suggested: str | None
    alias: str | None
    span: Span


def columns_in_order(statements: Sequence[Statement]) -> dict[str, tuple[str, ...]]:
    """The columns of every stream that can be told without those of others.

    What is left out are queries with ``*``: their columns follow from what they read.
    """
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for statement in statements:
        if statement.name in seen or isinstance(statement, s.FactDecl):
            continue
        seen.add(statement.name)
        match statement:
            case s.EventDecl():
                found[statement.name] = tuple(column.name for column in statement.columns)
            case s.RuleDecl():
                found[statement.name] = head_of(statement).columns
            case q.CreateEvent() if not q.selects_all(statement.query):
                items = q.select_of(statement.query).items
                terms = [column_of(item) for item in items if isinstance(item, s.Term)]
                try:
                    found[statement.name] = column_names(terms)
                except Refused:
                    found[statement.name] = ()  # reported when the query itself is looked at
    for fact in statements:
        if isinstance(fact, s.FactDecl) and fact.name not in seen:
            found[fact.name] = tuple(f"c{place}" for place in range(1, len(fact.terms) + 1))
    return found


def in_order(statements: Sequence[Statement]) -> tuple[list[q.CreateEvent], list[q.CreateEvent]]:
    """Queries such that the columns of each follow from those before it, and those in a circle."""
    first: dict[str, Statement] = {}
    for statement in statements:
        first.setdefault(statement.name, statement)
    open_ = {
        name
        for name, statement in first.items()
        if isinstance(statement, q.CreateEvent) and q.selects_all(statement.query)
    }
    ordered: list[q.CreateEvent] = []
    waiting: list[tuple[q.CreateEvent, frozenset[str]]] = []
    for statement in statements:
        if isinstance(statement, q.CreateEvent):
            read = frozenset(name.text for name in q.streams_of(statement.query))
            waiting.append((statement, read if q.selects_all(statement.query) else frozenset()))
    while waiting:
        left: list[tuple[q.CreateEvent, frozenset[str]]] = []
        before = len(waiting)
        for statement, read in waiting:
            if read & open_:
                left.append((statement, read))
                continue
            ordered.append(statement)
            if first[statement.name] is statement:
                open_.discard(statement.name)
        waiting = left
        if len(waiting) == before:
            break
    return ordered, [statement for statement, _ in waiting]


def column_of(term: s.Term) -> Column:
    """A column as it is written in a select list."""
    value = s.strip(term.value)
    alias = value.label if isinstance(value, s.Dotted) else None
    return Column(term.alias, suggested_name(value), alias, s.span_of(term))


def column_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """How the columns of a query are called.

    By AS, else by the column that is read. Where several columns would have one name, or it is a
    name that every result has, such as ``start``, the alias comes in front: ``P1_person``.
    """
    given = {column.given for column in columns if column.given is not None}
    suggested = [c.suggested for c in columns if c.given is None and c.suggested is not None]
    names: list[str] = []
    for position, column in enumerate(columns, 1):
        name = column.given
        requested = column.suggested
        if name is None and requested is not None:
            clash = requested in given or suggested.count(requested) > 1
            name = requested
            if clash or requested in RESERVED_ATTRIBUTES:
                if column.alias is None:
                    raise _taken(column, requested, clash)
                name = f"{column.alias}_{requested}"
        if name is None:
            name = f"c{position}"
            while name in given or name in suggested:
                name += "_"
        if column.given is None and (name in names or (name in given and name != requested)):
            raise _taken(column, name, True)
        names.append(name)
    return tuple(names)


def _taken(column: Column, name: str, clash: bool) -> Refused:
    why = "another column has that name" if clash else "every result has a column of that name"
    return Refused(
        column.span, f"this column cannot be called '{name}': {why}", "name it with AS: … AS name"
    )
