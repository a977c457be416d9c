"""What names mean: the events of a program, and the labels and variables of one rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from thence.lang import syntax as s


class EventInfo(NamedTuple):
    """An event that a program declares or derives: its attributes, and how it was written; or a
    table that it declares."""

    name: str
    columns: tuple[str, ...]
    declaration: str
    base: bool = False
    table: bool = False


Events = Mapping[str, EventInfo]


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of one rule.

    ``labels`` are those that stand there, with the names of what they label, where that has one;
    ``variables`` stand as arguments of events; ``read`` are the (label, attribute) pairs read.
    """

    events: Events
    labels: Mapping[str, Set[str]]
    variables: frozenset[str]
    read: frozenset[tuple[str, str]]
    kind: str = "event"
    """What the rule is about: events, or the rows of tables."""


def scope_of(rule: s.RuleDecl, events: Events) -> Scope:
    """The names of a rule."""
    known = events.get(rule.name)
    kind = "table" if known is not None and known.table and not known.base else "event"
    labels: dict[str, set[str]] = {}
    variables: set[str] = set()
    read: set[tuple[str, str]] = set()
    stack: list[s.Node] = [*rule.items, *(term.value for term in rule.terms)]
    while stack:
        node = stack.pop()
        if isinstance(node, s.Labelled):
            labels.setdefault(node.label, set()).update(_labelled(node))
        elif isinstance(node, s.Dotted):
            read.add((node.label, node.attribute))
        elif isinstance(node, s.Apply) and node.name in events:
            variables.update(_argument_variables(node.args))
        stack.extend(s.children(node))
    return Scope(events, labels, frozenset(variables), frozenset(read), kind)


def _labelled(node: s.Labelled) -> tuple[str, ...]:
    """What a label stands on, where that has a name: an event, a timer or another label."""
    target = s.strip(node.target)
    while isinstance(target, (s.WithinSuffix, s.WhereSuffix)):
        target = s.strip(target.base)
    match target:
        case s.Name(text=name) | s.Apply(name=name):
            return (name,)
    return ()


def _argument_variables(args: Iterable[s.Node]) -> Iterable[str]:
    for arg in args:
        value = named_argument(arg)[1]
        if isinstance(value, s.Name):
            yield value.text


def named_argument(arg: s.Node) -> tuple[s.Name | None, s.Node]:
    """An atom's argument as the attribute it names, if it names one, and its value.

    ``user = u`` is written like a comparison; as an argument of an event it names an attribute.
    """
    if isinstance(arg, s.Chain) and len(arg.parts) > 2:
        name, op, *rest = arg.parts
        if isinstance(name, s.Name) and isinstance(op, s.Op) and op.text == "=":
            if len(rest) == 1 and not isinstance(rest[0], s.Op):
                return name, rest[0]
            return name, s.Chain(tuple(rest), rest[0].start, arg.end, arg.depth)
    return None, arg
