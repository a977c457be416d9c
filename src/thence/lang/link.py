"""Puts a program together: declares its events, names its heads' columns, resolves its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.lang import syntax as s
from thence.lang.heads import Head, head_of
from thence.lang.policies import policy_of
from thence.lang.problem import check_nesting
from thence.lang.report import Report
from thence.lang.resolve import Patterns
from thence.lang.scope import EventInfo, scope_of, timer_cycle
from thence.lang.sql.lower import lower
from thence.lang.sql.syntax import CreateEvent
from thence.lang.timers import TIMERS
from thence.lang.values import Values
from thence.lang.words import AGGREGATES, PATTERN_OPERATORS
from thence.logic.ops import HeadTerm, LogicProgram, Rule
from thence.logic.repetition import as_a_whole, settled
from thence.model.schema import RESERVED_ATTRIBUTES, Attribute, EventSchema
from thence.model.source import Source, Span

_OPERATORS = PATTERN_OPERATORS | AGGREGATES | frozenset(TIMERS)


def link(statements: Sequence[s.Statement | CreateEvent], source: Source) -> LogicProgram:
    """The logic program of parsed statements. Raises CheckError with every error found."""
    report = Report(source)
    declared = [st for st in statements if isinstance(st, s.EventDecl)]
    queries = lower(statements, report)
    schemas = _schemas(declared, report)
    events = {
        name: EventInfo(name, schema.names, str(schema), not schema.table, schema.table)
        for name, schema in schemas.items()
    }
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            _declare_head(head_of(statement), schemas, events, report)
        for query in queries.get(id(statement), ()):
            _declare_head(query.head, schemas, events, report)
    rules: list[Rule] = []
    for statement in statements:
        if isinstance(statement, s.RuleDecl):
            rules.append(_rule(statement, events, report))
        rules += (query.rule for query in queries.get(id(statement), ()))
    linked = tuple(_finished(rule, events) for rule in rules)
    report.raise_if_any()
    streams = tuple(schema for schema in schemas.values() if not schema.table)
    tables = tuple(schema for schema in schemas.values() if schema.table)
    return LogicProgram(streams, linked, source, tables)


def _schemas(declared: Sequence[s.EventDecl], report: Report) -> dict[str, EventSchema]:
    schemas: dict[str, EventSchema] = {}
    for event in declared:
        span = Span(event.name_start, event.name_end)
        if event.name in schemas:
            report.error(span, f"the {_kind(event)} '{event.name}' is declared twice")
            continue
        _check_event_name(event.name, span, report, _kind(event))
        seen: set[str] = set()
        for column in event.columns:
            where = s.span_of(column)
            if column.name in RESERVED_ATTRIBUTES:
                report.error(
                    where,
                    f"an attribute cannot be called '{column.name}'",
                    "every event has start and end, read as l.start and l.end; results have "
                    f"{', '.join(sorted(RESERVED_ATTRIBUTES))} of their own; choose another name",
                )
            elif column.name == "_":
                report.error(where, "an attribute cannot be called '_'")
            elif column.name in seen:
                report.error(where, f"the attribute '{column.name}' is declared twice")
            seen.add(column.name)
        attributes = tuple(Attribute(column.name, column.type) for column in event.columns)
        if event.longest is not None and event.longest < 0:
            report.error(span, f"no '{event.name}' can last less than no time")
        schemas[event.name] = EventSchema(event.name, attributes, event.longest, event.table)
    return schemas


def _kind(declared: s.EventDecl) -> str:
    return "table" if declared.table else "event"


def _check_event_name(name: str, span: Span, report: Report, what: str = "event") -> None:
    article = "an" if what == "event" else "a"
    if name.lower() in _OPERATORS:
        kind = "an aggregate" if name.lower() in AGGREGATES else "an operator"
        report.error(
            span,
            f"{article} {what} cannot be called '{name}': that is {kind} of the language",
            "choose another name",
        )
    elif name == "_":
        report.error(span, f"{article} {what} cannot be called '_': that stands for anything")


def _declare_head(
    head: Head,
    schemas: dict[str, EventSchema],
    events: dict[str, EventInfo],
    report: Report,
) -> None:
    name, given = head.event, len(head.terms)
    if name in schemas:
        word = "table" if schemas[name].table else "event"
        report.error(
            head.name_span,
            f"'{name}' is declared with `{word}`, so no rule can derive it",
            "give the derived event another name, or remove the declaration",
        )
        return
    known = events.get(name)
    if known is None:
        _check_event_name(name, head.name_span, report)
        _check_aliases(head, report)
        names = head.columns
        events[name] = EventInfo(name, names, f"{name}({', '.join(names)})")
    elif len(known.columns) != given:
        report.error(
            head.span,
            f"this head has {given} {'term' if given == 1 else 'terms'}, and "
            f"'{name}' has {len(known.columns)} in its first rule",
            f"the first rule has {known.declaration}; all rules of one event agree",
        )
    else:
        for term, column in zip(head.terms, known.columns, strict=True):
            if term.alias is not None and term.alias != column:
                report.error(
                    term.span,
                    f"this column of '{name}' is called '{column}' by its first rule",
                    f"write `as {column}`, or leave the name out",
                )


def _check_aliases(head: Head, report: Report) -> None:
    """A name asked for with ``as`` must be free."""
    aliases: set[str] = set()
    for term in head.terms:
        alias = term.alias
        if alias is not None and (alias in RESERVED_ATTRIBUTES or alias in aliases):
            why = "another column has that name" if alias in aliases else "that name is reserved"
            report.error(term.span, f"a column cannot be called '{alias}': {why}", "choose another")
        elif alias is not None:
            aliases.add(alias)


def _rule(rule: s.RuleDecl, events: dict[str, EventInfo], report: Report) -> Rule:
    scope, clashes = scope_of(rule, events)
    for clash in clashes:
        report.error(
            clash.second.span,
            f"the label '{clash.label}' already stands for something else in this rule",
            "the same label twice means the same event; use another label for another event",
        )
    cyclic = timer_cycle(scope.labels)
    if cyclic is not None:
        report.error(
            scope.labels[cyclic][0].span, f"the timer '{cyclic}' is relative to itself, in the end"
        )
    body = Patterns(scope, report).body(rule)
    values = Values(scope, report, folds=scope.repeats)
    terms = tuple(HeadTerm("", values.term(t.value), s.span_of(t)) for t in rule.terms)
    span, head = Span(rule.start, rule.end), Span(rule.start, rule.head_end)
    return Rule(rule.name, terms, body, span, head, policy_of(rule.policy, report))


def _finished(rule: Rule, events: dict[str, EventInfo]) -> Rule:
    """A rule whose columns have their names, with policies and conditions where they belong."""
    for value in (rule.body, *(term.value for term in rule.terms)):
        check_nesting(value, rule.head_span)
    info = events.get(rule.event)
    if info is not None and len(info.columns) == len(rule.terms):
        pairs = zip(rule.terms, info.columns, strict=True)
        rule = replace(rule, terms=tuple(replace(term, name=name) for term, name in pairs))
    return settled(as_a_whole(rule))
