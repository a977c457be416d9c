"""Resolves what is written like a call in a pattern's place: events, operators and timers."""

from __future__ import annotations

from collections.abc import Callable

from thence.lang import syntax as s
from thence.lang.moments import MomentCalls
from thence.lang.scope import EventInfo, Scope, named_argument
from thence.lang.timers import TIMERS, timer
from thence.lang.values import Values
from thence.lang.words import (
    FUNCTIONS,
    MOMENT_OPERATORS,
    PATTERN_OPERATORS,
)
from thence.logic.check.problems import Problems
from thence.logic.expr import Const, Expr
from thence.logic.ops import AnyOne, Atom, Pattern, Ticks
from thence.model.source import Span
from thence.model.suggestions import did_you_mean
from thence.model.time import parse_duration
from thence.model.types import DURATION, STRING

_EXAMPLE = "write for example 10 s"


class Atoms:
    """Turns ``name(arg, …)`` into an atom, an operator or a timer."""

    __slots__ = ("_pattern", "_report", "_scope", "_values")

    def __init__(
        self,
        scope: Scope,
        report: Problems,
        values: Values,
        pattern: Callable[[s.Node], Pattern],
    ) -> None:
        self._scope, self._report = scope, report
        self._values, self._pattern = values, pattern

    def apply(self, node: s.Apply, label: str | None = None) -> Pattern:
        """The pattern that a call stands for; ``label`` is the label it carries, if any."""
        event = self._scope.events.get(node.name)
        if event is not None:
            return Atom(node.name, self._arguments(node, event, label), s.span_of(node))
        name = node.name.lower()
        if name == "anyone":
            if not node.args:
                self._report.error(s.span_of(node), "anyone needs at least one event")
            return AnyOne(tuple(map(self._pattern, node.args)), s.span_of(node))
        if name in MOMENT_OPERATORS:
            calls = MomentCalls(self._scope.events, self._report, self._pattern, self._duration)
            return calls.apply(node, name)
        if name == "ticks":
            return self._ticks(node)
        if name in TIMERS:
            return self._timer(node, name)
        return self._unknown(node, name)

    def _unknown(self, node: s.Apply, name: str) -> Pattern:
        span = Span(node.start, node.name_end)
        if name in FUNCTIONS:
            self._report.error(
                span,
                f"the function '{node.name}' gives a value, and an event is needed here",
                "a condition on values goes into `where`, or stands by itself after a comma",
            )
        else:
            self._report.error(
                span,
                f"unknown {self._scope.kind} '{node.name}'",
                did_you_mean(
                    node.name,
                    self._scope.events,
                    f"declare it: {self._scope.kind} {node.name}(…);",
                    also=(*PATTERN_OPERATORS, *TIMERS, *FUNCTIONS),
                ),
            )
        return Atom("")

    # -- arguments of events

    def _arguments(
        self, node: s.Apply, event: EventInfo, label: str | None
    ) -> tuple[tuple[str, Expr], ...]:
        found: dict[str, Expr | None] = {}
        positional = 0
        named = False
        for arg in node.args:
            key, value = named_argument(arg)
            if key is not None:
                named = True
                attribute = key.text
                if attribute not in event.columns:
                    self._report.error(
                        s.span_of(key),
                        f"'{event.name}' has no attribute '{attribute}'",
                        did_you_mean(attribute, event.columns, f"it is {event.declaration}"),
                    )
                    continue
            elif named:
                self._report.error(
                    s.span_of(arg),
                    "an argument without a name cannot follow one with a name",
                    f"name it too: attribute=…; the event is {event.declaration}",
                )
                continue
            else:
                positional += 1
                if positional > len(event.columns):
                    continue
                attribute = event.columns[positional - 1]
            if attribute in found:
                self._report.error(s.span_of(arg), f"'{attribute}' is given twice")
                continue
            found[attribute] = self._argument(value)
        self._check_arity(node, event, positional, named, label)
        return tuple((name, expr) for name, expr in found.items() if expr is not None)

    def _argument(self, node: s.Node) -> Expr | None:
        if isinstance(node, s.Anything):
            return None
        value = self._values.expr(node)
        if isinstance(node, s.Literal_) and node.value is None:
            self._report.error(
                s.span_of(node),
                "null is equal to nothing, so this event would never match",
                "use a variable, and write `where x is null`",
            )
        return value

    def _check_arity(
        self, node: s.Apply, event: EventInfo, given: int, named: bool, label: str | None
    ) -> None:
        """Positions must be complete, unless names or the label reach the attributes left out."""
        expected = len(event.columns)
        if given > expected:
            self._report.error(
                Span(node.args[expected].start, node.args[-1].end),
                f"'{event.name}' has {_attributes(expected)}, and {given} "
                f"{'is' if given == 1 else 'are'} given",
                f"it is {event.declaration}",
            )
        elif 0 < given < expected and not named:
            left_out = event.columns[given:]
            if label is not None and any((label, name) in self._scope.read for name in left_out):
                return
            self._report.error(
                s.span_of(node),
                f"'{event.name}' has {_attributes(expected)}, and only {given} "
                f"{'is' if given == 1 else 'are'} given",
                f"it is {event.declaration}; write `_` for anything, or name what you need: "
                f"{event.name}({left_out[-1]}=…)",
            )

    # -- operators and timers

    def _ticks(self, node: s.Apply) -> Pattern:
        if len(node.args) != 3:
            self._report.error(
                s.span_of(node),
                "ticks takes an event and two durations",
                "write ticks(a, 1 min, 10 min): every full minute in the ten minutes after an a",
            )
            return Atom("")
        event, every, reach = node.args
        durations = self._duration(every), self._duration(reach)
        return Ticks(self._pattern(event), *durations, s.span_of(node))

    def _timer(self, node: s.Apply, name: str) -> Pattern:
        if len(node.args) != 2:
            self._report.error(
                s.span_of(node),
                f"{name} takes a label and a duration",
                f"write {name}(o, 6h), where o labels an event",
            )
            return Atom("")
        target, limit = s.strip(node.args[0]), node.args[1]
        duration = self._duration(limit)
        if not isinstance(target, s.Name):
            self._report.error(
                s.span_of(target),
                f"{name} is relative to an event that has a label",
                f"label the event first, o: event(…), then write {name}(o, …)",
            )
            return Atom("")
        if target.text not in self._scope.labels:
            hint = f"label the event first, o: {target.text}(…), then write {name}(o, …)"
            if target.text not in self._scope.events:
                hint = did_you_mean(target.text, self._scope.labels, hint) or hint
            self._report.error(s.span_of(target), f"unknown label '{target.text}'", hint)
        return timer(name, target.text, duration, s.span_of(node))

    def _duration(self, node: s.Node) -> int:
        """A duration as an argument: ``10 s``, ``-6h`` or ``'1 min'``."""
        value = self._values.expr(node) if not isinstance(node, s.Name) else None
        if isinstance(value, Const):
            if value.type == DURATION:
                return int(value.value)
            if value.type == STRING:
                try:
                    return parse_duration(value.value)
                except ValueError as problem:
                    self._report.error(s.span_of(node), str(problem))
                    return 0
            if value.type.numeric:
                self._report.error(
                    s.span_of(node),
                    f"{value.value} has no unit of time",
                    f"write for example {value.value} s",
                )
                return 0
        self._report.error(s.span_of(node), "a duration is needed here", _EXAMPLE)
        return 0


def _attributes(number: int) -> str:
    if number == 0:
        return "no attributes"
    return "1 attribute" if number == 1 else f"{number} attributes"
