"""Queries as rules: what event SQL says, in logic.

A query becomes one rule; a query inside it, in FROM or WITH, becomes a rule with a name that no
user can write. Everything after that, from types to the engine, is that of rules.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from thence.lang import syntax as s
from thence.lang.fact_statements import relations_of
from thence.lang.heads import Head, WrittenTerm
from thence.lang.policies import policy_of
from thence.lang.report import Refused, Refusing
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body, body
from thence.lang.sql.catalog import Statement, column_names, columns_in_order, in_order
from thence.lang.sql.lookups import Tables
from thence.lang.sql.names import Alias, Names
from thence.lang.sql.select_list import Selected, select_list, term_value
from thence.lang.sql.windows import refuse_groups, window_of, windowed
from thence.logic.check.problems import Problems
from thence.logic.conjunct import INNER
from thence.logic.expr import Aggregate, Expr
from thence.logic.ops import HeadTerm, Pattern, Rule
from thence.model.source import Source, Span
from thence.model.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Lowered:
    """A rule that a query stands for. Its columns have the names that its head asks for, unless an
    earlier rule of the event has named them."""

    head: Head
    rule: Rule


def lower(statements: Sequence[Statement], report: Problems) -> dict[int, list[Lowered]]:
    """The rules that queries stand for, by the identity of the statement.

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
    tables |= relations_of(statements)
    broken = {statement.name for statement in circular}
    base = [st.name for st in statements if isinstance(st, s.EventDecl) and not st.table]
    found: dict[int, list[Lowered]] = {}
    for create in ordered:
        own = first[create.name] is create
        lowering = _Lowering(create, columns, known, broken, own, tables, base)
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
    return found


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
        base: Sequence[str],
    ) -> None:
        self.create = create
        self.columns: ChainMap[str, tuple[str, ...]] = ChainMap({}, columns)
        self.known, self.broken, self.tables, self.base = known, broken, tables, base
        self.first = first
        self.made: list[Lowered] = []
        self.names: tuple[str, ...] = ()

    def rules(self) -> list[Lowered]:
        create = self.create
        name, whole = Span(create.name_start, create.name_end), Span(create.name_start, create.end)
        select, streams = self.with_queries(create.query, {})
        columns, body, policy = self.rule_of(select, streams)
        self.names = column_names([column for column, _ in columns])
        shown = self.names if self.first else [column.given for column, _ in columns]
        terms = [
            (given, term_value(value), column.span)
            for given, (column, value) in zip(shown, columns, strict=True)
        ]
        self.add(create.name, terms, body, policy, name, whole)
        return self.made

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
                event = self.inner_query(named.query, named.name.text, streams)
                streams = {**streams, named.name.text: event}
            query = query.query
        return query, streams

    def inner_query(self, query: q.Query, name: str, streams: Mapping[str, str]) -> str:
        """Make a rule of a query inside another, and give its name."""
        select, seen = self.with_queries(query, streams)
        columns, body, policy = self.rule_of(select, seen)
        names = column_names([column for column, _ in columns])
        head = [
            HeadTerm(called, term_value(value), column.span)
            for called, (column, value) in zip(names, columns, strict=True)
        ]
        return self.auxiliary_rule(select, policy, name, head, body)

    def auxiliary_rule(
        self,
        select: q.Select,
        policy: Sequence[s.PolicyWord],
        name: str,
        head: Sequence[HeadTerm],
        body: Pattern,
    ) -> str:
        """Add a rule that no user wrote, and give the name of what it derives."""
        event = f"{INNER}{self.create.name}.{name}"
        while event in self.columns or event in self.known:
            event += "′"
        self.columns[event] = tuple(term.name for term in head)
        word = Span(select.start, min(select.end, select.start + len("SELECT")))
        terms = [(term.name, term.value, term.span) for term in head]
        whole = Span(select.start, select.end)
        self.add(event, terms, body, policy, word, whole, hidden=True)
        return event

    def add(
        self,
        event: str,
        terms: Sequence[tuple[str | None, Expr | Aggregate, Span]],
        body: Pattern,
        policy: Sequence[s.PolicyWord],
        name: Span,
        whole: Span,
        hidden: bool = False,
    ) -> None:
        """Add a rule, whose terms are each the name that it asks for, a value and a place."""
        written = tuple(WrittenTerm(given, None, span) for given, _, span in terms)
        head = tuple(
            HeadTerm(given or "", value, span, named=not hidden and given is not None)
            for given, value, span in terms
        )
        chosen = policy_of(policy, Refusing(Source("")))
        rule = Rule(event, head, body, whole, name, chosen, hidden)
        self.made.append(Lowered(Head(event, name, name, written), rule))

    def rule_of(
        self, select: q.Select, streams: Mapping[str, str]
    ) -> tuple[list[Selected], Pattern, Sequence[s.PolicyWord]]:
        """The columns, the body and the policy of a select."""
        aliases = self.aliases(select, streams)
        tables = Tables(
            {name: self.columns[name] for name in sorted(self.tables - streams.keys())},
            self.base,
            partial(self.auxiliary_rule, select, ()),
        )
        window = window_of(select, aliases)
        if window is not None:
            return *windowed(select, window, aliases, tables), ()
        refuse_groups(select)
        found = body(select, Names(aliases, _partition(select, aliases)), tables)
        _check_policy(select, found)
        return select_list(select, found, partial(self.auxiliary_rule, select, select.policy))

    def aliases(self, select: q.Select, streams: Mapping[str, str]) -> dict[str, Alias]:
        found: dict[str, Alias] = {}
        for source in select.sources:
            stream = source.stream
            if isinstance(stream, s.Name):
                event, shown = self.stream(stream, streams), stream.text
            else:
                shown = source.aliases[0].text
                event = self.inner_query(stream, shown, streams)
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
            alias = found.names.alias(label, s.span_of(word))
            if alias.name not in found.certain:
                raise Refused(
                    s.span_of(word),
                    f"the policy chooses '{label}', which does not occur in every match",
                    "choose an alias that always occurs",
                )
