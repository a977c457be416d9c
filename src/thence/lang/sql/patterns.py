"""The nodes of an EVENT clause as patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from thence.lang.moments import any_of
from thence.lang.precedence import join
from thence.lang.sql.events import Node
from thence.lang.words import CALLS
from thence.logic.expr import Expr, Var
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    Atom,
    Label,
    Moments,
    Not,
    Or,
    Par,
    Pattern,
    Repeat,
    Seq,
    Until,
    Where,
    While,
    Within,
)
from thence.model.source import Span


@dataclass(frozen=True, slots=True)
class Writer:
    """Makes patterns of nodes, with their conditions around them.

    ``events`` is what each alias stands for, ``columns`` which columns of it are variables;
    ``base`` are the events that come in, and ``window`` is the label of what collects.
    """

    events: Mapping[str, str]
    columns: Mapping[str, Sequence[tuple[str, Var]]]
    conditions: Mapping[Node, Sequence[Expr]]
    base: Iterable[str]
    window: str
    labelled: Node | None = None
    """The node that is the window."""

    def pattern(self, node: Node) -> Pattern:
        """A node as a pattern."""
        found = self.bare(node)
        if node is self.labelled:
            found = Label(self.window, found, node.span)
        return filtered(found, self.conditions.get(node, ()), node.span)

    def bare(self, node: Node) -> Pattern:
        kind, span = node.kind, node.span
        if kind == "alias":
            columns = self.columns.get(node.alias, ())
            return atom(node.alias, self.events[node.alias], columns, span)
        parts = tuple(map(self.pattern, node.parts))
        absent = tuple(map(self.pattern, node.absent))
        match kind:
            case "within":
                return Within(parts[0], node.limit, span)
            case "repeat":
                return Repeat(parts[0], *node.times, span)
            case "anyone":
                return AnyOne(parts, span)
            case "seq":
                return Seq(parts, span)
            case "and":
                return And(parts, span)
            case "or":
                return Or(parts, span)
            case "between":
                return Not(any_of(absent, (), span), parts[0], parts[1], span)
            case "par":
                return Par(parts[0], parts[1], span)
            case "until":
                return Until(parts[0], parts[1], span)
        operator = CALLS.get(kind)
        if operator is None:
            return Allen(kind, parts[0], parts[1], span)  # type: ignore[arg-type]
        if operator.last == "among" and operator.roles[-1] == "absent":
            absent = (any_of(absent, self.base, span),)
        elif operator.last == "among":
            parts = (any_of(parts, self.base, span),)
        collected = tuple(map(self.pattern, node.collected))
        return Moments(kind, parts, absent, node.limit, span, collected)

    def collect(self, node: Node) -> Pattern:
        """A node as what the window collects."""
        return While(self.window, "collect", self.pattern(node), node.span)


def atom(label: str, event: str, columns: Iterable[tuple[str, Var]], span: Span) -> Pattern:
    """A labelled event, with the variables that some of its columns are."""
    return Label(label, Atom(event, tuple(columns), span), span)


def filtered(pattern: Pattern, conditions: Sequence[Expr], span: Span) -> Pattern:
    """A pattern with conditions around it, if there are any."""
    return Where(pattern, join("and", conditions, span), span) if conditions else pattern


def conjunction(parts: Sequence[Pattern], span: Span) -> Pattern:
    """All of some patterns."""
    return parts[0] if len(parts) == 1 else And(tuple(parts), span)
