"""Puts a program together: declares its events, names its heads' columns, resolves its rules."""

from __future__ import annotations

from collections.abc import Sequence

from thence.lang import syntax as s
from thence.lang.heads import written_names
from thence.lang.policies import policy_of
from thence.lang.problem import too_deep
from thence.lang.report import Report
from thence.lang.resolve import Patterns
from thence.lang.scope import EventInfo, Scope, scope_of, timer_cycle
from thence.lang.sql.lower import lower
from thence.lang.sql.syntax import CreateEvent
from thence.lang.timers import TIMERS
from thence.lang.values import Values
from thence.lang.words import AGGREGATES, PATTERN_OPERATORS
from thence.logic.expr import Aggregate, Call, Expr
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Pattern, Rule, Where, children
from thence.logic.repetition import as_a_whole, settled
from thence.model.schema import RESERVED_ATTRIBUTES, Attribute, EventSchema
from thence.model.source import Source, Span

_OPERATORS = PATTERN_OPERATORS | AGGREGATES | frozenset(TIMERS)


def link(statements: Sequence[s.Statement | CreateEvent], source: Source) -> LogicProgram:
    """The logic program of parsed statements. Raises CheckError with every error found."""
    report = Report(source)
    declared = [st for st in statements if isinstance(st, s.EventDecl)]
    rules = lower(statements, report)
    schemas = _schemas(declared, report)
    events = {
        name: EventInfo(name, schema.names, str(schema), not schema.table, schema.table)
        for name, schema in schemas.items()
    }
    for rule in rules:
        _declare_head(rule, schemas, events, report)
    linked = tuple(_rule(rule, events, report) for rule in rules)
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
    rule: s.RuleDecl,
    schemas: dict[str, EventSchema],
    events: dict[str, EventInfo],
    report: Report,
) -> None:
    span = Span(rule.start, rule.head_end)
    if rule.name in schemas:
        word = "table" if schemas[rule.name].table else "event"
        report.error(
            Span(rule.start, rule.name_end),
            f"'{rule.name}' is declared with `{word}`, so no rule can derive it",
            "give the derived event another name, or remove the declaration",
        )
        return
    known = events.get(rule.name)
    if known is None:
        _check_event_name(rule.name, Span(rule.start, rule.name_end), report)
        names = _named(rule, report)
        events[rule.name] = EventInfo(rule.name, names, f"{rule.name}({', '.join(names)})")
    elif len(known.columns) != len(rule.terms):
        report.error(
            span,
            f"this head has {len(rule.terms)} {'term' if len(rule.terms) == 1 else 'terms'}, and "
            f"'{rule.name}' has {len(known.columns)} in its first rule",
            f"the first rule has {known.declaration}; all rules of one event agree",
        )
    else:
        for term, name in zip(rule.terms, known.columns, strict=True):
            if term.alias is not None and term.alias != name:
                report.error(
                    s.span_of(term),
                    f"this column of '{rule.name}' is called '{name}' by its first rule",
                    f"write `as {name}`, or leave the name out",
                )


def _named(rule: s.RuleDecl, report: Report) -> tuple[str, ...]:
    """The columns of a head; a name asked for with ``as`` must be free."""
    aliases: set[str] = set()
    for term in rule.terms:
        alias = term.alias
        if alias is not None and (alias in RESERVED_ATTRIBUTES or alias in aliases):
            why = "another column has that name" if alias in aliases else "that name is reserved"
            report.error(
                s.span_of(term), f"a column cannot be called '{alias}': {why}", "choose another"
            )
        elif alias is not None:
            aliases.add(alias)
    return written_names(rule.terms)


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
    terms = _terms(rule, scope, values)
    for value in (body, *(term.value for term in terms)):
        _check_depth(value, Span(rule.start, rule.head_end))
    found = Rule(
        rule.name,
        terms,
        body,
        Span(rule.start, rule.end),
        Span(rule.start, rule.head_end),
        policy_of(rule.policy, report),
        rule.hidden,
    )
    return settled(as_a_whole(found))


def _terms(rule: s.RuleDecl, scope: Scope, values: Values) -> tuple[HeadTerm, ...]:
    info = scope.events.get(rule.name)
    names = info.columns if info is not None and len(info.columns) == len(rule.terms) else None
    return tuple(
        HeadTerm(names[at] if names else f"c{at + 1}", values.term(term.value), s.span_of(term))
        for at, term in enumerate(rule.terms)
    )


def _check_depth(root: Pattern | Expr | Aggregate, span: Span) -> None:
    """Refuse what is nested too deeply once rows are grouped: ``1 + 1 + 1 …`` leans to the left."""
    stack: list[tuple[Pattern | Expr | Aggregate, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > s.MAX_DEPTH:
            raise too_deep(getattr(node, "span", span))
        inside: list[Pattern | Expr] = []
        if isinstance(node, Pattern):
            inside.extend(children(node))
            if isinstance(node, Where):
                inside.append(node.condition)
            elif isinstance(node, Atom):
                inside.extend(expr for _, expr in node.args)
        elif isinstance(node, Call):
            inside.extend(node.args)
        elif isinstance(node, Aggregate) and node.arg is not None:
            inside.append(node.arg)
        stack.extend((child, depth + 1) for child in inside)
