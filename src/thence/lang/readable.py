"""Gives names that can be written to whatever a program has under a hidden name.

A front end may need events, labels and variables that no user wrote. Rules say whether their events
are hidden; labels and variables have names with a line break, which no name in the text can have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain, count

from thence.logic.changes import Renaming, renamed
from thence.logic.expr import Attr, CausedBy, TimeOf, Var, read_by
from thence.logic.ops import Atom, Label, LogicProgram, Ref, Rule, Timer, While, exprs_of, walk


def readable(program: LogicProgram) -> LogicProgram:
    """The same program, with a fresh plain name for everything hidden.

    >>> hidden = Rule("#late", (), Atom("order"), hidden=True)
    >>> shown = readable(LogicProgram((), (hidden, Rule("late", (), Atom("#late")))))
    >>> [rule.event for rule in shown.rules], shown.rules[1].body
    (['late_2', 'late'], Atom(event='late_2', args=()))
    """
    events = [e.name for e in program.declared] + sorted(program.looked_up)
    events += [rule.event for rule in program.rules]
    for_event = _fresh(events, {rule.event for rule in program.rules if rule.hidden})
    rules = tuple(_rule(rule, for_event) for rule in program.rules)
    known = tuple(_rule(rule, for_event) for rule in program.deductions)
    same = rules == program.rules and known == program.deductions
    return program if same else replace(program, rules=rules, deductions=known)


def _fresh(names: Iterable[str], hidden: Collection[str] = ()) -> Renaming:
    """What each name becomes that is hidden or cannot be written, in the order in which they come;
    others stay."""
    known = list(dict.fromkeys(names))
    unwritten = [name for name in known if name in hidden or "\n" in name or not name]
    taken = set(known).difference(unwritten)
    chosen: dict[str, str] = {}
    for name in unwritten:
        plain = re.sub(r"\W+", "_", name).strip("_")
        stem = plain if plain[:1].isalpha() else f"inner_{plain}".rstrip("_")
        tries = chain([stem], (f"{stem}_{number}" for number in count(2)))
        chosen[name] = next(each for each in tries if each not in taken)
        taken.add(chosen[name])
    return lambda name: chosen.get(name, name)


def _rule(rule: Rule, for_event: Renaming) -> Rule:
    events, inside = _names(rule)
    for_name = _fresh(inside)
    if all(for_event(e) == e for e in events) and all(for_name(n) == n for n in inside):
        return rule
    found: Rule = renamed(replace(rule, hidden=False), for_event, for_name)
    return found


def _names(rule: Rule) -> tuple[list[str], list[str]]:
    """The events that a rule names, and its labels and variables."""
    events, inside = [rule.event], []
    for node in walk(rule.body):
        match node:
            case Atom(event):
                events.append(event)
            case Label(name) | Ref(name) | Timer(name) | While(name):
                inside.append(name)
    for leaf in chain.from_iterable(map(read_by, exprs_of(rule))):
        match leaf:
            case Var(name) | Attr(name) | TimeOf(name):
                inside.append(name)
            case CausedBy(effect, cause):
                inside += [effect, cause]
    return events, inside
