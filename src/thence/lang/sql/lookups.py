"""Rows of tables that a condition asks for: ``EXISTS (SELECT …)`` and ``x IN (SELECT …)``.

A query about tables in a condition becomes what rules have for it: a row beside the events, or the
absence of one. Where it is about one alias that must be absent, is collected or repeated, an
auxiliary rule first finds those events of its stream that have such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thence.lang import syntax as s
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.sql.clause import atom, conjunction, filtered
from thence.lang.sql.names import Alias, Names, Query, free, mapped, span_of
from thence.logic.expr import Attr, Call, Expr, Var, conjuncts, has_aggregate, labels, leaves
from thence.logic.ops import HeadTerm, NoFact, Pattern
from thence.logic.repetition import reads_previous
from thence.model.source import Span
from thence.model.suggestions import did_you_mean

AddRule = Callable[[str, Sequence[HeadTerm], Pattern], str]
"""Makes an auxiliary rule of a name, a head and a body, and gives the event that it derives."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What conditions can look into: the columns of each table; and how an auxiliary rule is added.
    ``base`` are the events that come in."""

    columns: Mapping[str, tuple[str, ...]]
    base: Sequence[str]
    add: AddRule


@dataclass(frozen=True, slots=True)
class Row:
    """A row of each of some tables under conditions, which must be there, or must not."""

    tables: tuple[Alias, ...]
    conditions: tuple[Expr, ...]
    absent: bool


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """What one condition asks of tables: rows. ``reads`` are the aliases of the query around it."""

    rows: tuple[Row, ...]
    reads: frozenset[str]
    span: Span


def holds_query(condition: Expr) -> bool:
    """Whether a query stands in a condition."""
    return any(isinstance(leaf, Query) for leaf in leaves(condition))


def lookup(condition: Expr, names: Names, tables: Tables, taken: set[str]) -> Lookup:
    """What a condition that holds a query asks for. ``taken`` are names that its rows cannot have,
    and gets those that they have. Raises Refused."""
    inner, absent = condition, False
    while isinstance(inner, Call) and inner.function == "not":
        inner, absent = inner.args[0], not absent
    reader = _Reader(names, tables, taken, absent, span_of(condition))
    match inner:
        case Query():
            return reader.exists(inner)
        case Call("in", (sought, Query() as query)) if not holds_query(sought):
            return reader.contained(sought, query)
    raise Refused(
        span_of(condition),
        "a query in a condition stands by itself: EXISTS (SELECT …), x IN (SELECT …), or either "
        "with NOT, joined to other conditions by AND",
        "write one CREATE EVENT for each alternative",
    )


@dataclass(slots=True)
class _Reader:
    """Reads one query in a condition."""

    names: Names
    tables: Tables
    taken: set[str]
    absent: bool
    span: Span
    reads: set[str] = field(default_factory=set)

    def exists(self, query: Query) -> Lookup:
        select = self.select(query)
        row, names = self.row(select)
        for item in select.items:
            if isinstance(item, s.Term):
                self.checked(names.value(item.value, queries=True))
        return Lookup((row,), frozenset(self.reads), self.span)

    def contained(self, sought: Expr, query: Query) -> Lookup:
        """``x IN (SELECT c FROM t)``: a row with ``c = x``. As in SQL, ``x`` is *not* in it if
        there is neither such a row, nor a null among the rows, nor, where ``x`` is null, any."""
        select = self.select(query)
        item = select.items[0]
        if len(select.items) != 1 or not isinstance(item, s.Term):
            raise Refused(
                Span(select.items[0].start, select.items[-1].end),
                "IN compares with one column",
                "write x IN (SELECT column FROM table)",
            )
        self.checked(sought)
        span, rows = span_of(sought), []
        for also in (_equal, _first_is_null, _second_is_null)[: 3 if self.absent else 1]:
            row, names = self.row(select)
            column = self.checked(names.value(item.value, queries=True))
            rows.append(replace(row, conditions=(*row.conditions, also(column, sought, span))))
        return Lookup(tuple(rows), frozenset(self.reads), self.span)

    def select(self, held: Query) -> q.Select:
        """The query, which is about tables and nothing else."""
        select = held.query
        if (
            not isinstance(select, q.Select)
            or any((select.partition, select.event, select.limits, select.policy, select.group))
            or select.having is not None
            or any(source.window for source in select.sources)
        ):
            raise Refused(
                held.span,
                "a query in a condition looks rows up: it has SELECT, FROM and WHERE alone",
                "write EXISTS (SELECT * FROM table t WHERE t.x = a.x)",
            )
        return select

    def row(self, select: q.Select) -> tuple[Row, Names]:
        """The rows that a query is about, under names of their own; and what names mean in it: its
        tables come first, then the aliases around it."""
        own: dict[str, Alias] = {}
        for source in select.sources:
            for alias in source.aliases:
                table = self.table(source, alias)
                if alias.text in own:
                    raise Refused(s.span_of(alias), f"the alias '{alias.text}' is given twice")
                own[alias.text] = table
        if self.absent and len(own) > 1:
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "what must be absent is a row of one table",
                "derive what belongs together as an event, or ask with EXISTS for one of the two",
            )
        every = {**self.names.aliases, **{table.name: table for table in own.values()}}
        names = replace(self.names, aliases=every, own=own)
        conditions = [
            self.checked(part)
            for node in select.conditions
            for part in conjuncts(names.value(node, queries=True))
        ]
        return Row(tuple(own.values()), tuple(conditions), self.absent), names

    def table(self, source: q.SourceItem, alias: s.Name) -> Alias:
        stream = source.stream
        known = self.tables.columns
        if not isinstance(stream, s.Name) or stream.text not in known:
            shown = f"'{stream.text}'" if isinstance(stream, s.Name) else "this query"
            hint = "what occurs, and what does not, is said in EVENT: NOTPRECEDES(a, b, '1 min')"
            if isinstance(stream, s.Name):
                hint = did_you_mean(stream.text, known, hint) or hint
            raise Refused(
                Span(stream.start, stream.end),
                f"{shown} is no table: EXISTS and IN look rows of tables up, which are true at all "
                "times",
                hint,
            )
        name, columns = free(alias.text, self.taken), known[stream.text]
        self.taken.add(name)
        return Alias(name, stream.text, stream.text, columns, s.span_of(alias), table=True)

    def checked(self, expr: Expr) -> Expr:
        """An expression of the query, which reads single events and rows."""
        if holds_query(expr):
            raise Refused(
                span_of(expr),
                "a query in a condition cannot hold another one",
                "ask for rows of several tables at once: EXISTS (SELECT * FROM t1, t2 WHERE …)",
            )
        if has_aggregate(expr) or reads_previous(expr):
            raise Refused(
                span_of(expr),
                "a query in a condition reads single events, and no aggregates or PREV",
                "aggregate in a query of its own, and look up rows for what it finds",
            )
        self.reads |= labels(expr) & self.names.aliases.keys()
        return expr


def _equal(column: Expr, value: Expr, span: Span) -> Expr:
    return Call("=", (column, value), span)


def _first_is_null(column: Expr, _: Expr, span: Span) -> Expr:
    return Call("is_null", (column,), span)


def _second_is_null(_: Expr, value: Expr, span: Span) -> Expr:
    return Call("is_null", (value,), span)


# -- rows as patterns


@dataclass(slots=True)
class Variables:
    """Variables for columns that an absent row must be equal to: what is looked for by a variable
    is found by it, and not among all rows."""

    taken: set[str]
    given: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, alias: str, column: str) -> str:
        """The variable that has the value of a column."""
        if (alias, column) not in self.given:
            self.given[alias, column] = name = free(column, self.taken)
            self.taken.add(name)
        return self.given[alias, column]

    def arguments(self, alias: str, span: Span) -> list[tuple[str, Var]]:
        """The arguments of an alias's event that bind them."""
        given = self.given.items()
        return [(column, Var(name, span)) for (of, column), name in given if of == alias]


def row_patterns(row: Row, names: Names, variables: Variables | None) -> list[Pattern]:
    """The parts of a conjunction that a row amounts to. Without ``variables``, an absent one is
    told by conditions."""
    if not row.absent:
        variables = None
    first, columns = row.tables[0], dict[str, Var]()
    left: list[Expr] = []
    for condition in row.conditions:
        pair = None if variables is None else _pair(condition, first, names)
        if pair is None or variables is None or pair[0] in columns:
            left.append(condition)
            continue
        column, value = pair
        if isinstance(value, Attr):
            shared = value.name in names.shared and not names.aliases[value.label].table
            name = value.name if shared else variables.of(value.label, value.name)
            value = Var(name, value.span)
        columns[column] = value
    *others, last = (
        atom(table.name, table.event, table.span, columns.items() if table is first else ())
        for table in row.tables
    )
    whole = filtered(last, left)
    return [*others, NoFact(whole, first.span) if row.absent else whole]


def _pair(condition: Expr, table: Alias, names: Names) -> tuple[str, Var | Attr] | None:
    """A column of a table and what else it is equal to, where a condition says just that."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    one, two = condition.args
    for column, value in ((one, two), (two, one)):
        if not isinstance(column, Attr) or column.label != table.name:
            continue
        if isinstance(value, Var) or (isinstance(value, Attr) and value.label in names.aliases):
            return column.name, value
    return None


def with_rows(alias: Alias, lookups: Sequence[Lookup], names: Names, tables: Tables) -> str:
    """The event of an auxiliary rule: those of an alias's stream that have rows, or have not."""

    def own(node: Expr) -> Expr:
        # A column that all aliases share is this one's, too.
        if isinstance(node, Var) and node.name in names.shared:
            return Attr(alias.name, node.name, node.span)
        return node

    variables = Variables(
        {alias.name, *(t.name for w in lookups for r in w.rows for t in r.tables)}
    )
    alone = replace(names, shared=frozenset())  # with no other alias in the rule
    patterns: list[Pattern] = []
    for each in lookups:
        for row in each.rows:
            conditions = tuple(mapped(condition, own) for condition in row.conditions)
            patterns += row_patterns(replace(row, conditions=conditions), alone, variables)
    columns = variables.arguments(alias.name, alias.span)
    events = atom(alias.name, alias.event, alias.span, columns)
    head = [
        HeadTerm(column, Attr(alias.name, column, alias.span), alias.span)
        for column in alias.columns
    ]
    return tables.add(alias.name, head, conjunction((events, *patterns)))
