"""Names that are read where they have no value, and names that are bound but never read."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, Scope
from thence.logic.expr import (
    Aggregate,
    Attr,
    CausedBy,
    Expr,
    TimeOf,
    Var,
    leaves,
    read_by,
)
from thence.logic.ops import exprs_of
from thence.model.source import Span
from thence.model.suggestions import did_you_mean


def check_names(view: RuleView, problems: Problems) -> None:
    """Refuse whatever a rule's body and plain head terms read that is not bound there."""
    for atom, scope in view.atoms:
        for _, argument in atom.args:
            if not isinstance(argument, Var):
                check_read(argument, scope, view, problems)
    for condition, scope in view.conditions:
        check_read(condition, scope, view, problems)
    for use in view.label_uses:
        if not use.scope.sees_label(use.label):
            _refuse_label(use.label, use.span, view, problems)
    for term in view.rule.terms:
        if not isinstance(term.value, Aggregate):
            check_read(term.value, view.root, view, problems)
    for variable, _ in view.assignments:
        if variable.name in view.definitions:
            _refuse_label_as_value(variable.name, variable.span, problems)
    if len(view.scopes) > 1:
        _check_shared(view, problems)
    _warn_of_single_uses(view, problems)


def check_read(expr: Expr, scope: Scope, view: RuleView, problems: Problems) -> None:
    """Refuse every variable and label of an expression that a scope does not see."""
    for leaf in leaves(expr):
        match leaf:
            case Var(name, span):
                if not scope.sees_variable(name):
                    _refuse_variable(name, span, scope, view, problems)
            case Attr(label, _, span) | TimeOf(label, _, span):
                if not scope.sees_label(label):
                    _refuse_label(label, span, view, problems)
            case CausedBy(effect, cause, span):
                for label in (effect, cause):
                    if not scope.sees_label(label):
                        _refuse_label(label, span, view, problems)


def _refuse_variable(
    name: str, span: Span, scope: Scope, view: RuleView, problems: Problems
) -> None:
    holders = [each for each in view.scopes if name in each.variables]
    if holders:
        problems.error(span, *_elsewhere(f"'{name}'", holders[0], f"({name})"))
        return
    if name in view.definitions:
        _refuse_label_as_value(name, span, problems)
        return
    hint = did_you_mean(
        name,
        {each for each in scope.visible() if each != name},
        f"bind it in an argument of {'a table' if view.reasoned else 'an event'}, or give it a "
        f"value with {name} = …",
    )
    problems.error(span, f"'{name}' is not bound", hint)


def _refuse_label_as_value(name: str, span: Span, problems: Problems) -> None:
    problems.error(
        span,
        f"'{name}' is a label, not a value",
        f"read one of its attributes, or its times: {name}.start, {name}.end",
    )


def _refuse_label(label: str, span: Span, view: RuleView, problems: Problems) -> None:
    holders = [each for each in view.scopes if label in each.labels]
    if any(definition.hidden for definition in view.definitions.get(label, ())):
        # What is read of a pattern that is evaluated on its own comes through a label of its own.
        problems.error(
            span,
            "this is read of a pattern inside, which need not occur, or may occur many times",
            "give that pattern a rule of its own, with this in its head",
        )
        return
    if holders:
        problems.error(span, *_elsewhere(f"the label '{label}'", holders[0], f"({label}.…)"))
        return
    hint = did_you_mean(label, view.definitions, f"label an event with it: {label}: …")
    problems.error(span, f"there is no label '{label}' in this rule", hint)


def _elsewhere(what: str, holder: Scope, argument: str) -> tuple[str, str]:
    window = holder.window
    if window is None and _is_nested(holder):
        return (
            f"{what} is repeated inside a repetition, and aggregates reach into one only",
            "give the inner pattern a rule of its own, and say it there",
        )
    if window is None and holder.repeated is not None:
        return (
            f"{what} is repeated, so there may be many of it",
            f"read it with an aggregate, such as list{argument}, last{argument} or max{argument}",
        )
    if window is None:
        return (
            f"{what} is not bound in every branch of the `or`",
            "bind it in each branch, or write one rule per branch",
        )
    if window.kind == "collect" and holder.repeated is not None:
        return (
            f"{what} is repeated inside of what is collected, so there may be many in each",
            f"give the repeated pattern a rule of its own, with list{argument} in its head, and "
            "collect that",
        )
    if window.kind == "collect":
        return (
            f"{what} is bound inside `collect`, so there may be many of it",
            f"read it with an aggregate in the head, such as count{argument} or list{argument}",
        )
    return (
        f"{what} is bound only inside `not`, so outside it has no value",
        "bind it in an event that occurs; a condition on what must not occur goes inside the `not`",
    )


def _is_nested(scope: Scope) -> bool:
    """Whether a scope is inside a repetition that is inside another one."""
    return sum(each.kind == "repeat" for each in scope.path()) > 1


def _check_shared(view: RuleView, problems: Problems) -> None:
    """Refuse a variable of one branch of an ``or`` that other parts of the rule share."""
    holders: dict[str, list[Scope]] = {}
    for scope in view.scopes:
        for name in scope.variables:
            holders.setdefault(name, []).append(scope)
    for name, scopes in holders.items():
        if len(scopes) > 1 and not view.root.sees_variable(name):
            for one, two in combinations(scopes, 2):
                if _shared(name, one, two):
                    problems.error(
                        two.variables[name],
                        f"'{name}' is not bound in every branch of the `or`, "
                        "but other parts of the rule use it",
                        "bind it in each branch, or write one rule per branch",
                    )
                    break


def _shared(name: str, one: Scope, two: Scope) -> bool:
    """Whether two scopes that bind a name could mean the same thing by it or not."""
    way_one, way_two = list(one.path())[::-1], list(two.path())[::-1]
    depth = 0
    while depth < min(len(way_one), len(way_two)) and way_one[depth] is way_two[depth]:
        depth += 1
    meeting = way_one[depth - 1]
    below_one, below_two = way_one[depth:], way_two[depth:]
    if not below_one or not below_two or meeting.sees_variable(name):
        return False
    for branches in meeting.choices:
        if below_one[0] in branches and below_two[0] in branches:
            return False
    return any(all(s.kind == "branch" for s in below) for below in (below_one, below_two))


def _warn_of_single_uses(view: RuleView, problems: Problems) -> None:
    bound: dict[str, Span] = {}
    uses: Counter[str] = Counter()
    for atom, _ in view.atoms:
        for _, argument in atom.args:
            if isinstance(argument, Var):
                bound.setdefault(argument.name, argument.span)
    for expr in exprs_of(view.rule):
        uses.update(leaf.name for leaf in read_by(expr) if isinstance(leaf, Var))
    for name, span in bound.items():
        if uses[name] == 1 and not name.startswith("_"):
            problems.warn(span, f"'{name}' is used once; write _ if that is meant")
