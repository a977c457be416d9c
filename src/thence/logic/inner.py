"""Patterns that are judged by themselves: each becomes a rule of its own, which no user can name.

A policy chooses among all matches of a pattern, whatever stands around it; ``periodic`` goes on
from its own last tick; and what is repeated is an event, or is made one. So in
``(a seq b using chronicle) seq c`` the part in parentheses becomes ``#m``, with a hidden rule
``#m <- a seq b using chronicle``. What is read of the pattern outside comes through the hidden
event's attributes: its variables under their names, ``x.n`` of an event labelled ``x`` as ``x.n``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from thence.logic.changes import changed
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import view_of
from thence.logic.conjunct import INNER
from thence.logic.expr import Attr, CausedBy, TimeOf, Var, leaves
from thence.logic.moments import TICK
from thence.logic.ops import (
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    Pattern,
    Ref,
    Repeat,
    Rule,
    Timer,
    Using,
    Where,
    While,
    Within,
    exprs_of,
    walk,
)
from thence.logic.policy import UNRESTRICTED
from thence.logic.repetition import element_of
from thence.logic.scope import is_own_rule, own_labels
from thence.model.source import NOWHERE, Span

Read = Attr | TimeOf


def with_own_rules(program: LogicProgram) -> LogicProgram:
    """The same program, with hidden rules for the patterns that are judged by themselves.

    The program is one that was checked. Raises a CheckError where such a pattern and what stands
    around it need more of each other than attributes.
    """
    taken = {event.name for event in program.events} | {rule.event for rule in program.rules}
    problems = Problems(program.source)
    rules: list[Rule] = []
    for rule in program.rules:
        fresh = (f"{INNER}{rule.event} {number}" for number in count(1))
        rule = replace(rule, body=_repeating_events(rule.body, None))
        while (found := _innermost(rule.body)) is not None:
            name = next(each for each in fresh if each not in taken)
            taken.add(name)
            rule, hidden = _Split(rule, found, name, problems).rules()
            rules += hidden
        rules.append(rule)
    problems.raise_if_any()
    return replace(program, rules=tuple(rules)) if len(rules) > len(program.rules) else program


def _repeating_events(pattern: Pattern, limit: int | None) -> Pattern:
    """A pattern in which every repetition is of an event: what is more than that is judged by
    itself. ``limit`` is how long everything around it lasts at most."""

    def change(node: Any) -> Any:
        match node:
            case Within(inner, most):
                shorter = most if limit is None else min(limit, most)
                return replace(node, pattern=_repeating_events(inner, shorter))
            case Repeat(inner) if element_of(node) is None:
                conditions: list[Where] = []
                while isinstance(inner, Where):
                    conditions.append(inner)
                    inner = inner.pattern
                inner = _repeating_events(inner, limit)
                short = inner if limit is None else Within(inner, limit)
                event: Pattern = Using(short, UNRESTRICTED, node.span)
                for condition in reversed(conditions):
                    event = replace(condition, pattern=event)
                return replace(node, pattern=event)
        return node

    found: Pattern = changed(pattern, change)
    return found


def _innermost(body: Pattern) -> Pattern | None:
    """A pattern that is judged by itself and has no other such pattern inside."""
    found = None
    for part in walk(body):
        if is_own_rule(part):
            found = part
    return found


class _Split:
    """A rule on its way to two: one for a pattern inside it, and one around that."""

    def __init__(self, rule: Rule, pattern: Pattern, name: str, problems: Problems) -> None:
        self.rule, self.pattern, self.name, self.problems = rule, pattern, name, problems
        assert isinstance(pattern, Using | Moments)
        self.span = pattern.span
        self.binding = pattern.pattern if isinstance(pattern, Using) else pattern.parts[0]
        """What binds the names that are handed out."""
        bound = view_of(Rule(name, (), self.binding, self.span)).root
        seen = dict.fromkeys([*_all_variables(self.binding), *sorted(bound.bound_variables())])
        self.variables = [each for each in seen if each in bound.bound_variables()]
        self.labels = own_labels(self.binding)

    def rules(self) -> tuple[Rule, list[Rule]]:
        """The rule around the pattern, and the hidden ones."""
        label, body = self._around()
        outside = replace(self.rule, body=body)
        read = [each for each in dict.fromkeys(_reads(outside)) if each.label in self.labels]
        if isinstance(self.pattern, Moments):
            within = (each for part in self.pattern.absent for each in _reads(part))
            read += [e for e in dict.fromkeys(within) if e.label in self.labels and e not in read]
        self._check(outside)
        columns = [*self.variables, *(_column(each) for each in read)]
        self.terms = tuple(
            HeadTerm(name, value, self.span)
            for name, value in zip(columns, [*map(Var, self.variables), *read], strict=True)
        )
        wanted = {each: Attr(label, _column(each)) for each in read}
        atom = Atom(self.name, tuple((name, Var(name)) for name in self.variables), self.span)

        def change(node: Any) -> Any:
            if isinstance(node, Attr | TimeOf) and node in wanted:
                return replace(wanted[node], span=node.span)
            return atom if node is _HERE else node

        return changed(outside, change), self._hidden(columns, read)

    def _around(self) -> tuple[str, Pattern]:
        """The body with a mark where the pattern stood, and the label that it has there."""
        label = self.name
        own = [
            part.name
            for part in walk(self.rule.body)
            if isinstance(part, Label) and part.pattern is self.pattern
        ]
        mark: Pattern = _HERE if own else Label(label, _HERE, self.span)
        body = changed(self.rule.body, lambda node: mark if node is self.pattern else node)
        return (own[0] if own else label), body

    def _hidden(self, columns: Sequence[str], read: Sequence[Read]) -> list[Rule]:
        """The rules of the pattern itself."""
        rule = Rule(self.name, self.terms, self.binding, self.span, self.span)
        if isinstance(self.pattern, Using):
            if self.pattern.policy.merges:
                self.problems.error(
                    self.pattern.policy.span,
                    "`cumulative` makes one result of several matches, for the head of a rule",
                    "give this pattern a rule of its own and use that rule's name here",
                )
            return [replace(rule, policy=self.pattern.policy)]
        assert isinstance(self.pattern, Moments)
        tick = replace(self.pattern, operator=TICK)

        # From one tick to the next what was read through labels comes by name.
        def by_name(node: Any) -> Any:
            return Var(_column(node)) if isinstance(node, Attr | TimeOf) and node in read else node

        last = Atom(self.name, tuple((name, Var(name)) for name in columns), self.span)
        absent = tuple(changed(part, by_name) for part in tick.absent)
        terms = tuple(HeadTerm(name, Var(name), self.span) for name in columns)
        return [
            replace(rule, body=tick),
            replace(rule, body=replace(tick, parts=(last,), absent=absent), terms=terms),
        ]

    # -- what cannot be

    def _check(self, outside: Rule) -> None:
        """Refuse what only one rule could say."""
        for part in walk(outside.body):
            match part:
                case Ref(name, span) | While(name, span=span) | Timer(name, span=span):
                    if name in self.labels:
                        self._refuse_label(name, span)
                case Label(name, _, span) if name in self.labels:
                    self._refuse_label(name, span)
        for name, span in _asked(outside):
            if name in self.labels:
                self._refuse_label(name, span)
        absent = self.pattern.absent if isinstance(self.pattern, Moments) else ()
        around = view_of(outside).root.bound_variables()
        labels = own_labels(outside.body)
        for root in (self.binding, *absent):
            own = {*self.labels, *own_labels(root)}
            for name, span in _variables(root):
                if name not in self.variables and name in around:
                    self._refuse(span, f"'{name}'", "bind it inside too")
            for name, span in _labels_used(root):
                if name not in own and name in labels:
                    self._refuse(span, f"the label '{name}'", "compare outside of it")

    def _refuse_label(self, name: str, span: Span) -> None:
        self.problems.error(
            span,
            f"'{name}' is a part of a pattern that is judged by itself, so outside of it there are "
            "only its attributes and times",
            f"read {name}.start, {name}.end or an attribute; or label the whole pattern",
        )

    def _refuse(self, span: Span, what: str, hint: str) -> None:
        self.problems.error(
            span if span != NOWHERE else self.span,
            f"{what} is bound outside of this pattern, which is judged by itself",
            f"{hint}, or make the pattern a rule",
        )


class _Mark(Pattern):
    """Where a pattern stood."""


_HERE = _Mark()


def _column(read: Read) -> str:
    return f"{read.label}.{read.name if isinstance(read, Attr) else read.which}"


def _reads(node: Rule | Pattern) -> Iterator[Read]:
    return (leaf for e in exprs_of(node) for leaf in leaves(e) if isinstance(leaf, Attr | TimeOf))


def _variables(pattern: Pattern) -> Iterator[tuple[str, Span]]:
    return (
        (leaf.name, leaf.span)
        for expr in exprs_of(pattern)
        for leaf in leaves(expr)
        if isinstance(leaf, Var)
    )


def _all_variables(pattern: Pattern) -> list[str]:
    """Every variable that stands in a pattern, in the order of the text."""
    return list(dict.fromkeys(name for name, _ in _variables(pattern)))


def _asked(node: Rule | Pattern) -> Iterator[tuple[str, Span]]:
    """The labels that ``caused_by`` asks about."""
    for leaf in (leaf for expr in exprs_of(node) for leaf in leaves(expr)):
        if isinstance(leaf, CausedBy):
            yield from ((leaf.effect, leaf.span), (leaf.cause, leaf.span))


def _labels_used(pattern: Pattern) -> Iterator[tuple[str, Span]]:
    yield from ((read.label, read.span) for read in _reads(pattern))
    yield from _asked(pattern)
    for part in walk(pattern):
        match part:
            case Ref(name, span) | While(name, span=span) | Timer(name, span=span):
                yield name, span
