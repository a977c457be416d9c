"""Resolves values: conditions, arguments and head terms become expressions."""

from __future__ import annotations

from thence.lang import syntax as s
from thence.lang.build import MAX_INT
from thence.lang.precedence import join, regroup
from thence.lang.problem import SyntaxProblem, int_out_of_range
from thence.lang.scope import Scope
from thence.lang.timers import TIMERS
from thence.lang.words import AGGREGATES, FUNCTIONS, PATTERN_OPERATORS
from thence.logic import functions
from thence.logic.check.problems import Problems
from thence.logic.expr import Aggregate, Attr, Call, CausedBy, Const, Expr, Folded, TimeOf, Var
from thence.model.source import Span
from thence.model.suggestions import did_you_mean, no_attribute
from thence.model.types import INT, NULL

UNKNOWN = Const(None, NULL)
"""Stands in for what could not be resolved; a program that holds one is never returned."""


class Values:
    """Turns syntax in a value's place into expressions, noting what is wrong."""

    __slots__ = ("_report", "_scope")

    def __init__(self, scope: Scope, report: Problems) -> None:
        self._scope, self._report = scope, report

    def expr(self, node: s.Node) -> Expr:
        """The expression that a node stands for."""
        node = s.strip(node)
        match node:
            case s.Name():
                return self._name(node)
            case s.Chain(parts=parts):
                return regroup(parts, self.expr)
            case s.Literal_(value=value, type=kind):
                if kind == INT and value > MAX_INT:
                    raise int_out_of_range(s.span_of(node))
                return Const(value, kind, s.span_of(node))
            case s.Dotted():
                return self._dotted(node)
            case s.Nested():
                return self._query(node)
            case s.Apply():
                return self._apply(node)
            case s.Paren(items=items):
                parts_ = [self.expr(item) for item in items]
                return join("and", parts_, s.span_of(node))
            case s.Anything():
                return self._wrong(
                    node,
                    "`_` has no value",
                    "`_` stands for anything, as an argument of an event; use a variable here",
                )
        return self._wrong(
            node,
            "a value or a condition is needed here, and this is a pattern",
            "make the pattern an item of its own, before or after a comma",
        )

    def term(self, node: s.Node) -> Expr | Aggregate:
        """What a head term stands for: an expression, or an aggregate."""
        inner = s.strip(node)
        if isinstance(inner, s.Apply) and inner.name.lower() in AGGREGATES:
            return self._aggregate(inner)
        return self.expr(node)

    def _query(self, node: s.Nested) -> Expr:
        raise SyntaxProblem(
            s.span_of(node),
            "a query can stand only in FROM, WITH, and the WHERE of another query",
            "in a rule, look the row up: table(x, _), or `not table(x, _)`",
        )

    def _wrong(self, node: s.Node, message: str, hint: str | None = None) -> Expr:
        self._report.error(s.span_of(node), message, hint)
        return UNKNOWN

    def _is_event(self, node: s.Name) -> bool:
        """Whether a name stands for an event and for no value."""
        return node.text in self._scope.labels and node.text not in self._scope.variables

    def _name(self, node: s.Name) -> Expr:
        return Var(node.text, s.span_of(node))

    def _dotted(self, node: s.Dotted) -> Expr:
        scope, span = self._scope, s.span_of(node)
        if node.label not in scope.labels:
            self._report.error(
                Span(node.start, node.label_end),
                f"unknown label '{node.label}'",
                f"give the event a label: l: {node.label}(…), and write l.{node.attribute}"
                if node.label in scope.events
                else did_you_mean(node.label, scope.labels, "label an event with `l: event(…)`"),
            )
            return UNKNOWN
        if node.attribute in ("start", "end"):
            return TimeOf(node.label, "start" if node.attribute == "start" else "end", span)
        for name in sorted(scope.labels[node.label] & scope.events.keys()):
            columns = scope.events[name].columns
            if node.attribute not in columns:
                said, hint = no_attribute(name, node.attribute, (*columns, "start", "end"))
                return self._wrong(node, said, hint)
        return Attr(node.label, node.attribute, span)

    def _apply(self, node: s.Apply) -> Expr:
        function, scope = node.name.lower(), self._scope
        if function == "duration":
            return self._duration(node)
        if function == "caused_by":
            return self._caused_by(node)
        if function in FUNCTIONS:
            args = tuple(map(self.expr, node.args))
            return Call(function, args, s.span_of(node))
        span = Span(node.start, node.name_end)
        if function in AGGREGATES:
            found = self._aggregate(node)
            return Folded(found, s.span_of(node)) if isinstance(found, Aggregate) else found
        if node.name in scope.events or function in PATTERN_OPERATORS or function in TIMERS:
            what = "an event" if node.name in scope.events else "a pattern operator"
            message = f"'{node.name}' is {what} and cannot be used inside a condition"
            hint = "make it an item of its own: after a comma, or joined by `and`"
        else:
            message = f"unknown function '{node.name}'"
            hint = did_you_mean(node.name, FUNCTIONS, None) or ""
            if function == "timestamp":
                hint = "a time is written timestamp '2026-01-01T06:00:00Z'"
        self._report.error(span, message, hint or None)
        return UNKNOWN

    def _duration(self, node: s.Apply) -> Expr:
        label = s.strip(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(label, s.Name) or label.text not in self._scope.labels:
            return self._wrong(
                node,
                "duration(l) takes one label",
                did_you_mean(label.text, self._scope.labels)
                if isinstance(label, s.Name)
                else "label the event with `l: event(…)`",
            )
        span = s.span_of(node)
        ends = (TimeOf(label.text, "end", span), TimeOf(label.text, "start", span))
        return Call("-", ends, span)

    def _caused_by(self, node: s.Apply) -> Expr:
        labels = [s.strip(arg) for arg in node.args]
        names = [label.text for label in labels if isinstance(label, s.Name)]
        unknown = [name for name in names if name not in self._scope.labels]
        if len(node.args) != 2 or len(names) != 2 or unknown:
            example = "label the events with `x: event(…)`: the derived one, and one in it"
            hint = did_you_mean(unknown[0], self._scope.labels, example) if unknown else example
            return self._wrong(node, "caused_by(x, y) takes two labels", hint)
        return CausedBy(names[0], names[1], s.span_of(node))

    def _aggregate(self, node: s.Apply) -> Aggregate | Expr:
        function, span = node.name.lower(), s.span_of(node)
        args = node.args
        row = functions.AGGREGATES[function]
        if len(args) > 1 or (not args and not row.bare):
            hint = f"write {function}(x)"
            if row.scalar and args:
                hint = f"for the {function} of several values write {row.scalar}(…)"
            return self._wrong(node, f"{function} takes one argument", hint)
        arg: s.Node | None = args[0] if args else None
        distinct = isinstance(arg, s.Distinct)
        if isinstance(arg, s.Star):
            if not row.bare:
                return self._wrong(node, f"{function}(*) has no meaning", "write count(*)")
            arg = None
        if isinstance(arg, s.Distinct):
            arg = arg.value
        if isinstance(arg, s.Name) and row.bare and not distinct:
            if self._is_event(arg):
                # Each event has a start, so to count starts is to count events.
                return Aggregate(function, TimeOf(arg.text, "start", s.span_of(arg)), False, span)
        value = None if arg is None else self.expr(arg)
        return Aggregate(function, value, distinct, span)
