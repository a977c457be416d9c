"""Demand: the rules of a relation such that only what is asked for is derived.

Bindings are passed sideways. A relation that is asked by some of its columns is an event of its
own, ``#r by x``, and what is asked is another one, ``#ask r by x``; both happen at the instant at
which facts are taken to be. Every rule joins what is asked first; from there, row by row, it says
what to ask of the relations that it names. What comes out is a program like any other, so it is
joined, to the fixpoint, as events are (magic sets, as the literature calls it).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from thence.logic.conjunct import INNER
from thence.logic.expr import Const, Expr, Var
from thence.logic.knowledge import absent_in, read_in
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Rule
from thence.model.schema import EventSchema
from thence.plan.reasoning.reasoning import Reasoning
from thence.plan.reasoning.rule_bodies import Body, Row, bodies, conjunction, known_after, reads

Asked = tuple[str, tuple[str, ...]]
"""A relation, and the columns by which it is asked."""


@dataclass(frozen=True, slots=True)
class Demanded:
    """A program that derives what is asked of one relation.

    ``seed`` is the event that asks, ``answer`` the one that is derived. ``searched`` are closures
    that are asked on the way: what they find comes back as events. ``whole`` are relations that
    are looked into like tables, and have to be there as a whole.
    """

    program: LogicProgram
    seed: str
    answer: str
    searched: tuple[Asked, ...]
    whole: frozenset[str]


def answer_name(asked: Asked) -> str:
    """The event that stands for the rows of a relation that were asked for."""
    relation, columns = asked
    return f"{INNER}{relation} by {', '.join(columns)}" if columns else f"{INNER}{relation}"


def ask_name(asked: Asked) -> str:
    """The event that stands for what is asked of a relation."""
    return f"{INNER}ask {answer_name(asked)[len(INNER) :]}"


def demanded(reasoning: Reasoning, relation: str, columns: tuple[str, ...]) -> Demanded:
    """The program that derives a relation as far as it is asked by some columns."""
    return _Demand(reasoning).program((relation, columns))


class _Demand:
    def __init__(self, reasoning: Reasoning) -> None:
        self.reasoning, self.knowledge = reasoning, reasoning.knowledge
        self.rules: list[Rule] = []
        self.searched: list[Asked] = []
        self.whole: set[str] = set()
        self.known: set[Asked] = set()
        self.waiting: list[Asked] = []

    def program(self, first: Asked) -> Demanded:
        seed = f"{INNER}seed"
        relation, columns = first
        variables = tuple((name, Var(name)) for name in columns)
        self.rules.append(
            Rule(ask_name(first), _terms(columns, [v for _, v in variables]), Atom(seed, variables))
        )
        self.known.add(first)
        self.waiting.append(first)
        while self.waiting:
            asked = self.waiting.pop()
            for rule in self.knowledge.rules_of[asked[0]]:
                for body in bodies(rule):
                    self.derive(asked, rule, body)
        schema = self.knowledge.schemas[relation]
        events = [EventSchema(seed, tuple(a for a in schema.attributes if a.name in columns))]
        for asked in self.searched:
            own = self.knowledge.schemas[asked[0]].attributes
            events.append(EventSchema(answer_name(asked), own))
        tables = self.knowledge.schemas.keys() & {
            part for rule in self.rules for part in read_in(rule)
        }
        self.whole |= {name for name in tables if self.is_made(name)}
        program = LogicProgram(
            tuple(events),
            tuple(self.rules),
            self.knowledge.source,
            tuple(replace(self.knowledge.schemas[name], hidden=False) for name in sorted(tables)),
            timeless=True,
        )
        return Demanded(
            program, seed, answer_name(first), tuple(self.searched), frozenset(self.whole)
        )

    def is_made(self, name: str) -> bool:
        """Whether a relation is derived, and not a table."""
        return name in self.reasoning.relations

    def derive(self, asked: Asked, rule: Rule, body: Body) -> None:
        """The rule that derives what is asked, and those that ask further on."""
        relation, columns = asked
        names = self.knowledge.schemas[relation].names
        given = {
            name: term.value
            for name, term in zip(names, rule.terms, strict=True)
            if name in columns and isinstance(term.value, Expr)
        }
        done = [Row(Atom(ask_name(asked), tuple(given.items()), rule.head_span))]
        pending = list(enumerate(body.rows))
        while pending:
            known = known_after(
                frozenset(name for row in done for name in row.names), body.conditions
            )
            place = min(pending, key=lambda each: self.rank(each, known))
            pending.remove(place)
            done.append(self.asking(place[1], tuple(done), body, known))
        pattern = conjunction(tuple(done), body.absent, body.conditions)
        self.whole |= {name for name in absent_in(rule) if self.is_made(name)}
        self.rules.append(replace(rule, event=answer_name(asked), body=pattern))

    def rank(self, each: tuple[int, Row], known: frozenset[Expr]) -> tuple[bool, bool, int, int]:
        """Rows that can be looked up come first, those of tables before those of relations."""
        place, row = each
        bound = _bound(row, known)
        return not bound, self.is_made(row.atom.event), -len(bound), place

    def asking(self, row: Row, done: tuple[Row, ...], body: Body, known: frozenset[Expr]) -> Row:
        """A row as it is looked up: where it is one of a relation, that is asked for first."""
        relation = row.atom.event
        if not self.is_made(relation) or relation in self.reasoning.foldings:
            return row
        schema = self.knowledge.schemas[relation]
        bound = [
            name
            for name, value in _bound(row, known)
            if not isinstance(value, Const) or value.type == schema.type_of(name)
        ]
        asked = relation, self.reasoning.bound(relation, bound)
        values = dict(row.atom.args)
        terms = _terms(asked[1], [values[name] for name in asked[1]])
        conditions = tuple(c for c in body.conditions if known.issuperset(reads(c)))
        if not self.is_same(asked, terms, done):
            pattern = conjunction(tuple(_readable(row, known) for row in done), (), conditions)
            rule = Rule(ask_name(asked), terms, pattern, row.atom.span, row.atom.span)
            if rule not in self.rules:
                self.rules.append(rule)
        if asked not in self.known:
            self.known.add(asked)
            (self.searched if relation in self.reasoning.closures else self.waiting).append(asked)
        return Row(replace(row.atom, event=answer_name(asked)), row.label)

    def is_same(self, asked: Asked, terms: tuple[HeadTerm, ...], done: tuple[Row, ...]) -> bool:
        """Whether just that is asked by which one is asked oneself."""
        first = done[0].atom
        same = tuple((term.name, term.value) for term in terms) == first.args
        return first.event == ask_name(asked) and same


def _readable(row: Row, known: frozenset[Expr]) -> Row:
    """A row without the arguments that are computed from what is bound only later."""
    args = tuple(
        (name, value)
        for name, value in row.atom.args
        if isinstance(value, Var) or known.issuperset(reads(value))
    )
    return Row(replace(row.atom, args=args), row.label)


def _bound(row: Row, known: frozenset[Expr]) -> list[tuple[str, Expr]]:
    """The arguments of a row that have a value."""
    return [
        (name, value)
        for name, value in row.atom.args
        if isinstance(value, Const) or (isinstance(value, Var) and Var(value.name) in known)
    ]


def _terms(columns: Sequence[str], values: Collection[Expr]) -> tuple[HeadTerm, ...]:
    return tuple(HeadTerm(name, value) for name, value in zip(columns, values, strict=True))
