"""From patterns to joins: a rule becomes conjuncts (``conjunct.py``), one per alternative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from thence.logic.alternatives import TooManyAlternatives, alternatives
from thence.logic.auxiliary import Auxiliary
from thence.logic.body import Body
from thence.logic.bounds import Bounds, Constraint, close, first_conflict
from thence.logic.conjunct import (
    Column,
    Conjunct,
    Extreme,
    Head,
    WindowUse,
    close_with_extremes,
)
from thence.logic.expr import Aggregate, Call, Expr
from thence.logic.ops import Label, Pattern, Repeat, Rule
from thence.logic.optional import variants
from thence.logic.repeats import is_over, too_late
from thence.logic.scope import positive_parts
from thence.logic.uniting import with_one_type
from thence.logic.windows import Windows
from thence.model.errors import CheckError, Diagnostic, ImpossibleError, diagnose
from thence.model.schema import EventSchema
from thence.model.source import NOWHERE, Source, Span
from thence.model.types import Type


@dataclass(slots=True)
class Normaliser:
    """Normalises rules; ``auxiliary`` gives events to the patterns in their windows."""

    source: Source
    schemas: Mapping[str, EventSchema]
    auxiliary: Auxiliary
    warnings: list[Diagnostic] = field(default_factory=list)

    def rule(self, rule: Rule) -> list[Conjunct]:
        """The conjuncts whose union is the rule. An alternative that can never hold is left out,
        with a warning, unless it is the only one."""
        rule = with_one_type(rule, self.schemas)
        try:
            bodies = alternatives(rule.body)
        except TooManyAlternatives as problem:
            raise self.refuse(
                problem.span,
                "the alternatives of this pattern multiply to more than a thousand",
                "give parts of it names of their own, as rules",
            ) from None
        types = _types(rule, self.schemas.get(rule.event))
        found: list[Conjunct] = []
        impossible: list[ImpossibleError] = []
        for body in bodies:
            for variant in variants(rule, body, types):
                try:
                    found.append(self.conjunct(variant.rule, variant.body, _repeats(body)))
                except ImpossibleError as problem:
                    impossible.append(problem)
        if not found:
            raise impossible[0]
        for diagnostic in (each for problem in impossible for each in problem.diagnostics):
            message = f"{diagnostic.message}, so one of its alternatives never occurs"
            warning = replace(diagnostic, severity="warning", message=message)
            if warning not in self.warnings:
                self.warnings.append(warning)
        return found

    def refuse(
        self, span: Span, message: str, hint: str | None = None, never: bool = False
    ) -> CheckError:
        """The error that refuses a rule, pointing at its text; ``never`` if it never occurs."""
        found = (diagnose(self.source, span, message, hint),)
        return ImpossibleError(found) if never else CheckError(found)

    def conjunct(self, rule: Rule, pattern: Pattern, repeats: bool) -> Conjunct:
        """The conjunct of one alternative of a rule, in which something may be repeated."""
        body = Body(rule, self.refuse, self.schemas)
        for part in positive_parts(pattern):
            if isinstance(part, Label):
                body.definitions.setdefault(part.name, part)
        starts, ends = body.visit(pattern)
        if rule.limit is not None:
            body.points.constraints += [Constraint(e, s, rule.limit) for e in ends for s in starts]
        positive = tuple(range(len(body.atoms)))
        predicates = body.resolve_conditions()
        start, end = body.points.ends((starts, ends), rule.span)
        bounds = self.closed(body)
        start = _known_extreme(body, start, bounds)
        end = _known_extreme(body, end, bounds)
        collects = any(window.mode == "collect" for window in body.windows)
        if rule.policy.chooses or collects or repeats:
            # A group is complete once no further match can fall into it.
            body.points.completions.append(end)
        for record in body.repeated:
            if not is_over(body, record, bounds, end):
                raise too_late(body, record)
        windows = Windows(body, bounds, self.schemas, self.auxiliary)
        uses = [use for window in body.windows for use in windows.uses(window)]
        uses += [use for record in body.repeated for use in windows.repetitions(record)]
        body.variables.folded = windows.collected
        having = tuple(body.variables.rewrite(part, {}) for part in body.variables.having)
        terms = tuple(_head_value(body, t.value, windows.collected) for t in rule.terms)
        bounds = windows.match_bounds()
        links, left = _links(body, predicates, self.schemas)
        return Conjunct(
            head=Head(
                event=rule.event,
                columns=tuple(term.name for term in rule.terms),
                types=_types(rule, self.schemas.get(rule.event)),
                terms=terms,
                start=start,
                end=end,
                hidden=rule.hidden,
            ),
            atoms=tuple(body.atoms),
            positive=positive,
            nodes=tuple(body.points.nodes),
            constraints=tuple(body.points.constraints),
            bounds=bounds,
            links=links,
            predicates=left,
            windows=tuple(_closed_window(body, use, bounds) for use in uses),
            completions=tuple(dict.fromkeys(body.points.completions)),
            span=rule.span,
            policy=rule.policy,
            having=having,
            identical=_identical(
                body, (*left, *(p for use in uses for p in use.predicates)), self.schemas
            ),
        )

    def closed(self, body: Body) -> Bounds:
        """The closed bounds of a body; refuses one that can never hold."""
        bounds = close_with_extremes(close(body.points.constraints), body.points.nodes)
        if not bounds.satisfiable:
            conflict = first_conflict(body.points.constraints)
            if conflict is not None and conflict.span == NOWHERE:
                # An inner pattern that its window has no room for: it never occurs, no more.
                return bounds
            rule = body.rule
            whole = "this inner pattern" if rule.hidden else f"the rule for '{rule.event}'"
            raise self.refuse(
                conflict.span if conflict else body.rule.span,
                f"this can never hold together with the rest of {whole}",
                "no event times satisfy all its temporal conditions: remove or turn round one of "
                "them",
                never=True,
            )
        return bounds


def _repeats(pattern: Pattern) -> bool:
    """Whether something is repeated in a match, if only no times."""
    return any(isinstance(part, Repeat) for part in positive_parts(pattern))


def _types(rule: Rule, schema: EventSchema | None) -> tuple[Type | None, ...]:
    if schema is None:
        return tuple(None for _ in rule.terms)
    return tuple(attribute.type for attribute in schema.attributes)


def _closed_window(body: Body, use: WindowUse, bounds: Bounds) -> WindowUse:
    """A window with its bounds closed over all nodes of the conjunct."""
    closed = close_with_extremes(bounds.with_constraints(use.constraints), body.points.nodes)
    return replace(use, bounds=closed)


def _known_extreme(body: Body, node: int, bounds: Bounds) -> int:
    """The part that always is the extreme one, where the bounds say so."""
    match body.points.nodes[node]:
        case Extreme("earliest", parts):
            known = [p for p in parts if all(bounds[p, q] <= 0 for q in parts)]
            return known[0] if known else node
        case Extreme("latest", parts):
            known = [p for p in parts if all(bounds[q, p] <= 0 for q in parts)]
            return known[0] if known else node
    return node


def _head_value(body: Body, value: Expr | Aggregate, local: Mapping[str, Expr]) -> Expr | Aggregate:
    if isinstance(value, Aggregate):
        arg = None if value.arg is None else body.variables.rewrite(value.arg, local)
        return replace(value, arg=arg)
    return body.variables.rewrite(value, {})


def _links(
    body: Body, predicates: Sequence[Expr], schemas: Mapping[str, EventSchema]
) -> tuple[tuple[tuple[Column, ...], ...], tuple[Expr, ...]]:
    """Classes of equal columns over several atoms, and the predicates that are left.

    Columns are equal because one variable names them, or because a condition says so.
    """
    classes: list[set[Column]] = [set(columns) for columns in body.variables.columns.values()]
    left: list[Expr] = []
    for predicate in predicates:
        match predicate:
            case Call("=", (Column() as a, Column() as b)) if a.atom != b.atom and _type(
                body, a, schemas
            ) == _type(body, b, schemas):
                touched = [c for c in classes if a in c or b in c]
                classes = [c for c in classes if c not in touched]
                classes.append({a, b}.union(*touched))
            case _:
                left.append(predicate)
    links = []
    for columns in classes:
        first: dict[int, Column] = {}
        for column in sorted(columns, key=lambda c: (c.atom, c.name)):
            if column.atom in first:
                left.append(Call("=", (first[column.atom], column)))
            first.setdefault(column.atom, column)
        if len(first) > 1:
            links.append(tuple(first.values()))
    return tuple(links), tuple(left)


def _identical(
    body: Body, predicates: Sequence[Expr], schemas: Mapping[str, EventSchema]
) -> tuple[tuple[Column, Column], ...]:
    """The columns of different events that some predicates hold to be identical, nulls too."""
    found = []
    for predicate in predicates:
        match predicate:
            case Call("not", (Call("is distinct from", (Column() as a, Column() as b)),)):
                known = all(body.atoms[column.atom].event in schemas for column in (a, b))
                if (
                    a.atom != b.atom
                    and known
                    and _type(body, a, schemas) == _type(body, b, schemas)
                ):
                    found.append((a, b))
    return tuple(found)


def _type(body: Body, column: Column, schemas: Mapping[str, EventSchema]) -> Type | None:
    return schemas[body.atoms[column.atom].event].type_of(column.name)
