"""Deductive rules and facts: what is refused of them, and the types of what they derive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from thence.logic.check.facts import check_timeless
from thence.logic.check.graph import check_recursion, dependency_graph
from thence.logic.check.names import check_read
from thence.logic.check.problems import Problems
from thence.logic.check.rules import check_columns, check_said
from thence.logic.check.scopes import RuleView, view_of
from thence.logic.check.typing import Columns, check_known, derived_schema, infer_columns
from thence.logic.expr import Aggregate, Const, Folded, Var, leaves
from thence.logic.expr_text import expr_text
from thence.logic.functions import AGGREGATES
from thence.logic.knowledge import Knowledge, stated
from thence.logic.ops import Atom, Fact, HeadTerm, LogicProgram, Or, Rule, walk
from thence.logic.policy import UNRESTRICTED
from thence.logic.widening import united
from thence.model.schema import Attribute, EventSchema
from thence.model.types import NULL, Type

_IN_TIME = frozenset({"first", "last"})
"""Aggregates that go by when something happened."""


def check_deductions(program: LogicProgram, problems: Problems) -> Knowledge:
    """What a program knows. What is wrong with it is noted; nothing else can be said then."""
    if not program.tables and not program.deductions and not program.facts:
        return Knowledge(source=program.source)
    first_rules: dict[str, Rule] = {}
    for rule in program.deductions:
        first_rules.setdefault(rule.event, rule)
        check_columns(rule, problems)
    declared = {schema.name: schema for schema in program.tables}
    for name in first_rules.keys() & declared.keys():
        problems.error(
            first_rules[name].head_span,
            f"'{name}' is declared with `table`, so no rule can derive it",
            "give the derived relation another name, or remove the declaration",
        )
    problems.raise_if_any()
    by_relation: dict[str, list[Fact]] = {}
    for fact in program.facts:
        by_relation.setdefault(fact.relation, []).append(fact)
    said = {
        name: _types_of(name, facts, declared.get(name), first_rules.get(name), problems)
        for name, facts in by_relation.items()
    }
    problems.raise_if_any()
    rules, schemas, facts = list(program.deductions), dict(declared), dict[str, tuple[Fact, ...]]()
    for name, found in by_relation.items():
        columns, types = said[name]
        holder = stated(name) if name in first_rules else name
        facts[holder] = tuple(found)
        if name not in declared:
            attributes = tuple(map(Attribute, columns, types))
            schemas[holder] = EventSchema(holder, attributes, table=True, hidden=holder != name)
        if holder != name:
            rules.append(_from_stated(first_rules[name], holder, found[0]))
    for rule in program.deductions:
        _check_versions(rule, declared, program.changed, problems)
    views = [replace(view_of(rule), reasoned=True) for rule in rules]
    graph = dependency_graph(views)
    check_recursion(graph, problems, "recursion may only go through rows that are there")
    columns_of = infer_columns(tuple(schemas.values()), views, graph)
    for view in views:
        _check(view, columns_of, first_rules, problems)
    problems.raise_if_any()
    check_known(columns_of, first_rules, views, problems)
    problems.raise_if_any()
    for name, rule in first_rules.items():
        schemas[name] = replace(derived_schema(rule, columns_of[name]), table=True)
    return Knowledge(
        tuple(rules),
        schemas,
        facts,
        graph.strata,
        graph.recursive,
        program.changed,
        program.source,
    )


def _check_versions(
    rule: Rule,
    declared: Mapping[str, EventSchema],
    changed: Collection[str],
    problems: Problems,
) -> None:
    """Refuse a relation over rows that are not valid at all times."""
    for atom in (part for part in walk(rule.body) if isinstance(part, Atom)):
        if atom.event in changed:
            problems.error(
                atom.span,
                f"events change the rows of '{atom.event}', and the relation '{rule.event}' holds "
                "at all times",
                f"look '{atom.event}' up beside an event, with the arrow `<-`",
            )
        elif atom.event in declared and declared[atom.event].valid is not None:
            problems.error(
                atom.span,
                f"rows of '{atom.event}' are valid at certain times only, and the relation "
                f"'{rule.event}' holds at all times",
                f"look '{atom.event}' up beside an event, with the arrow `<-`; or declare it "
                "without `valid`",
            )


def _check(
    view: RuleView, columns: Columns, first_rules: Mapping[str, Rule], problems: Problems
) -> None:
    """Note everything that is wrong with a deductive rule by itself."""
    rule = view.rule
    if rule.policy != UNRESTRICTED:
        problems.error(
            rule.policy.span,
            "a policy chooses among events, and a deductive rule has none",
            "every row that fits counts; leave `using` out",
        )
    check_timeless(view, frozenset(columns), problems)
    if not view.occurs:
        problems.error(
            rule.span,
            f"the rule for '{rule.event}' names no row that is there",
            "say first where its rows come from: table(x), not other(x)",
        )
    check_said(view, columns, first_rules[rule.event], problems)
    for term in rule.terms:
        if isinstance(term.value, Aggregate):
            _check_aggregate(term.value, view, problems)
            for part in walk(rule.body):
                if isinstance(part, Or):
                    problems.error(
                        part.span,
                        f"{term.value.function} is over the matches of one body, and `or` makes "
                        "several",
                        "give the choice a relation of its own, and aggregate that",
                    )
    exprs = [term.value for term in rule.terms if not isinstance(term.value, Aggregate)]
    exprs += [condition for condition, _ in view.conditions]
    exprs += [value for atom, _ in view.atoms for _, value in atom.args]
    for leaf in (leaf for expr in exprs for leaf in leaves(expr) if isinstance(leaf, Folded)):
        problems.error(
            leaf.span,
            f"{leaf.aggregate.function} can only be a term of the head by itself",
            "give it a rule of its own, and compute with that rule's column",
        )


def _check_aggregate(aggregate: Aggregate, view: RuleView, problems: Problems) -> None:
    function, row = aggregate.function, AGGREGATES[aggregate.function]
    if function in _IN_TIME:
        problems.error(
            aggregate.span,
            f"{function} goes by time, and rows of tables have none",
            "write min(x) or max(x)",
        )
    elif aggregate.distinct and not row.distinct:
        problems.error(
            aggregate.span,
            f"distinct changes nothing in {function}",
            f"write {function}(…) without it",
        )
    elif aggregate.arg is not None:
        check_read(aggregate.arg, view.root, view, problems)
    elif not row.bare or aggregate.distinct:
        problems.error(aggregate.span, f"{function} needs a value", f"write {function}(x)")


def _from_stated(first: Rule, holder: str, fact: Fact) -> Rule:
    """The rule by which the rows that a program says are rows of a derived relation."""
    terms = tuple(
        HeadTerm(term.name, Var(column, fact.span), fact.span)
        for term, column in zip(first.terms, fact.columns, strict=True)
    )
    args = tuple((column, Var(column, fact.span)) for column in fact.columns)
    return Rule(first.event, terms, Atom(holder, args, fact.span), fact.span, fact.span)


def _types_of(
    name: str,
    facts: Sequence[Fact],
    declared: EventSchema | None,
    first: Rule | None,
    problems: Problems,
) -> tuple[tuple[str, ...], list[Type]]:
    """The columns of the rows that a program says of one relation, and their types."""
    if declared is not None:
        expected, shown = len(declared.attributes), f"it is declared as {declared}"
    elif first is not None:
        expected = len(first.terms)
        shown = f"its rules have {name}({', '.join(term.name for term in first.terms)})"
    else:
        expected = len(facts[0].values)
        line, _ = problems.source.position(facts[0].span.start)
        shown = f"the first fact, on line {line}, has {expected}"
    types: list[Type] = [NULL] * expected
    if declared is not None:
        types = [attribute.type for attribute in declared.attributes]
    for fact in facts:
        if len(fact.values) != expected:
            problems.error(
                fact.span,
                f"'{name}' has {expected} column{'s' if expected != 1 else ''}, and this fact has "
                f"{len(fact.values)}",
                shown,
            )
            continue
        for place, value in enumerate(fact.values):
            types[place] = _with(value, types[place], declared, name, place, problems)
    for place, kind in enumerate(types):
        if kind == NULL:
            problems.error(
                facts[0].span,
                f"column {place + 1} of '{name}' is null in every fact, so it has no type",
                f"declare the table: table {name}(…)",
            )
    return facts[0].columns, types


def _with(
    value: Const,
    known: Type,
    declared: EventSchema | None,
    name: str,
    place: int,
    problems: Problems,
) -> Type:
    """The type of a column that holds one value more."""
    found = value.type
    if found == NULL:
        return known
    if known == NULL:
        return found
    fits = found.kind == known.kind or (found.numeric and known.kind in ("float", "decimal"))
    if declared is not None and fits:
        return known
    wider = united(known, found) if declared is None else None
    if wider is None:
        what = (
            f"{name}.{declared.attributes[place].name}"
            if declared is not None
            else f"column {place + 1} of '{name}'"
        )
        problems.error(
            value.span,
            f"{what} is {known}, and {expr_text(value)} is {found}",
            "write all values of a column in one type" if declared is None else None,
        )
        return known
    return wider
