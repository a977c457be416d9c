"""Refuses programs that cannot mean anything, and finds out the types of derived events.

``check_program`` gathers every error of a program and raises them together. What it gives back is
what the engine builds on: the schema of every event and the order in which to derive them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thence.logic.check.aggregates import collect_of
from thence.logic.check.deductions import check_deductions
from thence.logic.check.endless import invents_values
from thence.logic.check.facts import check_facts
from thence.logic.check.graph import check_recursion, dependency_graph
from thence.logic.check.problems import Problems
from thence.logic.check.reactions import check_reactions
from thence.logic.check.rules import check_columns, check_rule
from thence.logic.check.scopes import view_of
from thence.logic.check.table_changes import check_changes
from thence.logic.check.typing import (
    check_known,
    derived_schema,
    head_types,
    infer_columns,
    variable_types,
)
from thence.logic.knowledge import Knowledge
from thence.logic.ops import LogicProgram, Rule
from thence.model.errors import Diagnostic
from thence.model.schema import EventSchema

__all__ = [
    "Checked",
    "check_program",
    "collect_of",
    "head_types",
    "invents_values",
    "variable_types",
]


@dataclass(frozen=True, slots=True)
class Checked:
    """A program that means something.

    ``strata`` holds the derived events in evaluation order; a tuple with several names, or with
    one that is in ``recursive``, has to be computed to a fixpoint. ``knowledge`` is what it looks
    up beside events.
    """

    program: LogicProgram
    schemas: Mapping[str, EventSchema]
    strata: tuple[tuple[str, ...], ...]
    recursive: frozenset[str]
    warnings: tuple[Diagnostic, ...]
    doubts: Mapping[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    """Recursion that goes through absence, collecting or choosing, by its first event: what is
    wrong with it unless it only looks back in time."""
    knowledge: Knowledge = field(default_factory=Knowledge)


def check_program(program: LogicProgram) -> Checked:
    """Check all of a program. Raises one CheckError with every error that was found."""
    problems = Problems(program.source)
    knowledge = check_deductions(program, problems)
    views = [view_of(rule) for rule in program.rules]
    first_rules: dict[str, Rule] = {}
    for rule in program.rules:
        first_rules.setdefault(rule.event, rule)
    declared = {schema.name: schema for schema in program.events} | dict(knowledge.schemas)
    for name, rule in first_rules.items():
        if name in declared:
            word = "table" if declared[name].table else "event"
            problems.error(
                rule.head_span,
                f"'{name}' is declared with `{word}`, so no rule can derive it",
                "give the derived event another name, or remove the declaration",
            )
        check_columns(rule, problems)
    problems.raise_if_any()
    graph = dependency_graph(views)
    doubts = check_recursion(graph, problems)
    columns = infer_columns(tuple(declared.values()), views, graph)
    tables = frozenset(knowledge.schemas)
    for view in views:
        check_rule(view, columns, first_rules, problems)
        check_facts(view, tables, problems)
    check_changes(program, columns, problems)
    check_reactions(program.reactions, declared, columns, problems)
    problems.raise_if_any()
    check_known(columns, first_rules, views, problems)
    problems.raise_if_any()
    schemas = dict(declared)
    schemas |= {name: derived_schema(rule, columns[name]) for name, rule in first_rules.items()}
    strata, warnings = graph.strata, problems.warnings()
    return Checked(program, schemas, strata, graph.recursive, warnings, doubts, knowledge)
