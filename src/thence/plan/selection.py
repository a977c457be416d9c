"""Selections: rules that give rows of one event as they are, those that meet some conditions."""

from __future__ import annotations

from dataclasses import dataclass

from thence.logic.bounds import Constraint
from thence.logic.expr import Const, Expr

LENGTH = "#length"
"""Stands for a column: how long an event lasts."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a column with a constant: ``column function value``."""

    column: str
    function: str
    value: Const


@dataclass(frozen=True, slots=True)
class Selection:
    """How a rule is read from the rows of one event, without a join.

    ``names`` are the event's columns that the rule's own are. Where many rules ask for the same
    column, its rows are put in the order of that column once, and those that meet ``condition`` lie
    together; ``constraints`` and ``predicates`` are what is asked besides. ``distinct`` says that
    different rows give different results.
    """

    names: tuple[str, ...]
    condition: Condition | None
    constraints: tuple[Constraint, ...]
    predicates: tuple[Expr, ...]
    distinct: bool
