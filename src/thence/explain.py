"""``program.explain()``: what a program will do, in words and figures."""

from __future__ import annotations

from thence.lang.text import format_rule
from thence.plan.text import plan_text
from thence.plan.tree import Plan


def explain(plan: Plan) -> str:
    """Logical and physical plan of a program, its state bounds and partition keys."""
    rules: dict[str, list[str]] = {}
    for rule in plan.checked.program.rules:
        rules.setdefault(rule.event, []).append(format_rule(rule))
    return plan_text(plan, rules)
