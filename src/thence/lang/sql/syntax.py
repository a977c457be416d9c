"""The tree of event SQL: queries as written, before they become rules.

Values (the select list, the conditions) are nodes of the rule language's own tree, since they are
written alike. Only what is SQL's own has classes here. As there, every node has ``start``, ``end``
and ``depth``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from thence.lang import syntax as s


@dataclass(frozen=True, slots=True)
class Limit:
    """A duration in an EVENT clause, in microseconds."""

    micros: int
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Operation:
    """``FOLLOWS(a, b, '1 min')`` or ``a seq b``: an operator, spelled small, and its operands.

    ``limit`` is its duration; that of ``ANY(2, a, b, c)`` is the number.
    """

    name: str
    parts: tuple[EventExpr, ...]
    limit: Limit | None
    name_end: int
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Negation:
    """``NOT c`` or ``!c``; ``NOT(c, BETWEEN(a, b))`` has several parts."""

    parts: tuple[EventExpr, ...]
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Several:
    """``(a, b)``, which means something only behind NOT."""

    parts: tuple[EventExpr, ...]
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Limited:
    """``(a seq b) WITHIN 10 s``."""

    base: EventExpr
    limit: int
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """``b+``, ``b*``, ``b{2,5}``; ``most`` is None for any number."""

    base: EventExpr
    least: int
    most: int | None
    start: int
    end: int
    depth: int


EventExpr: TypeAlias = s.Name | Operation | Negation | Several | Limited | Repeated
"""What can stand in an EVENT clause; a name is an alias."""


@dataclass(frozen=True, slots=True)
class AllColumns:
    """``*``, or ``B.*`` with the alias."""

    alias: s.Name | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """``[RANGE BY '5 min' SLIDE BY '1 min']``, ``[ROWS 10]``: how far back it reaches and how often
    it moves on, in microseconds, and how many rows it holds at most."""

    reach: int | None
    slide: int | None
    rows: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A stream or a query in FROM, with its aliases."""

    stream: s.Name | Query
    aliases: tuple[s.Name, ...]
    start: int
    end: int
    depth: int
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """``SELECT … FROM … PARTITION BY … EVENT … USING … WHERE … WITHIN … GROUP BY … HAVING …``.

    ``partition`` also holds the columns of ``WHERE [id]``.
    """

    items: tuple[s.Term | AllColumns, ...]
    sources: tuple[SourceItem, ...]
    partition: tuple[s.Name, ...]
    event: EventExpr | None
    conditions: tuple[s.Node, ...]
    limits: tuple[Limit, ...]
    start: int
    end: int
    depth: int
    policy: tuple[s.PolicyWord, ...] = ()
    group: tuple[s.Name | s.Dotted, ...] = ()
    having: s.Node | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """One query of a WITH clause."""

    name: s.Name
    query: Query
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class WithQuery:
    """``WITH name AS (query), … query``."""

    named: tuple[Named, ...]
    query: Query
    start: int
    end: int
    depth: int


Query: TypeAlias = Select | WithQuery


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """``CREATE EVENT name AS query;``"""

    name: str
    query: Query
    start: int
    name_start: int
    name_end: int
    end: int


def select_of(query: Query) -> Select:
    """The select that gives a query its columns."""
    while isinstance(query, WithQuery):
        query = query.query
    return query


def streams_of(query: Query) -> list[s.Name]:
    """Every name that a query or a query inside it reads from, in the order of the text."""
    found: list[s.Name] = []
    stack: list[Query] = [query]
    while stack:
        top = stack.pop()
        if isinstance(top, WithQuery):
            stack.extend([top.query, *(named.query for named in reversed(top.named))])
            continue
        for source in top.sources:
            if isinstance(source.stream, s.Name):
                found.append(source.stream)
            else:
                stack.append(source.stream)
    return found


def selects_all(query: Query) -> bool:
    """Whether the columns of a query, or of one inside it, depend on those of its streams."""
    stack: list[Query] = [query]
    while stack:
        top = stack.pop()
        if isinstance(top, WithQuery):
            stack.extend([top.query, *(named.query for named in top.named)])
        elif any(isinstance(item, AllColumns) for item in top.items):
            return True
        else:
            stack.extend(
                source.stream for source in top.sources if not isinstance(source.stream, s.Name)
            )
    return False
