"""A query as two rules: one that aggregates, and one that computes with what it found.

An aggregate over what is collected is a term of a head by itself. Where a query computes with it,
has a condition on it, or keeps apart what its columns do not show, a hidden rule hands over columns
and aggregates, and the query's own rule reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from thence.lang import syntax as s
from thence.lang.sql.names import is_aggregate, rewritten

Head = tuple[s.Term, ...]
AddRule = Callable[[str, Head, tuple[s.Node, ...]], str]
"""Makes a hidden rule of a name, a head and a body, and gives the event that it derives."""


@dataclass(slots=True)
class Split:
    """What the rule that aggregates hands over: columns, which keep apart what it finds, and
    aggregates. ``leaf`` and ``aggregate`` say what names and aggregates mean there."""

    label: str
    taken: Sequence[str]
    leaf: Callable[[s.Name | s.Dotted], s.Node]
    aggregate: Callable[[s.Apply], s.Node]
    columns: dict[str, s.Node] = field(default_factory=dict)

    def outside(self, node: s.Node) -> s.Node:
        """An expression as the second rule says it."""

        def leaf(name: s.Name | s.Dotted) -> s.Node:
            return self.handed(self.leaf(name), name)

        def call(node: s.Apply) -> s.Node | None:
            return self.handed(self.aggregate(node), node) if is_aggregate(node) else None

        return rewritten(node, leaf, call)

    def handed(self, value: s.Node, at: s.Node) -> s.Node:
        """A value of the first rule as the second one reads it."""
        name = value.text if isinstance(value, s.Name) else f"a{len(self.columns) + 1}"
        while not isinstance(value, s.Name) and name in (*self.columns, *self.taken):
            name += "_"
        self.columns.setdefault(name, value)
        return s.Dotted(self.label, name, at.start, at.start, at.end)

    def head(self) -> Head:
        """The head of the first rule."""
        return tuple(s.Term(v, name, v.start, v.end) for name, v in self.columns.items())

    def found(self, event: str, at: s.Name) -> s.Node:
        """What the first rule derives, as an event of the second one."""
        start, end = at.start, at.end
        return s.Labelled(self.label, s.Apply(event, (), end, start, end, 2), end, start, end, 3)


def aggregates(node: s.Node) -> Iterator[s.Apply]:
    """The aggregates in an expression."""
    inner = s.strip(node)
    if isinstance(inner, s.Apply) and is_aggregate(inner):
        yield inner
        return
    for child in s.children(inner):
        yield from aggregates(child)
