"""The body of a rule as time points, bounds between them, and events that carry them.

One visitor gives every operator its meaning in a few lines: which nodes its interval is made of,
and which bounds hold between them. What must be absent, or is collected, is put aside as a
:class:`Window` until the bounds of the match itself are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from thence.logic.bounds import Constraint, less
from thence.logic.conjunct import (
    EPOCH,
    AtomUse,
    Column,
    EndPoint,
    NodeTime,
    Shifted,
    Tick,
)
from thence.logic.expr import Attr, Call, Expr, TimeOf, Var
from thence.logic.history import CONTEXT
from thence.logic.made import beginning, following, limited, made_by, mark_of
from thence.logic.moments import OPERATORS, Stretch
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    At,
    Atom,
    Label,
    Moments,
    NoFact,
    Not,
    Par,
    Pattern,
    Ref,
    Repeat,
    Rule,
    SemiJoin,
    Seq,
    Since,
    Ticks,
    Timer,
    Until,
    Where,
    While,
    Within,
    walk,
)
from thence.logic.pieces import (
    Context,
    Interval,
    Made,
    Nodes,
    Place,
    Refuse,
    Repeated,
    Undated,
    Window,
    union,
)
from thence.logic.points import Points, instant, spanning
from thence.logic.repetition import joining_variables, shared_variables
from thence.logic.sequences import anchored, closed_by, in_sequence
from thence.logic.timing import relation
from thence.logic.variables import Variables
from thence.model.schema import VALID_FROM, VALID_TO, EventSchema
from thence.model.source import Span

MOST_ATOMS = 200


class Body:
    """One alternative of a rule's body, while it is being taken apart."""

    def __init__(
        self,
        rule: Rule,
        refuse: Refuse,
        schemas: Mapping[str, EventSchema],
    ) -> None:
        self.refuse = refuse
        self.schemas = schemas
        self.rule = rule
        self.points = Points()
        self.variables = Variables(self, refuse)
        self.atoms: list[AtomUse] = []
        self.windows: list[Window] = []
        self.repeated: list[Repeated] = []
        self.definitions: dict[str, Label] = {}
        self.labels: dict[str, Interval] = {}
        self.label_atoms: dict[str, int] = {}
        self.visiting: set[str] = set()
        self.made: dict[str, Made] = {}
        """What the labelled patterns are made of."""
        self.silent = False
        """Whether what is visited only stands beside the match."""
        self.clocked: set[int] = set()
        """The atoms that only start a clock: its instants are not made of them."""
        self.placed: set[int] = set()
        """The atoms of which it is known in which history they occur."""
        self.undated: list[Undated] = []
        """Look-ups into versioned tables of which it is not known yet when rows must be valid."""

    @cached_property
    def shared(self) -> frozenset[str]:
        """The variables inside repetitions that have one value for a whole match."""
        return shared_variables(self.rule)

    @cached_property
    def joining(self) -> frozenset[str]:
        """The variables that several atoms of the rule have, and those that repetitions share."""
        return joining_variables(self.rule)

    @cached_property
    def hidden_labels(self) -> frozenset[str]:
        """The labels that no user wrote."""
        labels = (part for part in walk(self.rule.body) if isinstance(part, Label))
        return frozenset(label.name for label in labels if label.hidden)

    def is_table(self, name: str) -> bool:
        """Whether a name is that of a static table."""
        return name in self.schemas and self.schemas[name].table

    def is_versioned(self, pattern: Pattern) -> bool:
        """Whether a pattern is a row of a versioned table."""
        schema = self.schemas.get(_looked_for(pattern))
        return schema is not None and schema.valid is not None

    def is_row(self, pattern: Pattern) -> bool:
        """Whether a pattern is a row of a table."""
        return self.is_table(_looked_for(pattern))

    def date(self, first: int, ends: Nodes, span: Span) -> None:
        """Say of what is undated, from a number on, that it must be valid at the latest end."""
        if len(self.undated) == first:
            return
        at = self.points.single("latest", ends, span)
        for row in self.undated[first:]:
            if row.atom is not None:
                for condition in valid_at(row.atom, at):
                    self.variables.test(condition)
            if row.window is not None:
                window = self.windows[row.window]
                if self.is_row(window.pattern):
                    self.windows[row.window] = replace(window, valid_at=at)
                else:
                    self.points.completions.append(at)
                    place = _up_to(at, span)
                    self.windows[row.window] = replace(window, place=place, until=at)
        del self.undated[first:]

    def has_column(self, event: str, name: str) -> bool:
        """Whether an event has a column of a name."""
        return event in self.schemas and name in self.schemas[event].names

    # -- patterns

    def visit(self, pattern: Pattern) -> Interval:
        """Add a pattern to the join and give the nodes of its interval."""
        match pattern:
            case Atom():
                return self.atom_interval(self.atom(pattern, None))
            case Label(name):
                return self.label(name, pattern)
            case Ref(name, span):
                return self.label(name, self.definition(name, span))
            case Seq(parts, span):
                return spanning(in_sequence(self, parts, span))
            case Until():
                return spanning(closed_by(self, pattern))
            case Repeat():
                return anchored(self, pattern, first=True, last=True, leading=True)
            case And(parts, span):
                undated = len(self.undated)
                found = [self.visit(part) for part in parts]
                starts = union(starts for starts, _ in found)
                ends = union(ends for _, ends in found)
                if ends:
                    self.date(undated, ends, span)
                return starts, ends
            case Par(left, right, span):
                return self.related("par", left, right, span)
            case Allen(name, left, right, span):
                return self.related(name, left, right, span)
            case Not(absent, first, last, span):
                before, after = self.visit(first), self.visit(last)
                self.absent_between(absent, before[1], after[0], span)
                return self.points.sequence([before, after], span)
            case Within():
                return limited(self, pattern)
            case Where(inner, condition):
                self.variables.test(condition)
                return self.visit(inner)
            case At(time, span):
                return self.points.clock(self.points.node(Shifted(EPOCH, time), span))
            case Timer():
                return self.timer(pattern)
            case While():
                (self.over_window if pattern.over else self.while_window)(pattern)
                return (), ()
            case NoFact(inner):
                if self.is_versioned(inner) or not self.is_row(inner):
                    self.undated.append(Undated(window=len(self.windows)))
                self.windows.append(Window("absent", inner, _anywhere, None))
                return (), ()
            case Moments():
                return self.moments(pattern)
            case SemiJoin(inner, other):
                interval = self.visit(inner)
                outside, self.silent = self.silent, True
                self.visit(other)
                self.silent = outside
                return interval
            case Since(inner, context, limit, span):
                outside, self.silent = self.silent, True
                ends = self.visit(context)[1]
                self.silent = outside
                interval = following(self, inner, Context(ends, pattern.like or context), span)
                if limit is not None:
                    late = [(e, c) for e in interval[1] for c in ends]
                    self.points.constraints += [Constraint(e, c, limit, span) for e, c in late]
                return interval
            case AnyOne((only,), span):
                return instant(self.points.ends(self.visit(only), span)[1])
            case Ticks():
                return self.ticks(pattern)
        raise AssertionError(f"no meaning for {type(pattern).__name__}")

    def atom(self, pattern: Atom, label: str | None) -> int:
        """Add an event, or a row of a table, to the join, and give its number."""
        atom = len(self.atoms)
        if atom >= MOST_ATOMS:
            raise self.refuse(
                pattern.span,
                f"a rule may join at most {MOST_ATOMS} events",
                "split it into rules that build on each other",
            )
        self.atoms.append(self.use(pattern.event, label, atom, pattern.span))
        self.bind(atom, pattern)
        if self.is_versioned(pattern):
            self.undated.append(Undated(atom=atom))
        return atom

    def use(self, event: str, label: str | None, atom: int, span: Span) -> AtomUse:
        label = None if label in self.hidden_labels else label
        if self.is_table(event):
            return AtomUse(event, label, EPOCH, EPOCH, span)
        start = self.points.node(EndPoint(atom, "start"), span)
        end = self.points.node(EndPoint(atom, "end"), span)
        hidden = event in self.schemas and self.schemas[event].hidden
        return AtomUse(event, label, start, end, span, self.silent, hidden)

    def bind(self, atom: int, pattern: Atom) -> None:
        """Columns for the variables of an atom's arguments, conditions for everything else."""
        self.points.constraints.append(
            Constraint(self.atoms[atom].start, self.atoms[atom].end, 0, pattern.span)
        )
        for name, argument in pattern.args:
            column = Column(atom, name)
            if isinstance(argument, Var):
                self.variables.columns.setdefault(argument.name, []).append(column)
            else:
                self.variables.conditions.append(Call("=", (column, argument), pattern.span))

    def atom_interval(self, atom: int) -> Interval:
        use = self.atoms[atom]
        return ((), ()) if use.fact else ((use.start,), (use.end,))

    def definition(self, name: str, span: Span) -> Label:
        if name not in self.definitions:
            raise self.refuse(
                span,
                f"'{name}' is not bound in every alternative of this rule, or only inside "
                "'not' or 'collect'",
                "label the event outside, or use its times in a 'where' condition",
            )
        return self.definitions[name]

    def label(self, name: str, pattern: Label) -> Interval:
        """The interval of what a label names, which is visited the first time it is asked for."""
        if name in self.labels:
            inner = _unlabelled(pattern.pattern)
            if isinstance(inner, Atom) and pattern is not self.definitions.get(name):
                self.bind(self.label_atoms[name], inner)
            return self.labels[name]
        if name in self.visiting:
            raise self.refuse(pattern.span, f"'{name}' is defined in terms of itself")
        self.visiting.add(name)
        mark = mark_of(self)
        match pattern.pattern:
            case Label(other) as same:
                self.labels[name] = self.label(other, same)
                if other in self.label_atoms:
                    self.label_atoms[name] = self.label_atoms[other]
            case Atom() as atom:
                self.label_atoms[name] = self.atom(atom, name)
                self.labels[name] = self.atom_interval(self.label_atoms[name])
            case inner:
                self.labels[name] = self.visit(inner)
        self.made[name] = made_by(self, pattern.pattern, mark)
        return self.labels[name]

    # -- intervals

    def related(self, name: str, left: Pattern, right: Pattern, span: Span) -> Interval:
        first, second = self.visit(left), self.visit(right)
        one, other = self.points.ends(first, span), self.points.ends(second, span)
        self.points.constraints += relation(name, one, other, span)
        return union((first[0], second[0])), union((first[1], second[1]))

    def timer(self, pattern: Timer) -> Interval:
        span = pattern.span
        of = self.points.ends(self.label(pattern.of, self.definition(pattern.of, span)), span)
        anchors = {"start": of[0], "end": of[1]}
        start = self.points.shifted(anchors[pattern.start_anchor], pattern.start_shift, span)
        end = self.points.shifted(anchors[pattern.end_anchor], pattern.end_shift, span)
        self.points.constraints.append(Constraint(start, end, 0, span))
        self.points.completions.append(end)
        return (start,), (end,)

    # -- windows

    def absent_between(self, absent: Pattern, opening: Nodes, closing: Nodes, span: Span) -> None:
        """That nothing lies after all of some nodes and before all of others."""

        def place(start: int, end: int) -> list[Constraint]:
            after = [less(node, start, 0, span) for node in opening]
            return after + [less(end, node, 0, span) for node in closing]

        opens = self.points.single("latest", opening, span)
        closes = self.points.single("earliest", closing, span)
        self.points.completions.append(closes)
        self.windows.append(Window("absent", absent, place, (closes, opens), until=closes))

    def while_window(self, pattern: While) -> None:
        window, span = pattern.window, pattern.span
        opens, closes = self.points.ends(self.label(window, self.definition(window, span)), span)

        def place(start: int, end: int) -> list[Constraint]:
            return [less(opens, start, 0, span), less(end, closes, 0, span)]

        self.points.completions.append(closes)
        kind: Literal["absent", "collect"] = "absent" if pattern.mode == "not" else "collect"
        self.windows.append(Window(kind, pattern.pattern, place, (closes, opens), until=closes))

    def over_window(self, pattern: While) -> None:
        """What ends up to the end of an event, so long before it at most."""
        window, span, reach = pattern.window, pattern.span, pattern.reach
        _, closes = self.points.ends(self.label(window, self.definition(window, span)), span)

        def place(_start: int, end: int) -> list[Constraint]:
            after = [] if reach is None else [Constraint(closes, end, reach, span)]
            return [Constraint(end, closes, 0, span), *after]

        self.points.completions.append(closes)
        window_of = Window("collect", pattern.pattern, place, None, last=pattern.rows, until=closes)
        self.windows.append(window_of)

    def moments(self, pattern: Moments) -> Interval:
        span = pattern.span
        shape = OPERATORS[pattern.operator].shape(len(pattern.parts), pattern.limit)
        times = [self.points.ends(found, span)[1] for found in self.parts_of(pattern)]
        self.points.constraints += [
            Constraint(times[b.later], times[b.earlier], b.limit, span, b.strict)
            for b in shape.bounds
        ]
        last = tuple(dict.fromkeys(times[part] for part in shape.at))
        at = self.points.shifted(self.points.single("latest", last, span), shape.later, span)
        # Where it is only asked what may occur (history.py), nothing is absent.
        for absent, absence in zip(pattern.absent, shape.absences, strict=bool(pattern.absent)):
            self.points.completions.append(at)
            place = _ends_within(absence, times, span)
            window = Window("absent", absent, place, None, silent=self.silent, until=at)
            self.windows.append(window)
        collected = pattern.collected
        for inner, stretch in zip(collected, shape.collections, strict=bool(collected)):
            self.points.completions.append(at)
            place = _ends_within(stretch, times, span)
            self.windows.append(Window("collect", inner, place, None, optional=True, until=at))
        return instant(at)

    def parts_of(self, pattern: Moments) -> list[Interval]:
        """The intervals of an operator's parts, each in its history."""
        if not OPERATORS[pattern.operator].history:
            return [self.visit(part) for part in pattern.parts]
        first, *rest = pattern.parts
        found, earlier = [self.visit(first)], first
        for part in rest:
            found.append(following(self, part, Context(found[-1][1], earlier), pattern.span))
            earlier = Moments(pattern.operator, (earlier, part), span=pattern.span)
        return found

    def ticks(self, pattern: Ticks) -> Interval:
        span = pattern.span
        first = len(self.atoms)
        _, end = self.points.ends(self.visit(pattern.pattern), span)
        self.clocked.update(range(first, len(self.atoms)))
        tick = self.points.node(Tick(end, pattern.period, len(self.points.nodes)), span)
        self.points.constraints.append(Constraint(end, tick, 0, span))
        self.points.constraints.append(Constraint(tick, end, pattern.reach, span))
        return self.points.clock(tick)

    # -- names

    def resolve_conditions(self) -> list[Expr]:
        """What is tested of a match; the conditions that are bounds between times become such."""
        for atom, use in enumerate(self.atoms):
            if atom not in self.placed and not use.silent and self.has_column(use.event, CONTEXT):
                self.variables.test(Call("is_null", (Column(atom, CONTEXT),)))
        constraints, predicates = self.variables.resolved()
        self.points.constraints += constraints
        return predicates

    def attribute(self, expr: Attr) -> Column:
        """The column of a labelled event."""
        self.label(expr.label, self.definition(expr.label, expr.span))
        return Column(self.label_atoms[expr.label], expr.name)

    def time_of(self, expr: TimeOf) -> Expr:
        """When something labelled starts or ends, or what it is made of begins."""
        label, span = expr.label, expr.span
        start, end = self.points.ends(self.label(label, self.definition(label, span)), span)
        if expr.which == "made":
            return beginning(self, label, start, span)
        return NodeTime(start if expr.which == "start" else end)


def valid_at(atom: int, node: int) -> tuple[Expr, Expr]:
    """That a row of a versioned table is valid at a time point."""
    since, until, at = Column(atom, VALID_FROM), Column(atom, VALID_TO), NodeTime(node)
    return Call("<=", (since, at)), Call("<", (at, until))


def _unlabelled(pattern: Pattern) -> Pattern:
    while isinstance(pattern, Label):
        pattern = pattern.pattern
    return pattern


def _looked_for(pattern: Pattern) -> str:
    """The event or table of a pattern that is no more than that, with a label and conditions."""
    while isinstance(pattern, Label | Where):
        pattern = pattern.pattern
    return pattern.event if isinstance(pattern, Atom) else ""


def _up_to(node: int, span: Span) -> Place:
    """That an event ends at a time point or before."""

    def place(_start: int, end: int) -> list[Constraint]:
        return [Constraint(end, node, 0, span)]

    return place


def _anywhere(_start: int, _end: int) -> list[Constraint]:
    """Facts are not inside anything."""
    return []


def _ends_within(stretch: Stretch, times: Sequence[int], span: Span) -> Place:
    """That an event ends between two moments."""

    def place(_start: int, end: int) -> list[Constraint]:
        since, until = times[stretch.since], times[stretch.until]
        return [
            (less if stretch.after else Constraint)(since, end, -stretch.first, span),
            (less if stretch.before else Constraint)(end, until, stretch.last, span),
        ]

    return place
