"""Rows of tables that a condition asks for: ``EXISTS (SELECT …)`` and ``x IN (SELECT …)``.

A query about tables in a condition becomes what rules have for it: a row beside the events, or the
absence of one. Where it is about one alias that must be absent, is collected or repeated, a hidden
rule first finds those events of its stream that have such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.names import Alias, Names, Value, conjuncts, rewritten
from thence.lang.sql.patterns import atom, filtered
from thence.lang.sql.refusal import Refused
from thence.lang.sql.split import AddRule
from thence.lang.words import QUERIES
from thence.model.names import did_you_mean
from thence.model.source import Span


@dataclass(frozen=True, slots=True)
class Tables:
    """What conditions can look into: the columns of each table; and how a hidden rule is added."""

    columns: Mapping[str, tuple[str, ...]]
    add: AddRule


@dataclass(frozen=True, slots=True)
class Row:
    """A row of each of some tables under conditions, which must be there, or must not."""

    tables: tuple[Alias, ...]
    conditions: tuple[s.Node, ...]
    absent: bool


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """What one condition asks of tables: rows. ``reads`` are the aliases of the query around it."""

    rows: tuple[Row, ...]
    reads: frozenset[str]
    span: Span


def holds_query(node: s.Node) -> bool:
    """Whether a query stands in a condition."""
    own = isinstance(node, s.Chain) and any(
        isinstance(part, s.Op) and part.text in QUERIES for part in node.parts
    )
    return own or any(map(holds_query, s.children(node)))


def lookup(condition: s.Node, names: Names, tables: Tables, taken: set[str]) -> Lookup:
    """What a condition that holds a query asks for. ``taken`` are names that its rows cannot have,
    and gets those that they have. Raises Refused."""
    parts = _row_of(condition)
    absent = False
    while len(parts) > 1 and isinstance(parts[0], s.Op) and parts[0].text == "not":
        absent = not absent
        parts = _row_of(_joined(parts[1:]))
    last = parts[-1]
    reader = _Reader(names, tables, taken, absent, s.span_of(condition))
    if isinstance(last, s.Op) and last.text in QUERIES:
        if len(parts) == 1:
            return reader.exists(last)
        value = _joined(parts[:-1])
        if last.text != "exists" and not holds_query(value) and not _joins(value):
            return reader.contained(value, last)
    raise Refused(
        s.span_of(condition),
        "a query in a condition stands by itself: EXISTS (SELECT …), x IN (SELECT …), or either "
        "with NOT, joined to other conditions by AND",
        "write one CREATE EVENT for each alternative",
    )


def _row_of(node: s.Node) -> tuple[s.Node | s.Op, ...]:
    """The operands and operators of a condition, parentheses around it left out."""
    inner = s.strip(node)
    return inner.parts if isinstance(inner, s.Chain) else (inner,)


def _joined(parts: Sequence[s.Node | s.Op]) -> s.Node:
    first = parts[0]
    if len(parts) == 1 and not isinstance(first, s.Op):
        return first
    return s.Chain(tuple(parts), first.start, parts[-1].end, 1 + max(p.depth for p in parts))


def _joins(node: s.Node) -> bool:
    """Whether a row of operands is a condition, and no value to look for."""
    return isinstance(node, s.Chain) and any(
        isinstance(part, s.Op) and part.text in ("and", "or", "not") for part in node.parts
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

    def exists(self, node: s.Op) -> Lookup:
        select = self.select(node)
        row = self.row(select, self.absent)
        for item in select.items:
            if isinstance(item, s.Term):
                self.inside(item.value, select, row.tables)
        return Lookup((row,), frozenset(self.reads), self.span)

    def contained(self, value: s.Node, node: s.Op) -> Lookup:
        """``x IN (SELECT c FROM t)``: a row with ``c = x``. As in SQL, ``x`` is *not* in it if
        there is neither such a row, nor a null among the rows, nor, where ``x`` is null, any."""
        select = self.select(node)
        absent = self.absent != (node.text == "not in query")
        item = select.items[0]
        if len(select.items) != 1 or not isinstance(item, s.Term):
            raise Refused(
                Span(select.items[0].start, select.items[-1].end),
                "IN compares with one column",
                "write x IN (SELECT column FROM table)",
            )
        sought = self.outside(value)
        rows = [self.row(select, absent, lambda column: _equal(column, sought))]
        if absent:
            rows.append(self.row(select, absent, lambda column: _is_null(column, "is null")))
            rows.append(self.row(select, absent, lambda _: _is_null(sought, "is null")))
        return Lookup(tuple(rows), frozenset(self.reads), self.span)

    def select(self, node: s.Op) -> q.Select:
        """The query, which is about tables and nothing else."""
        (held,) = node.items
        select = held.value if isinstance(held, s.Literal_) else None
        if not isinstance(select, q.Select) or any(
            (select.partition, select.happening, select.limits, select.policy, select.group)
        ):
            raise self.beyond(s.span_of(node))
        if select.having is not None or any(source.window for source in select.sources):
            raise self.beyond(s.span_of(node))
        return select

    def beyond(self, span: Span) -> Refused:
        return Refused(
            span,
            "a query in a condition looks rows up: it has SELECT, FROM and WHERE alone",
            "write EXISTS (SELECT * FROM table t WHERE t.x = a.x)",
        )

    def row(
        self,
        select: q.Select,
        absent: bool,
        also: Callable[[s.Node], s.Node] | None = None,
    ) -> Row:
        """The rows that a query is about, under names of their own. ``also`` makes a condition of
        the column that it selects."""
        tables: list[Alias] = []
        own: dict[str, Alias] = {}
        for source in select.sources:
            for alias in source.aliases:
                table = self.table(source, alias)
                if alias.text in own:
                    raise Refused(s.span_of(alias), f"the alias '{alias.text}' is given twice")
                own[alias.text] = table
                tables.append(table)
        if absent and len(tables) > 1:
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "what must be absent is a row of one table",
                "derive what belongs together as an event, or ask with EXISTS for one of the two",
            )
        conditions = [
            self.inside(part, select, tables)
            for node in select.conditions
            for part in conjuncts(node)
        ]
        if also is not None:
            item = select.items[0]
            assert isinstance(item, s.Term)
            conditions.append(also(self.inside(item.value, select, tables)))
        return Row(tuple(tables), tuple(conditions), absent)

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
        name, columns = alias.text, known[stream.text]
        while name in self.taken:
            name += "′"
        self.taken.add(name)
        return Alias(name, stream.text, stream.text, columns, s.span_of(alias), table=True)

    def inside(self, node: s.Node, select: q.Select, tables: Sequence[Alias]) -> s.Node:
        """An expression of the query: its tables come first, then the aliases around it."""
        written = [alias.text for source in select.sources for alias in source.aliases]
        own = dict(zip(written, tables, strict=True))

        def leaf(name: s.Name | s.Dotted) -> s.Node:
            if isinstance(name, s.Dotted):
                known = own.get(name.label)
                return name if known is None else replace(name, label=known.name)
            having = [table for table in tables if name.text in table.columns]
            if not having:
                return name
            local = Names({table.name: table for table in tables})
            return local.value(name).node

        return self.outside(rewritten(node, leaf), tables)

    def outside(self, node: s.Node, tables: Sequence[Alias] = ()) -> s.Node:
        """An expression whose names are resolved, those of the query around among them."""
        if holds_query(node):
            raise Refused(
                s.span_of(node),
                "a query in a condition cannot hold another one",
                "ask for rows of several tables at once: EXISTS (SELECT * FROM t1, t2 WHERE …)",
            )
        every = {**self.names.aliases, **{table.name: table for table in tables}}
        found: Value = _with(self.names, every).value(node)
        if found.aggregates or found.previous:
            raise Refused(
                s.span_of(node),
                "a query in a condition reads single events, and no aggregates or PREV",
                "aggregate in a query of its own, and look up rows for what it finds",
            )
        self.reads |= found.plain - {table.name for table in tables}
        return found.node


def _with(names: Names, aliases: Mapping[str, Alias]) -> Names:
    return Names(aliases, names.partition, names.shared, names.repeated)


def _equal(column: s.Node, value: s.Node) -> s.Node:
    start, end = value.start, value.end
    depth = max(column.depth, value.depth) + 2
    equals = s.Op("infix", "=", start, end)
    return s.Chain((_paren(column), equals, _paren(value)), start, end, depth)


def _is_null(value: s.Node, text: str) -> s.Node:
    op = s.Op("postfix", text, value.start, value.end)
    inner = _paren(value)
    return s.Chain((inner, op), value.start, value.end, inner.depth + 1)


def _paren(node: s.Node) -> s.Node:
    if isinstance(node, (s.Name, s.Dotted, s.Literal_)):
        return node
    return s.Paren((node,), node.start, node.end, node.depth + 1)


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
            name = column
            while name in self.taken:
                name += "′"
            self.taken.add(name)
            self.given[alias, column] = name
        return self.given[alias, column]

    def arguments(self, alias: str, span: Span) -> list[tuple[str, s.Name]]:
        """The arguments of an alias's event that bind them."""
        return [
            (column, s.Name(name, span.start, span.end))
            for (of, column), name in self.given.items()
            if of == alias
        ]


def row_items(found: Lookup, names: Names, variables: Variables | None) -> list[s.Node]:
    """The parts of a conjunction that a lookup amounts to. Without ``variables``, absent rows are
    told by conditions."""
    items: list[s.Node] = []
    for row in found.rows:
        items += _row_patterns(row, names, variables if row.absent else None)
    return items


def _row_patterns(row: Row, names: Names, variables: Variables | None) -> Iterable[s.Node]:
    columns: list[tuple[str, s.Name]] = []
    left: list[s.Node] = []
    for condition in row.conditions:
        pair = None if variables is None else _pair(condition, row.tables[0], names)
        if pair is None or variables is None:
            left.append(condition)
            continue
        column, value = pair
        if isinstance(value, s.Dotted):
            value = s.Name(variables.of(value.label, value.attribute), value.start, value.end)
        if column in (given for given, _ in columns):
            left.append(condition)
        else:
            columns.append((column, value))
    *others, last = (
        atom(table.name, table.event, columns if table is row.tables[0] else (), table.span)
        for table in row.tables
    )
    yield from others
    whole = filtered(last, left)
    if not row.absent:
        yield whole
        return
    word = s.Op("prefix", "not", whole.start, whole.start)
    inner = s.Paren((whole,), whole.start, whole.end, whole.depth + 1)
    yield s.Chain((word, inner), whole.start, whole.end, inner.depth + 1)


def _pair(condition: s.Node, table: Alias, names: Names) -> tuple[str, s.Name | s.Dotted] | None:
    """A column of a table and what else it is equal to, where a condition says just that."""
    inner = s.strip(condition)
    if not isinstance(inner, s.Chain) or len(inner.parts) != 3:
        return None
    one, op, two = inner.parts
    if not isinstance(op, s.Op) or op.text != "=":
        return None
    return _column_and_value(one, two, table, names) or _column_and_value(two, one, table, names)


def _column_and_value(
    column: s.Node | s.Op, value: s.Node | s.Op, table: Alias, names: Names
) -> tuple[str, s.Name | s.Dotted] | None:
    if not isinstance(column, s.Dotted) or column.label != table.name:
        return None
    if isinstance(value, s.Name):
        return column.attribute, value
    if isinstance(value, s.Dotted) and value.label in names.aliases:
        if value.attribute in names.aliases[value.label].columns:
            return column.attribute, value
    return None


def with_rows(alias: Alias, lookups: Sequence[Lookup], names: Names, tables: Tables) -> str:
    """The hidden event that is those of an alias's stream which have the rows, or have not."""
    start, end = alias.span.start, alias.span.end

    def own(name: s.Name | s.Dotted) -> s.Node:
        # A column that all aliases share is this one's, too.
        if isinstance(name, s.Name) and name.text in names.shared:
            return s.Dotted(alias.name, name.text, name.start, name.start, name.end)
        return name

    variables = Variables(
        {alias.name, *(t.name for w in lookups for r in w.rows for t in r.tables)}
    )
    items = [
        item for each in lookups for item in row_items(_rewritten(each, own), names, variables)
    ]
    events = atom(alias.name, alias.event, variables.arguments(alias.name, alias.span), alias.span)
    head = tuple(
        s.Term(s.Dotted(alias.name, column, start, start, end), column, start, end)
        for column in alias.columns
    )
    return tables.add(alias.name, head, (events, *items))


def _rewritten(found: Lookup, leaf: Callable[[s.Name | s.Dotted], s.Node]) -> Lookup:
    rows = tuple(
        Row(row.tables, tuple(rewritten(c, leaf) for c in row.conditions), row.absent)
        for row in found.rows
    )
    return Lookup(rows, found.reads, found.span)
