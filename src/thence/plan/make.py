"""Making a plan: logic that needs no further operators, staged, then rewritten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from thence.logic.auxiliary import Auxiliary, merged
from thence.logic.check import Checked, check_program
from thence.model.errors import InputError
from thence.plan.lowering.caused_by import with_causes
from thence.plan.lowering.changing_tables import with_changing_tables
from thence.plan.lowering.own_rules import with_own_rules
from thence.plan.prepared import Prepared
from thence.plan.reasoning.reasoning import CLOSURE, DEMAND
from thence.plan.rewrites.index_selections import index_selections
from thence.plan.rewrites.linearise import linearise
from thence.plan.rewrites.merge_timers import merge_timers
from thence.plan.rewrites.share_constants import share_constants
from thence.plan.rewrites.share_equal_rules import share_equal_rules
from thence.plan.rewrites.share_windows import share_windows
from thence.plan.rewrites.suppress import suppress
from thence.plan.staging import staged
from thence.plan.statistics import UNKNOWN, Statistics
from thence.plan.tree import Plan, Stage

Rewrite = Callable[[Plan], Plan]
"""Another plan that gives the same events. What it does is the first line of its docstring."""

REWRITES: tuple[Rewrite, ...] = (
    merge_timers,
    linearise,
    share_equal_rules,
    share_constants,
    share_windows,
    index_selections,
    suppress,
)
"""What is done to every plan, in this order. Each can be switched off by its name."""

KEEP_PROVENANCE: frozenset[Rewrite] = frozenset({merge_timers})
"""The rewrites after which results are made of what they were made of before."""

CHOICES: dict[str, str] = {
    "join_order": "Bind the atoms of a join from the rarest inwards, not in the order of the text.",
    "pushdown": "Read only the columns, and remember only the rows, that some rule can use.",
    "streaming": "Remember nothing of an event that ends no earlier than what it is joined with.",
    "semi_join": "Remember an event only if it meets what must have come before it.",
    "value_ranges": "Find rows of tables by ranges of values and places of shapes, not each one.",
    DEMAND: "Derive of a relation only what is asked for: by events, by rules and by constants.",
    CLOSURE: "Follow a recursion that is a closure over a key by a compiled search of a graph.",
    "forgetting": "Remember of an event only what rules read, and only while something waits.",
}
"""What the engine does only because the plan says so, by the name that switches it off."""


PROGRESS: frozenset[str] = frozenset(
    rewrite.__name__
    for rewrite in (
        share_equal_rules,
        share_constants,
        share_windows,
        index_selections,
        suppress,
    )
) | {"forgetting"}
"""What is left out where somebody may ask how far rules have come: each rule is a join of its own,
and what has completed a match is remembered as long as another could."""


def optimisations() -> dict[str, str]:
    """Everything that can be switched off, and what it does."""
    rewrites = {each.__name__: (each.__doc__ or "").partition("\n")[0] for each in REWRITES}
    return rewrites | CHOICES


def make(
    checked: Checked,
    *,
    outputs: Collection[str] | None = None,
    provenance: bool = False,
    off: Iterable[str] = (),
    statistics: Statistics = UNKNOWN,
) -> Plan:
    """The plan of a checked program.

    ``outputs`` are the derived events that are asked for: all that have a name, if nothing is said.
    With ``provenance`` only such rewrites are done after which a result is made of what the rules
    say. ``off`` are names of optimisations to leave out. ``statistics`` are
    what is known of the events. Raises a CheckError where a rule means something that cannot be
    computed.
    """
    off = frozenset(off)
    _check_names(off)
    program = checked.program if provenance else merged(checked.program)
    auxiliary = Auxiliary(program, placed=provenance)
    lowered = with_own_rules(program, auxiliary)
    lowered = with_causes(with_changing_tables(lowered, auxiliary), auxiliary, checked.schemas)
    if lowered is not checked.program:
        again = check_program(lowered)
        # What is to be said of a recursion is said of what somebody wrote.
        checked = replace(again, doubts={**again.doubts, **checked.doubts})
    plan = staged(checked, auxiliary)
    plan = _serving(replace(plan, off=off, statistics=statistics), outputs)
    for rewrite in REWRITES:
        if rewrite.__name__ not in off and (rewrite in KEEP_PROVENANCE or not provenance):
            plan = rewrite(plan)
    # A rewrite may leave auxiliary events that nothing reads any more.
    plan = replace(plan, stages=needed_stages(plan, plan.outputs)) if not provenance else plan
    if "join_order" in off:
        plan = _with_joins(plan, lambda join: join.in_text_order)
    if "value_ranges" in off:
        plan = _with_joins(plan, lambda join: join.not_by_values)
    return plan


def _with_joins(plan: Plan, changed: Callable[[Prepared], Prepared]) -> Plan:
    """A plan with other joins in the place of its own."""
    stages = (
        replace(stage, rules=tuple(tuple(map(changed, rule)) for rule in stage.rules))
        for stage in plan.stages
    )
    return replace(plan, stages=tuple(stages))


def replanned(plan: Plan, statistics: Statistics) -> Plan:
    """A plan for other statistics: what is decided by them is decided anew. What is derived and
    kept stays as it is, so state that one plan left is what the other expects."""
    return replace(plan, statistics=statistics)


def _check_names(off: Iterable[str]) -> None:
    known = optimisations()
    for name in off:
        if name not in known:
            raise InputError(f"there is no optimisation '{name}': there are {', '.join(known)}")


def _serving(plan: Plan, outputs: Collection[str] | None) -> Plan:
    """A plan less what none of its outputs rests on."""
    if outputs is None:
        return replace(plan, outputs=plan.public, written=plan.stages)
    stages = needed_stages(plan, outputs)
    return replace(plan, stages=stages, outputs=tuple(outputs), written=stages)


def serving(plan: Plan, outputs: Collection[str]) -> Plan:
    """A plan as it is, less what none of some of its outputs rests on: what is left is derived and
    kept as before, so state that one plan left holds what the other expects."""
    written = needed_stages(replace(plan, stages=plan.written), outputs)
    stages = needed_stages(plan, outputs)
    return replace(plan, stages=stages, outputs=tuple(outputs), written=written)


def needed_stages(plan: Plan, outputs: Iterable[str]) -> tuple[Stage, ...]:
    """The stages of a plan that some of its events rest on."""
    needed = set(outputs)
    kept: list[Stage] = []
    for stage in reversed(plan.stages):
        if needed & set(stage.events):
            kept.append(stage)
            needed |= {use.event for rule in stage.rules for alt in rule for use in alt.uses}
    return tuple(reversed(kept))
