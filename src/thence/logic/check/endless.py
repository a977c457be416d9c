"""Recursion that makes up values, and so might never end."""

from __future__ import annotations

from thence.logic.check.scopes import view_of
from thence.logic.expr import Attr, Const, Expr, TimeOf, Var
from thence.logic.ops import Rule, Timer, walk


def invents_values(rule: Rule) -> bool:
    """Whether a rule's results may hold values or times that no event it reads has.

    A recursive rule that only hands values on ends, since there are finitely many; one that
    computes need not. A timer that reaches back makes intervals ever longer; one that reaches
    forward is stopped by the horizon.

    >>> from thence.logic.expr import Call
    >>> from thence.logic.ops import Atom, HeadTerm
    >>> from thence.model.types import INT
    >>> step = Call("+", (Var("n"), Const(1, INT)))
    >>> invents_values(Rule("next", (HeadTerm("n", step),), Atom("next", (("n", Var("n")),))))
    True
    """
    if any(isinstance(p, Timer) and p.start_shift < 0 for p in walk(rule.body)):
        return True
    assigned = view_of(rule).assignments
    return any(_computed(term.value, assigned) for term in rule.terms)


def _computed(value: object, assigned: dict[str, Expr]) -> bool:
    # Assignments refer to earlier ones only, so this follows them to an end.
    while isinstance(value, Var) and value.name in assigned:
        value = assigned[value.name]
    return not isinstance(value, (Var, Attr, TimeOf, Const))
