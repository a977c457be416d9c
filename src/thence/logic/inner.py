"""Patterns that are judged by themselves: each becomes a rule of its own, which no user can name.

A policy chooses among all matches of a pattern, whatever stands around it; ``periodic`` goes on
from its own last tick; and what is repeated is an event, or is made one. So in
``(a seq b using chronicle) seq c`` the part in parentheses becomes ``#m``, with a hidden rule
``#m <- a seq b using chronicle``. What is read of the pattern outside comes through the hidden
event's attributes: its variables under their names, ``x.n`` of an event labelled ``x`` as ``x.n``,
and ``count(b)`` over what the pattern repeats as ``count(b)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from thence.logic.changes import changed
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import view_of
from thence.logic.conjunct import INNER
from thence.logic.expr import Aggregate, Attr, CausedBy, Folded, TimeOf, Var, leaves, read_by
from thence.logic.expr_text import expr_text
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
from thence.logic.repetition import element_of, shared_variables
from thence.logic.scope import (
    is_own_rule,
    needed_of,
    own_labels,
    positive_parts,
    repeated_variables,
)
from thence.model.source import NOWHERE, Span

Read = Attr | TimeOf | Aggregate
"""What is read of a pattern outside of it, besides its variables."""


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


def as_a_whole(rule: Rule) -> Rule:
    """A policy on all of a rule's body is the rule's: ``q <- (a seq b using recent);``."""
    body = rule.body
    if not isinstance(body, Using) or rule.policy != UNRESTRICTED:
        return rule
    return as_a_whole(replace(rule, body=body.pattern, policy=body.policy))


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
        # What repetitions inside share with the rule around them they have in common themselves.
        shared = sorted(shared_variables(rule).intersection(repeated_variables(self.binding)))
        handed = tuple(HeadTerm(each, Var(each), self.span) for each in shared)
        bound = view_of(Rule(name, handed, self.binding, self.span)).root
        seen = dict.fromkeys([*_all_variables(self.binding), *sorted(bound.bound_variables())])
        self.variables = [each for each in seen if each in bound.bound_variables()]
        self.labels = own_labels(self.binding)
        repeated = [part.pattern for part in walk(self.binding) if isinstance(part, Repeat)]
        named = {name for part in repeated for name in [*own_labels(part), *_all_variables(part)]}
        self.repeated = named - bound.variables.keys()
        """The labels and variables that aggregates are over."""
        self.repeats = bool(repeated)
        self.matched = any(part is pattern for part in positive_parts(rule.body))
        """Whether it is a part of the match, and not of what is repeated or lies in a window."""

    def rules(self) -> tuple[Rule, list[Rule]]:
        """The rule around the pattern, and the hidden ones."""
        label, body = self._around()
        outside = replace(self.rule, body=body)
        readers: list[Rule | Pattern] = [outside]
        if isinstance(self.pattern, Moments):
            readers += self.pattern.absent
        read = list(dict.fromkeys(each for node in readers for each in self._read(node)))
        self._check(outside)
        names = _columns(read)
        columns = [*self.variables, *names.values()]
        self.terms = tuple(
            HeadTerm(name, value, self.span)
            for name, value in zip(columns, [*map(Var, self.variables), *read], strict=True)
        )
        wanted = {each: Attr(label, column) for each, column in names.items()}
        atom = Atom(self.name, tuple((name, Var(name)) for name in self.variables), self.span)

        def change(node: Any) -> Any:
            value = node.aggregate if isinstance(node, Folded) else node
            if isinstance(value, Read) and value in wanted:
                return replace(wanted[value], span=node.span)
            return atom if node is _HERE else node

        return changed(outside, change), self._hidden(columns, names)

    def _read(self, node: Rule | Pattern) -> Iterator[Read]:
        """What is read of the pattern in what stands around it."""
        stack = list(exprs_of(node))[::-1]
        while stack:
            for leaf in leaves(stack.pop()):
                value = leaf.aggregate if isinstance(leaf, Folded) else leaf
                if isinstance(value, Read) and self._hands_out(value):
                    yield value
                elif isinstance(value, Aggregate) and value.arg is not None:
                    stack.append(value.arg)

    def _hands_out(self, read: Read) -> bool:
        """Whether something that is read is to be found in the pattern."""
        if not isinstance(read, Aggregate):
            return read.label in self.labels
        if read.arg is None:
            return self.repeats and self.matched
        needs = needed_of(read.arg)
        return not self.repeated.isdisjoint(
            {*needs.variables, *(each.label for each in needs.labelled)}
        )

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

    def _hidden(self, columns: Sequence[str], names: Mapping[Read, str]) -> list[Rule]:
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
            read = isinstance(node, Attr | TimeOf) and node in names
            return Var(names[node]) if read else node

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


def _columns(read: Sequence[Read]) -> dict[Read, str]:
    """The columns of a hidden event for what is read of it, as it is written."""
    found: dict[Read, str] = {}
    for each in read:
        name = expr_text(Folded(each) if isinstance(each, Aggregate) else each)
        while name in found.values():  # long expressions are written short
            name += "'"
        found[each] = name
    return found


def _variables(pattern: Pattern) -> Iterator[tuple[str, Span]]:
    return (
        (leaf.name, leaf.span)
        for expr in exprs_of(pattern)
        for leaf in read_by(expr)
        if isinstance(leaf, Var)
    )


def _all_variables(pattern: Pattern) -> list[str]:
    """Every variable that stands in a pattern, in the order of the text."""
    return list(dict.fromkeys(name for name, _ in _variables(pattern)))


def _asked(node: Rule | Pattern) -> Iterator[tuple[str, Span]]:
    """The labels that ``caused_by`` asks about."""
    for leaf in (leaf for expr in exprs_of(node) for leaf in read_by(expr)):
        if isinstance(leaf, CausedBy):
            yield from ((leaf.effect, leaf.span), (leaf.cause, leaf.span))


def _labels_used(pattern: Pattern) -> Iterator[tuple[str, Span]]:
    for leaf in (leaf for expr in exprs_of(pattern) for leaf in read_by(expr)):
        if isinstance(leaf, Attr | TimeOf):
            yield leaf.label, leaf.span
    yield from _asked(pattern)
    for part in walk(pattern):
        match part:
            case Ref(name, span) | While(name, span=span) | Timer(name, span=span):
                yield name, span
