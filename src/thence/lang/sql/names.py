"""What the names in a query mean: aliases, and columns with and without an alias in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from thence.lang import syntax as s
from thence.lang.report import did_you_mean
from thence.lang.sql.refusal import Refused
from thence.lang.words import AGGREGATES
from thence.model.source import Span

_TIMES = ("start", "end")


@dataclass(frozen=True, slots=True)
class Alias:
    """A name in FROM: the event it stands for, how that was written, and its columns."""

    name: str
    event: str
    stream: str
    columns: tuple[str, ...]
    span: Span
    table: bool = False
    """Whether it is a row of a static table, which has no times."""

    @property
    def readable(self) -> tuple[str, ...]:
        """What can be read of it: its columns, and the times of an event."""
        return self.columns if self.table else (*self.columns, *_TIMES)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression whose names are resolved, and the aliases that it reads."""

    node: s.Node
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of one query, and the columns on which all of them agree.

    ``shared`` are those of the ``partition`` columns that are variables of the rule.
    """

    aliases: Mapping[str, Alias]
    partition: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    def alias(self, name: s.Name) -> Alias:
        """The alias that a name stands for."""
        found = self.aliases.get(name.text)
        if found is None:
            raise Refused(
                s.span_of(name),
                f"there is no alias '{name.text}' in FROM",
                self._alias_hint(name.text),
            )
        return found

    def value(self, node: s.Node, aggregate: bool = False) -> Value:
        """An expression with every column read through its alias, or as a shared variable.

        ``aggregate`` says that it may be an aggregate.
        """
        reads: set[str] = set()
        whole = s.strip(node) if aggregate else None

        def leaf(name: s.Name | s.Dotted) -> s.Node:
            found = self._column(name) if isinstance(name, s.Name) else self._dotted(name)
            if isinstance(found, s.Dotted):
                reads.add(found.label)
            return found

        def call(node: s.Apply) -> s.Node | None:
            """``duration(a)`` and ``count(a)`` are about an event, not about a column."""
            if is_aggregate(node) and node is not whole:
                raise Refused(
                    Span(node.start, node.name_end),
                    f"{node.name.upper()} is an aggregate, which is an item of SELECT by itself",
                    "compute with it in a query over this one: FROM (SELECT … AS x …) a",
                )
            if len(node.args) != 1 or not isinstance(node.args[0], s.Name):
                return None
            alias = node.args[0]
            if alias.text not in self.aliases or self._is_column(alias.text):
                return None
            name = node.name.lower()
            if name in ("count", "duration") and self.aliases[alias.text].table:
                raise _timeless(self.aliases[alias.text], s.span_of(node))
            if name == "count":
                reads.add(alias.text)
                return node._replace(args=(_time(alias, "start"),))
            if name != "duration":
                return None
            reads.add(alias.text)
            minus = s.Op("infix", "-", alias.start, alias.end)
            row = (_time(alias, "end"), minus, _time(alias, "start"))
            return s.Paren((s.Chain(row, node.start, node.end, 2),), node.start, node.end, 3)

        return Value(rewritten(node, leaf, call), frozenset(reads))

    def column_of(self, alias: Alias, column: str, span: Span) -> s.Node:
        """A column of an alias, at a place in the text."""
        return s.Dotted(alias.name, column, span.start, span.start, span.end)

    def _is_column(self, name: str) -> bool:
        return any(name in alias.columns for alias in self.aliases.values())

    def _column(self, name: s.Name) -> s.Node:
        """A column without an alias: that of the one alias that has it."""
        if name.text in self.shared:
            return name
        having = [a for a in self.aliases.values() if name.text in a.readable]
        if name.text in self.partition:  # which is about streams
            having.sort(key=lambda alias: alias.table)
        if len(having) == 1 or (having and name.text in self.partition):
            return s.Dotted(having[0].name, name.text, name.start, name.start, name.end)
        span = s.span_of(name)
        if having:
            ways = " or ".join(f"{alias.name}.{name.text}" for alias in having)
            raise Refused(
                span, f"'{name.text}' could be a column of several aliases", f"write {ways}"
            )
        if name.text in self.aliases:
            raise Refused(
                span,
                f"'{name.text}' is an alias, not a column",
                f"read one of its columns, or its times: {name.text}.start, {name.text}.end",
            )
        known = dict.fromkeys(c for alias in self.aliases.values() for c in alias.columns)
        raise Refused(
            span,
            f"no alias has a column '{name.text}'",
            did_you_mean(name.text, known, f"there is {', '.join(known) or 'none'}"),
        )

    def _dotted(self, node: s.Dotted) -> s.Node:
        alias = self.aliases.get(node.label)
        if alias is None:
            raise Refused(
                Span(node.start, node.label_end),
                f"there is no alias '{node.label}' in FROM",
                self._alias_hint(node.label),
            )
        choices = alias.readable
        if alias.table and node.attribute in _TIMES:
            raise _timeless(alias, s.span_of(node))
        if node.attribute not in choices:
            raise Refused(
                s.span_of(node),
                f"'{alias.stream}' has no column '{node.attribute}'",
                did_you_mean(node.attribute, choices, f"it has {', '.join(choices)}"),
            )
        return node

    def _alias_hint(self, name: str) -> str | None:
        own = [alias.name for alias in self.aliases.values() if alias.stream == name]
        if own:
            return f"'{name}' has the alias {' and '.join(own)} here"
        return did_you_mean(name, self.aliases, f"add it: FROM …, stream {name}")


def _timeless(alias: Alias, span: Span) -> Refused:
    return Refused(
        span,
        f"'{alias.name}' is a row of the table '{alias.stream}', which has no time",
        "a row of a table is true at all times; read its columns, and the times of a stream",
    )


def is_aggregate(node: s.Node) -> bool:
    """Whether a node is an aggregate. (``min`` and ``max`` of several values are not.)"""
    inner = s.strip(node)
    return isinstance(inner, s.Apply) and inner.name.lower() in AGGREGATES and len(inner.args) <= 1


def _time(alias: s.Name, which: str) -> s.Dotted:
    return s.Dotted(alias.text, which, alias.end, alias.start, alias.end)


def rewritten(
    node: s.Node,
    leaf: Callable[[s.Name | s.Dotted], s.Node],
    call: Callable[[s.Apply], s.Node | None] = lambda node: None,
) -> s.Node:
    """An expression with its names replaced. ``call`` may replace whole calls."""

    def inside(node: s.Node) -> s.Node:
        return rewritten(node, leaf, call)

    match node:
        case s.Name() | s.Dotted():
            return leaf(node)
        case s.Apply():
            found = call(node)
            return found if found is not None else node._replace(args=tuple(map(inside, node.args)))
        case s.Distinct():
            return node._replace(value=inside(node.value))
        case s.Paren():
            return node._replace(items=tuple(map(inside, node.items)))
        case s.Chain():
            parts = tuple(
                part._replace(items=tuple(map(inside, part.items)))
                if isinstance(part, s.Op)
                else inside(part)
                for part in node.parts
            )
            return node._replace(parts=parts)
    # Whatever else can be written is no value; the resolver says so.
    return node


def renamed(node: s.Node, names: Mapping[str, str]) -> s.Node:
    """An expression, its names resolved, that reads other aliases instead."""

    def leaf(name: s.Name | s.Dotted) -> s.Node:
        if isinstance(name, s.Dotted) and name.label in names:
            return name._replace(label=names[name.label])
        return name

    return rewritten(node, leaf)


def conjuncts(node: s.Node) -> list[s.Node]:
    """The parts of a condition that AND joins."""
    inner = s.strip(node)
    if isinstance(inner, s.Paren):
        return [part for item in inner.items for part in conjuncts(item)]
    if not isinstance(inner, s.Chain) or any(
        isinstance(part, s.Op) and part.text == "or" for part in inner.parts
    ):
        return [node]
    rows: list[list[s.Node | s.Op]] = [[]]
    for part in inner.parts:
        if isinstance(part, s.Op) and part.text == "and":
            rows.append([])
        else:
            rows[-1].append(part)
    if len(rows) == 1:
        return [inner]
    found: list[s.Node] = []
    for row in rows:
        only = row[0]
        if len(row) == 1 and not isinstance(only, s.Op):
            found += conjuncts(only)
        else:
            found.append(s.Chain(tuple(row), row[0].start, row[-1].end, inner.depth))
    return found
