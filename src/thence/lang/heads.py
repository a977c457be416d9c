"""What events and their columns are called as they are written, and what they cannot be called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thence.lang import syntax as s
from thence.lang.timers import TIMERS
from thence.lang.words import AGGREGATES, PATTERN_OPERATORS
from thence.logic.check.problems import Problems
from thence.logic.heads import column_names
from thence.model.schema import RESERVED_ATTRIBUTES, EventSchema
from thence.model.source import Span
from thence.model.types import TIMESTAMP

_OPERATORS = PATTERN_OPERATORS | AGGREGATES | frozenset(TIMERS)


@dataclass(frozen=True, slots=True)
class WrittenTerm:
    """How a head term asks to be called: by ``as``, or by what it reads."""

    alias: str | None
    suggested: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Head:
    """A head as it is written, before anything is resolved."""

    event: str
    name_span: Span
    span: Span
    terms: tuple[WrittenTerm, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """How its columns are called, if it is the first of its event."""
        pairs: list[tuple[str | None, str | None]] = []
        aliases: set[str] = set()
        for term in self.terms:
            alias = term.alias
            if alias is not None and (alias in RESERVED_ATTRIBUTES or alias in aliases):
                alias = None
            elif alias is not None:
                aliases.add(alias)
            pairs.append((alias, term.suggested))
        return column_names(pairs)


def head_of(rule: s.RuleDecl) -> Head:
    """The head of a rule."""
    terms = (WrittenTerm(t.alias, suggested_name(t.value), s.span_of(t)) for t in rule.terms)
    name, whole = Span(rule.start, rule.name_end), Span(rule.start, rule.head_end)
    return Head(rule.name, name, whole, tuple(terms))


def suggested_name(node: s.Node) -> str | None:
    """The name that a term suggests by itself, as it is written."""
    node = s.strip(node)
    if isinstance(node, s.Name):
        return node.text
    return node.attribute if isinstance(node, s.Dotted) else None


def check_schema(
    schema: EventSchema, span: Span, columns: Sequence[Span], problems: Problems
) -> None:
    """Refuse names that a declared event or table, or one of its attributes, cannot have."""
    check_event_name(schema.name, span, problems, "table" if schema.table else "event")
    seen: set[str] = set()
    for name, where in zip(schema.names, columns, strict=True):
        if name in RESERVED_ATTRIBUTES:
            problems.error(
                where,
                f"an attribute cannot be called '{name}'",
                "every event has start and end, read as l.start and l.end; results have "
                f"{', '.join(sorted(RESERVED_ATTRIBUTES))} of their own; choose another name",
            )
        elif name == "_":
            problems.error(where, "an attribute cannot be called '_'")
        elif name in seen:
            problems.error(where, f"the attribute '{name}' is declared twice")
        seen.add(name)
    if schema.longest is not None and schema.longest < 0:
        problems.error(span, f"no '{schema.name}' can last less than no time")


def check_validity(schema: EventSchema, span: Span, problems: Problems) -> None:
    """Refuse columns that cannot say when the rows of a table are valid."""
    valid = schema.valid
    if valid is None:
        return
    if valid.since == valid.until:
        problems.error(
            span,
            f"the rows of '{schema.name}' are valid from and to '{valid.since}', so at no time",
            "name two columns: valid from since to until",
        )
    for column in valid.columns:
        kind = schema.type_of(column)
        if kind is not None and kind != TIMESTAMP:
            problems.error(
                span,
                f"'{column}' says when rows of '{schema.name}' are valid, and is declared as "
                f"{kind}",
                f"declare it as timestamp, or leave it out of {schema.name}(…): it is read anyway",
            )


def check_event_name(name: str, span: Span, problems: Problems, what: str = "event") -> None:
    """Refuse what cannot be the name of an event or a table."""
    article = "an" if what == "event" else "a"
    if name.lower() in _OPERATORS:
        kind = "an aggregate" if name.lower() in AGGREGATES else "an operator"
        problems.error(
            span,
            f"{article} {what} cannot be called '{name}': that is {kind} of the language",
            "choose another name",
        )
    elif name == "_":
        problems.error(span, f"{article} {what} cannot be called '_': that stands for anything")
