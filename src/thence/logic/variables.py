"""What the variables of a rule's body stand for, and the conditions over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from thence.logic.bounds import Constraint
from thence.logic.conjunct import Column
from thence.logic.expr import Attr, Call, Expr, Folded, TimeOf, Var, conjuncts, has_aggregate
from thence.logic.pieces import Refuse
from thence.logic.scope import needed_of
from thence.logic.timing import as_constraints


class Labels(Protocol):
    """Says what labels stand for, which is known of the pattern that is taken apart."""

    def attribute(self, expr: Attr) -> Column:
        """The column of a labelled event."""

    def time_of(self, expr: TimeOf) -> Expr:
        """A time of something labelled."""


class Variables:
    """The columns and values that variables are bound to, and the conditions found so far."""

    def __init__(self, labels: Labels, refuse: Refuse) -> None:
        self.labels = labels
        self.refuse = refuse
        self.columns: dict[str, list[Column]] = {}
        self.values: dict[str, Expr] = {}
        self.conditions: list[Expr] = []
        self.having: list[Expr] = []
        """Conditions on all repetitions of a match together."""
        self.deferred: list[tuple[Sequence[Expr], dict[str, Expr]]] = []
        """Conditions on one repetition, and what its names stand for."""
        self.folded: dict[str, Expr] = {}
        """What aggregates over repetitions can read."""

    def test(self, condition: Expr) -> None:
        """Add a condition of the body."""
        for part in conjuncts(condition):
            (self.having if has_aggregate(part) else self.conditions).append(part)

    def resolved(self) -> tuple[list[Constraint], list[Expr]]:
        """All conditions over columns, as bounds and as predicates."""
        constraints, predicates = self.split(self.conditions, self.values, {})
        for conditions, local in self.deferred:
            more, tested = self.split(conditions, local, local)
            constraints += more
            predicates += tested
        return constraints, predicates

    def split(
        self, conditions: Sequence[Expr], values: dict[str, Expr], local: dict[str, Expr]
    ) -> tuple[list[Constraint], list[Expr]]:
        """Conditions as bounds and as predicates; those that bind a variable go into ``values``."""
        waiting = list(conditions)
        progress = True
        while progress:
            progress = False
            for condition in list(waiting):
                bound = self._binding(condition, local)
                if bound:
                    values[bound[0]] = self.rewrite(bound[1], local)
                    waiting.remove(condition)
                    progress = True
        constraints: list[Constraint] = []
        predicates: list[Expr] = []
        for condition in waiting:
            rewritten = self.rewrite(condition, local)
            found = as_constraints(rewritten)
            if found is None:
                predicates.append(rewritten)
            else:
                constraints += found
        return constraints, predicates

    def _binding(self, condition: Expr, local: Mapping[str, Expr]) -> tuple[str, Expr] | None:
        """The variable that an equality binds, and to what, where one side is not bound yet."""
        if not (isinstance(condition, Call) and condition.function == "="):
            return None
        left, right = condition.args
        for variable, value in ((left, right), (right, left)):
            names = needed_of(value).variables
            if (
                isinstance(variable, Var)
                and not (variable.name in local or self.bound(variable.name))
                and all(name in local or self.bound(name) for name in names)
            ):
                return variable.name, value
        return None

    def bound(self, name: str) -> bool:
        """Whether a variable has a column or a value."""
        return name in self.columns or name in self.values

    def rewrite(self, expr: Expr, local: Mapping[str, Expr]) -> Expr:
        """An expression over columns and nodes instead of variables and labels."""
        match expr:
            case Var(name, span):
                if name in local:
                    return local[name]
                if name in self.columns:
                    return self.columns[name][0]
                if name in self.values:
                    return self.values[name]
                raise self.refuse(span, f"variable '{name}' is not bound here")
            case Attr(label, name):
                known = local.get(f"{label}.{name}")
                return self.labels.attribute(expr) if known is None else known
            case TimeOf(label, which):
                known = local.get(f"{label}.{which}")
                return self.labels.time_of(expr) if known is None else known
            case Call(_, args):
                return replace(expr, args=tuple(self.rewrite(arg, local) for arg in args))
            case Folded(aggregate) if aggregate.arg is not None:
                value = self.rewrite(aggregate.arg, {**local, **self.folded})
                return replace(expr, aggregate=replace(aggregate, arg=value))
        return expr
