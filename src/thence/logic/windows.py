"""What must be absent from a window of the match, or is collected in it.

A single atom is searched for directly. Anything more becomes an auxiliary event (``auxiliary.py``),
and the atom that stands for it: the engine sees only joins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from thence.logic.alternatives import alternatives
from thence.logic.auxiliary import OWN, Auxiliary
from thence.logic.body import Body, valid_at
from thence.logic.bounds import UNBOUNDED, Bounds, Constraint, less
from thence.logic.conjunct import INNER, Column, NodeTime, WindowUse, close_with_extremes
from thence.logic.expr import Attr, Call, Const, Expr, Folded, TimeOf, Var, conjuncts, leaves
from thence.logic.history import CONTEXT, context_of, hides_its_past
from thence.logic.ops import (
    Atom,
    HeadTerm,
    Label,
    Pattern,
    Ref,
    Rule,
    Since,
    Where,
    Within,
    exprs_of,
    walk,
)
from thence.logic.pieces import Context, Repeated, Window
from thence.logic.repeats import repetition_uses
from thence.logic.repetition import element_of, repeats
from thence.logic.scope import (
    exported,
    own_labels,
    positive_parts,
    positive_variables,
    repeated_variables,
)
from thence.model.errors import CheckError
from thence.model.schema import EventSchema, Role
from thence.model.source import NOWHERE, Span
from thence.model.types import STRING, Type


class Windows:
    """Normalises the windows of one body, once the bounds of its match are known."""

    def __init__(
        self,
        body: Body,
        bounds: Bounds,
        schemas: Mapping[str, EventSchema],
        maker: Auxiliary,
    ) -> None:
        self.body = body
        self.bounds = bounds
        self.schemas = schemas
        self.maker = maker
        self.settled = len(body.points.constraints)
        """How many of the body's constraints the bounds hold already."""
        self.collected: dict[str, Expr] = {}
        """What the head's aggregates can read: names inside ``collect``."""

    def match_bounds(self) -> Bounds:
        """The closed bounds of the match over all nodes there are by now: windows and the head
        may add some, but say nothing about the others."""
        points = self.body.points
        fresh = points.constraints[self.settled :]
        if fresh:
            self.bounds = close_with_extremes(self.bounds.with_constraints(fresh), points.nodes)
            self.settled = len(points.constraints)
        return self.bounds

    def uses(self, window: Window) -> list[WindowUse]:
        """The searches that a window amounts to; none where nothing can lie inside it."""
        pattern, conditions = _peel(window.pattern)
        parts = alternatives(pattern)
        if window.mode == "absent" and len(parts) > 1:
            # Absent is each alternative on its own.
            rewrapped = [_rewrap(part, conditions) for part in parts]
            return [use for part in rewrapped for use in self.uses(replace(window, pattern=part))]
        atom, limit, label = _simple_atom(parts[0]) if len(parts) == 1 else (None, None, None)
        if atom is None:
            held = window.context is not None and hides_its_past(pattern)
            atom, carried = self.auxiliary(pattern, parts, conditions, window)
            limit, label = None, None
        else:
            held = self.body.has_column(atom.event, CONTEXT)
            carried = self.schemas[atom.event].with_role("carried")
        index = len(self.body.atoms)
        use = self.body.use(atom.event, label, index, atom.span)
        hidden = use.hidden or atom.event in self.maker
        self.body.atoms.append(replace(use, silent=window.silent, hidden=hidden))
        constraints = [Constraint(use.start, use.end, 0), *window.place(use.start, use.end)]
        if limit is not None:
            constraints.append(Constraint(use.end, use.start, limit))
        local, links, predicates = self.window_arguments(index, atom, label)
        if window.valid_at is not None:
            predicates += valid_at(index, window.valid_at)
        if window.context is not None:
            constraints += [less(end, use.start) for end in window.context.ends]
        if held and window.context is not None:
            links.append((CONTEXT, NodeTime(self.begins(window.context))))
        elif held:
            predicates.append(Call("is_null", (Column(index, CONTEXT),)))
        more, tested = self.body.variables.split(conditions, local, local)
        constraints += more
        predicates += tested
        if window.mode == "collect":
            self.collected.update(local)
        closed = self.match_bounds().with_constraints(constraints)
        closed = close_with_extremes(closed, self.body.points.nodes)
        if not closed.satisfiable:
            if window.mode == "absent":
                # Nothing can lie in the window, so it is empty: there is nothing to look for.
                self.body.atoms.pop()
                return []
            raise self.body.refuse(
                atom.span if atom.span != NOWHERE else self.body.rule.span,
                "nothing can ever be collected here: the window has no inside that it could be in",
                "a window holds what starts after it and ends before it; make it longer",
                never=True,
            )
        return [
            WindowUse(
                index,
                window.mode,
                tuple(constraints),
                tuple(links),
                tuple(predicates),
                closed,
                optional=window.optional,
                last=window.last,
                carried=carried,
            )
        ]

    def repetitions(self, record: Repeated) -> list[WindowUse]:
        """The windows of a repetition."""
        element = element_of(record.pattern)
        assert element is not None
        names = self.schemas[element.atom.event].names
        uses = repetition_uses(self.body, record, names, self.bounds, self.collected)
        closed = []
        for use in uses:
            bounds = self.match_bounds().with_constraints(use.constraints)
            closed.append(replace(use, bounds=close_with_extremes(bounds, self.body.points.nodes)))
        if not closed[0].bounds.satisfiable:
            raise self.body.refuse(
                record.pattern.span,
                "there is no room for a repetition here",
                "no event times satisfy all temporal conditions: remove or turn round one of them",
                never=True,
            )
        return closed

    def window_arguments(
        self, index: int, atom: Atom, label: str | None
    ) -> tuple[dict[str, Expr], list[tuple[str, Expr]], list[Expr]]:
        """Local names of a windowed atom, its links to the match, and its own conditions."""
        local: dict[str, Expr] = {}
        links: list[tuple[str, Expr]] = []
        predicates: list[Expr] = []
        if label is not None:
            schema = self.schemas[atom.event]
            local |= {f"{label}.{name}": Column(index, name) for name in schema.names}
            use = self.body.atoms[index]
            local |= {f"{label}.start": NodeTime(use.start), f"{label}.end": NodeTime(use.end)}
        for name, argument in atom.args:
            column = Column(index, name)
            if not isinstance(argument, Var):
                predicates.append(
                    Call("=", (column, self.body.variables.rewrite(argument, local)), atom.span)
                )
            elif self.body.variables.bound(argument.name):
                links.append((name, self.body.variables.rewrite(argument, {})))
            elif argument.name in local:
                predicates.append(Call("=", (local[argument.name], column), atom.span))
            else:
                local[argument.name] = column
        return local, links, predicates

    def refuse_hidden_variables(self, pattern: Pattern) -> None:
        """A variable of the match that only an inner absence reads cannot be handed down to it."""
        bound = {*positive_variables(pattern), *repeated_variables(pattern)}
        for part in walk(pattern):
            if not isinstance(part, Atom):
                continue
            for _, argument in part.args:
                for variable in leaves(argument):
                    if (
                        isinstance(variable, Var)
                        and variable.name not in bound
                        and self.body.variables.bound(variable.name)
                    ):
                        raise self.body.refuse(
                            variable.span,
                            f"'{variable.name}' is bound outside, and inside only where something "
                            "must be absent",
                            "bind it in the inner pattern too, or make that pattern a rule",
                        )

    def refuse_repeated_with_others(self, pattern: Pattern) -> None:
        """What is repeated inside is matched inside, so it cannot be compared with what is outside:
        neither each repetition nor all of them together."""
        own, outer = own_labels(pattern), self.body.variables
        bound = {*positive_variables(pattern), *repeated_variables(pattern)}
        inside = [part for repeat in repeats(pattern) for part in walk(repeat)]
        for part in walk(pattern):
            if not isinstance(part, Where):
                continue
            for condition in conjuncts(part.condition):
                read = list(leaves(condition))
                folds = any(isinstance(leaf, Folded) for leaf in read)
                if not folds and not any(each is part for each in inside):
                    continue
                for leaf in read:
                    match leaf:
                        case Var(name, span) if name not in bound and outer.bound(name):
                            raise self._repeated_with_others(span)
                        case Attr(label, _, span) | TimeOf(label, _, span) if label not in own:
                            raise self._repeated_with_others(span)

    def _repeated_with_others(self, span: Span) -> CheckError:
        return self.body.refuse(
            span,
            "what is repeated inside of an absence or a collect cannot be compared with what is "
            "bound outside",
            "make the inner pattern a rule with what is compared in its head, and compare where it "
            "is used",
        )

    def auxiliary(
        self,
        pattern: Pattern,
        parts: Sequence[Pattern],
        conditions: Sequence[Expr],
        window: Window,
    ) -> tuple[Atom, tuple[str, ...]]:
        """The atom that stands for the alternatives of a compound pattern, and those of its columns
        that only come along.

        Only what lies inside the window matters, so its length bounds the rules.
        """
        limit = UNBOUNDED if window.width is None else self.bounds[window.width] - 2
        if window.context is not None and window.until is not None:
            since = self.match_bounds()[window.until, self.begins(window.context)]
            limit = min(limit, since - 1)  # it begins later than the context ends
            if hides_its_past(pattern):
                pattern, parts = self.in_context(pattern, parts, window.context, since)
        for part in positive_parts(pattern):
            if isinstance(part, Ref) and part.label not in own_labels(pattern):
                raise self.body.refuse(
                    part.span,
                    f"'{part.label}' is bound outside and cannot be a part of what is looked for "
                    "inside",
                    "compare its times in a 'where' condition instead",
                )
        self.refuse_hidden_variables(pattern)
        self.refuse_repeated_with_others(pattern)
        outer = {*self.body.variables.columns, *self.body.variables.values}
        handed = [
            exported(part, conditions, self.body.rule, outer, everything=window.mode == "collect")
            for part in parts
        ]
        columns = dict.fromkeys(column for terms in handed for column, _ in terms)
        uneven = any(len(terms) < len(columns) for terms in handed)
        values = {column: value for terms in handed for column, value in terms}
        carried = tuple(c for c, value in values.items() if isinstance(value, Attr | TimeOf))
        shorter = None if limit >= UNBOUNDED else max(limit, 0)
        rules = []
        for part, terms in zip(parts, handed, strict=True):
            heads = self.heads(pattern, columns, carried, dict(terms), uneven)
            if isinstance(part, Since):
                heads = (*heads, HeadTerm(CONTEXT, TimeOf(CONTEXT, "end"), role="technical"))
            rule = self.body.rule
            rules.append(Rule(OWN, heads, part, rule.span, rule.head_span, limit=shorter))
        args = tuple((column, _outside(value)) for column, value in values.items())
        return Atom(self.maker.event(rules), args), carried

    def begins(self, context: Context) -> int:
        """The node that a history begins after."""
        return self.body.points.single("latest", context.ends, NOWHERE)

    def in_context(
        self, pattern: Pattern, parts: Sequence[Pattern], context: Context, limit: int
    ) -> tuple[Pattern, list[Pattern]]:
        """A pattern, and its alternatives, joined with all contexts that it may be asked about."""
        inside = {
            leaf.name
            for expr in exprs_of(pattern)
            for leaf in leaves(expr)
            if isinstance(leaf, Var)
        }
        since = context_of(context.first, inside, self.body.definitions, self.maker)
        most = None if limit >= UNBOUNDED else max(limit, 0)
        return Since(pattern, since, most), [Since(part, since, most) for part in parts]

    def heads(
        self,
        pattern: Pattern,
        columns: Iterable[str],
        carried: Collection[str],
        terms: Mapping[str, Expr],
        uneven: bool,
    ) -> tuple[HeadTerm, ...]:
        """Head terms for all columns. One that an alternative does not bind is null there; where
        alternatives bind unlike columns, a further one says which, so that their occurrences stay
        apart."""
        heads = []
        for column in columns:
            value = terms.get(column) or Const(None, self.type_of(pattern, column))
            role: Role = "carried" if column in carried else "value"
            heads.append(HeadTerm(column, value, role=role))
        if uneven:
            bound = Const(",".join(terms), STRING)
            heads.append(HeadTerm(f"{INNER}bound", bound, role="technical"))
        return tuple(heads)

    def type_of(self, pattern: Pattern, variable: str) -> Type:
        """The type of a variable that some atom of a pattern binds."""
        for part in walk(pattern):
            if isinstance(part, Atom):
                for attribute, argument in part.args:
                    if argument == Var(variable):
                        found = self.schemas[part.event].type_of(attribute)
                        assert found is not None
                        return found
        raise AssertionError(f"no atom binds {variable}")


def _outside(value: Expr) -> Expr:
    """The name under which an exported value is known outside: labels become variables."""
    match value:
        case Attr(label, name):
            return Var(f"{label}.{name}")
        case TimeOf(label, which):
            return Var(f"{label}.{which}")
    return value


def _peel(pattern: Pattern) -> tuple[Pattern, list[Expr]]:
    """A pattern without the conditions directly around it, and those conditions."""
    conditions: list[Expr] = []
    over_repetitions: list[Expr] = []
    while isinstance(pattern, Where):
        for part in conjuncts(pattern.condition):
            folds = any(isinstance(leaf, Folded) for leaf in leaves(part))
            (over_repetitions if folds else conditions).append(part)
        pattern = pattern.pattern
    # Only inside is there what is repeated.
    return _rewrap(pattern, over_repetitions), conditions


def _rewrap(pattern: Pattern, conditions: Sequence[Expr]) -> Pattern:
    for condition in conditions:
        pattern = Where(pattern, condition)
    return pattern


def _simple_atom(pattern: Pattern) -> tuple[Atom | None, int | None, str | None]:
    """The atom, the limit on its length and the label, where a pattern is no more than that."""
    limit: int | None = None
    label: str | None = None
    while True:
        match pattern:
            case Atom():
                return pattern, limit, label
            case Label(name, inner):
                if label is not None:
                    return None, None, None
                label, pattern = name, inner
            case Within(inner, most):
                limit = most if limit is None else min(limit, most)
                pattern = inner
            case _:
                return None, None, None
