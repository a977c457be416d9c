"""Queries as rules: what event SQL says, in the syntax tree of the rule language.

A query becomes one rule; a query inside it, in FROM or WITH, becomes a rule with a name that no
user can write. Everything after that, from names to types to the engine, is that of rules.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial

from thence.lang import syntax as s
from thence.lang.problem import check_depth
from thence.lang.report import Report
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body, body
from thence.lang.sql.catalog import Column, Statement, column_names, columns_in_order, in_order
from thence.lang.sql.computed import computed
from thence.lang.sql.lookups import Tables
from thence.lang.sql.names import Alias, Names
from thence.lang.sql.refusal import Refused
from thence.lang.sql.selected import selected
from thence.lang.sql.semi_joins import beside_tables
from thence.lang.sql.windows import refuse_groups, window_of, windowed
from thence.logic.conjunct import INNER
from thence.model.names import did_you_mean
from thence.model.source import Span


def lower(statements: Sequence[Statement], report: Report) -> list[s.RuleDecl]:
    """The rules of a program, those that its queries stand for among them.

    Raises CheckError with what is wrong with the queries.
    """
    columns = columns_in_order(statements)
    first: dict[str, Statement] = {}
    for statement in statements:
        first.setdefault(statement.name, statement)
    ordered, circular = in_order(statements)
    for statement in circular:
        report.error(
            Span(statement.name_start, statement.name_end),
            f"the columns of '{statement.name}' follow from its own, because of `*`",
            "list the columns that it has",
        )
    known = {statement.name for statement in statements}
    tables = {st.name for st in statements if isinstance(st, s.EventDecl) and st.table}
    broken = {statement.name for statement in circular}
    found: dict[int, list[s.RuleDecl]] = {}
    for create in ordered:
        lowering = _Lowering(create, columns, known, broken, first[create.name] is create, tables)
        try:
            found[id(create)] = lowering.rules()
        except Refused as problem:
            report.error(problem.span, problem.message, problem.hint)
            broken.add(create.name)
        except _Broken:
            broken.add(create.name)
        else:
            columns.setdefault(create.name, lowering.names)
    if circular or broken:
        report.raise_if_any()
    rules: list[s.RuleDecl] = []
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            rules.append(statement)
        elif isinstance(statement, q.CreateEvent):
            rules += found[id(statement)]
    return rules


class _Broken(Exception):
    """A query over an event that another statement fails to define, which is reported there."""


class _Lowering:
    """One CREATE EVENT statement, on its way to rules."""

    def __init__(
        self,
        create: q.CreateEvent,
        columns: dict[str, tuple[str, ...]],
        known: set[str],
        broken: set[str],
        first: bool,
        tables: set[str],
    ) -> None:
        self.create = create
        self.columns: ChainMap[str, tuple[str, ...]] = ChainMap({}, columns)
        self.known, self.broken, self.tables = known, broken, tables
        self.first = first
        self.inner: list[s.RuleDecl] = []
        self.used: set[str] = set()
        self.names: tuple[str, ...] = ()

    def rules(self) -> list[s.RuleDecl]:
        create = self.create
        select, streams = self.with_queries(create.query, {})
        terms, items, policy = self.rule_of(select, streams, named=self.first)
        rule = s.RuleDecl(
            create.name, terms, items, create.name_start, create.name_end, create.name_end,
            create.end, policy,
        )  # fmt: skip
        return [*self.inner, rule]

    def with_queries(
        self, query: q.Query, streams: Mapping[str, str]
    ) -> tuple[q.Select, Mapping[str, str]]:
        """The select of a query, and the names that stand for queries in it."""
        while isinstance(query, q.WithQuery):
            for named in query.named:
                if named.name.text in streams:
                    raise Refused(
                        s.span_of(named.name), f"'{named.name.text}' is defined twice by WITH"
                    )
                event = self.inner_rule(named.query, named.name.text, streams)
                streams = {**streams, named.name.text: event}
            query = query.query
        return query, streams

    def inner_rule(self, query: q.Query, name: str, streams: Mapping[str, str]) -> str:
        """Make a rule of a query inside another, and give its hidden name."""
        select, seen = self.with_queries(query, streams)
        terms, items, policy = self.rule_of(select, seen, named=True)
        return self.hidden_rule(select, policy, name, terms, items)

    def hidden_rule(
        self,
        select: q.Select,
        policy: tuple[s.PolicyWord, ...],
        name: str,
        terms: tuple[s.Term, ...],
        items: tuple[s.Node, ...],
    ) -> str:
        """Add a rule that no user wrote, and give the hidden name of what it derives."""
        event = f"{INNER}{self.create.name}.{name}"
        while event in self.used or event in self.known:
            event += "′"
        self.used.add(event)
        self.columns[event] = tuple(term.alias or "" for term in terms)
        head_end = min(select.end, select.start + len("SELECT"))
        self.inner.append(
            s.RuleDecl(
                event, terms, items, select.start, head_end, head_end, select.end, policy, True
            )
        )
        return event

    def rule_of(
        self, select: q.Select, streams: Mapping[str, str], named: bool
    ) -> tuple[tuple[s.Term, ...], tuple[s.Node, ...], tuple[s.PolicyWord, ...]]:
        """The head, the body and the policy of a select. ``named`` says that the columns' names are
        its own, and not those of an earlier statement."""
        aliases = self.aliases(select, streams)
        beside = beside_tables(select, aliases)
        window = window_of(select, alone=beside is None)
        policy = select.policy
        hidden = partial(self.hidden_rule, select, policy)
        tables = Tables(
            {name: self.columns[name] for name in sorted(self.tables - streams.keys())},
            partial(self.hidden_rule, select, ()),
        )
        if window is not None:
            if beside is not None:
                events = {alias.event: alias.event for alias in aliases.values()}
                found_rows = self.inner_rule(beside.lookup(), "rows", {**streams, **events})
                select, alias = beside.over(found_rows)
            else:
                (alias,) = aliases.values()
            columns, items = windowed(select, window, alias, hidden, tables)
        else:
            refuse_groups(select)
            found = body(select, Names(aliases, _partition(select, aliases)), tables)
            _check_policy(select, found)
            columns = selected(select, found)
            columns, items, policy = computed(select, found, columns, hidden)
        self.names = column_names(columns)
        terms = tuple(
            _term(column, name, named) for column, name in zip(columns, self.names, strict=True)
        )
        for node in (*items, *(term.value for term in terms)):
            check_depth(node)
        return terms, items, policy

    def aliases(self, select: q.Select, streams: Mapping[str, str]) -> dict[str, Alias]:
        found: dict[str, Alias] = {}
        for source in select.sources:
            stream = source.stream
            if isinstance(stream, s.Name):
                event, shown = self.stream(stream, streams), stream.text
            else:
                shown = source.aliases[0].text
                event = self.inner_rule(stream, shown, streams)
            for alias in source.aliases:
                span = s.span_of(alias)
                if alias.text in found:
                    raise Refused(
                        span,
                        f"the alias '{alias.text}' is given twice",
                        "two events of one stream need two aliases: FROM stream a b",
                    )
                columns, table = self.columns[event], event in self.tables
                found[alias.text] = Alias(alias.text, event, shown, columns, span, table)
        return found

    def stream(self, name: s.Name, streams: Mapping[str, str]) -> str:
        if name.text in streams:
            return streams[name.text]
        if name.text in self.broken:
            raise _Broken
        if name.text not in self.known:
            hint = did_you_mean(
                name.text,
                self.known,
                f"declare it: event {name.text}(…);",
                also=streams,
            )
            raise Refused(s.span_of(name), f"unknown stream '{name.text}'", hint)
        return name.text


def _partition(select: q.Select, aliases: Mapping[str, Alias]) -> frozenset[str]:
    for column in select.partition:
        for alias in aliases.values():
            if column.text not in alias.columns and not alias.table:
                raise Refused(
                    s.span_of(column),
                    f"'{alias.stream}' ({alias.name}) has no column '{column.text}' to partition "
                    "by",
                    did_you_mean(
                        column.text, alias.columns, "all streams of the query must have it"
                    ),
                )
    return frozenset(column.text for column in select.partition)


def _check_policy(select: q.Select, found: Body) -> None:
    """A policy chooses among the events of aliases that occur in every match."""
    for word in select.policy:
        for label in word.labels:
            alias = found.names.alias(s.Name(label, word.start, word.end))
            if alias.name not in found.certain:
                raise Refused(
                    s.span_of(word),
                    f"the policy chooses '{label}', which does not occur in every match",
                    "choose an alias that always occurs",
                )


def _term(column: Column, name: str, named: bool) -> s.Term:
    given = column.given if not named else name
    return s.Term(column.value, given, column.span.start, column.span.end)
