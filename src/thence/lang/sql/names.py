"""What the names in a query mean: aliases, and columns with and without an alias in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.sql.refusal import Refused
from thence.lang.words import AGGREGATES
from thence.logic.expr import PREVIOUS
from thence.model.names import did_you_mean
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
    read: str = ""
    """The hidden event that is read instead, where only some events of the stream are meant."""

    @property
    def readable(self) -> tuple[str, ...]:
        """What can be read of it: its columns, and the times of an event."""
        return self.columns if self.table else (*self.columns, *_TIMES)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression whose names are resolved.

    It reads ``plain`` aliases by themselves and ``folded`` ones in aggregates, if it has any;
    ``previous`` says that it reads the repetition before.
    """

    node: s.Node
    plain: frozenset[str]
    folded: frozenset[str] = frozenset()
    aggregates: bool = False
    previous: bool = False

    @property
    def reads(self) -> frozenset[str]:
        """The aliases that it reads."""
        return self.plain | self.folded


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of one query, and the columns on which all of them agree.

    ``shared`` are those of the ``partition`` columns that are variables of the rule. ``repeated``
    are the aliases that EVENT repeats: aggregates over them may stand in larger expressions.
    """

    aliases: Mapping[str, Alias]
    partition: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()

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

    def value(
        self, node: s.Node, aggregates: bool = False, given: Mapping[str, s.Node] | None = None
    ) -> Value:
        """An expression with every column read through its alias, or as a shared variable.

        ``aggregates`` says that it is one over whole groups of events, as in SELECT and HAVING:
        anything may be aggregated in it. ``given`` are names of values besides.
        """
        return _Resolver(self, aggregates, given or {}).value(node)

    def column_of(self, alias: Alias, column: str, span: Span) -> s.Node:
        """A column of an alias, at a place in the text."""
        if alias.name in self.repeated and column in self.shared:
            return s.Name(column, span.start, span.end)  # all repetitions agree in it
        return s.Dotted(alias.name, column, span.start, span.start, span.end)

    def is_column(self, name: str) -> bool:
        """Whether some alias has a column of that name."""
        return any(name in alias.columns for alias in self.aliases.values())

    def column(self, name: s.Name | s.Dotted) -> s.Node:
        """A column as it was written, with its alias or without one."""
        return self._column(name) if isinstance(name, s.Name) else self._dotted(name)

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
        if alias.name in self.repeated and node.attribute in self.shared:
            return self.column_of(alias, node.attribute, s.span_of(node))
        return node

    def _alias_hint(self, name: str) -> str | None:
        own = [alias.name for alias in self.aliases.values() if alias.stream == name]
        if own:
            return f"'{name}' has the alias {' and '.join(own)} here"
        return did_you_mean(name, self.aliases, f"add it: FROM …, stream {name}")


class _Resolver:
    """Resolves the names of one expression, noting which aliases it reads."""

    def __init__(
        self, names: Names, grouped: bool, given: Mapping[str, s.Node], nested: bool = False
    ) -> None:
        self.names, self.grouped, self.given, self.nested = names, grouped, given, nested
        self.plain: set[str] = set()
        self.folded: set[str] = set()
        self.aggregates = self.previous = False

    def value(self, node: s.Node) -> Value:
        found = rewritten(node, self.leaf, self.call)
        plain, folded = frozenset(self.plain), frozenset(self.folded)
        return Value(found, plain, folded, self.aggregates, self.previous)

    def leaf(self, name: s.Name | s.Dotted) -> s.Node:
        if isinstance(name, s.Name) and name.text in self.given:
            if not self.names.is_column(name.text):
                return self.given[name.text]
        found = self.names.column(name)
        if isinstance(found, s.Dotted):
            self.plain.add(found.label)
        return found

    def call(self, node: s.Apply) -> s.Node | None:
        """Aggregates; and ``duration(a)`` and ``count(a)``, which are about an event, not about a
        column."""
        name = node.name.lower()
        if is_aggregate(node):
            return self.aggregate(node)
        if name == PREVIOUS:
            return self.repetition_before(node)
        alias = self.event(node)
        if alias is None or name != "duration":
            return None
        self.plain.add(alias.text)
        minus = s.Op("infix", "-", alias.start, alias.end)
        row = (_time(alias, "end"), minus, _time(alias, "start"))
        return s.Paren((s.Chain(row, node.start, node.end, 2),), node.start, node.end, 3)

    def event(self, node: s.Apply) -> s.Name | None:
        """The alias that a function is called with, where that is no column."""
        if len(node.args) != 1 or not isinstance(node.args[0], s.Name):
            return None
        alias = node.args[0]
        if alias.text not in self.names.aliases or self.names.is_column(alias.text):
            return None
        if node.name.lower() in ("count", "duration") and self.names.aliases[alias.text].table:
            raise _timeless(self.names.aliases[alias.text], s.span_of(node))
        return alias

    def aggregate(self, node: s.Apply) -> s.Node:
        """An aggregate over a group, or over the repetitions of a match."""
        span, shown = Span(node.start, node.name_end), node.name.upper()
        if self.nested:
            raise Refused(
                span,
                f"{shown} is an aggregate, and cannot stand inside another",
                "compute one in a query, and the other over this one: FROM (SELECT … AS x …) a",
            )
        inner = _Resolver(self.names, self.grouped, {}, nested=True)
        alias = self.event(node)
        if alias is not None and node.name.lower() == "count":
            inner.plain.add(alias.text)
            found: s.Node = replace(node, args=(_time(alias, "start"),))
        else:
            found = replace(node, args=tuple(inner.value(arg).node for arg in node.args))
        repeated = self.names.repeated
        if not self.grouped and not (inner.plain & repeated if inner.plain else repeated):
            raise Refused(
                span,
                f"{shown} is an aggregate, and WHERE looks at one match at a time",
                "conditions on what is collected come in HAVING, at the end; those on what EVENT "
                "repeats may be here",
            )
        self.folded |= inner.plain
        self.aggregates = True
        return found

    def repetition_before(self, node: s.Apply) -> s.Node:
        """``PREV(b.price)``, which reads what is repeated."""
        inner = _Resolver(self.names, self.grouped, {}, self.nested)
        found = replace(node, args=tuple(inner.value(arg).node for arg in node.args))
        if self.grouped or self.nested or not inner.plain & self.names.repeated:
            raise Refused(
                s.span_of(node),
                "PREV reads the repetition before, so it can stand only in a condition on what is "
                "repeated",
                "write EVENT SEQ(a, b+, c) WHERE b.price > PREV(b.price)",
            )
        self.plain |= inner.plain
        self.previous = True
        return found


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
            return found if found is not None else replace(node, args=tuple(map(inside, node.args)))
        case s.Distinct():
            return replace(node, value=inside(node.value))
        case s.Paren():
            return replace(node, items=tuple(map(inside, node.items)))
        case s.Chain():
            parts = tuple(
                replace(part, items=tuple(map(inside, part.items)))
                if isinstance(part, s.Op)
                else inside(part)
                for part in node.parts
            )
            return replace(node, parts=parts)
    # Whatever else can be written is no value; the resolver says so.
    return node


def renamed(node: s.Node, names: Mapping[str, str]) -> s.Node:
    """An expression, its names resolved, that reads other aliases instead."""

    def leaf(name: s.Name | s.Dotted) -> s.Node:
        if isinstance(name, s.Dotted) and name.label in names:
            return replace(name, label=names[name.label])
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
