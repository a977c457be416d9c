"""Recursion that makes up values, and so might never end."""

from __future__ import annotations

from thence.logic.check.scopes import view_of
from thence.logic.expr import Aggregate, Attr, Const, Expr, TimeOf, Var
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
    computed: set[str] = set()
    # An assignment reads only what was assigned before it.
    for variable, value in view_of(rule).assignments:
        if _computes(value, computed):
            computed.add(variable.name)
    return any(_computes(term.value, computed) for term in rule.terms)


def _computes(value: Expr | Aggregate, computed: set[str]) -> bool:
    if isinstance(value, Var):
        return value.name in computed
    return not isinstance(value, (Attr, TimeOf, Const))
