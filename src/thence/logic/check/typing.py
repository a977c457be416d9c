"""The types of variables, labelled attributes, head terms and derived events."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from thence.logic.check.graph import Graph
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, view_of
from thence.logic.expr import Aggregate, Attr, CausedBy, Expr, Folded, TimeOf, Var
from thence.logic.functions import AGGREGATES, TypeProblem, type_of
from thence.logic.ops import Atom, Label, Or, Pattern, Rule, Where, Within
from thence.logic.widening import united
from thence.model.schema import Attribute, EventSchema
from thence.model.suggestions import no_attribute
from thence.model.types import BOOL, NULL, TIMESTAMP, Type

Columns = Mapping[str, Mapping[str, Type | None]]
"""The columns of every event; None for a type that is not known (yet)."""


class Unknown(Exception):
    """A type that depends on one that is not known, so nothing can be said."""


class RuleTypes:
    """The types in one rule, given those of the events it reads."""

    def __init__(self, view: RuleView, columns: Columns) -> None:
        self.view = view
        self.columns = columns
        self.variables: dict[str, Type] = {}
        for atom, _ in view.atoms:
            known = columns.get(atom.event, {})
            for attribute, argument in atom.args:
                if isinstance(argument, Var) and argument.name not in self.variables:
                    found = known.get(attribute)
                    if found is not None:
                        self.variables[argument.name] = found
        bound = frozenset(self.variables)
        for variable, value in view.assignments:
            try:
                found = type_of(value, self.leaf)
            except (TypeProblem, Unknown):
                continue
            before = self.variables.setdefault(variable.name, found)
            if variable.name not in bound:
                self.variables[variable.name] = united(before, found) or before

    def leaf(self, expr: Expr) -> Type:
        """The type of a leaf. Raises :class:`Unknown`, or TypeProblem for a bad attribute."""
        match expr:
            case Var(name):
                if name in self.variables:
                    return self.variables[name]
            case TimeOf():
                return TIMESTAMP
            case Folded(aggregate):
                return self.of_term(aggregate)
            case CausedBy():
                return BOOL
            case Attr():
                return self._attribute(expr)
            case _:
                raise AssertionError(f"no type is known for {type(expr).__name__}")
        raise Unknown

    def _attribute(self, read: Attr) -> Type:
        found: Type | None = None
        atoms = [
            atom
            for definition in self.view.definitions.get(read.label, ())
            for atom in _labelled_atoms(definition)
        ]
        if not atoms and read.label in self.view.definitions:
            raise TypeProblem(
                f"'{read.label}' names no single event, so it has no attribute '{read.name}'",
                read.span,
                f"{read.label}.start, {read.label}.end and duration({read.label}) can be read; "
                "label the event itself for its attributes",
            )
        for atom in atoms:
            known = self.columns.get(atom.event)
            if known is None:
                raise Unknown
            if read.name not in known:
                said, hint = no_attribute(atom.event, read.name, (*known, "start", "end"))
                raise TypeProblem(said, read.span, hint)
            here = known[read.name]
            if here is None:
                raise Unknown
            if found is not None and here != found:
                raise TypeProblem(
                    f"{read.label}.{read.name} is {found} in one branch and {here} in another",
                    read.span,
                    "give the branches different labels",
                )
            found = here
        if found is None:
            raise Unknown
        return found

    def of(self, expr: Expr) -> Type:
        return type_of(expr, self.leaf)

    def of_term(self, value: Expr | Aggregate) -> Type:
        """The type of a head term."""
        if not isinstance(value, Aggregate):
            return self.of(value)
        row = AGGREGATES[value.function]
        if value.arg is None and not row.bare:
            raise TypeProblem(f"{row.name} needs a value", value.span, f"write {row.name}(x)")
        return row.over(NULL if row.bare or value.arg is None else self.of(value.arg), value.span)


def _labelled_atoms(pattern: Pattern) -> list[Atom]:
    """The atoms of which one is the event that a label names; none for a compound pattern."""
    found: list[Atom] = []
    stack = [pattern]
    while stack:
        match stack.pop():
            case Atom() as atom:
                found.append(atom)
            case Label(_, inner) | Within(inner, _) | Where(inner, _):
                stack.append(inner)
            case Or(parts):
                stack.extend(reversed(parts))
            case _:
                return []
    return found


def variable_types(rule: Rule, schemas: Mapping[str, EventSchema]) -> dict[str, Type]:
    """The type of every variable of a rule, by name: a name has one type in all of a rule."""
    return dict(RuleTypes(view_of(rule), schema_columns(schemas)).variables)


def head_types(rule: Rule, schemas: Mapping[str, EventSchema]) -> tuple[Type, ...]:
    """The types of a rule's head terms. Raises TypeProblem where one has none."""
    types = RuleTypes(view_of(rule), schema_columns(schemas))
    return tuple(types.of_term(term.value) for term in rule.terms)


def schema_columns(schemas: Mapping[str, EventSchema]) -> dict[str, dict[str, Type | None]]:
    return {
        name: {attribute.name: attribute.type for attribute in schema.attributes}
        for name, schema in schemas.items()
    }


def infer_columns(
    declared: Sequence[EventSchema], views: Sequence[RuleView], graph: Graph
) -> dict[str, dict[str, Type | None]]:
    """The columns of all events: those declared, and those that rules derive.

    A column's type is that of the first rule that gives one, made wider for the decimals and floats
    of others; in a recursive component, rules are looked at again as more becomes known. What no
    rule gives stays None.
    """
    columns = schema_columns({schema.name: schema for schema in declared})
    rules: dict[str, list[RuleView]] = {}
    for view in views:
        rules.setdefault(view.rule.event, []).append(view)
    for component in graph.strata:
        for name in component:
            first = rules[name][0].rule
            columns[name] = {term.name: None for term in first.terms}
        readers: dict[str, list[RuleView]] = {name: [] for name in component}
        if component[0] in graph.recursive:
            for name in component:
                for view in rules[name]:
                    for event in {atom.event for atom, _ in view.atoms} & readers.keys():
                        readers[event].append(view)
        queue = deque(view for name in component for view in rules[name])
        queued = {id(view) for view in queue}
        while queue:
            view = queue.popleft()
            queued.discard(id(view))
            if _learn(view, columns):
                for reader in readers[view.rule.event]:
                    if id(reader) not in queued:
                        queued.add(id(reader))
                        queue.append(reader)
    return columns


def _learn(view: RuleView, columns: dict[str, dict[str, Type | None]]) -> bool:
    """Fill in the head's columns from one rule; says whether anything became known."""
    head = columns[view.rule.event]
    types = RuleTypes(view, columns)
    learned = False
    for name, term in zip(head, view.rule.terms, strict=False):
        try:
            found = types.of_term(term.value)
        except (Unknown, TypeProblem):
            continue
        known = head[name]
        wider = found if known is None else united(known, found)
        if wider is not None and wider not in (NULL, known):
            head[name] = wider
            learned = True
    return learned


def derived_schema(rule: Rule, columns: Mapping[str, Type | None]) -> EventSchema:
    """The schema of an event whose columns are all known, from its first rule."""
    found = [
        Attribute(name, kind, term.role)
        for (name, kind), term in zip(columns.items(), rule.terms, strict=True)
        if kind is not None
    ]
    return EventSchema(rule.event, tuple(found), hidden=rule.hidden)


def check_known(
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
