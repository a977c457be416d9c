"""Variables that branches of a rule bind to numbers of different types, in the one type they have.

``(a(1) where c = 0.5) or (a(2) where c = 12.25)`` binds ``c`` to a decimal with one digit after the
point, and to one with two. The check finds the type that holds both; here each value is converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thence.logic.changes import changed
from thence.logic.check.scopes import view_of
from thence.logic.check.typing import RuleTypes, Unknown, schema_columns
from thence.logic.expr import Call, Const, Expr
from thence.logic.functions import TypeProblem
from thence.logic.ops import Rule, Where, walk
from thence.model.schema import EventSchema
from thence.model.types import INT, Type


def with_one_type(rule: Rule, schemas: Mapping[str, EventSchema]) -> Rule:
    """A checked rule in which each variable has one type, wherever it is bound."""
    if not any(isinstance(part, Where) for part in walk(rule.body)):
        return rule  # nothing binds a variable to a value
    view = view_of(rule)
    if not view.assignments:
        return rule
    types = RuleTypes(view, schema_columns(schemas))
    converted: dict[int, Expr] = {}
    for variable, value in view.assignments:
        expected = types.variables.get(variable.name)
        try:
            found = types.of(value)
        except (TypeProblem, Unknown):
            continue
        if expected is not None and found != expected and expected.kind in ("decimal", "float"):
            converted[id(value)] = in_type(value, expected)

    def change(node: Any) -> Any:
        return converted.get(id(node), node)

    return changed(rule, change) if converted else rule


def in_type(value: Expr, expected: Type) -> Expr:
    """A number, converted to a float or to a decimal with given digits."""
    if expected.kind == "float":
        return Call("float", (value,))
    return Call("decimal", (value, Const(expected.precision, INT), Const(expected.scale, INT)))
