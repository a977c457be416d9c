"""Calls of the operators over moments: which argument is what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from thence.lang import syntax as s
from thence.lang.scope import Events
from thence.lang.words import CALLS
from thence.logic.alternatives import MOST_ALTERNATIVES
from thence.logic.check.problems import Problems
from thence.logic.moments import Operator
from thence.logic.ops import And, AnyOne, Atom, Moments, Or, Pattern
from thence.model.source import Span
from thence.model.types import INT


class MomentCalls:
    """Resolves calls of operators over moments."""

    __slots__ = ("_duration", "_events", "_pattern", "_report")

    def __init__(
        self,
        events: Events,
        report: Problems,
        pattern: Callable[[s.Node], Pattern],
        duration: Callable[[s.Node], int],
    ) -> None:
        self._events, self._report = events, report
        self._pattern, self._duration = pattern, duration

    def apply(self, node: s.Apply, name: str) -> Pattern:
        """The pattern that a call stands for."""
        if name == "any":
            return self._any(node)
        span = s.span_of(node)
        operator = CALLS[name]
        events = list(node.args)
        duration = None
        if operator.duration is not None and operator.duration < len(events):
            duration = events.pop(operator.duration)
        if not operator.takes(len(events)) or (operator.duration is not None and duration is None):
            self._refuse_number(node, name, operator)
            return Atom("")
        limit = 0 if duration is None else self._duration(duration)
        if operator.last == "same" and len(events) == operator.least:
            events.append(events[-1])
        base = (each for each, info in self._events.items() if info.base)  # rarely asked for
        return moments(name, [*map(self._pattern, events)], limit, base, span)

    def _refuse_number(self, node: s.Apply, name: str, operator: Operator) -> None:
        """Say how many arguments an operator takes."""
        given, least = len(node.args), operator.least
        requested = "one event" if least == 1 else f"{least} arguments"
        if operator.duration is not None:
            requested = "two events and a duration"
        self._report.error(
            s.span_of(node),
            f"{name} takes {'at least ' if operator.more else ''}{requested}, and {given} "
            f"{'argument is' if given == 1 else 'arguments are'} given",
            f"write {_example(name, operator)}",
        )

    def _any(self, node: s.Apply) -> Pattern:
        """``any(m, a, b, c)``: every choice of ``m`` of them, at the end of the last."""
        span = s.span_of(node)
        number = s.strip(node.args[0]) if node.args else None
        events = node.args[1:]
        if not (isinstance(number, s.Literal_) and number.type == INT):
            self._report.error(
                span, "any needs to know how many", "write any(2, a, b, c) for two of the three"
            )
            return Atom("")
        if not 1 <= number.value <= len(events):
            self._report.error(
                s.span_of(number),
                f"any {number.value} of {len(events)} events is not possible",
                f"write a number from 1 to {len(events)}" if events else "write any(1, a, b)",
            )
            return Atom("")
        choices = list(_choices(events, number.value))
        if len(choices) > MOST_ALTERNATIVES:
            self._report.error(
                span,
                f"{number.value} of {len(events)} events can be chosen in {len(choices):,} ways",
                "give parts of it names of their own, as rules",
            )
            return Atom("")
        parts = [tuple(self._pattern(event) for event in choice) for choice in choices]
        joined = [And(part, span) if len(part) > 1 else part[0] for part in parts]
        return AnyOne(tuple(joined), span)


def moments(
    name: str, arguments: Sequence[Pattern], limit: int, base: Iterable[str], span: Span
) -> Moments:
    """An operator over moments. ``arguments`` are all that it has, in the order in which they are
    written; ``base`` are the events that come in."""
    operator = CALLS[name]
    among = operator.last == "among"
    found = operator.divided(arguments[: operator.least] if among else arguments)
    if among:
        found[operator.roles[-1]].append(any_of(arguments[operator.least :], base, span))
    parts, absent, collected = (tuple(found[role]) for role in ("part", "absent", "collected"))
    return Moments(name, parts, absent, limit, span, collected)


def any_of(choice: Sequence[Pattern], base: Iterable[str], span: Span) -> Pattern:
    """Any of some patterns; of all ``base`` events, which come in, where none is given."""
    parts = tuple(choice) or tuple(Atom(name, (), span) for name in base)
    return parts[0] if len(parts) == 1 else Or(parts, span)


def _choices(events: Sequence[s.Node], number: int) -> list[tuple[s.Node, ...]]:
    found = []
    for choice in combinations(events, number):
        found.append(choice)
        if len(found) > MOST_ALTERNATIVES:
            break
    return found


def _example(name: str, operator: Operator) -> str:
    """A call of an operator.

    >>> _example("then", CALLS["then"]), _example("periodic", CALLS["periodic"])
    ('then(a, b)', 'periodic(a, 10 s, c)')
    """
    shown = list("abc"[: operator.least + (operator.duration is not None)])
    if operator.duration is not None:
        shown[operator.duration] = "10 s"
    return f"{name}({', '.join(shown)})"
