"""The select list and HAVING of a query with an EVENT clause: which columns it has, and from which
events they are read.

An aggregate over what is collected is a term of a head by itself. Where a query computes with it,
has a condition on it, or keeps apart what its columns do not show, an auxiliary rule groups and
aggregates (:class:`Grouping`), and the query's own rule reads what it finds.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from thence.lang import syntax as s
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body
from thence.lang.sql.catalog import Column, column_of
from thence.lang.sql.clause import atom, filtered
from thence.lang.sql.lookups import AddRule
from thence.lang.sql.names import Alias, aggregated, aggregates, free, mapped, span_of
from thence.logic.expr import (
    Aggregate,
    Attr,
    Expr,
    Folded,
    TimeOf,
    Var,
    has_aggregate,
    labels,
    leaves,
    variables,
)
from thence.logic.ops import HeadTerm, Pattern
from thence.model.source import Span

Selected = tuple[Column, Expr]
LEAVES = (Folded, Var, Attr, TimeOf)
"""What an expression reads."""


def term_value(value: Expr) -> Expr | Aggregate:
    """A value as a term of a head: an aggregate by itself is no part of an expression there."""
    return value.aggregate if isinstance(value, Folded) else value


@dataclass(slots=True)
class Grouping:
    """A rule that aggregates, for another one that computes with what it finds: the columns that it
    groups by, and its aggregates, each once."""

    label: str
    taken: Container[str]
    columns: dict[str, Expr] = field(default_factory=dict)

    def column(self, value: Expr, span: Span) -> Expr:
        """A value of the first rule as the second one reads it."""
        # As text, 0.0 and -0.0 are two values.
        same = (name for name, each in self.columns.items() if repr(each) == repr(value))
        known = next(same, None)
        if known is None:
            known = value.name if isinstance(value, Var) else f"a{len(self.columns) + 1}"
            while not isinstance(value, Var) and (known in self.columns or known in self.taken):
                known += "_"
            self.columns[known] = value
        return Attr(self.label, known, span)

    def over(self, expr: Expr) -> Expr:
        """An expression as the second rule says it."""
        return mapped(expr, self._leaf)

    def _leaf(self, node: Expr) -> Expr:
        return self.column(node, span_of(node)) if isinstance(node, LEAVES) else node

    def source(self, add: AddRule, body: Pattern, kept: Sequence[Expr], span: Span) -> Pattern:
        """What the first rule derives, as the body of the second one, under conditions."""
        head = [HeadTerm(n, term_value(v), span_of(v)) for n, v in self.columns.items()]
        return filtered(atom(self.label, add("groups", head, body), span), kept)


def select_list(
    select: q.Select, body: Body, add: AddRule
) -> tuple[list[Selected], Pattern, tuple[s.PolicyWord, ...]]:
    """The columns, the body and the policy of a query's rule: its own, or those of one that reads
    what an auxiliary rule finds. Raises Refused."""
    columns = [found for item in select.items for found in _columns(item, body)]
    values = [value for _, value in columns]
    missing = body.loose - {name for value in values for name in variables(value)}
    if select.having is None and not missing and not any(_is_beyond(v, body) for v in values):
        _check_collected(values, body)
        return columns, body.pattern, select.policy
    label = free("group", {*body.names.aliases, *body.names.shared})
    grouping = Grouping(label, body.names.shared)
    for column in select.partition:
        if column.text in missing:
            grouping.column(Var(column.text, s.span_of(column)), s.span_of(column))
    outside = [
        grouping.over(value) if _is_beyond(value, body) else grouping.column(value, span_of(value))
        for value in values
    ]
    kept = (
        [] if select.having is None else [_having(select.having, body, grouping, columns, outside)]
    )
    _check_collected(list(grouping.columns.values()), body)
    here = Span(select.start, min(select.end, select.start + len("SELECT")))
    pattern = grouping.source(add, body.pattern, kept, here)
    named = [(column, value) for (column, _), value in zip(columns, outside, strict=True)]
    return named, pattern, ()


def _is_beyond(value: Expr, body: Body) -> bool:
    """Whether an expression computes with aggregates as a head cannot: only aggregates over what is
    repeated are values of a single match."""
    return not body.names.repeated and not isinstance(value, Folded) and has_aggregate(value)


def _columns(item: s.Term | q.AllColumns, body: Body) -> list[Selected]:
    """The columns that an item of the select list stands for."""
    names, span = body.names, Span(item.start, item.end)
    if isinstance(item, s.Term):
        value = names.value(item.value, grouped=True)
        _check_readable(value, labels(value), span, body)
        return [(column_of(item), value)]
    if item.alias is not None:
        alias = names.alias(item.alias.text, s.span_of(item.alias))
        _check_alias(alias.name, span, body, body.certain - names.repeated)
        return [_column(alias, name, span, body) for name in alias.columns]
    columns: list[Selected] = []
    seen: set[str] = set()
    for alias in names.aliases.values():
        if alias.name in body.collected or alias.name not in body.occurring:
            continue
        _check_alias(alias.name, span, body, body.certain)
        for name in alias.columns:
            if name in names.partition and name in seen:
                continue  # a partition column comes once
            if alias.name in names.repeated and name not in names.partition:
                continue  # there are many of it
            seen.add(name)
            columns.append(_column(alias, name, span, body))
    return columns


def _column(alias: Alias, name: str, span: Span, body: Body) -> Selected:
    return Column(None, name, alias.name, span), body.names.column_of(alias, name, span)


def _check_readable(value: Expr, plain: frozenset[str], span: Span, body: Body) -> None:
    """Refuse an expression of SELECT or HAVING that reads what has no one value there."""
    if has_aggregate(value) and not (body.collected or body.names.repeated or body.merged):
        raise Refused(
            span,
            "there is nothing to aggregate: the query collects no events",
            "a window in FROM does, such as FROM a [RANGE BY '5 min'], and so does one between two "
            "events: SELECT AVG(t.x) FROM a, b, t EVENT BETWEEN(a, b)",
        )
    for alias in sorted(plain):
        _check_alias(alias, span, body, body.certain - body.names.repeated)
    for alias in sorted(aggregated(value)):
        _check_alias(alias, span, body, body.certain | body.collected)


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


def _check_collected(values: Sequence[Expr], body: Body) -> None:
    """What is in FROM alone must be read, or FROM says something that the query does not mean."""
    found = [each for value in values for each in aggregates(value)]
    read = frozenset[str]().union(*map(aggregated, values))
    for alias, span in body.only_in_from.items():
        if alias in read or (len(body.collected) == 1 and any(each.arg is None for each in found)):
            continue
        raise Refused(
            span,
            f"'{alias}' stands neither in EVENT nor in an aggregate",
            f"say in EVENT when it occurs, or aggregate what is collected: COUNT({alias})",
        )


def _having(
    node: s.Node,
    body: Body,
    grouping: Grouping,
    columns: Sequence[Selected],
    outside: Sequence[Expr],
) -> Expr:
    """The condition of HAVING as the second rule says it: over aggregates, and columns that are
    selected."""
    given = {c.given: v for (c, _), v in zip(columns, outside, strict=True) if c.given is not None}
    found = body.names.value(node, grouped=True, given=given)
    _check_readable(found, labels(found) - {grouping.label}, s.span_of(node), body)
    computed = {name for name, value in grouping.columns.items() if has_aggregate(value)}
    if not has_aggregate(found) and not any(
        isinstance(leaf, Attr) and leaf.label == grouping.label and leaf.name in computed
        for leaf in leaves(found)
    ):
        raise Refused(
            s.span_of(node),
            "HAVING is about aggregates, and there is none in it",
            "a condition on single events goes into WHERE",
        )
    shown = {value: v for (_, value), v in zip(columns, outside, strict=True)}

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Folded):
            return grouping.column(node, node.span)
        if not isinstance(node, Attr | TimeOf | Var) or labels(node) == {grouping.label}:
            return node
        if node in shown:
            return shown[node]
        column = node.which if isinstance(node, TimeOf) else node.name
        written = column if isinstance(node, Var) else f"{node.label}.{column}"
        hint = (
            f"a condition on single events goes into WHERE; else select {written}, or "
            f"aggregate it: MAX({written})"
        )
        if column in given:
            hint = f"a column is called '{column}', so AS must give another name"
        raise Refused(span_of(node), f"'{written}' is neither selected nor in an aggregate", hint)

    return mapped(found, leaf)
