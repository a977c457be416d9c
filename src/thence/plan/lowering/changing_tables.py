"""Tables that events change: the rows that are there at a time are derived events.

``r <- ride(a, b), linked(a, b)`` looks ``linked`` up at the end of the conjunction. Whatever may
stand beside the look-up asks for its rows there: that is an event already, or becomes one. For each
that asks, the rows are derived that hold at its end, as instants:

- a row that was inserted, and of which there was no delete since, up to then;
- a row that was there from the beginning, and of which there was no delete up to then.

The look-up is a join with these instants, and ``not linked(a, _)`` is their absence. So it waits as
long as any absence does, and nothing else has to know of tables that change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from thence.logic.alternatives import alternatives
from thence.logic.auxiliary import OWN, Auxiliary
from thence.logic.changes import changed
from thence.logic.conjunct import INNER
from thence.logic.expr import Aggregate, Call, Const, Expr, TimeOf, Var
from thence.logic.history import CONTEXT, context_of
from thence.logic.ops import (
    And,
    AnyOne,
    Atom,
    Change,
    HeadTerm,
    Label,
    LogicProgram,
    NoFact,
    Or,
    Pattern,
    Rule,
    SemiJoin,
    Where,
    walk,
)
from thence.model.schema import EventSchema

_INSERTED, _DELETED = f"{INNER}inserted", f"{INNER}deleted"


def with_changing_tables(program: LogicProgram, auxiliary: Auxiliary) -> LogicProgram:
    """The same program, with joins in the place of look-ups into tables that events change."""
    if not program.changes:
        return program
    lowering = _Lowering(program, auxiliary)
    written = auxiliary.events
    own = [lowering.lowered(rule) for rule in program.rules if rule.event not in written]
    for event in written:
        auxiliary.define(event, [lowering.lowered(rule) for rule in auxiliary.rules_of(event)])
    return replace(program, rules=(*own, *auxiliary.rules))


class _Lowering:
    def __init__(self, program: LogicProgram, auxiliary: Auxiliary) -> None:
        self.tables = {each.name: each for each in program.tables if each.name in program.changed}
        self.rows = program.looked_up
        self.changes = program.changes
        self.auxiliary = auxiliary

    def lowered(self, rule: Rule) -> Rule:
        """A rule with joins in the place of its look-ups."""
        definitions: dict[str, Label] = {}
        for part in walk(self.without_lookups(rule.body)):
            if isinstance(part, Label):
                definitions.setdefault(part.name, part)
        numbers = count(1)

        def change(node: Any) -> Any:
            if not isinstance(node, And):
                return node
            flat = self.flattened(node)
            if flat is not node:
                return changed(flat, change)
            if any(self.table_of(part) for part in node.parts):
                return self.joined(node, change, definitions, numbers)
            return node

        found: Rule = replace(rule, body=changed(rule.body, change))
        return found

    def table_of(self, pattern: Pattern) -> EventSchema | None:
        """The table that a part of a conjunction looks into, if events change it."""
        while isinstance(pattern, Label | Where | NoFact):
            pattern = pattern.pattern
        return self.tables.get(pattern.event) if isinstance(pattern, Atom) else None

    def flattened(self, node: And) -> Pattern:
        """A conjunction in which look-ups stand beside what asks for them, and not in conjunctions
        or choices of their own."""
        if any(self.looks_up(part) for part in node.parts if _any_of(part, Or)):
            return Or(tuple(alternatives(node)), node.span)
        parts: list[Pattern] = []
        conditions: list[Expr] = []
        for part in node.parts:
            if self.looks_up(part) and self.table_of(part) is None:
                while isinstance(part, Label | Where):
                    conditions += [part.condition] if isinstance(part, Where) else []
                    part = part.pattern
                assert isinstance(part, And)
                parts += part.parts
            else:
                parts.append(part)
        if len(parts) == len(node.parts):
            return node
        found: Pattern = And(tuple(parts), node.span)
        for condition in conditions:
            found = Where(found, condition, node.span)
        return found

    def looks_up(self, pattern: Pattern) -> bool:
        """Whether a pattern is made of look-ups alone, some into tables that events change."""
        atoms = [part.event for part in walk(pattern) if isinstance(part, Atom)]
        timeless = all(
            isinstance(p, Atom | And | Or | Where | Label | NoFact) for p in walk(pattern)
        )
        return timeless and self.rows.issuperset(atoms) and not self.tables.keys().isdisjoint(atoms)

    def without_lookups(self, pattern: Pattern) -> Pattern:
        """A pattern that occurs wherever another does, and looks into no table that changes."""

        def change(node: Any) -> Any:
            if isinstance(node, And) and any(self.looks_up(part) for part in node.parts):
                left = tuple(part for part in node.parts if not self.looks_up(part))
                return changed(left[0] if len(left) == 1 else And(left, node.span), change)
            return node

        found: Pattern = changed(pattern, change)
        return found

    def joined(
        self, node: And, change: Any, definitions: Mapping[str, Label], numbers: Any
    ) -> Pattern:
        """A conjunction joined with the rows that its look-ups find at its end."""
        others = tuple(part for part in node.parts if self.table_of(part) is None)
        asking = self.without_lookups(And(others, node.span) if others[1:] else others[0])
        lookups = [part for part in node.parts if self.table_of(part) is not None]
        inner = tuple(changed(part, change) for part in others)
        whole = f"{INNER}whole {next(numbers)}"
        found: Pattern = Label(
            whole, inner[0] if len(inner) == 1 else And(inner, node.span), node.span, hidden=True
        )
        absent: list[Pattern] = []
        for part in lookups:
            table = self.table_of(part)
            assert table is not None
            names = {
                value.name
                for atom in walk(part)
                if isinstance(atom, Atom)
                for _, value in atom.args
                if isinstance(value, Var)
            }
            asked = context_of(asking, names, definitions, self.auxiliary)
            held = self.held(table, part, asked)
            row = _row(part, held, f"{INNER}row {next(numbers)}")
            then = _at(row[0], whole)
            if isinstance(part, NoFact):
                absent.append(NoFact(Where(row[1], then), part.span))
            else:
                found = SemiJoin(found, Where(row[1], then), node.span)
        return And((found, *absent), node.span) if absent else found

    def held(self, table: EventSchema, part: Pattern, asked: Label) -> str:
        """The event of the rows of a table that are there when something asks for them."""
        atom = next(each for each in walk(part) if isinstance(each, Atom))
        given = {v.name: column for column, v in atom.args if isinstance(v, Var)}
        source = asked.pattern
        assert isinstance(source, Atom)
        args = tuple(
            (name, Var(given[value.name]))
            if isinstance(value, Var) and value.name in given
            else (name, value)
            for name, value in source.args
        )
        asker = Label(CONTEXT, Atom(source.event, args, source.span), hidden=True)
        columns = tuple((name, Var(name)) for name in table.names)
        terms = tuple(HeadTerm(name, Var(name)) for name in table.names)
        rules = []
        first = Rule(OWN, terms, And((AnyOne((asker,)), Atom(table.name, columns))), atom.span)
        rules.append(replace(first, body=self.without_deletes(first.body, table, None)))
        for each in self.of("insert", table):
            event = self.event(each)
            inserted = Label(_INSERTED, Atom(event, columns), hidden=True)
            before = Call("<=", (TimeOf(_INSERTED, "end"), TimeOf(CONTEXT, "end")))
            body: Pattern = AnyOne((Where(SemiJoin(asker, inserted), before),))
            body = self.without_deletes(body, table, TimeOf(_INSERTED, "end"))
            rules.append(Rule(OWN, terms, body, atom.span))
        return self.auxiliary.event(rules)

    def of(self, verb: str, table: EventSchema) -> Sequence[Change]:
        return [each for each in self.changes if each.verb == verb and each.table == table.name]

    def event(self, change: Change) -> str:
        """The event of a change: an instant, with the columns that it says something of."""
        rule = self.lowered(change.rule)
        kinds = self.tables[change.table]
        terms = tuple(replace(term, value=_in_type(term, kinds)) for term in rule.terms)
        rule = replace(rule, terms=terms)
        return self.auxiliary.event([replace(rule, event=OWN, body=AnyOne((rule.body,)))])

    def without_deletes(self, body: Pattern, table: EventSchema, since: Expr | None) -> Pattern:
        """That no delete of a row has come since a time, or ever."""
        absent: list[Pattern] = []
        for place, each in enumerate(self.of("delete", table)):
            args = tuple((term.name, Var(term.name)) for term in each.rule.terms)
            label = f"{_DELETED} {place}"
            row: Pattern = Label(label, Atom(self.event(each), args), hidden=True)
            if since is not None:
                row = Where(row, Call("<", (since, TimeOf(label, "end"))))
            absent.append(NoFact(row))
        return And((body, *absent)) if absent else body


def _in_type(term: HeadTerm, table: EventSchema) -> Expr | Aggregate:
    """What a term of a change holds; a literal has the type of its column."""
    kind = table.type_of(term.name)
    if not isinstance(term.value, Const) or kind is None or term.value.type == kind:
        return term.value
    value = term.value.value
    if kind.kind == "float" and value is not None:
        value = float(value)
    return replace(term.value, value=value, type=kind)


def _any_of(pattern: Pattern, kind: type[Pattern]) -> bool:
    """Whether some part of a pattern is of a kind."""
    return any(isinstance(part, kind) for part in walk(pattern))


def _row(part: Pattern, held: str, label: str) -> tuple[str, Pattern]:
    """A look-up with an event in the place of the table, and its label."""
    match part:
        case NoFact(inner):
            return _row(inner, held, label)
        case Where(inner, condition, span):
            label, row = _row(inner, held, label)
            return label, Where(row, condition, span)
        case Label(name, inner):
            return name, replace(part, pattern=_row(inner, held, name)[1].pattern)  # type: ignore[attr-defined]
        case Atom():
            return label, Label(label, replace(part, event=held), hidden=True)
    raise AssertionError(f"{type(part).__name__} looks nothing up")


def _at(label: str, whole: str) -> Expr:
    """That a row is one of those at the end of the conjunction."""
    return Call("=", (TimeOf(label, "end"), TimeOf(whole, "end")))
