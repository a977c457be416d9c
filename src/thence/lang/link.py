"""Puts a program together: declares its events, names its heads' columns, resolves its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thence.lang import syntax as s
from thence.lang.heads import Head, check_event_name, check_schema, head_of
from thence.lang.policies import policy_of
from thence.lang.problem import check_nesting
from thence.lang.resolve import Patterns
from thence.lang.scope import EventInfo, scope_of
from thence.lang.sql.syntax import CreateEvent
from thence.lang.timeouts import timed_out, timeout_rules
from thence.lang.values import Values
from thence.logic.check.problems import Problems
from thence.logic.ops import HeadTerm, LogicProgram, Rule
from thence.logic.repetition import as_a_whole, settled
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source, Span

if TYPE_CHECKING:
    from thence.lang.sql.lower import Lowered


def link(statements: Sequence[s.Statement | CreateEvent], source: Source) -> LogicProgram:
    """The logic program of parsed statements. Raises CheckError with every error found."""
    problems = Problems(source)
    declared = [st for st in statements if isinstance(st, s.EventDecl)]
    queries = _queries(statements, problems)
    schemas = _schemas(declared, problems)
    events = {
        name: EventInfo(name, schema.names, str(schema), not schema.table, schema.table)
        for name, schema in schemas.items()
    }
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            _declare_head(head_of(statement), events, problems)
        for query in queries.get(id(statement), ()):
            _declare_head(query.head, events, problems)
    rules: list[Rule] = []
    expiring: list[tuple[s.RuleDecl, s.Apply]] = []
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            asked = timed_out(statement, events)
            if asked is None:
                rules.append(_rule(statement, events, problems))
            else:
                expiring.append((statement, asked))
        rules += (query.rule for query in queries.get(id(statement), ()))
    finished = [_finished(rule, events) for rule in rules]
    for statement, asked in expiring:
        finished += timeout_rules(statement, asked, finished[: len(rules)], problems)
    linked = tuple(finished)
    problems.raise_if_any()
    streams = tuple(schema for schema in schemas.values() if not schema.table)
    tables = tuple(schema for schema in schemas.values() if schema.table)
    return LogicProgram(streams, linked, source, tables)


def _queries(
    statements: Sequence[s.Statement | CreateEvent], problems: Problems
) -> dict[int, list[Lowered]]:
    """The rules that queries stand for, by the identity of the statement."""
    if not any(isinstance(statement, CreateEvent) for statement in statements):
        return {}
    from thence.lang.sql.lower import lower

    return lower(statements, problems)


def _schemas(declared: Sequence[s.EventDecl], problems: Problems) -> dict[str, EventSchema]:
    schemas: dict[str, EventSchema] = {}
    for event in declared:
        span = Span(event.name_start, event.name_end)
        if event.name in schemas:
            kind = "table" if event.table else "event"
            problems.error(span, f"the {kind} '{event.name}' is declared twice")
            continue
        attributes = tuple(Attribute(column.name, column.type) for column in event.columns)
        schema = EventSchema(event.name, attributes, event.longest, event.table)
        check_schema(schema, span, [s.span_of(column) for column in event.columns], problems)
        schemas[event.name] = schema
    return schemas


def _declare_head(head: Head, events: dict[str, EventInfo], problems: Problems) -> None:
    """Note the event that a rule derives; its first rule says what its columns are called."""
    if head.event not in events:
        check_event_name(head.event, head.name_span, problems)
        names = head.columns
        events[head.event] = EventInfo(head.event, names, f"{head.event}({', '.join(names)})")


def _rule(rule: s.RuleDecl, events: dict[str, EventInfo], problems: Problems) -> Rule:
    scope = scope_of(rule, events)
    body = Patterns(scope, problems).body(rule)
    values = Values(scope, problems)
    terms = tuple(
        HeadTerm(t.alias or "", values.term(t.value), s.span_of(t), named=bool(t.alias))
        for t in rule.terms
    )
    span, head = Span(rule.start, rule.end), Span(rule.start, rule.head_end)
    return Rule(rule.name, terms, body, span, head, policy_of(rule.policy, problems))


def _finished(rule: Rule, events: dict[str, EventInfo]) -> Rule:
    """A rule whose columns have their names, with policies and conditions where they belong."""
    for value in (rule.body, *(term.value for term in rule.terms)):
        check_nesting(value, rule.head_span)
    info = events.get(rule.event)
    if info is not None and len(info.columns) == len(rule.terms):
        pairs = zip(rule.terms, info.columns, strict=True)
        rule = replace(
            rule, terms=tuple(replace(term, name=term.name or name) for term, name in pairs)
        )
    return settled(as_a_whole(rule))
