"""Refuses programs that cannot mean anything, and finds out the types of derived events.

``check_program`` gathers every error of a program and raises them together. What it gives back is
what the engine builds on: the schema of every event and the order in which to derive them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thence.logic.check.aggregates import collect_of
from thence.logic.check.endless import invents_values
from thence.logic.check.facts import check_facts
from thence.logic.check.graph import check_recursion, dependency_graph
from thence.logic.check.problems import Problems
from thence.logic.check.reactions import check_reactions
from thence.logic.check.rules import check_columns, check_rule
from thence.logic.check.scopes import RuleView, view_of
from thence.logic.check.typing import (
    Columns,
    RuleTypes,
    Unknown,
    derived_schema,
    head_types,
    infer_columns,
    variable_types,
)
from thence.logic.functions import TypeProblem
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
    one that is in ``recursive``, has to be computed to a fixpoint.
    """

    program: LogicProgram
    schemas: Mapping[str, EventSchema]
    strata: tuple[tuple[str, ...], ...]
    recursive: frozenset[str]
    warnings: tuple[Diagnostic, ...]


def check_program(program: LogicProgram) -> Checked:
    """Check all of a program. Raises one CheckError with every error that was found."""
    problems = Problems(program.source)
    views = [view_of(rule) for rule in program.rules]
    first_rules: dict[str, Rule] = {}
    for rule in program.rules:
        first_rules.setdefault(rule.event, rule)
    declared = {schema.name: schema for schema in program.declared}
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
    check_recursion(graph, problems)
    columns = infer_columns(program.declared, views, graph)
    tables = frozenset(schema.name for schema in program.tables)
    for view in views:
        check_rule(view, columns, first_rules, problems)
        check_facts(view, tables, problems)
    check_reactions(program.reactions, declared, columns, problems)
    problems.raise_if_any()
    _check_known(columns, first_rules, views, problems)
    problems.raise_if_any()
    schemas = dict(declared)
    schemas |= {name: derived_schema(rule, columns[name]) for name, rule in first_rules.items()}
    return Checked(program, schemas, graph.strata, graph.recursive, problems.warnings())


def _check_known(
    columns: Columns,
    first_rules: Mapping[str, Rule],
    views: Sequence[RuleView],
    problems: Problems,
) -> None:
    """Refuse columns whose type nothing tells. Only called where there is no other error."""
    for name, rule in first_rules.items():
        for place, (column, term) in enumerate(
            zip(columns[name], rule.terms, strict=True), start=1
        ):
            if columns[name][column] is not None:
                continue
            if _always_null(name, place, views, columns):
                problems.error(
                    term.span,
                    f"column {place} of '{name}' is null in every rule, so it has no type",
                    "write for example int(null) or string(null)",
                )
            else:
                problems.error(
                    term.span,
                    f"the type of column {place} of '{name}' cannot be told: it comes only from "
                    f"'{name}' itself",
                    "some rule must give the recursion a start",
                )


def _always_null(name: str, place: int, views: Sequence[RuleView], columns: Columns) -> bool:
    for view in views:
        if view.rule.event == name:
            try:
                found = RuleTypes(view, columns).of_term(view.rule.terms[place - 1].value)
            except (Unknown, TypeProblem):
                return False
            if found.kind != "null":
                return False
    return True
