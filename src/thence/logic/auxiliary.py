"""Auxiliary rules: the one place where a pattern inside another becomes an event of its own.

The engine joins events and nothing else. So what is more than an event where one is needed (in a
window, under a policy of its own, as what is repeated, as the cause of something) becomes the event
of an auxiliary rule, which no user wrote. Equal patterns are one event, in one rule and across all
rules of a program: they are computed once.

Patterns are equal if they differ in nothing but where they stand in the text, the names of
variables and labels, and how long they may last. Columns are handed out under their names, so those
count. A limit on how long its events last is there to save work: whoever uses them has the same
bound in a window of its own. So the widest limit that somebody asks for is everybody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from typing import Any

from thence.logic.changes import changed, renamed
from thence.logic.conjunct import INNER
from thence.logic.ops import Atom, LogicProgram, Rule, Since, walk

OWN = ""
"""What the rules of a pattern call its event, in heads and bodies, before it has a name."""

_DIGITS = 8


class Auxiliary:
    """The auxiliary events of a program, and their rules.

    Names come from what the rules say, so that they stay the same when other rules change. With
    ``placed``, patterns of different rules are different, and so are those with other names inside:
    what is told of an event is then told of one place in the text.
    """

    def __init__(self, program: LogicProgram, placed: bool = False) -> None:
        self._placed = placed
        self._taken = {each.name for each in program.declared} | program.looked_up
        self._taken |= {rule.event for rule in program.rules}
        self._names: dict[str, str] = {}
        self._rules: dict[str, tuple[Rule, ...]] = {}
        self.causes: dict[str, str] = {}
        """The events that say what others were made of: of which type, each says."""

    def __contains__(self, event: str) -> bool:
        return event in self._rules

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def events(self) -> tuple[str, ...]:
        """All events there are by now, in the order in which they were asked for."""
        return tuple(self._rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all events."""
        return tuple(rule for rules in self._rules.values() for rule in rules)

    def rules_of(self, event: str) -> tuple[Rule, ...]:
        """The rules of one event; others than before where a wider limit was asked for since."""
        return self._rules[event]

    def event(self, rules: Sequence[Rule]) -> str:
        """The event that stands for a pattern, given its rules."""
        place = [(str(rule.span), str(rule)) for rule in rules] if self._placed else ""
        event, new = self.reserved(f"{canonical(rules)}{place}")
        if new:
            self.define(event, rules)
        else:
            known = self._rules[event]
            wider = tuple(map(_widened, known, rules))
            if wider != known:
                self._rules[event] = wider
        return event

    def reserved(self, meaning: str) -> tuple[str, bool]:
        """The event for what a text says in full, and whether it is new: then its rules are to be
        defined, which may need its name."""
        new = meaning not in self._names
        if new:
            digest = sha256(meaning.encode()).hexdigest()
            tries = (f"{INNER}{digest[:length]}" for length in count(_DIGITS))
            name = next(each for each in tries if each not in self._taken)
            self._taken.add(name)
            self._names[meaning] = name
            self._rules[name] = ()
        return self._names[meaning], new

    def define(self, event: str, rules: Iterable[Rule]) -> None:
        """Say what the rules of an event are."""
        self._rules[event] = tuple(_named(rule, event) for rule in rules)

    def forget(self, since: int) -> None:
        """Forget all but the first so many events: what was wrong with the others is told again if
        they are asked for again."""
        for event in self.events[since:]:
            del self._rules[event]
            self._taken.discard(event)
        self._names = {key: name for key, name in self._names.items() if name in self._rules}


def canonical(rules: Sequence[Rule]) -> str:
    """What some rules say, as a text that is equal for equal patterns.

    >>> from thence.logic.expr import Var
    >>> one, other = (Rule(OWN, (), Atom("a", (("n", Var(name)),))) for name in "xy")
    >>> canonical([one]) == canonical([other])
    True
    """
    numbers: dict[str, str] = {}
    texts = []
    for rule in rules:
        body = replace(rule.body, limit=None) if isinstance(rule.body, Since) else rule.body
        alike = renamed(
            replace(rule, body=body, limit=None),
            lambda event: event,
            lambda name: numbers.setdefault(name, str(len(numbers))),
        )
        texts.append(repr(alike))
    return "\n".join(texts)


def merged(program: LogicProgram) -> LogicProgram:
    """The same program with one event for those that front ends have made of equal patterns."""
    rules: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if rule.hidden:
            rules.setdefault(rule.event, []).append(rule)
    if len(rules) < 2:
        return program
    first: dict[str, str] = {}
    same: dict[str, str] = {}

    def change(node: Any) -> Any:
        known = isinstance(node, Atom) and node.event in same
        return replace(node, event=same[node.event]) if known else node

    for event, own in rules.items():
        meaning = canonical([replace(changed(rule, change), event=OWN) for rule in own])
        same[event] = first.setdefault(meaning, event)
    kept = [rule for rule in program.rules if same.get(rule.event, rule.event) == rule.event]
    same = {event: other for event, other in same.items() if event != other}
    return (
        replace(program, rules=tuple(changed(rule, change) for rule in kept)) if same else program
    )


def _named(rule: Rule, event: str) -> Rule:
    """A rule with the name of its event in the place of ``OWN``."""
    own = [part for part in walk(rule.body) if isinstance(part, Atom) and part.event == OWN]
    body = rule.body
    if own:
        body = changed(body, lambda node: replace(node, event=event) if node in own else node)
    return replace(rule, event=event, body=body, hidden=True)


def _widened(rule: Rule, other: Rule) -> Rule:
    """A rule with the wider one of two limits."""
    body = rule.body
    if isinstance(body, Since) and isinstance(other.body, Since):
        body = replace(body, limit=_longer(body.limit, other.body.limit))
    return replace(rule, body=body, limit=_longer(rule.limit, other.limit))


def _longer(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
