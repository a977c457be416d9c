"""Windows that slide: ``SELECT … FROM stream [RANGE BY … SLIDE BY …] GROUP BY … HAVING …``.

A query over a window is a rule that collects: at every tick of the clock, or at every event, what
has ended in the time before. Where something is computed with aggregates, or a group is known by
columns that are not selected, a further rule does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.catalog import Column, column_of
from thence.lang.sql.lookups import Tables, holds_query, lookup, with_rows
from thence.lang.sql.names import Alias, Names, conjuncts, is_aggregate, renamed, rewritten
from thence.lang.sql.patterns import atom, filtered
from thence.lang.sql.refusal import Refused
from thence.lang.sql.split import AddRule, Split, aggregates
from thence.model.names import did_you_mean
from thence.model.source import Span
from thence.model.types import DURATION


def window_of(select: q.Select, alone: bool = True) -> q.Window | None:
    """The window of a query, if it has one; then the query is about nothing else, unless it stands
    beside tables, and not ``alone``."""
    windows = [source.window for source in select.sources if source.window is not None]
    if not windows:
        return None
    window = windows[0]
    span = Span(window.start, window.end)
    if alone and (len(select.sources) > 1 or len(select.sources[0].aliases) > 1):
        raise Refused(
            span,
            "a window is over one stream under one alias; beside it, there may be tables",
            "to relate events of several, say how in EVENT: EVENT BOTH(a, b, '5 min')",
        )
    if select.happening is not None or select.limits or select.policy:
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
        if select.happening is not None:
            hint = "with EVENT, the items that are no aggregates are the groups"
        raise Refused(s.span_of(select.group[0]), "GROUP BY goes with a window in FROM", hint)
    if select.having is not None and select.happening is None:
        raise Refused(s.span_of(select.having), "HAVING goes with EVENT, or a window in FROM", hint)


def windowed(
    select: q.Select, window: q.Window, alias: Alias, add: AddRule, tables: Tables
) -> tuple[list[Column], tuple[s.Node, ...]]:
    """The columns and the body of a query over a window. Raises Refused."""
    if alias.table:
        raise Refused(
            Span(window.start, window.end),
            f"'{alias.stream}' is a table: its rows have no times, so no window can hold them",
            f"look them up for events first: FROM (SELECT … FROM stream e, {alias.stream} t WHERE "
            "…) [RANGE BY …] a",
        )
    conditions = [part for node in select.conditions for part in conjuncts(node)]
    if any(map(holds_query, conditions)):
        names, taken = Names({alias.name: alias}), {alias.name}
        requested = [lookup(c, names, tables, taken) for c in conditions if holds_query(c)]
        alias = replace(alias, event=with_rows(alias, requested, names, tables))
        conditions = [condition for condition in conditions if not holds_query(condition)]
    groups = _Groups(alias, _keys(select, alias))
    columns = [_written(item) for item in select.items]
    inside = [_condition(part, groups) for part in conditions]
    having = None if select.having is None else _having(select.having, columns, alias)
    called = [*(c.value for c in columns), *([] if having is None else [having])]
    if not any(True for node in called for _ in aggregates(node)):
        raise Refused(
            Span(window.start, window.end),
            "the query has a window, and aggregates nothing in it",
            "select an aggregate, such as COUNT(*) or AVG(x); without a window, a query is a "
            "filter",
        )
    if having is not None and not any(True for _ in aggregates(having)):
        raise Refused(
            s.span_of(having),
            "HAVING is about aggregates, and there is none in it",
            "a condition on single events goes into WHERE",
        )
    items = _collecting(window, groups, inside, add)
    if having is None and groups.told_by(columns):
        return [replace(c, value=groups.value(c.value)) for c in columns], items
    split = Split(groups.label("group"), groups.keys, groups.leaf, groups.value)
    here = s.Name(alias.name, alias.span.start, alias.span.end)
    for key in groups.keys:
        split.outside(replace(here, text=key))
    values = [split.outside(column.value) for column in columns]
    kept = [] if having is None else [split.outside(having)]
    result = split.found(add("groups", split.head(), items), here)
    found = [replace(column, value=value) for column, value in zip(columns, values, strict=True)]
    return found, (filtered(result, kept),)


def _having(node: s.Node, columns: Sequence[Column], alias: Alias) -> s.Node:
    """A HAVING clause in which names that AS gives stand for what they name."""
    given = {column.given: column.value for column in columns if column.given is not None}

    def leaf(name: s.Name | s.Dotted) -> s.Node:
        if not isinstance(name, s.Name) or name.text in alias.columns or name.text not in given:
            return name
        value = given[name.text]
        return s.Paren((value,), name.start, name.end, value.depth + 1)

    return rewritten(node, leaf, lambda call: call if is_aggregate(call) else None)


def _keys(select: q.Select, alias: Alias) -> tuple[str, ...]:
    """The columns by which events fall into groups."""
    found: dict[str, None] = {}
    for column in (*select.partition, *select.group):
        name = column.text if isinstance(column, s.Name) else column.attribute
        if isinstance(column, s.Dotted) and column.label != alias.name:
            Names({alias.name: alias}).value(column)
        if name not in alias.columns:
            raise Refused(
                s.span_of(column),
                f"'{alias.stream}' has no column '{name}' to group by",
                did_you_mean(name, alias.columns, f"it has {', '.join(alias.columns) or 'none'}"),
            )
        found[name] = None
    return tuple(found)


def _written(item: s.Term | q.AllColumns) -> Column:
    if isinstance(item, s.Term):
        return column_of(item)
    raise Refused(
        Span(item.start, item.end),
        "a query over a window selects the columns of GROUP BY and aggregates, not all columns",
        "write SELECT name, AVG(price) …",
    )


def _condition(node: s.Node, groups: _Groups) -> s.Node:
    for call in aggregates(node):
        raise Refused(
            Span(call.start, call.name_end),
            f"{call.name.upper()} is an aggregate, and WHERE looks at one event at a time",
            "conditions on aggregates come in HAVING, behind GROUP BY",
        )
    return groups.inside.value(node).node


def _collecting(
    window: q.Window, groups: _Groups, conditions: Sequence[s.Node], add: AddRule
) -> tuple[s.Node, ...]:
    """The body that collects what a window holds, at its ticks or at every event."""
    alias = groups.alias
    start, end = alias.span.start, alias.span.end

    def events(label: str) -> s.Node:
        own = [renamed(node, {alias.name: label}) for node in conditions]
        columns = [(key, s.Name(key, start, end)) for key in groups.keys]
        return filtered(atom(label, alias.event, columns, alias.span), own)

    opening = events(groups.label("arrived"))
    label = groups.label("tick")
    if window.slide is None:
        moment = s.Apply("anyone", (opening,), start, start, end, opening.depth + 1)
        point: s.Node = s.Labelled(label, moment, end, start, end, moment.depth + 1)
    else:
        durations = [
            s.Literal_(micros, DURATION, start, end) for micros in (window.slide, window.reach)
        ]
        ticks = s.Apply("ticks", (opening, *durations), start, start, end, opening.depth + 1)
        head = tuple(s.Term(s.Name(key, start, end), key, start, end) for key in groups.keys)
        columns = [(key, s.Name(key, start, end)) for key in groups.keys]
        point = atom(label, add("ticks", head, (ticks,)), columns, alias.span)
    target = events(groups.collected)
    collect = s.WhileItem(
        label, start, end, "collect", target, start, end, target.depth + 1,
        window.reach, window.rows,
    )  # fmt: skip
    return point, collect


@dataclass(frozen=True, slots=True)
class _Groups:
    """The stream of a window, and the columns by which its events fall into groups."""

    alias: Alias
    keys: tuple[str, ...]

    @property
    def inside(self) -> Names:
        """What names mean in conditions on single events, and inside aggregates."""
        return Names({self.alias.name: self.alias})

    @property
    def collected(self) -> str:
        """The label of what is collected: the alias, unless a column has that name."""
        return self.label(self.alias.name) if self.alias.name in self.keys else self.alias.name

    def label(self, name: str) -> str:
        """A label that is neither the alias nor a column of the groups."""
        while name in (self.alias.name, *self.keys):
            name += "′"
        return name

    def told_by(self, columns: Sequence[Column]) -> bool:
        """Whether the columns tell all groups apart, and each is a value or an aggregate."""
        shown = {self._key(s.strip(column.value)) for column in columns}
        return shown.issuperset(self.keys) and all(
            is_aggregate(column.value) or not any(True for _ in aggregates(column.value))
            for column in columns
        )

    def value(self, node: s.Node) -> s.Node:
        """An aggregate, or an expression over the columns of the groups."""
        if is_aggregate(node):
            found = self.inside.value(node, aggregates=True).node
            return renamed(found, {self.alias.name: self.collected})
        return rewritten(node, self.leaf)

    def leaf(self, name: s.Name | s.Dotted) -> s.Node:
        """A column of the groups as the variable that it is."""
        key = self._key(name)
        if key is not None:
            return s.Name(key, name.start, name.end)
        self.inside.value(name)
        shown = name.text if isinstance(name, s.Name) else name.attribute
        hint = f"aggregate it: MAX({shown}), LIST({shown})"
        if shown in self.alias.columns:
            hint = f"group by it, GROUP BY {', '.join((*self.keys, shown))}, or {hint}"
        raise Refused(
            s.span_of(name), f"'{shown}' is neither in GROUP BY nor in an aggregate", hint
        )

    def _key(self, node: s.Node) -> str | None:
        if isinstance(node, s.Name) and node.text in self.keys:
            return node.text
        if isinstance(node, s.Dotted) and node.label == self.alias.name:
            return node.attribute if node.attribute in self.keys else None
        return None
