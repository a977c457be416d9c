"""The checks of one rule whose events are known: events, attributes, types, conditions, heads."""

from __future__ import annotations

from collections.abc import Mapping

from thence.logic.check.aggregates import check_aggregates
from thence.logic.check.facts import written
from thence.logic.check.labels import check_labels
from thence.logic.check.names import check_names
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, inside_of
from thence.logic.check.typing import Columns, RuleTypes, Unknown
from thence.logic.expr import Aggregate, Attr, Call, Const, Expr, TimeOf, Var
from thence.logic.expr_text import expr_text
from thence.logic.functions import TypeProblem
from thence.logic.heads import preferred_name
from thence.logic.history import is_own_rule
from thence.logic.moments import MOST_TICKS
from thence.logic.ops import (
    AnyOne,
    At,
    Atom,
    Label,
    Moments,
    Pattern,
    Repeat,
    Rule,
    Ticks,
    While,
    Within,
    exprs_of,
    walk,
)
from thence.logic.widening import common_type, united
from thence.model.schema import RESERVED_ATTRIBUTES
from thence.model.source import NOWHERE, Span
from thence.model.suggestions import did_you_mean
from thence.model.types import Type


def check_rule(
    view: RuleView, columns: Columns, first_rules: Mapping[str, Rule], problems: Problems
) -> None:
    """Note everything that is wrong with a rule by itself."""
    rule = view.rule
    if not view.occurs:
        problems.error(
            rule.span,
            f"nothing in the body of '{rule.event}' occurs: there is no event that it waits for",
            "name an event, or an instant such as at '2026-01-01T06:00:00Z'",
        )
    for part in view.misplaced:
        what, inside = f"`{written(part)}`", "in a choice or an absence"
        if isinstance(part, While):
            inside = "inside another pattern"
        problems.error(
            part.span,
            f"{what} cannot stand {inside}",
            "give it a rule of its own and use that rule's name here",
        )
    _check_policy(view, problems)
    check_aggregates(view, problems)
    check_said(view, columns, first_rules[rule.event], problems)
    _check_parts(view, problems)
    _warn_of_instants(view, problems)


def check_said(view: RuleView, columns: Columns, first: Rule, problems: Problems) -> None:
    """Note what is wrong with the names and types of a rule, be it about events or about rows."""
    check_labels(view, problems)
    check_names(view, problems)
    types = RuleTypes(view, columns)
    _check_atoms(view, types, problems)
    _check_conditions(view, types, problems)
    _check_head(view, types, first, problems)


def _check_parts(view: RuleView, problems: Problems) -> None:
    """Refuse operators whose durations make no sense, and labels that they cannot take."""
    for part in walk(view.rule.body):
        match part:
            case Within(Ticks() | At() | Moments(operator="periodic"), span=span):
                problems.warn(
                    span,
                    "this is an instant of the clock, so it is within any time",
                    "put `within` around this and what it is to be near to",
                )
            case Moments(limit=limit, span=span) | While(reach=int(limit), span=span) if limit < 0:
                problems.error(span, "the duration cannot be negative")
            case Moments(operator="periodic", limit=0, span=span):
                problems.error(span, "a period takes some time", "write periodic(a, 10 s, c)")
            case Moments("without", (_, closing), (_, earlier)):
                _check_first(closing, earlier, problems)
            case Ticks(_, period, reach, span) if period <= 0 or reach <= 0:
                problems.error(span, "the durations of ticks must be more than nothing")
            case Ticks(_, period, reach, span) if reach // period > MOST_TICKS:
                problems.error(
                    span,
                    f"these are {reach // period:,} ticks for each event",
                    f"there may be {MOST_TICKS:,} at most; make the period longer",
                )


def _check_first(closing: Pattern, earlier: Pattern, problems: Problems) -> None:
    """What ends ``without`` may stand for what must not come earlier as well, and a label would
    make one and the same event of the two."""
    before = {part.name for part in walk(earlier) if isinstance(part, Label)}
    for part in walk(closing):
        if isinstance(part, Label) and part.name in before:
            problems.error(
                part.span,
                "what ends `without` is the first of its kind, and cannot carry a label",
                "read its attributes through variables, c(x), or say what must not come "
                "earlier: without(a, b, l: c(x), c(x))",
            )
            return


def _warn_of_instants(view: RuleView, problems: Problems) -> None:
    """A remark on the duration of what occurs at an instant: it never is more than nothing."""
    for expr in exprs_of(view.rule):
        stack = [expr]
        while stack:
            match stack.pop():
                case Call("-", (TimeOf(label, "end"), TimeOf(other, "start")), span) if (
                    label == other and _is_instant(label, view)
                ):
                    problems.warn(
                        span,
                        f"'{label}' is an instant, so this is always zero",
                        "write `within` to limit all that it is made of, or label its parts and "
                        "compare their times",
                    )
                case Call(_, args):
                    stack += args


def _is_instant(label: str, view: RuleView) -> bool:
    """Whether what a label names can only be an instant."""
    patterns = [inside_of(definition) for definition in view.definitions.get(label, ())]
    points = At | AnyOne | Moments | Ticks
    return bool(patterns) and all(isinstance(pattern, points) for pattern in patterns)


# -- the policy


def _check_policy(view: RuleView, problems: Problems) -> None:
    """A policy chooses among the events that a rule's labels name."""
    policy = view.rule.policy
    repeated = [s for p, s in view.collects if isinstance(p, Repeat)]
    events = {
        name
        for name, labels in view.definitions.items()
        if all(map(_names_an_event, labels))
        and (view.root.sees_label(name) or any(name in scope.labels for scope in repeated))
    }
    for label, _ in policy.labels:
        if label not in events:
            problems.error(
                policy.span,
                f"the policy chooses '{label}', and no event of this rule is labelled so",
                did_you_mean(label, events, f"label it: {label}: event(…)"),
            )


def _names_an_event(label: Label) -> bool:
    pattern = inside_of(label)
    return isinstance(pattern, Atom) or is_own_rule(pattern)


# -- atoms


def _check_atoms(view: RuleView, types: RuleTypes, problems: Problems) -> None:
    seen: dict[str, Atom] = {}
    for atom, _ in view.atoms:
        known = types.columns.get(atom.event)
        if known is None:
            problems.error(
                atom.span,
                f"there is no event '{atom.event}'",
                did_you_mean(atom.event, types.columns, f"declare it: event {atom.event}(…);"),
            )
            continue
        for attribute, argument in atom.args:
            if attribute not in known:
                problems.error(
                    _span(argument),
                    f"'{atom.event}' has no attribute '{attribute}'",
                    did_you_mean(attribute, known, f"it has {', '.join(known) or 'none'}"),
                )
                continue
            expected = known[attribute]
            if expected is None:
                continue
            if isinstance(argument, Var):
                _check_variable(argument, atom, expected, types, seen, problems)
            elif isinstance(argument, Const):
                _check_literal(argument, attribute, atom, expected, problems)
            else:
                _check_value(argument, attribute, atom, expected, types, problems)


def _check_variable(
    variable: Var,
    atom: Atom,
    found: Type,
    types: RuleTypes,
    seen: dict[str, Atom],
    problems: Problems,
) -> None:
    name = variable.name
    first = seen.setdefault(name, atom)
    expected = types.variables.get(name, found)
    if expected != found:
        where = f"{first.event} and {found} in {atom.event}"
        if first.event == atom.event:
            where = f"one place of {first.event} and {found} in another"
        problems.error(
            variable.span,
            f"'{name}' is {expected} in {where}",
            f"use another variable, such as {name}2, and a condition: "
            + _equality(name, expected, f"{name}2", found),
        )
    elif found.kind == "list" and first is not atom:
        problems.error(
            variable.span,
            f"'{name}' is a list, and lists cannot be joined on",
            "use two variables, and compare elements or sizes in a condition",
        )


def _check_literal(
    literal: Const, attribute: str, atom: Atom, expected: Type, problems: Problems
) -> None:
    found = literal.type
    if literal.value is None:
        problems.error(
            literal.span,
            f"nothing is equal to null, so {atom.event} would never match",
            f"use a variable and a condition: {attribute} is null",
        )
    elif found.kind == expected.kind or (found.numeric and expected.kind in ("float", "decimal")):
        return
    else:
        hints = {
            "timestamp": "write a time as timestamp '2026-01-01T06:00:00Z'",
            "duration": "write a duration with its unit and without quotes, such as 10 s",
            "string": f"write '{literal.value}'",
        }
        problems.error(
            literal.span,
            f"{atom.event}.{attribute} is {expected}, and {expr_text(literal)} is {found}",
            hints.get(expected.kind),
        )


def _check_value(
    value: Expr, attribute: str, atom: Atom, expected: Type, types: RuleTypes, problems: Problems
) -> None:
    found = _type(value, types, problems)
    if found is None:
        return
    if common_type([expected, found]) is None or expected.kind == "list" or found.kind == "null":
        problems.error(
            _span(value),
            f"{atom.event}.{attribute} is {expected}, and {expr_text(value)} is {found}",
        )


# -- conditions and heads


def _check_conditions(view: RuleView, types: RuleTypes, problems: Problems) -> None:
    for condition, _ in view.conditions:
        found = _type(condition, types, problems)
        if found is not None and found.kind != "bool":
            problems.error(
                _span(condition),
                f"a condition must be true or false, and {expr_text(condition)} is {found}",
                "compare it with something" if found.kind != "null" else None,
            )
    for variable, value in view.assignments:
        found = _type(value, types, problems)
        expected = types.variables.get(variable.name)
        if found is not None and found.kind == "null":
            problems.error(_span(value), f"'{variable.name}' would always be null")
        elif found is not None and expected is not None and united(found, expected) != expected:
            problems.error(
                variable.span,
                f"'{variable.name}' is {found} here and {expected} elsewhere in the rule",
                "convert one of them, or use two variables",
            )


def _check_head(view: RuleView, types: RuleTypes, first: Rule, problems: Problems) -> None:
    rule = view.rule
    if len(rule.terms) != len(first.terms):
        line, _ = problems.source.position(first.head_span.start)
        problems.error(
            rule.head_span,
            f"'{rule.event}' has {len(rule.terms)} terms here and {len(first.terms)} in the rule "
            f"on line {line}",
            f"the first rule has {rule.event}({', '.join(term.name for term in first.terms)}); all "
            "rules of one event agree",
        )
        return
    columns = types.columns[rule.event]
    if rule is first:
        _warn_of_names(rule, problems)
    for place, (name, term) in enumerate(zip(columns, rule.terms, strict=True), start=1):
        if term.name != name:
            problems.error(
                term.span,
                f"this column of '{rule.event}' is called '{name}' by its first rule",
                f"write `as {name}`, or leave the name out",
            )
        try:
            found = types.of_term(term.value)
        except TypeProblem as problem:
            problems.type_problem(problem)
            continue
        except Unknown:
            continue
        expected = columns[name]
        if expected is not None and found.kind != "null" and united(found, expected) != expected:
            line, _ = problems.source.position(first.head_span.start)
            problems.error(
                term.span,
                f"column {place} of '{rule.event}' is {found} here and {expected} in the rule on "
                f"line {line}",
                _conversion(found, expected, line),
            )


def check_columns(rule: Rule, problems: Problems) -> None:
    """Refuse names that were given to columns, and are taken."""
    seen: set[str] = set()
    for term in filter(lambda term: term.named, rule.terms):
        if term.name in seen or term.name in RESERVED_ATTRIBUTES:
            why = "another column has that name" if term.name in seen else "that name is reserved"
            problems.error(
                term.span, f"a column cannot be called '{term.name}': {why}", "choose another"
            )
        seen.add(term.name)


def _warn_of_names(rule: Rule, problems: Problems) -> None:
    """A remark on each column that could not have the name that it suggests itself."""
    for term in rule.terms:
        suggested = preferred_name(term.value)
        if isinstance(term.value, Aggregate) or suggested in (None, term.name) or term.named:
            continue
        why = "another column" if suggested not in RESERVED_ATTRIBUTES else "every result"
        problems.warn(
            term.span,
            f"this column of '{rule.event}' is called '{term.name}', not '{suggested}': {why} "
            f"has {'that name' if why == 'another column' else 'a column of that name'}",
            f"name it yourself: {expr_text(term.value)} as …",
        )


def _equality(left: str, one: Type, right: str, two: Type) -> str:
    """A condition by which two variables of different types are equal."""
    if common_type([one, two]) is not None:
        return f"{left} = {right}"
    return " = ".join(
        name if kind.kind == "string" else f"string({name})"
        for name, kind in ((left, one), (right, two))
    )


def _conversion(found: Type, expected: Type, line: int) -> str:
    if found.kind in ("float", "decimal") and expected.kind == "int":
        return f"write {found.kind}(x) in the rule on line {line}"
    if expected.kind == "decimal":
        return f"write decimal(x, {expected.precision}, {expected.scale}) to convert it"
    if found.numeric and expected.numeric:
        return f"write {expected.kind}(x) to convert it"
    return "rules of one event give the same types"


def _type(expr: Expr, types: RuleTypes, problems: Problems) -> Type | None:
    try:
        return types.of(expr)
    except TypeProblem as problem:
        problems.type_problem(problem)
    except Unknown:
        pass
    return None


def _span(expr: Expr) -> Span:
    return expr.span if isinstance(expr, (Const, Var, Attr, TimeOf, Call)) else NOWHERE
