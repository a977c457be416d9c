"""What names mean: the events of a program, and the labels and variables of one rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from thence.lang import syntax as s
from thence.lang.timers import TIMERS
from thence.lang.words import INFIX, PATTERN_OPERATORS
from thence.model.source import Span


class EventInfo(NamedTuple):
    """An event that a program declares or derives: its attributes, and how it was written; or a
    table that it declares."""

    name: str
    columns: tuple[str, ...]
    declaration: str
    base: bool = False
    table: bool = False


Events = Mapping[str, EventInfo]


class LabelInfo(NamedTuple):
    """What a label stands on: an event of a type, a timer relative to a label, or a pattern."""

    kind: Literal["event", "timer", "pattern"]
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of one rule.

    A label stands for one thing, or for one in each branch of an ``or``. ``variables`` are those
    that stand as arguments of events; ``read`` are the (label, attribute) pairs that are read.
    """

    events: Events
    labels: Mapping[str, tuple[LabelInfo, ...]]
    variables: frozenset[str]
    read: frozenset[tuple[str, str]]
    repeats: bool = False
    """Whether something in the rule is repeated."""


class Clash(NamedTuple):
    """A label that is used for two different things."""

    label: str
    first: LabelInfo
    second: LabelInfo


class _Branch(NamedTuple):
    """A place among the operands of a row that has an ``or``; ``joins`` are the row's operators.

    Rows lean to the left, so two places are alternatives if the later one is joined by ``or``.
    """

    row: int
    place: int
    joins: tuple[str, ...]


_Path = tuple[_Branch, ...]


def scope_of(rule: s.RuleDecl, events: Events) -> tuple[Scope, tuple[Clash, ...]]:
    """The names of a rule, and the labels that clash."""
    labels: dict[str, list[tuple[LabelInfo, _Path]]] = {}
    clashes: list[Clash] = []
    variables: set[str] = set()
    read: set[tuple[str, str]] = set()
    repeats = False
    stack: list[tuple[s.Node, _Path]] = [(item, ()) for item in reversed(rule.items)]
    stack.extend((term.value, ()) for term in rule.terms)
    while stack:
        node, path = stack.pop()
        if isinstance(node, s.Labelled):
            info = _label_info(node)
            known = labels.setdefault(node.label, [])
            for other, other_path in known:
                same_event = info.kind == "event" and info[:2] == other[:2]
                if not same_event and not _are_alternatives(path, other_path):
                    clashes.append(Clash(node.label, other, info))
                    break
            known.append((info, path))
        elif isinstance(node, s.Dotted):
            read.add((node.label, node.attribute))
        elif isinstance(node, s.Repeated):
            repeats = True
        elif isinstance(node, s.Apply):
            if node.name in events:
                variables.update(_argument_variables(node.args))
            elif node.name.lower() in ("anyone", "any"):
                joins = ("or",) * len(node.args)
                branches = [_Branch(id(node), at, joins) for at in range(len(node.args))]
                pairs = zip(node.args, branches, strict=True)
                stack.extend((arg, (*path, branch)) for arg, branch in pairs)
                continue
        elif isinstance(node, s.Chain) and _has_or(node):
            stack.extend(_branches(node, path))
            continue
        stack.extend((child, path) for child in reversed(s.children(node)))
    found = {
        label: tuple({info[:2]: info for info, _ in reversed(infos)}.values())
        for label, infos in labels.items()
    }
    return Scope(events, found, frozenset(variables), frozenset(read), repeats), tuple(clashes)


def _has_or(node: s.Chain) -> bool:
    return any(isinstance(part, s.Op) and part.text == "or" for part in node.parts)


def _branches(node: s.Chain, path: _Path) -> list[tuple[s.Node, _Path]]:
    """The operands of a row with an ``or``, last first, each with the branch it stands in."""
    joins: list[str] = [""]
    placed: list[tuple[s.Node, int]] = []
    for part in node.parts:
        if not isinstance(part, s.Op):
            placed.append((part, len(joins) - 1))
        elif part.kind == "infix" and part.text in INFIX:
            joins.append(part.text)
        else:
            placed.extend((item, len(joins) - 1) for item in part.items)
    row = tuple(joins)
    return [(part, (*path, _Branch(id(node), at, row))) for part, at in reversed(placed)]


def _are_alternatives(one: _Path, other: _Path) -> bool:
    """Whether two places are in different branches of an ``or``, so that only one is met."""
    for left, right in zip(one, other, strict=False):
        if left.row != right.row:
            return False
        if left.place != right.place:
            return left.joins[max(left.place, right.place)] == "or"
    return False


def _label_info(node: s.Labelled) -> LabelInfo:
    span = Span(node.start, node.label_end)
    target = s.strip(node.target)
    while isinstance(target, (s.WithinSuffix, s.WhereSuffix)):
        target = s.strip(target.base)
    if isinstance(target, (s.Name, s.Apply)):
        name = target.text if isinstance(target, s.Name) else target.name
        if name.lower() in TIMERS and isinstance(target, s.Apply):
            of = s.strip(target.args[0]) if target.args else None
            return LabelInfo("timer", of.text if isinstance(of, s.Name) else "", span)
        if name.lower() not in PATTERN_OPERATORS:
            return LabelInfo("event", name, span)
    return LabelInfo("pattern", "", span)


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


def timer_cycle(labels: Mapping[str, tuple[LabelInfo, ...]]) -> str | None:
    """A label whose timer is, in the end, relative to itself."""
    relative = {
        label: {info.name for info in infos if info.kind == "timer"}
        for label, infos in labels.items()
    }
    for label in relative:
        seen: set[str] = set()
        stack = [label]
        while stack:
            for other in relative.get(stack.pop(), ()):
                if other == label:
                    return label
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
    return None
