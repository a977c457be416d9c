"""What the names in a query mean: aliases, and columns with and without an alias in front."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace

from thence.lang import syntax as s
from thence.lang.problem import check_nesting
from thence.lang.report import Refused, Refusing
from thence.lang.scope import Scope
from thence.lang.sql import syntax as q
from thence.lang.values import Values
from thence.lang.words import PATTERN_OPERATORS
from thence.logic.expr import (
    PREVIOUS,
    Aggregate,
    Attr,
    Call,
    Expr,
    Folded,
    TimeOf,
    Var,
    labels,
    leaves,
)
from thence.logic.ops import Pattern
from thence.model.source import NOWHERE, Source, Span
from thence.model.suggestions import did_you_mean

_TIMES = ("start", "end")
Column = Attr | TimeOf | Var


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


@dataclass(frozen=True, slots=True, eq=False)
class Query(Expr):
    """A leaf: a query in a condition. What holds it becomes rows to look up (``lookups.py``)."""

    query: q.Query
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of one query, and the columns on which all of them agree.

    ``shared`` are those of the ``partition`` columns that are variables of the rule. ``repeated``
    are the aliases that EVENT repeats: aggregates over them may stand in larger expressions.
    ``own`` are the tables of a query in a condition, as it calls them: they come first.
    """

    aliases: Mapping[str, Alias]
    partition: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    own: Mapping[str, Alias] = field(default_factory=dict)

    def alias(self, name: str, span: Span) -> Alias:
        """The alias that a name stands for."""
        found = self.own.get(name) or self.aliases.get(name)
        if found is not None:
            return found
        having = [alias.name for alias in self.aliases.values() if alias.stream == name]
        hint = did_you_mean(name, self.aliases, f"add it: FROM …, stream {name}")
        if having:
            hint = f"'{name}' has the alias {' and '.join(having)} here"
        raise Refused(span, f"there is no alias '{name}' in FROM", hint)

    def value(
        self,
        node: s.Node,
        grouped: bool = False,
        given: Mapping[str, Expr] | None = None,
        queries: bool = False,
    ) -> Expr:
        """An expression with every column read through its alias, or as a shared variable.

        ``grouped`` says that it is one over whole groups of events, as in SELECT and HAVING:
        anything may be aggregated in it. ``given`` are names of values besides. ``queries`` says
        that it may hold others. Raises Refused.
        """
        found = _Values(self, grouped, given or {}, queries).expr(node)
        check_nesting(found, s.span_of(node))
        return found

    def column_of(self, alias: Alias, column: str, span: Span) -> Column:
        """A column of an alias, at a place in the text."""
        if alias.name in self.repeated and column in self.shared:
            return Var(column, span)  # all repetitions agree in it
        if column in _TIMES:
            return TimeOf(alias.name, "start" if column == "start" else "end", span)
        return Attr(alias.name, column, span)

    def is_column(self, name: str) -> bool:
        """Whether some alias has a column of that name."""
        return any(name in alias.columns for alias in self.aliases.values())

    def column(self, name: s.Name | s.Dotted) -> Column:
        """A column as it was written, with its alias or without one."""
        span = s.span_of(name)
        if isinstance(name, s.Name):
            return self._bare_column(name.text, span)
        alias = self.alias(name.label, Span(name.start, name.label_end))
        if alias.table and name.attribute in _TIMES:
            raise _timeless(alias, span)
        if name.attribute not in alias.readable:
            choices = alias.readable
            raise Refused(
                span,
                f"'{alias.stream}' has no column '{name.attribute}'",
                did_you_mean(name.attribute, choices, f"it has {', '.join(choices)}"),
            )
        return self.column_of(alias, name.attribute, span)

    def _bare_column(self, name: str, span: Span) -> Column:
        """A column without an alias: that of the one alias that has it."""
        having = [alias for alias in self.own.values() if name in alias.columns]
        if not having:
            if name in self.shared:
                return Var(name, span)
            having = [alias for alias in self.aliases.values() if name in alias.readable]
            if name in self.partition:  # which is about streams
                having = sorted(having, key=lambda alias: alias.table)[:1]
        if len(having) == 1:
            return self.column_of(having[0], name, span)
        if having:
            ways = " or ".join(f"{alias.name}.{name}" for alias in having)
            raise Refused(span, f"'{name}' could be a column of several aliases", f"write {ways}")
        if name in self.aliases:
            raise Refused(
                span,
                f"'{name}' is an alias, not a column",
                f"read one of its columns, or its times: {name}.start, {name}.end",
            )
        known = dict.fromkeys(c for alias in self.aliases.values() for c in alias.columns)
        raise Refused(
            span,
            f"no alias has a column '{name}'",
            did_you_mean(name, known, f"there is {', '.join(known) or 'none'}"),
        )


class _Values(Values):
    """Resolves an expression of a query: its names are those of aliases and their columns.

    An aggregate is a leaf, wherever it stands; what a rule's head cannot say, another rule does.
    """

    __slots__ = ("given", "grouped", "names", "nested", "queries")

    def __init__(
        self, names: Names, grouped: bool, given: Mapping[str, Expr], queries: bool
    ) -> None:
        scope = Scope({}, dict.fromkeys(names.aliases, frozenset[str]()), frozenset(), frozenset())
        super().__init__(scope, Refusing(Source("")))
        self.names, self.grouped, self.given, self.queries = names, grouped, given, queries
        self.nested = False
        """Whether it is inside an aggregate."""

    def _query(self, node: s.Nested) -> Expr:
        return Query(node.query, s.span_of(node)) if self.queries else super()._query(node)

    def _name(self, node: s.Name) -> Expr:
        if node.text in self.given and not self.nested and not self.names.is_column(node.text):
            return self.given[node.text]
        return self.names.column(node)

    def _dotted(self, node: s.Dotted) -> Expr:
        return self.names.column(node)

    def _is_event(self, node: s.Name) -> bool:
        alias = self.names.aliases.get(node.text)
        if alias is None or self.names.is_column(node.text):
            return False
        if alias.table:
            raise _timeless(alias, s.span_of(node))
        return True

    def _duration(self, node: s.Apply) -> Expr:
        given = [s.strip(arg) for arg in node.args]
        if len(given) == 1 and isinstance(given[0], s.Name) and self._is_event(given[0]):
            return super()._duration(node)
        for arg in given if len(given) == 1 else ():
            self.expr(arg)
        raise Refused(
            s.span_of(node), "DURATION takes an alias", f"write DURATION({min(self.names.aliases)})"
        )

    def _caused_by(self, node: s.Apply) -> Expr:
        raise Refused(
            s.span_of(node),
            "CAUSED_BY is not part of event SQL in this version",
            "write a rule: r(x.a) <- x: effect(), y: cause(), caused_by(x, y);",
        )

    def _apply(self, node: s.Apply) -> Expr:
        name = node.name.lower()
        if name in PATTERN_OPERATORS:
            raise Refused(
                Span(node.start, node.name_end),
                f"{name.upper()} joins events, and a value is needed here",
                "how events relate in time is said in EVENT: EVENT FOLLOWS(a, b, '1 min')",
            )
        found = super()._apply(node)
        if name == PREVIOUS:
            read = labels(found) & self.names.repeated
            if self.grouped or self.nested or not read:
                raise Refused(
                    s.span_of(node),
                    "PREV reads the repetition before, so it can stand only in a condition on what "
                    "is repeated",
                    "write EVENT SEQ(a, b+, c) WHERE b.price > PREV(b.price)",
                )
        return found

    def _aggregate(self, node: s.Apply) -> Aggregate | Expr:
        """An aggregate over a group, or over the repetitions of a match."""
        span, shown = Span(node.start, node.name_end), node.name.upper()
        if self.nested:
            raise Refused(
                span,
                f"{shown} is an aggregate, and cannot stand inside another",
                "compute one in a query, and the other over this one: FROM (SELECT … AS x …) a",
            )
        self.nested = True
        found = super()._aggregate(node)
        self.nested = False
        assert isinstance(found, Aggregate)
        repeated = self.names.repeated
        read = frozenset() if found.arg is None else labels(found.arg)
        if not self.grouped and not (read & repeated if read else repeated):
            raise Refused(
                span,
                f"{shown} is an aggregate, and WHERE looks at one match at a time",
                "conditions on what is collected come in HAVING, at the end; those on what EVENT "
                "repeats may be here",
            )
        return found


def _timeless(alias: Alias, span: Span) -> Refused:
    return Refused(
        span,
        f"'{alias.name}' is a row of the table '{alias.stream}', which has no time",
        "a row of a table is true at all times; read its columns, and the times of a stream",
    )


def free(name: str, taken: Container[str]) -> str:
    """A name like one given, which nothing else has."""
    while name in taken:
        name += "′"
    return name


# -- expressions


def span_of(node: Expr | Pattern) -> Span:
    """Where an expression or a pattern stands in the text."""
    span: Span = getattr(node, "span")  # noqa: B009 (every class of them has one)
    return span


def aggregates(expr: Expr) -> list[Aggregate]:
    """The aggregates in an expression."""
    return [leaf.aggregate for leaf in leaves(expr) if isinstance(leaf, Folded)]


def aggregated(expr: Expr) -> frozenset[str]:
    """The aliases that the aggregates of an expression read."""
    read = (labels(each.arg) for each in aggregates(expr) if each.arg is not None)
    return frozenset[str]().union(*read)


def reads(expr: Expr) -> frozenset[str]:
    """The aliases that an expression reads, by themselves or in aggregates."""
    return labels(expr) | aggregated(expr)


def mapped(expr: Expr, leaf: Callable[[Expr], Expr], inside: bool = False) -> Expr:
    """An expression with its leaves replaced; an aggregate is one, unless ``inside`` says that what
    it reads is to be replaced instead."""
    if isinstance(expr, Call):
        return replace(expr, args=tuple([mapped(arg, leaf, inside) for arg in expr.args]))
    if not inside or not isinstance(expr, Folded) or expr.aggregate.arg is None:
        return leaf(expr)
    arg = mapped(expr.aggregate.arg, leaf)
    return replace(expr, aggregate=replace(expr.aggregate, arg=arg))


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """An expression that reads other aliases instead."""

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Attr | TimeOf) and node.label in names:
            return replace(node, label=names[node.label])
        return node

    return mapped(expr, leaf, inside=True)
