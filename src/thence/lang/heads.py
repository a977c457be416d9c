"""How the columns of a derived event are called.

A column takes the name that ``as`` gives it, else the variable's or the attribute's, else
``c<position>``. A name that is taken, or that every result has anyway (``start``, ``end``, …),
falls back to the position too. All rules of one head share the names of the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thence.lang import syntax as s
from thence.logic.expr import Aggregate, Attr, Expr, TimeOf, Var
from thence.logic.ops import HeadTerm, LogicProgram
from thence.model.errors import Diagnostic, diagnose
from thence.model.schema import RESERVED_ATTRIBUTES
from thence.model.source import Span


def preferred_name(value: Expr | Aggregate) -> str | None:
    """The name that a head term suggests by itself.

    >>> preferred_name(Var("id")), preferred_name(Attr("b", "price"))
    ('id', 'price')
    >>> preferred_name(Aggregate("count", None)) is None
    True
    """
    match value:
        case Var(name) | Attr(_, name):
            return name
        case TimeOf(_, which):
            return which
    return None


def column_names(terms: Sequence[tuple[str | None, str | None]]) -> tuple[str, ...]:
    """The columns of a head from each term's ``as`` name and preferred name.

    >>> column_names([(None, "id"), (None, None), (None, "id"), ("n", "x")])
    ('id', 'c2', 'c3', 'n')
    """
    names: list[str | None] = [alias for alias, _ in terms]
    taken = set(RESERVED_ATTRIBUTES).union(name for name in names if name is not None)
    for at, (_, preferred) in enumerate(terms):
        if names[at] is None and preferred is not None and preferred not in taken:
            names[at] = preferred
            taken.add(preferred)
    for at, name in enumerate(names):
        if name is None:
            name = f"c{at + 1}"
            while name in taken:
                name += "_"
            names[at] = name
            taken.add(name)
    return tuple(name for name in names if name is not None)


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


def column_name_warnings(program: LogicProgram) -> tuple[Diagnostic, ...]:
    """A warning for each column that could not have the name its term suggests."""
    found: list[Diagnostic] = []
    seen: set[str] = set()
    for rule in program.rules:
        if rule.event in seen:
            continue
        seen.add(rule.event)
        for at, term in enumerate(rule.terms):
            preferred = preferred_name(term.value)
            if preferred is None or preferred == term.name or _has_alias(program, term):
                continue
            if not re.fullmatch(rf"c{at + 1}_*", term.name):
                continue
            why = (
                "every result has a column of that name"
                if preferred in RESERVED_ATTRIBUTES
                else "another column has that name"
            )
            found.append(
                diagnose(
                    program.source,
                    term.span,
                    f"this column of '{rule.event}' is called '{term.name}', "
                    f"not '{preferred}': {why}",
                    f"name it yourself: {_text(program, term)} as …",
                    "warning",
                )
            )
    return tuple(found)


def _text(program: LogicProgram, term: HeadTerm) -> str:
    return program.source.text[term.span.start : term.span.end]


def _has_alias(program: LogicProgram, term: HeadTerm) -> bool:
    """Whether the term was written with ``as``; the text of a term's span includes it."""
    return re.search(r"(?i)(?<![\w`])as[\s]", _text(program, term)) is not None
