"""Puts a program together: declares its events, names its heads' columns, resolves its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thence.lang import syntax as s
from thence.lang.fact_statements import fact_head, fact_of, relations_of
from thence.lang.heads import Head, check_event_name, check_schema, check_validity, head_of
from thence.lang.policies import policy_of
from thence.lang.problem import check_nesting
from thence.lang.reactions import action_of
from thence.lang.resolve import Patterns
from thence.lang.scope import EventInfo, scope_of
from thence.lang.sql.syntax import CreateEvent
from thence.lang.table_changes import as_rule
from thence.lang.timeouts import timed_out, timeout_rules
from thence.lang.values import Values
from thence.logic.check.problems import Problems
from thence.logic.ops import Change, HeadTerm, LogicProgram, Rule
from thence.logic.reactions import Reaction
from thence.logic.repetition import as_a_whole, settled
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source, Span

if TYPE_CHECKING:
    from thence.lang.sql.lower import Lowered


def link(statements: Sequence[s.Statement | CreateEvent], source: Source) -> LogicProgram:
    """The logic program of parsed statements. Raises CheckError with every error found."""
    problems = Problems(source)
    declared = [st for st in statements if isinstance(st, s.EventDecl)]
    relations = relations_of(statements)
    reactions = [st for st in statements if isinstance(st, s.ReactionDecl)]
    queries = _queries([st for st in statements if not isinstance(st, s.ReactionDecl)], problems)
    schemas = _schemas(declared, problems)
    events = {
        name: EventInfo(name, schema.names, str(schema), not schema.table, schema.table)
        for name, schema in schemas.items()
    }
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            _declare_head(head_of(statement), events, problems, statement.name in relations)
        for query in queries.get(id(statement), ()):
            _declare_head(query.head, events, problems)
    rows = [st for st in statements if isinstance(st, s.FactDecl)]
    for row in rows:
        _declare_head(fact_head(row), events, problems, table=True)
    rules: list[Rule] = []
    deductions: list[Rule] = []
    expiring: list[tuple[s.RuleDecl, s.Apply]] = []
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            asked = timed_out(statement, events)
            if asked is not None:
                expiring.append((statement, asked))
            else:
                reasoned = statement.name in relations
                (deductions if reasoned else rules).append(_rule(statement, events, problems))
        rules += (query.rule for query in queries.get(id(statement), ()))
    known = {name for name, info in events.items() if info.table}
    facts = tuple(fact for row in rows if (fact := fact_of(row, known, problems)) is not None)
    changes = [
        change
        for each in reactions
        if isinstance(each.action, s.TableChangeDecl)
        and (change := _change(each, each.action, schemas, events, problems)) is not None
    ]
    finished = [_finished(rule, events) for rule in rules]
    for statement, asked in expiring:
        finished += timeout_rules(statement, asked, finished[: len(rules)], problems)
    linked = tuple(finished)
    reasoning = tuple(_finished(rule, events) for rule in deductions)
    reacting = tuple(
        _reaction(each, each.action, events, problems)
        for each in reactions
        if isinstance(each.action, s.ActionDecl)
    )
    problems.raise_if_any()
    streams = tuple(schema for schema in schemas.values() if not schema.table)
    tables = tuple(schema for schema in schemas.values() if schema.table)
    changing = tuple(changes)
    return LogicProgram(streams, linked, source, tables, reasoning, facts, reacting, changing)


def _change(
    decl: s.ReactionDecl,
    action: s.TableChangeDecl,
    schemas: dict[str, EventSchema],
    events: dict[str, EventInfo],
    problems: Problems,
) -> Change | None:
    """The change of a table that a reaction says."""
    written = as_rule(decl.rule, action, schemas, problems)
    if written is None:
        return None
    rule = settled(as_a_whole(_rule(written, events, problems)))
    return Change(action.verb, action.table, rule, Span(action.name_start, action.end))


def _reaction(
    decl: s.ReactionDecl, action: s.ActionDecl, events: dict[str, EventInfo], problems: Problems
) -> Reaction:
    rule = _finished(_rule(decl.rule, events, problems), events)
    return Reaction(rule, action_of(action), action.payload is None, rule.span)


def _queries(
    statements: Sequence[s.Definition | CreateEvent], problems: Problems
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
        valid = None if event.valid is None else event.valid.columns
        schema = EventSchema(
            event.name,
            attributes,
            event.longest,
            event.table,
            rows_from=event.rows_from,
            valid=valid,
        )
        check_schema(schema, span, [s.span_of(column) for column in event.columns], problems)
        if event.valid is not None:
            check_validity(schema, Span(event.valid.start, event.valid.end), problems)
        schemas[event.name] = schema
    return schemas


def _declare_head(
    head: Head, events: dict[str, EventInfo], problems: Problems, table: bool = False
) -> None:
    """Note the event or the relation that a rule derives; its first rule says what its columns are
    called."""
    if head.event not in events:
        check_event_name(head.event, head.name_span, problems, "relation" if table else "event")
        names = head.columns
        shown = f"{head.event}({', '.join(names)})"
        events[head.event] = EventInfo(head.event, names, shown, table=table)


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
