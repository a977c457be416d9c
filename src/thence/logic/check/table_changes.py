"""Refuses changes of tables that cannot be: rows of other types, tables that change themselves."""

from __future__ import annotations

from thence.logic.check.problems import Problems
from thence.logic.check.rules import check_rule
from thence.logic.check.scopes import view_of
from thence.logic.check.typing import Columns, RuleTypes, Unknown
from thence.logic.expr import Aggregate, Const, Expr
from thence.logic.functions import TypeProblem
from thence.logic.ops import Atom, Change, LogicProgram, Pattern, Using, walk
from thence.model.schema import EventSchema
from thence.model.source import Span
from thence.model.types import NULL, Type


def check_changes(program: LogicProgram, columns: Columns, problems: Problems) -> None:
    """Note everything that is wrong with what events do to the tables of a program."""
    tables = {schema.name: schema for schema in program.tables}
    for change in program.changes:
        table = tables[change.table]
        if table.valid is not None:
            problems.error(
                change.span,
                f"'{table.name}' says itself when its rows are valid, so events cannot change it",
                "declare it without `valid`",
            )
        _check_event(change, program, problems)
        _check_row(change, table, columns, problems)
    if program.changes:
        for rule in program.rules:
            _check_policies(program, problems, rule.body, rule.policy.chooses, rule.policy.span)
            for part in walk(rule.body):
                if isinstance(part, Using):
                    chooses, span = part.policy.chooses, part.span
                    _check_policies(program, problems, part.pattern, chooses, span)


def _check_event(change: Change, program: LogicProgram, problems: Problems) -> None:
    """An event that changes a table must not rest on what that table holds."""
    atoms = [part for part in walk(change.rule.body) if isinstance(part, Atom)]
    seen: set[str] = set()
    waiting = [atom.event for atom in atoms]
    while waiting:
        event = waiting.pop()
        if event in seen:
            continue
        seen.add(event)
        for rule in (rule for rule in program.rules if rule.event == event):
            waiting += [part.event for part in walk(rule.body) if isinstance(part, Atom)]
        for other in (other for other in program.changes if other.table == event):
            waiting += [part.event for part in walk(other.rule.body) if isinstance(part, Atom)]
    if change.table in seen:
        problems.error(
            atoms[0].span,
            f"'{atoms[0].event}' changes '{change.table}', and rests on what is in it",
            "let a table be changed by events that do not look into it",
        )


def _check_row(change: Change, table: EventSchema, columns: Columns, problems: Problems) -> None:
    rule = change.rule
    view = view_of(rule)
    known = {**columns, rule.event: {term.name: None for term in rule.terms}}
    check_rule(view, known, {rule.event: rule}, problems)
    types = RuleTypes(view, known)
    for term in rule.terms:
        declared = table.type_of(term.name)
        try:
            found = types.of_term(term.value)
        except (TypeProblem, Unknown):  # which the rule's own checks have said
            continue
        if isinstance(term.value, Aggregate):
            problems.error(
                term.span,
                "a change is by one event, so there is nothing to aggregate",
                "aggregate in a rule, and let what it derives change the table",
            )
        elif declared is not None and not _fits(term.value, found, declared):
            problems.error(
                term.span,
                f"{table.name}.{term.name} is {declared}, and this is {found}",
                f"convert it, {declared.kind}(…), or declare the column as {found}",
            )


def _fits(value: Expr, found: Type, declared: Type) -> bool:
    """Whether a value can stand in a column: a literal takes its type, if it is the same there."""
    if found == declared:
        return True
    if not isinstance(value, Const):
        return False
    if declared.kind == "decimal" and found.kind == "decimal":
        whole = declared.precision - declared.scale
        return found.scale <= declared.scale and found.precision - found.scale <= whole
    return found == NULL or (found.numeric and declared.kind == "float")


def _check_policies(
    program: LogicProgram, problems: Problems, body: Pattern, chooses: bool, span: Span
) -> None:
    for part in walk(body):
        if isinstance(part, Atom) and part.event in program.changed and chooses:
            problems.error(
                span,
                f"a policy cannot choose among matches that look into '{part.event}', which "
                "events change",
                "choose in a rule of its own, and look it up where that is used",
            )
            return
