"""Rules, patterns and expressions with some of what stands in them replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from thence.logic.expr import Aggregate, Attr, CausedBy, Expr, TimeOf, Var
from thence.logic.ops import Atom, HeadTerm, Label, Pattern, Ref, Rule, Timer, While
from thence.logic.policy import Policy
from thence.model.source import Source, Span
from thence.model.types import Type

Renaming = Callable[[str], str]


def changed(node: Any, change: Callable[[Any], Any]) -> Any:
    """A rule, pattern or expression, from the outside in: where ``change`` gives something else,
    that is taken as it is; where it gives the very same, what is inside it is looked at.

    >>> from thence.logic.expr import Var
    >>> from thence.logic.ops import Atom
    >>> changed(Atom("a", (("n", Var("x")),)), lambda n: Var("y") if n == Var("x") else n)
    Atom(event='a', args=(('n', Var(name='y')),))
    """
    if isinstance(node, tuple):
        found = tuple(changed(each, change) for each in node)
        return node if all(a is b for a, b in zip(found, node, strict=True)) else found
    if not isinstance(node, Pattern | Expr | Aggregate | Rule | HeadTerm):
        return node
    if (other := change(node)) is not node:
        return other
    inside = {each.name: changed(getattr(node, each.name), change) for each in fields(node)}
    same = all(inside[each.name] is getattr(node, each.name) for each in fields(node))
    return node if same else replace(node, **inside)


def renamed(node: Any, event: Renaming, inside: Renaming) -> Any:
    """A rule, pattern or expression with other names for events, and for labels and variables."""
    if isinstance(node, tuple):
        return tuple(renamed(each, event, inside) for each in node)
    if not is_dataclass(node) or isinstance(node, (Type, Source, Span, type)):
        return node
    found = {
        field.name: renamed(getattr(node, field.name), event, inside) for field in fields(node)
    }
    match node:
        case Atom(name) | Rule(name):
            found["event"] = event(name)
        case Var(name) | Label(name):
            found["name"] = inside(name)
        case Ref(label) | Attr(label) | TimeOf(label):
            found["label"] = inside(label)
        case CausedBy(effect, cause):
            found["effect"], found["cause"] = inside(effect), inside(cause)
        case Timer(of):
            found["of"] = inside(of)
        case While(window):
            found["window"] = inside(window)
        case Policy(_, labels):
            found["labels"] = tuple((inside(label), choice) for label, choice in labels)
    return replace(node, **found)
