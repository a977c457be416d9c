"""Which relations are derived in a way of their own, and what these ways need.

Most relations are joined. A recursion whose rules only move on from row to row, over columns that
nothing else depends on, is a **closure**: a search in a graph. ``reach(x, z) :- edge(x, y),
reach(y, z)`` keeps ``z`` and moves from ``y`` to ``x``; written the other way round it keeps ``x``.
A relation with aggregates is **folded** from the matches of its rules' bodies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from thence.logic.changes import renamed
from thence.logic.check.typing import head_types
from thence.logic.conjunct import INNER
from thence.logic.expr import Aggregate, Expr, Var
from thence.logic.knowledge import Knowledge, aggregates
from thence.logic.ops import Atom, HeadTerm, Rule, exprs_of
from thence.model.schema import Attribute, EventSchema
from thence.plan.reasoning.rule_bodies import Body, Row, bodies, conjunction, known_after, reads

CLOSURE = "closure"
DEMAND = "demand"

_SEARCHED = frozenset({"int", "string", "bool", "timestamp", "duration"})
"""The types of columns over which a closure is searched: where equal values are the same."""


@dataclass(frozen=True, slots=True)
class Closure:
    """A relation as a search: from the rows of ``starts``, whose columns ``moving`` go on along
    the rows of ``edges`` (``from`` columns first, then ``to`` columns), while ``fixed`` stay."""

    relation: str
    fixed: tuple[str, ...]
    moving: tuple[str, ...]
    edges: str
    starts: str
    plain: bool = False
    """Whether it starts along the same rows along which it moves on: those from the columns that
    stay to the ones that move."""


@dataclass(frozen=True, slots=True)
class FoldedRule:
    """A rule that aggregates: ``matches`` is the relation of its body's matches. Each term of the
    head is a column of it, or an aggregate of one."""

    matches: str
    terms: tuple[str | tuple[Aggregate, str | None], ...]


@dataclass(frozen=True, slots=True)
class Folding:
    """A relation with aggregates: its rules that aggregate, and the relation of what the others
    derive, if there are such. ``groups`` are the columns that no rule aggregates."""

    relation: str
    rules: tuple[FoldedRule, ...]
    others: str | None
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Reasoning:
    """What a program knows, with what its closures and foldings are made of."""

    knowledge: Knowledge
    closures: Mapping[str, Closure]
    foldings: Mapping[str, Folding]
    off: frozenset[str] = frozenset()

    @cached_property
    def relations(self) -> frozenset[str]:
        """All that is derived."""
        return frozenset({*self.knowledge.rules_of, *self.closures, *self.foldings})

    def copied(self, relation: str) -> tuple[str, dict[str, str]] | None:
        """The table of which a relation is a copy, and which of its columns each column is; None
        where there is more to do than that."""
        rules = self.knowledge.rules_of.get(relation, ())
        if len(rules) != 1 or len(found := bodies(rules[0])) != 1:
            return None
        (body,) = found
        if len(body.rows) != 1 or body.absent or body.conditions:
            return None
        row = body.rows[0]
        args = {value: name for name, value in row.atom.args if isinstance(value, Var)}
        terms = {term.name: term.value for term in rules[0].terms}
        if len(args) != len(row.atom.args) or row.atom.event in self.relations:
            return None
        if not all(isinstance(value, Var) and value in args for value in terms.values()):
            return None
        return row.atom.event, {n: args[v] for n, v in terms.items() if isinstance(v, Var)}

    def bound(self, relation: str, columns: Collection[str]) -> tuple[str, ...]:
        """By which of some columns that are bound a relation is asked, in the order of its
        columns: those that make for less work."""
        names = self.knowledge.schemas[relation].names
        if DEMAND in self.off:
            return ()
        if (closure := self.closures.get(relation)) is not None:
            if kept := tuple(name for name in closure.fixed if name in columns):
                return kept
            return closure.moving if set(closure.moving) <= set(columns) else ()
        if (folding := self.foldings.get(relation)) is not None:
            columns = [name for name in folding.groups if name in columns]
        return tuple(name for name in names if name in columns)


def reasoning(knowledge: Knowledge, off: frozenset[str] = frozenset()) -> Reasoning:
    """How the relations of a program are derived."""
    closures: dict[str, Closure] = {}
    foldings: dict[str, Folding] = {}
    rules: list[Rule] = []
    for relation, own in knowledge.rules_of.items():
        if relation in knowledge.aggregated:
            foldings[relation], more = _folding(relation, own, knowledge)
        else:
            found = None if CLOSURE in off else _closure(relation, own, knowledge)
            if found is None:
                rules += own
                continue
            closures[relation], more = found
        rules += more
    schemas = dict(knowledge.schemas)
    for rule in rules:
        if rule.event not in schemas:
            types = head_types(rule, schemas)
            columns = tuple(
                Attribute(t.name, kind) for t, kind in zip(rule.terms, types, strict=True)
            )
            schemas[rule.event] = EventSchema(rule.event, columns, table=True, hidden=True)
    known = replace(knowledge, rules=tuple(rules), schemas=schemas)
    return Reasoning(known, closures, foldings, off)


# -- aggregates


def _folding(
    relation: str, rules: tuple[Rule, ...], knowledge: Knowledge
) -> tuple[Folding, list[Rule]]:
    folded: list[FoldedRule] = []
    made: list[Rule] = []
    others = f"{INNER}plain {relation}"
    names = knowledge.schemas[relation].names
    groups = set(names)
    for number, rule in enumerate(rules):
        if not aggregates(rule):
            made.append(replace(rule, event=others))
            continue
        matches = f"{INNER}matches {relation} {number}"
        terms: list[HeadTerm] = []
        said: list[str | tuple[Aggregate, str | None]] = []
        for name, term in zip(names, rule.terms, strict=True):
            value = term.value
            column = f"t{len(terms)}"
            if isinstance(value, Aggregate):
                groups.discard(name)
                said.append((value, None if value.arg is None else column))
                if value.arg is None:
                    continue
                value = value.arg
            else:
                said.append(column)
            terms.append(HeadTerm(column, value, term.span))
        for body in bodies(rule):
            rows, columns = _whole_rows(body, knowledge)
            own = [HeadTerm(f"m{place}", value) for place, value in enumerate(columns)]
            pattern = body.with_rows(rows)
            made.append(Rule(matches, (*terms, *own), pattern, rule.span, rule.head_span))
        folded.append(FoldedRule(matches, tuple(said)))
    plain = others if any(rule.event == others for rule in made) else None
    kept = tuple(name for name in names if name in groups)
    return Folding(relation, tuple(folded), plain, kept), made


def _whole_rows(body: Body, knowledge: Knowledge) -> tuple[tuple[Row, ...], list[Expr]]:
    """Rows of which every column is named, and these columns: they tell one match from another."""
    rows: list[Row] = []
    columns: dict[Expr, None] = {}
    for place, row in enumerate(body.rows):
        args = dict(row.atom.args)
        for name in knowledge.schemas[row.atom.event].names:
            value = args.setdefault(name, Var(f"{INNER}{place} {name}"))
            if isinstance(value, Var):
                columns[value] = None
        rows.append(Row(replace(row.atom, args=tuple(args.items())), row.label))
    return tuple(rows), list(columns)


# -- closures


def _closure(
    relation: str, rules: tuple[Rule, ...], knowledge: Knowledge
) -> tuple[Closure, list[Rule]] | None:
    """A relation as a search, if its rules say no more than that."""
    component = next(c for c in knowledge.strata if relation in c)
    if relation not in knowledge.recursive or len(component) > 1:
        return None
    names = knowledge.schemas[relation].names
    edges, starts = f"{INNER}edges {relation}", f"{INNER}starts {relation}"
    moving: set[frozenset[str]] = set()
    made: list[Rule] = []
    steps: list[Rule] = []
    for rule in rules:
        for body in bodies(rule):
            own = [row for row in body.rows if row.atom.event == relation]
            if not own:
                pattern = body.with_rows(body.rows)
                made.append(replace(rule, event=starts, body=pattern))
                continue
            found = _step(rule, body, own, names, edges, starts)
            if found is None:
                return None
            changing, step = found
            moving.add(changing)
            steps.append(step)
    if len(moving) != 1 or not made:
        return None
    (changing,) = moving
    order = tuple(name for name in names if name in changing)
    types = knowledge.schemas[relation]
    if any(_kind(types, name) not in _SEARCHED for name in names):
        return None
    fixed = tuple(name for name in names if name not in changing)
    plain = len(made) == len(steps) == 1 and _is_plain(made[0], steps[0], fixed, order, types)
    return Closure(relation, fixed, order, edges, starts, plain), [*made, *steps]


def _is_plain(
    start: Rule, step: Rule, fixed: tuple[str, ...], moving: tuple[str, ...], schema: EventSchema
) -> bool:
    """Whether the rows with which a closure starts are those along which it moves."""
    if [schema.type_of(name) for name in fixed] != [schema.type_of(name) for name in moving]:
        return False
    if isinstance(step.body, Atom) and step.body.event == start.event:
        return True
    named = dict(zip(schema.names, start.terms, strict=True))
    terms = [named[name].value for name in (*fixed, *moving)]
    return _canonical(start, terms) == _canonical(step, [term.value for term in step.terms])


def _canonical(rule: Rule, terms: Sequence[object]) -> object:
    """A rule's body with names that say only where they stand; None where a term is no variable."""
    names: dict[str, str] = {}
    for term in terms:
        if not isinstance(term, Var):
            return object()
        names.setdefault(term.name, f"v{len(names)}")
    if len(names) != len(terms):
        return object()

    def other(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}")

    return renamed(rule.body, str, other)


def _kind(schema: EventSchema, name: str) -> str:
    found = schema.type_of(name)
    assert found is not None
    return found.kind


def _step(
    rule: Rule, body: Body, own: list[Row], names: tuple[str, ...], edges: str, starts: str
) -> tuple[frozenset[str], Rule] | None:
    """The columns that a recursive rule changes, and the rule for the rows along which it does."""
    head = _variables([term.value for term in rule.terms])
    asked = [_variables([dict(row.atom.args).get(name) for name in names]) for row in own]
    if head is None or None in asked or any(row.label for row in own):
        return None
    rest = tuple(row for row in body.rows if row not in own)
    if len(own) == 2 and not rest and not body.absent and not body.conditions:
        return _squared(rule, head, asked, names, edges, starts)
    if len(own) != 1 or asked[0] is None or not rest:
        return None
    used = {name for row in rest for _, arg in row.atom.args for name in reads(arg)}
    used |= {name for condition in body.conditions for name in reads(condition)}
    used |= _read_by_absent(body)
    changing = frozenset(
        name
        for name, now, before in zip(names, head, asked[0], strict=True)
        if now != before or now in used
    )
    if not changing or len(set(asked[0])) < len(names) or len(set(head)) < len(names):
        return None
    order = [place for place, name in enumerate(names) if name in changing]
    terms = [asked[0][place] for place in order] + [head[place] for place in order]
    known = known_after(frozenset(name for row in rest for name in row.names), body.conditions)
    if not known.issuperset(terms):
        return None
    if not known.issuperset(n for c in body.conditions for n in reads(c)):
        return None
    return changing, _edges(rule, edges, terms, conjunction(rest, body.absent, body.conditions))


def _squared(
    rule: Rule,
    head: list[Var],
    asked: list[list[Var] | None],
    names: tuple[str, ...],
    edges: str,
    starts: str,
) -> tuple[frozenset[str], Rule] | None:
    """``r(x, z) :- r(x, y), r(y, z)``: along the rows with which it starts."""
    for one, two in (asked, asked[::-1]):
        if one is None or two is None or len(names) % 2:
            continue
        half = len(names) // 2
        chained = one[half:] == two[:half] and head == [*one[:half], *two[half:]]
        if chained and len({*one, *two}) == 3 * half:
            args = tuple(zip(names, two, strict=True))
            return frozenset(names[half:]), _edges(rule, edges, two, Atom(starts, args))
    return None


def _edges(rule: Rule, edges: str, terms: list[Var], body: object) -> Rule:
    columns = tuple(HeadTerm(f"e{place}", term) for place, term in enumerate(terms))
    return Rule(edges, columns, body, rule.span, rule.head_span)  # type: ignore[arg-type]


def _variables(values: list[object]) -> list[Var] | None:
    """Some values, if all of them are variables."""
    found = [Var(value.name) for value in values if isinstance(value, Var)]
    return found if len(found) == len(values) else None


def _read_by_absent(body: Body) -> set[Expr]:
    return {name for none in body.absent for expr in exprs_of(none) for name in reads(expr)}
