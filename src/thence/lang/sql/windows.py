"""Windows that slide: ``SELECT … FROM stream [RANGE BY … SLIDE BY …] GROUP BY … HAVING …``.

A query over a window is a rule that collects: at every tick of the clock, or at every event, what
has ended in the time before. Where something is computed with aggregates, or a group is known by
columns that are not selected, a further rule does that. Where tables stand beside the stream in
FROM, their rows are looked up first, for each event those that WHERE asks for; the window is then
over what that finds, whose columns are those of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.sql.body import body
from thence.lang.sql.catalog import column_of
from thence.lang.sql.clause import atom, filtered
from thence.lang.sql.lookups import AddRule, Tables, holds_query, lookup, with_rows
from thence.lang.sql.names import Alias, Names, free, mapped, renamed, span_of
from thence.lang.sql.select_list import Grouping, Selected
from thence.logic.expr import Attr, Expr, Folded, TimeOf, Var, conjuncts, has_aggregate
from thence.logic.ops import And, AnyOne, HeadTerm, Label, Pattern, Ticks, While
from thence.model.source import Span
from thence.model.suggestions import did_you_mean


def window_of(select: q.Select, aliases: Mapping[str, Alias]) -> q.Window | None:
    """The window of a query, if it has one; then the query is about one stream and nothing else,
    tables left aside."""
    sources = [source for source in select.sources if source.window is not None]
    if not sources:
        return None
    (source, *_), window = sources, sources[0].window
    assert window is not None
    span = Span(window.start, window.end)
    streams = [alias for alias in aliases.values() if not alias.table]
    over = [aliases[alias.text] for alias in source.aliases]
    if len(aliases) > 1 and (len(sources) > 1 or len(over) > 1 or streams != over):
        raise Refused(
            span,
            "a window is over one stream under one alias; beside it, there may be tables",
            "to relate events of several, say how in EVENT: EVENT BOTH(a, b, '5 min')",
        )
    if over[0].table:
        stream = over[0].stream
        raise Refused(
            span,
            f"'{stream}' is a table: its rows have no times, so no window can hold them",
            f"look them up for events first: FROM (SELECT … FROM stream e, {stream} t WHERE "
            "…) [RANGE BY …] a",
        )
    if select.event is not None or select.limits or select.policy:
        raise Refused(
            span,
            "a query over a window has no EVENT, WITHIN or USING",
            "find the events in a query of their own: FROM (SELECT … EVENT …) [RANGE BY …] a",
        )
    return window


def refuse_groups(select: q.Select) -> None:
    """Refuse GROUP BY where there is no window, and HAVING where nothing at all is aggregated."""
    hint = "write FROM stream [RANGE BY '5 min' SLIDE BY '1 min'] a"
    if select.group:
        if select.event is not None:
            hint = "with EVENT, the items that are no aggregates are the groups"
        raise Refused(s.span_of(select.group[0]), "GROUP BY goes with a window in FROM", hint)
    if select.having is not None and select.event is None:
        raise Refused(s.span_of(select.having), "HAVING goes with EVENT, or a window in FROM", hint)


def windowed(
    select: q.Select, window: q.Window, aliases: Mapping[str, Alias], tables: Tables
) -> tuple[list[Selected], Pattern]:
    """The columns and the body of a query over a window. Raises Refused."""
    rows = _rows(select, aliases, tables)
    keys = tuple(dict.fromkeys(map(rows.key, (*select.partition, *select.group))))
    groups = _Groups(rows.stream, keys)
    columns = [(column_of(item), rows.value(item.value)) for item in map(_term, select.items)]
    given = {column.given: value for column, value in columns if column.given is not None}
    having = [] if select.having is None else [rows.value(select.having, given)]
    if not any(map(has_aggregate, [*(value for _, value in columns), *having])):
        raise Refused(
            Span(window.start, window.end),
            "the query has a window, and aggregates nothing in it",
            "select an aggregate, such as COUNT(*) or AVG(x); without a window, a query is a "
            "filter",
        )
    for condition in having:
        if not has_aggregate(condition):
            raise Refused(
                span_of(condition),
                "HAVING is about aggregates, and there is none in it",
                "a condition on single events goes into WHERE",
            )
    columns = [(column, groups.value(value)) for column, value in columns]
    pattern = _collecting(window, groups, rows.conditions, tables.add)
    if not having and groups.told_by([value for _, value in columns]):
        return columns, pattern
    span = groups.stream.span
    grouping = Grouping(groups.free("group"), keys)
    for key in keys:
        grouping.column(Var(key, span), span)
    columns = [(column, grouping.over(value)) for column, value in columns]
    kept = [grouping.over(groups.value(condition)) for condition in having]
    return columns, grouping.source(tables.add, pattern, kept, span)


def _term(item: s.Term | q.AllColumns) -> s.Term:
    if isinstance(item, s.Term):
        return item
    raise Refused(
        Span(item.start, item.end),
        "a query over a window selects the columns of GROUP BY and aggregates, not all columns",
        "write SELECT name, AVG(price) …",
    )


# -- what the window is over


@dataclass(frozen=True, slots=True)
class _Rows:
    """The stream that a window is over, with the conditions on its events; and which of its columns
    those of the query's aliases are."""

    names: Names
    stream: Alias
    columns: Mapping[tuple[str, str], str]
    conditions: Sequence[Expr] = ()

    def value(self, node: s.Node, given: Mapping[str, Expr] | None = None) -> Expr:
        """An expression over groups of rows; ``given`` are names for others."""
        return mapped(self.names.value(node, grouped=True, given=given), self._leaf, inside=True)

    def _leaf(self, node: Expr) -> Expr:
        match node:
            case Attr(label, name, span) if (label, name) in self.columns:
                return Attr(self.stream.name, self.columns[label, name], span)
        return node

    def key(self, column: s.Name | s.Dotted) -> str:
        """The column that a name in GROUP BY stands for."""
        alone = len(self.names.aliases) == 1
        unknown = isinstance(column, s.Name) and column.text not in self.stream.columns
        found = None if alone and unknown else self._leaf(self.names.column(column))
        if isinstance(found, Attr):
            return found.name
        name = column.text if isinstance(column, s.Name) else column.attribute
        known = self.stream.columns
        raise Refused(
            s.span_of(column),
            f"'{self.stream.stream}' has no column '{name}' to group by",
            did_you_mean(name, known, f"it has {', '.join(known) or 'none'}"),
        )


def _rows(select: q.Select, aliases: Mapping[str, Alias], tables: Tables) -> _Rows:
    """What the window of a query is over."""
    names = Names(aliases)
    if len(aliases) > 1:
        return _with_tables(select, names, tables)
    (stream,) = aliases.values()
    columns = {(stream.name, column): column for column in stream.columns}
    written = (names.value(node, queries=True) for node in select.conditions)
    conditions = [part for value in written for part in conjuncts(value)]
    taken = {stream.name}
    asked = [lookup(each, names, tables, taken) for each in conditions if holds_query(each)]
    if asked:
        stream = replace(stream, event=with_rows(stream, asked, names, tables))
    return _Rows(names, stream, columns, [each for each in conditions if not holds_query(each)])


def _with_tables(select: q.Select, names: Names, tables: Tables) -> _Rows:
    """The events of a stream, each with the rows of tables that belong to it. A column keeps its
    name, unless one of the stream or of an earlier table has it."""
    columns: dict[tuple[str, str], str] = {}
    stream, *_ = ordered = sorted(names.aliases.values(), key=lambda alias: alias.table)
    for alias in ordered:
        for column in alias.columns:
            name = column
            while name in columns.values():
                name = f"{alias.name}.{name}"
            columns[alias.name, column] = name
    found = body(replace(select, partition=()), names, tables)
    head = [HeadTerm(name, Attr(*read, stream.span), stream.span) for read, name in columns.items()]
    event = tables.add("rows", head, found.pattern)
    return _Rows(names, replace(stream, event=event, columns=tuple(columns.values())), columns)


# -- what it collects


@dataclass(frozen=True, slots=True)
class _Groups:
    """The stream of a window, and the columns by which its events fall into groups."""

    stream: Alias
    keys: tuple[str, ...]

    @property
    def collected(self) -> str:
        """The label of what is collected: the alias, unless a column has that name."""
        return free(self.stream.name, self.keys)

    def free(self, name: str) -> str:
        """A label that is neither the alias nor a column of the groups."""
        return free(name, (self.stream.name, *self.keys))

    def told_by(self, values: Sequence[Expr]) -> bool:
        """Whether values tell all groups apart, and each is an aggregate or has none."""
        shown = {value.name for value in values if isinstance(value, Var)}
        plain = (isinstance(value, Folded) or not has_aggregate(value) for value in values)
        return shown.issuperset(self.keys) and all(plain)

    def value(self, expr: Expr) -> Expr:
        """An expression over aggregates, and over columns of the groups, which are variables."""
        return mapped(expr, self._leaf)

    def _leaf(self, node: Expr) -> Expr:
        if isinstance(node, Folded):
            return renamed(node, {self.stream.name: self.collected})
        if isinstance(node, Attr) and node.name in self.keys:
            return Var(node.name, node.span)
        if not isinstance(node, Attr | TimeOf):
            return node
        shown = node.which if isinstance(node, TimeOf) else node.name
        hint = f"aggregate it: MAX({shown}), LIST({shown})"
        if isinstance(node, Attr):
            hint = f"group by it, GROUP BY {', '.join((*self.keys, shown))}, or {hint}"
        raise Refused(node.span, f"'{shown}' is neither in GROUP BY nor in an aggregate", hint)


def _collecting(
    window: q.Window, groups: _Groups, conditions: Sequence[Expr], add: AddRule
) -> Pattern:
    """The body that collects what a window holds, at its ticks or at every event."""
    stream, span = groups.stream, groups.stream.span
    keys = [(key, Var(key, span)) for key in groups.keys]

    def events(label: str) -> Pattern:
        own = [renamed(condition, {stream.name: label}) for condition in conditions]
        return filtered(atom(label, stream.event, span, keys), own)

    opening = events(groups.free("arrived"))
    tick = groups.free("tick")
    if window.slide is None:
        point: Pattern = Label(tick, AnyOne((opening,), span), span)
    else:
        assert window.reach is not None
        head = [HeadTerm(key, value, span) for key, value in keys]
        ticks = add("ticks", head, Ticks(opening, window.slide, window.reach, span))
        point = atom(tick, ticks, span, keys)
    target = events(groups.collected)
    return And((point, While(tick, "collect", target, span, window.reach, window.rows)), span)
