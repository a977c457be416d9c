"""Making a plan: logic that needs no further operators, staged, then rewritten."""

from __future__ import annotations

from collections.abc import Callable, Collection

from thence.logic.check import Checked, check_program
from thence.plan.lowering.caused_by import with_causes
from thence.plan.lowering.own_rules import with_own_rules
from thence.plan.staging import staged
from thence.plan.tree import Plan

Rewrite = Callable[[Plan], Plan]
"""Another plan that gives the same events."""

REWRITES: tuple[Rewrite, ...] = ()
"""What is done to every plan, in this order. Each can be switched off by its name."""


def make(checked: Checked, off: Collection[str] = ()) -> Plan:
    """The plan of a checked program. ``off`` are names of rewrites to leave out.

    Raises a CheckError where a rule means something that cannot be computed.
    """
    lowered = with_causes(with_own_rules(checked.program))
    plan = staged(checked if lowered is checked.program else check_program(lowered))
    for rewrite in REWRITES:
        if rewrite.__name__ not in off:
            plan = rewrite(plan)
    return plan
