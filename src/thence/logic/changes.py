"""Rules, patterns and expressions with some of what stands in them replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from thence.logic.expr import Aggregate, Expr
from thence.logic.ops import HeadTerm, Pattern, Rule


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
