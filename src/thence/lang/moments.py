"""Calls of the operators over moments: which argument is what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from thence.lang import syntax as s
from thence.lang.report import Report
from thence.lang.scope import Events
from thence.logic.alternatives import MOST_ALTERNATIVES
from thence.logic.moments import PERIODIC
from thence.logic.ops import And, AnyOne, Atom, Moments, Or, Pattern, Seq
from thence.model.source import Span
from thence.model.types import INT


@dataclass(frozen=True, slots=True)
class _Form:
    """How an operator is called: the least number of arguments and whether there may be more, the
    places of what must occur, of what must be absent, of what is collected, and of the
    duration."""

    example: str
    least: int
    more: bool = False
    parts: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    collected: tuple[int, ...] = ()
    limit: int | None = None


_FORMS = {
    "then": _Form("then(a, b)", 2, more=True),
    "prior": _Form("prior(a, b)", 2, more=True),
    "simultaneous": _Form("simultaneous(a, b)", 2, more=True),
    "relative": _Form("relative(a, b)", 2, more=True),
    "relative+": _Form("relative+(a)", 1),
    "immediately": _Form("immediately(a, b)", 2, more=True, parts=(0, 1)),
    "other_than": _Form("other_than(a)", 1, more=True, absent=(0,)),
    "aperiodic": _Form("aperiodic(a, b, c)", 3, parts=(0, 1), absent=(2,)),
    "aperiodic*": _Form("aperiodic*(a, b, c)", 3, parts=(0, 2), collected=(1,)),
    "without": _Form("without(a, b, c)", 3, parts=(0, 2), absent=(1, 2)),
    PERIODIC: _Form("periodic(a, 10 s, c)", 3, parts=(0,), absent=(2,), limit=1),
    "periodic*": _Form("periodic*(a, 10 s, b)", 3, parts=(0, 2), limit=1),
}


class MomentCalls:
    """Resolves calls of operators over moments."""

    __slots__ = ("_duration", "_events", "_pattern", "_report")

    def __init__(
        self,
        events: Events,
        report: Report,
        pattern: Callable[[s.Node], Pattern],
        duration: Callable[[s.Node], int],
    ) -> None:
        self._events, self._report = events, report
        self._pattern, self._duration = pattern, duration

    def apply(self, node: s.Apply, name: str) -> Pattern:
        """The pattern that a call stands for."""
        if name == "any":
            return self._any(node)
        span, form = s.span_of(node), _FORMS[name]
        count = len(node.args)
        if name == "without" and count == 4:
            form = replace(form, least=4, absent=(1, 3))
        if count < form.least or (count > form.least and not form.more):
            wanted = f"{'at least ' if form.more else ''}{_counted(form.least)}"
            self._report.error(
                span, f"{name} takes {wanted}, and {count} are given", f"write {form.example}"
            )
            return Atom("")
        limit = 0 if form.limit is None else self._duration(node.args[form.limit])
        if limit < 0:
            self._report.error(s.span_of(node.args[1]), "this duration cannot be negative")
        if limit == 0 and name == PERIODIC:
            self._report.error(
                s.span_of(node.args[1]), "a period takes some time", f"write {form.example}"
            )
        if name == "other_than":
            patterns: tuple[Pattern, ...] = (self._among(node.args[1:], span),)
        else:
            parts = [node.args[i] for i in form.parts] or node.args
            patterns = tuple(self._pattern(part) for part in parts)
        if name == "relative":
            return AnyOne((Seq(patterns, span),), span)
        absent = tuple(self._pattern(self._unlabelled(node, i)) for i in form.absent)
        if name == "immediately":
            absent = (self._among(node.args[2:], span),)
        collected = tuple(self._pattern(node.args[i]) for i in form.collected)
        return Moments(name, patterns, absent, limit, span, collected)

    def _unlabelled(self, node: s.Apply, place: int) -> s.Node:
        """An argument that stands for something absent. That of ``without`` which stands for what
        comes last as well cannot carry a label: it would be one and the same event. Where it must
        carry one, a fourth argument says what must not have come earlier."""
        stack = [node.args[place]]
        while stack and place == 2 and node.name.lower() == "without":
            inner = stack.pop()
            if isinstance(inner, s.Labelled):
                self._report.error(
                    s.span_of(inner),
                    "what ends `without` is the first of its kind, and cannot carry a label",
                    "read its attributes through variables, c(x), or say what must not come "
                    "earlier: without(a, b, l: c(x), c(x))",
                )
                break
            stack.extend(s.children(inner))
        return node.args[place]

    def _among(self, given: Sequence[s.Node], span: Span) -> Pattern:
        """Any of some events; of all that come in, where none are given."""
        atoms = tuple(Atom(name, (), span) for name, info in self._events.items() if info.base)
        choice = tuple(self._pattern(event) for event in given) or atoms
        return choice[0] if len(choice) == 1 else Or(choice, span)

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


def _choices(events: Sequence[s.Node], number: int) -> list[tuple[s.Node, ...]]:
    found = []
    for choice in combinations(events, number):
        found.append(choice)
        if len(found) > MOST_ALTERNATIVES:
            break
    return found


def _counted(count: int) -> str:
    return "one event" if count == 1 else f"{count} arguments"
