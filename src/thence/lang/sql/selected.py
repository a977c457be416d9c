"""The select list: which columns a query has, and from which events they are read."""

from __future__ import annotations

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body
from thence.lang.sql.catalog import Column, column_of
from thence.lang.sql.names import Alias, is_aggregate
from thence.lang.sql.refusal import Refused
from thence.model.source import Span


def selected(select: q.Select, body: Body) -> list[Column]:
    """The columns of a select, ``*`` written out. Raises Refused."""
    columns: list[Column] = []
    for item in select.items:
        if isinstance(item, s.Term):
            columns.append(_written(item, body))
        else:
            columns += _all(item, body)
    _check_collected(columns, body)
    return columns


def _written(item: s.Term, body: Body) -> Column:
    column = column_of(item)
    value = body.names.value(item.value, aggregate=True)
    aggregate = is_aggregate(item.value)
    if aggregate and not body.collected:
        raise Refused(
            column.span,
            "there is nothing to aggregate: the query collects no events",
            "a window in FROM does, such as FROM a [RANGE BY '5 min'], and so does one between two "
            "events: SELECT AVG(t.x) FROM a, b, t EVENT BETWEEN(a, b)",
        )
    for alias in sorted(value.reads):
        _check_readable(alias, column.span, body, aggregate)
    return column._replace(value=value.node)


def _all(item: q.AllColumns, body: Body) -> list[Column]:
    """The columns of an alias, or of all that occur; a partition column comes once."""
    span = Span(item.start, item.end)
    names = body.names
    if item.alias is not None:
        alias = names.alias(item.alias)
        _check_readable(alias.name, span, body, aggregate=False)
        return [_column(alias, name, span, body) for name in alias.columns]
    columns: list[Column] = []
    seen: set[str] = set()
    for alias in names.aliases.values():
        if alias.name in body.collected or alias.name not in body.occurring:
            continue
        _check_readable(alias.name, span, body, aggregate=False)
        for name in alias.columns:
            if name in names.partition and name in seen:
                continue
            seen.add(name)
            columns.append(_column(alias, name, span, body))
    return columns


def _column(alias: Alias, name: str, span: Span, body: Body) -> Column:
    return Column(body.names.column_of(alias, name, span), None, name, alias.name, span)


def _check_readable(alias: str, span: Span, body: Body, aggregate: bool) -> None:
    if alias in body.certain or (aggregate and alias in body.collected):
        return
    if alias in body.collected:
        raise Refused(
            span,
            f"'{alias}' is collected, so there may be many of it",
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


def _check_collected(columns: list[Column], body: Body) -> None:
    """What is collected must be read, or FROM says something that the query does not mean."""
    aggregates = [column.value for column in columns if is_aggregate(column.value)]
    for alias, span in body.collected.items():
        if any(alias in body.names.value(value, aggregate=True).reads for value in aggregates):
            continue
        if len(body.collected) == 1 and any(_counts_all(value) for value in aggregates):
            continue
        raise Refused(
            span,
            f"'{alias}' stands neither in EVENT nor in an aggregate",
            f"say in EVENT when it occurs, or aggregate what is collected: COUNT({alias})",
        )


def _counts_all(node: s.Node) -> bool:
    inner = s.strip(node)
    return isinstance(inner, s.Apply) and all(isinstance(arg, s.Star) for arg in inner.args)
