"""The nodes of an EVENT clause as patterns of the rule language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from thence.lang import syntax as s
from thence.lang.sql import moments
from thence.lang.sql.events import Node
from thence.lang.sql.names import Alias
from thence.model.source import Span

Columns: TypeAlias = Sequence[tuple[str, s.Name]]
"""Columns of an event, each with the variable that it is."""


class Writer:
    """Writes nodes down as patterns of the rule language, with their conditions around them."""

    def __init__(
        self,
        aliases: Mapping[str, Alias],
        columns: Mapping[str, Columns],
        conditions: Mapping[Node, list[s.Node]],
    ) -> None:
        """``columns`` are those of each alias that are variables."""
        self.aliases, self.columns, self.conditions = aliases, columns, conditions
        self.label = "window"
        while self.label in aliases:
            self.label += "′"

    def pattern(self, node: Node, window: Node | None = None) -> s.Node:
        """A node as a pattern; ``window`` is the node that gets the label of the window."""
        found = self.bare(node, window)
        if node is window:
            found = s.Labelled(
                self.label, found, found.start, found.start, found.end, found.depth + 1
            )
        return filtered(found, self.conditions.get(node, ()))

    def bare(self, node: Node, window: Node | None) -> s.Node:
        start, end, kind = node.span.start, node.span.end, node.kind
        if kind == "alias":
            return self.atom(node)
        parts = tuple(self.pattern(part, window) for part in node.parts)
        absent = tuple(self.pattern(part, window) for part in node.absent)
        collected = tuple(self.pattern(part, window) for part in node.collected)
        depth = 1 + max(part.depth for part in (*parts, *absent, *collected))
        if kind == "within":
            return s.WithinSuffix(parts[0], node.limit, start, end, depth)
        if kind == "repeat":
            return s.Repeated(parts[0], *node.times, start, end, depth)
        if kind == "between":
            missing = absent[0] if len(absent) == 1 else _chain("or", absent, node.span)
            inner = s.Paren((missing,), missing.start, missing.end, missing.depth + 1)
            first, last = parts
            return s.Between(inner, first, last, start, end, max(depth, inner.depth + 1))
        if kind == "anyone":
            return s.Apply(kind, parts, start, start, end, depth)
        if kind in moments.POINTS:
            args = moments.arguments(kind, parts, absent, collected, node.limit, node.span)
            return s.Apply(kind, args, start, start, end, depth)
        return _chain(kind, parts, node.span)

    def atom(self, node: Node) -> s.Node:
        alias = self.aliases[node.alias]
        columns = self.columns.get(node.alias, ())
        return atom(node.alias, alias.read or alias.event, columns, node.span)

    def collect(self, node: Node) -> s.Node:
        start, end = node.span.start, node.span.end
        target = self.pattern(node)
        return s.WhileItem(self.label, start, end, "collect", target, start, end, target.depth + 1)


def atom(label: str, event: str, columns: Columns, span: Span) -> s.Labelled:
    """A labelled event, with the variables that some of its columns are."""
    start, end = span.start, span.end
    args = tuple(
        s.Chain(
            (
                s.Name(column, value.start, value.end),
                s.Op("infix", "=", value.start, value.end),
                value,
            ),
            value.start,
            value.end,
            1,
        )
        for column, value in columns
    )
    return s.Labelled(label, s.Apply(event, args, end, start, end, 2), end, start, end, 3)


def filtered(pattern: s.Node, conditions: Sequence[s.Node]) -> s.Node:
    """A pattern with conditions around it, if there are any."""
    if not conditions:
        return pattern
    condition = conditions[0]
    if len(conditions) > 1:
        start, end = conditions[0].start, conditions[-1].end
        depth = 1 + max(part.depth for part in conditions)
        condition = s.Paren(tuple(conditions), start, end, depth)
    depth = 1 + max(pattern.depth, condition.depth)
    return s.WhereSuffix(pattern, condition, pattern.start, pattern.end, depth)


def _chain(kind: str, parts: tuple[s.Node, ...], span: Span) -> s.Node:
    row: list[s.Node | s.Op] = []
    for part in parts:
        if row:
            row.append(s.Op("infix", kind, span.start, span.end))
        inner = s.Paren((part,), part.start, part.end, part.depth + 1)
        row.append(inner if isinstance(part, (s.WhereSuffix, s.WithinSuffix, s.Chain)) else part)
    depth = 1 + max(part.depth for part in row)
    return s.Chain(tuple(row), span.start, span.end, depth) if len(row) > 1 else parts[0]
