"""Patterns that are evaluated on their own: each becomes an auxiliary event.

A policy chooses among all matches of a pattern, whatever stands around it; ``periodic`` goes on
from its own last tick; and what is repeated is an event, or is made one. So in
``(a seq b using chronicle) seq c`` the part in parentheses becomes ``#m``, with an auxiliary rule
``#m <- a seq b using chronicle``. What is read of the pattern outside comes through that
event's attributes: its variables under their names, ``x.n`` of an event labelled ``x`` as ``x.n``,
and ``count(b)`` over what the pattern repeats as ``count(b)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from thence.logic.auxiliary import OWN, Auxiliary
from thence.logic.changes import changed
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import view_of
from thence.logic.conjunct import INNER
from thence.logic.expr import (
    Aggregate,
    Attr,
    CausedBy,
    Const,
    Expr,
    Folded,
    TimeOf,
    Var,
    leaves,
    read_by,
)
from thence.logic.expr_text import expr_text
from thence.logic.history import (
    CONTEXT,
    MADE,
    context_of,
    has_instants,
    is_own_rule,
    is_row,
    surroundings,
)
from thence.logic.moments import TICK
from thence.logic.ops import (
    AnyOne,
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    Or,
    Pattern,
    Ref,
    Repeat,
    Rule,
    Since,
    Timer,
    Using,
    Where,
    While,
    Within,
    children,
    exprs_of,
    inside,
    walk,
)
from thence.logic.policy import UNRESTRICTED
from thence.logic.repetition import element_of, shared_variables
from thence.logic.scope import needed_of, own_labels, positive_parts, repeated_variables
from thence.model.source import NOWHERE, Span
from thence.model.types import NULL, TIMESTAMP

Read = Attr | TimeOf | Aggregate
"""What is read of a pattern outside of it, besides its variables."""


def with_own_rules(program: LogicProgram, auxiliary: Auxiliary) -> LogicProgram:
    """The same program, with auxiliary rules for the patterns that are evaluated on their own.

    The program is one that was checked. Raises a CheckError where such a pattern and what stands
    around it need more of each other than attributes.
    """
    problems = Problems(program.source)

    def split(rule: Rule) -> Rule:
        while (found := _innermost(rule.body)) is not None:
            rule = _Split(rule, found, auxiliary, problems).around_it()
        return rule

    rules = [split(_of_repeated_events(rule)) for rule in program.rules]
    done = 0
    while done < len(auxiliary):  # contexts may need rules of their own
        for event in auxiliary.events[done:]:
            auxiliary.define(event, [split(rule) for rule in auxiliary.rules_of(event)])
            done += 1
    problems.raise_if_any()
    found = (*rules, *auxiliary.rules)
    return replace(program, rules=found) if len(auxiliary) else program


def _of_repeated_events(rule: Rule) -> Rule:
    """A rule in which every repetition is of an event."""
    if not any(isinstance(part, Repeat) for part in walk(rule.body)):
        return rule
    return replace(rule, body=_repeating_events(rule.body))


def _repeating_events(pattern: Pattern) -> Pattern:
    """A pattern in which every repetition is of an event: what is more than that is finalised by
    itself."""

    def change(node: Any) -> Any:
        match node:
            case Repeat(inner) if element_of(node) is None:
                conditions: list[Where] = []
                while isinstance(inner, Where):
                    conditions.append(inner)
                    inner = inner.pattern
                event: Pattern = Using(_repeating_events(inner), UNRESTRICTED, node.span)
                for condition in reversed(conditions):
                    event = replace(condition, pattern=event)
                return replace(node, pattern=event)
        return node

    found: Pattern = changed(pattern, change)
    return found


def _innermost(body: Pattern) -> Pattern | None:
    """A pattern that is evaluated on its own and has no other such pattern inside."""
    found = None
    for part in walk(body):
        if is_own_rule(part):
            found = part
    return found


def _copies(body: Pattern, pattern: Pattern) -> list[Pattern]:
    """Patterns like one in other branches of an ``or``, such as the choices of ``any``: at most one
    of them is in a match, so they are one event under one name."""
    if body is pattern:
        return []
    for part in children(body):
        if any(node is pattern for node in walk(part)):
            found = _copies(part, pattern)
            if isinstance(body, Or | AnyOne):
                for other in children(body):
                    alike = [node for node in walk(other) if node == pattern]
                    found += alike if other is not part and len(alike) == 1 else []
            return found
    return []


class _Split:
    """A rule on its way to two: one for a pattern inside it, and one around that."""

    def __init__(
        self, rule: Rule, pattern: Pattern, auxiliary: Auxiliary, problems: Problems
    ) -> None:
        self.rule, self.pattern, self.auxiliary, self.problems = rule, pattern, auxiliary, problems
        assert isinstance(pattern, Using | Moments)
        self.span = pattern.span
        around = surroundings(rule.body, pattern)
        assert around is not None
        self.around = around
        self.binding = pattern.pattern if isinstance(pattern, Using) else pattern.parts[0]
        """What binds the names that are handed out."""
        # What all repetitions agree on because it stands outside too, they agree on here as well:
        # it is handed out.
        shared = sorted(shared_variables(rule).intersection(repeated_variables(self.binding)))
        handed = tuple(HeadTerm(each, Var(each), self.span) for each in shared)
        bound = view_of(Rule(OWN, handed, self.binding, self.span)).root
        seen = dict.fromkeys([*_all_variables(self.binding), *sorted(bound.bound_variables())])
        self.variables = [each for each in seen if each in bound.bound_variables()]
        self.labels = own_labels(self.binding)
        repeated = [part.pattern for part in walk(self.binding) if isinstance(part, Repeat)]
        named = {name for part in repeated for name in [*own_labels(part), *_all_variables(part)]}
        self.repeated = named - bound.variables.keys()
        """The labels and variables that aggregates are over."""
        self.repeats = bool(repeated)
        self.windowed = _in_window(rule.body, pattern)
        """Whether it is absent or collected, so that aggregates of the head are over that."""
        self.matched = any(part is pattern for part in positive_parts(rule.body))
        """Whether it is a part of the match, and not of what is repeated or lies in a window."""
        self.copies = {id(pattern), *(id(copy) for copy in _copies(rule.body, pattern))}

    def around_it(self) -> Rule:
        """The rule around the pattern, with the event that stands for it."""
        body = changed(self.rule.body, lambda node: _HERE if id(node) in self.copies else node)
        outside = replace(self.rule, body=body)
        above, around = self._head_over_windows(outside)
        readers: list[Rule | Pattern] = [around]
        if isinstance(self.pattern, Moments):
            readers += self.pattern.absent
        read = list(dict.fromkeys(each for node in readers for each in self._read(node)))
        self._check(outside)
        names = _columns(read)
        columns = [*self.variables, *names.values()]
        self.terms = (
            *(HeadTerm(name, Var(name), self.span) for name in self.variables),
            *(HeadTerm(name, each, self.span, "carried") for each, name in names.items()),
        )
        event = self.auxiliary.event(self._hidden(columns, names))
        here: Pattern = Atom(event, tuple((n, Var(n)) for n in self.variables), self.span)
        own = self._own_label(body)
        label = own or next(each for each in _names(event) if each not in own_labels(body))
        if own is None:
            here = Label(label, here, self.span, hidden=True)

        def change(node: Any) -> Any:
            value = node.aggregate if isinstance(node, Folded) else node
            if isinstance(value, Read) and value in names:
                return Attr(label, names[value], node.span)
            return here if node is _HERE else node

        found: Rule = changed(around, change)
        terms = tuple(
            term if each is None else _over(each, term.value)
            for term, each in zip(found.terms, above, strict=True)
        )
        return replace(found, terms=terms)

    def _own_label(self, body: Pattern) -> str | None:
        """The label that the pattern has where it stands."""
        labels = (part for part in walk(body) if isinstance(part, Label))
        return next((each.name for each in labels if each.pattern is _HERE), None)

    def _head_over_windows(self, rule: Rule) -> tuple[list[HeadTerm | None], Rule]:
        """The terms that aggregate what windows collect, and the rule with what they read in their
        place: what is repeated inside of a collected pattern is none of theirs."""
        above = [
            term if self.windowed and isinstance(term.value, Aggregate) else None
            for term in rule.terms
        ]
        terms = tuple(
            term if each is None else replace(term, value=_argument(each))
            for term, each in zip(rule.terms, above, strict=True)
        )
        return above, replace(rule, terms=terms)

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

    def _hidden(self, columns: Sequence[str], names: Mapping[Read, str]) -> list[Rule]:
        """The rules of the pattern itself."""
        binding, terms = self.binding, self.terms
        clock = isinstance(self.pattern, Moments) and not is_row(self.pattern)
        made, limit = self._is_made(), self.around.limit
        if made and not clock and self.around.limited:
            terms = (*terms, HeadTerm(MADE, TimeOf(MADE, "made"), self.span, "carried"))
            binding = Label(MADE, binding, self.span, hidden=True)
        elif made and not clock and limit is not None:  # it is repeated
            binding = Within(binding, limit)
        if is_row(self.pattern):
            return self._row(binding, terms)
        rule = Rule(OWN, terms, binding, self.span, self.span)
        if isinstance(self.pattern, Using):
            if self.pattern.policy.merges:
                self.problems.error(
                    self.pattern.policy.span,
                    "`cumulative` makes one result of several matches, for the head of a rule",
                    "give this pattern a rule of its own and use that rule's name here",
                )
            if self.pattern.policy == UNRESTRICTED and not made:
                return [replace(rule, limit=limit)]
            return [replace(rule, policy=self.pattern.policy)]
        assert isinstance(self.pattern, Moments)
        tick = replace(self.pattern, operator=TICK)

        # From one tick to the next what was read through labels comes by name.
        def by_name(node: Any) -> Any:
            read = isinstance(node, Attr | TimeOf) and node in names
            return Var(names[node]) if read else node

        last = Atom(OWN, tuple((name, Var(name)) for name in columns), self.span)
        absent = tuple(changed(part, by_name) for part in tick.absent)
        terms = tuple(replace(term, value=Var(term.name)) for term in terms)
        return [
            replace(rule, body=tick),
            replace(rule, body=replace(tick, parts=(last,), absent=absent), terms=terms),
        ]

    def _row(self, pattern: Pattern, terms: tuple[HeadTerm, ...]) -> list[Rule]:
        """The rules of ``relative+``: one of it in the history at hand, and one more in what is
        left of it after a row."""
        span, row, around = self.span, f"{INNER}row", self.around
        atom = Atom(OWN, tuple((n, Var(n)) for n in self.variables), span)
        last = Label(row, atom, span, hidden=True)
        definitions = {p.name: p for p in positive_parts(self.rule.body) if isinstance(p, Label)}
        bodies: list[tuple[Pattern, Expr]] = []
        if around.whole:
            bodies.append((pattern, Const(None, TIMESTAMP)))
        for first in around.firsts:
            context = context_of(first, _all_variables(pattern), definitions, self.auxiliary)
            bodies.append((Since(pattern, context, span=span), TimeOf(CONTEXT, "end")))
        bodies.append((Since(pattern, last, span=span, like=self.binding), Attr(row, CONTEXT)))
        return [
            Rule(
                OWN,
                (*terms, HeadTerm(CONTEXT, value, span, "technical")) if around.firsts else terms,
                AnyOne((body,), span),
                span,
                span,
            )
            for body, value in bodies
        ]

    def _is_made(self) -> bool:
        """Whether events behind the pattern may have begun before it does."""
        return has_instants(self.binding) or any(
            isinstance(part, Atom) and part.event in self.auxiliary
            for part in positive_parts(self.binding)
        )

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
            f"'{name}' is a part of a pattern that is evaluated on its own, so outside of it there "
            "are only its attributes and times",
            f"read {name}.start, {name}.end or an attribute; or label the whole pattern",
        )

    def _refuse(self, span: Span, what: str, hint: str) -> None:
        self.problems.error(
            span if span != NOWHERE else self.span,
            f"{what} is bound outside of this pattern, which is evaluated on its own",
            f"{hint}, or make the pattern a rule",
        )


def _argument(term: HeadTerm) -> Expr:
    """What an aggregate of the head is over; a constant where it counts."""
    assert isinstance(term.value, Aggregate)
    return Const(None, NULL) if term.value.arg is None else term.value.arg


def _over(term: HeadTerm, value: Expr | Aggregate) -> HeadTerm:
    """An aggregate of the head over another value."""
    assert isinstance(term.value, Aggregate) and isinstance(value, Expr)
    if term.value.arg is None:
        return term
    return replace(term, value=replace(term.value, arg=value))


def _in_window(body: Pattern, pattern: Pattern) -> bool:
    """Whether a pattern is a part of something that must be absent or is collected."""
    stack: list[tuple[Pattern, bool]] = [(body, False)]
    while stack:
        part, windowed = stack.pop()
        if part is pattern:
            return windowed
        stack += [(p, windowed or role in ("absent", "collected")) for role, p in inside(part)]
    return False


class _Mark(Pattern):
    """Where a pattern stood."""


_HERE = _Mark()


def _names(event: str) -> Iterator[str]:
    """Labels for an auxiliary event."""
    yield event
    yield from (f"{event} {number}" for number in count(2))


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
