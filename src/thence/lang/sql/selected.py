"""The select list: which columns a query has, and from which events they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body
from thence.lang.sql.catalog import Column, column_of
from thence.lang.sql.names import Alias, Value
from thence.lang.sql.refusal import Refused
from thence.lang.sql.split import aggregates
from thence.model.source import Span


def selected(select: q.Select, body: Body) -> list[Column]:
    """The columns of a select, ``*`` written out. Raises Refused."""
    columns: list[Column] = []
    for item in select.items:
        if isinstance(item, s.Term):
            columns.append(_written(item, body))
        else:
            columns += _all(item, body)
    return columns


def _written(item: s.Term, body: Body) -> Column:
    column = column_of(item)
    value = body.names.value(item.value, aggregates=True)
    check_readable(value, column.span, body)
    return replace(column, value=value.node)


def check_readable(value: Value, span: Span, body: Body) -> None:
    """Refuse an expression of SELECT or HAVING that reads what has no one value there."""
    if value.aggregates and not (body.collected or body.names.repeated or body.merged):
        raise Refused(
            span,
            "there is nothing to aggregate: the query collects no events",
            "a window in FROM does, such as FROM a [RANGE BY '5 min'], and so does one between two "
            "events: SELECT AVG(t.x) FROM a, b, t EVENT BETWEEN(a, b)",
        )
    for alias in sorted(value.plain):
        _check_alias(alias, span, body, body.certain - body.names.repeated)
    for alias in sorted(value.folded):
        _check_alias(alias, span, body, body.certain | body.collected)


def _all(item: q.AllColumns, body: Body) -> list[Column]:
    """The columns of an alias, or of all that occur; a partition column comes once."""
    span = Span(item.start, item.end)
    names = body.names
    if item.alias is not None:
        alias = names.alias(item.alias)
        _check_alias(alias.name, span, body, body.certain - names.repeated)
        return [_column(alias, name, span, body) for name in alias.columns]
    columns: list[Column] = []
    seen: set[str] = set()
    for alias in names.aliases.values():
        if alias.name in body.collected or alias.name not in body.occurring:
            continue
        _check_alias(alias.name, span, body, body.certain)
        for name in alias.columns:
            if name in names.partition and name in seen:
                continue
            if alias.name in names.repeated and name not in names.partition:
                continue  # there are many of it
            seen.add(name)
            columns.append(_column(alias, name, span, body))
    return columns


def _column(alias: Alias, name: str, span: Span, body: Body) -> Column:
    return Column(body.names.column_of(alias, name, span), None, name, alias.name, span)


def _check_alias(alias: str, span: Span, body: Body, readable: frozenset[str]) -> None:
    if alias in readable:
        return
    if alias in body.collected or alias in body.names.repeated & body.certain:
        how = "collected" if alias in body.collected else "repeated"
        raise Refused(
            span,
            f"'{alias}' is {how}, so there may be many of it",
            "read it with an aggregate, such as COUNT(*), AVG(x) or LIST(x)",
        )
    if alias in body.occurring:
        raise Refused(
            span,
            f"'{alias}' does not occur in every alternative, so it may have no columns",
            "select columns of PARTITION BY, or write one CREATE EVENT for each alternative",
        )
    raise Refused(
        span,
        f"'{alias}' must be absent, so there are no columns of it to select",
        "select columns of an alias that occurs",
    )


def check_collected(values: Sequence[s.Node], body: Body) -> None:
    """What is in FROM alone must be read, or FROM says something that the query does not mean."""
    found = [call for value in values for call in aggregates(value)]
    read = {leaf.label for call in found for leaf in _columns(call)}
    for alias, span in body.beside.items():
        if alias in read or (len(body.collected) == 1 and any(map(_counts_all, found))):
            continue
        raise Refused(
            span,
            f"'{alias}' stands neither in EVENT nor in an aggregate",
            f"say in EVENT when it occurs, or aggregate what is collected: COUNT({alias})",
        )


def _columns(node: s.Node) -> list[s.Dotted]:
    if isinstance(node, s.Dotted):
        return [node]
    return [found for child in s.children(node) for found in _columns(child)]


def _counts_all(node: s.Apply) -> bool:
    return all(isinstance(arg, s.Star) for arg in node.args)
