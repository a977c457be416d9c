"""Makes Python objects of a logic program, with what the Python front end offers to users.

So that every program of the tests is also said in Python, and has to mean the same there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any

import thence
from thence import fn
from thence.lang.timers import written
from thence.logic import expr as e
from thence.logic import ops
from thence.logic.policy import Policy, policy_text
from thence.model.time import format_timestamp

SYMBOLS: dict[str, Callable[..., Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": operator.truediv, "%": operator.mod, "and": operator.and_, "or": operator.or_,
    "not": operator.invert, "neg": operator.neg,
}  # fmt: skip


def definitions(program: ops.LogicProgram) -> list[Any]:
    """The types of events of a program, and a definition for each of its rules."""
    types: dict[str, Any] = {
        schema.name: thence.event(
            schema.name,
            {each.name: str(each.type) for each in schema.attributes},
            within=None if schema.longest is None else timedelta(microseconds=schema.longest),
        )
        for schema in program.events
    }
    types |= {
        schema.name: thence.table(
            schema.name,
            {a.name: str(a.type) for a in schema.attributes},
            valid=schema.valid and (schema.valid.since, schema.valid.until),
        )
        for schema in program.tables
    }
    for rule in (*program.deductions, *program.rules):
        if rule.event not in types:
            made = thence.relation if rule in program.deductions else thence.derived
            types[rule.event] = made(rule.event, *(term.name for term in rule.terms))
    for fact in program.facts:
        if fact.relation not in types:
            types[fact.relation] = thence.relation(fact.relation, *fact.columns)
    tables = {schema.name for schema in program.tables}
    facts = [
        thence.fact(
            types[fact.relation] if fact.relation in tables else fact.relation,
            *(_Objects(types).value(value) for value in fact.values),
        )
        for fact in program.facts
    ]
    declared = [types[schema.name] for schema in program.declared]
    rules = (*program.deductions, *program.rules)
    changes = [_Objects(types).change(change) for change in program.changes]
    return [*declared, *facts, *changes, *(_Objects(types).definition(rule) for rule in rules)]


class _Objects:
    """The objects of one rule."""

    def __init__(self, types: dict[str, Any]) -> None:
        self.types = types
        self.labelled: dict[str, Any] = {}

    def definition(self, rule: ops.Rule) -> Any:
        # Labels first: conditions and timers may read one that stands further on.
        for node in ops.walk(rule.body):
            if isinstance(node, ops.Label):
                event = (
                    self.types[node.pattern.event] if isinstance(node.pattern, ops.Atom) else None
                )
                made = event(node.name) if event else thence.at("1970-01-01").label(node.name)
                self.labelled.setdefault(node.name, made)
        body = self.pattern(rule.body)
        made = body.select(rule.event, **{term.name: self.term(term.value) for term in rule.terms})
        words = policy_text(replace(rule.policy, labels=()), str).split()
        return made.using(*words, **self.policy(rule.policy))

    def change(self, change: ops.Change) -> Any:
        made = thence.insert if change.verb == "insert" else thence.delete
        body = self.pattern(change.rule.body)
        values = {term.name: self.value(term.value) for term in change.rule.terms}
        return thence.on(body, made(self.types[change.table], **values))

    def pattern(self, pattern: ops.Pattern) -> Any:
        lower = self.pattern
        match pattern:
            case ops.Atom(event, args):
                return self.types[event](**{name: self.value(value) for name, value in args})
            case ops.Label(name, inner):
                made = lower(inner).label(name)
                self.labelled[name] = made
                return made
            case ops.Ref(label):
                return self.labelled[label]
            case ops.Seq(parts):
                return thence.sequence(*map(lower, parts))
            case ops.And(parts):
                return thence.all_of(*map(lower, parts))
            case ops.Or(parts):
                return thence.any_of(*map(lower, parts))
            case ops.Par(left, right):
                return lower(left).par(lower(right))
            case ops.Allen(relation, left, right):
                return getattr(lower(left), relation)(lower(right))
            case ops.Not(absent, first, last):
                outside = lower(first), lower(last)
                return thence.absent(lower(absent)).between(*outside)
            case ops.Within(inner, limit):
                return lower(inner).within(timedelta(microseconds=limit))
            case ops.Where(inner, condition):
                return lower(inner).where(self.value(condition))
            case ops.Repeat(inner, least, most):
                return lower(inner).times(least, most)
            case ops.Until(inner, closing):
                return lower(inner).until(lower(closing))
            case ops.At(time):
                return thence.at(format_timestamp(time))
            case ops.Timer():
                name, duration = written(pattern)
                return getattr(self.labelled[pattern.of], name)(timedelta(microseconds=duration))
            case ops.While(window, mode, inner):
                made = thence.absent if mode == "not" else thence.collect
                if not pattern.over:
                    return made(lower(inner)).inside(self.labelled[window])
                reach = None if pattern.reach is None else timedelta(microseconds=pattern.reach)
                return thence.collect(lower(inner)).over(
                    self.labelled[window], reach, rows=pattern.rows
                )
            case ops.NoFact(inner):
                return thence.absent(lower(inner))
            case ops.Moments():
                return self.moments(pattern)
            case ops.Ticks(inner, period, reach):
                durations = (timedelta(microseconds=each) for each in (period, reach))
                return thence.ticks(lower(inner), *durations)
            case ops.Using(inner, policy):
                words = policy_text(replace(policy, labels=()), str).split()
                made = lower(inner)
                return made.using(*words, **self.policy(policy))
            case ops.AnyOne(parts):
                return thence.anyone(*map(lower, parts))
        raise AssertionError(f"no objects are made of {pattern}")

    def moments(self, pattern: ops.Moments) -> Any:
        parts = [self.pattern(part) for part in pattern.parts]
        absent = [] if pattern.operator == "without" else [self.pattern(p) for p in pattern.absent]
        limit = timedelta(microseconds=pattern.limit)
        match pattern.operator:
            case "follows" | "notfollows" | "precedes" | "notprecedes" | "both" as name:
                return getattr(thence, name)(*parts, *absent, limit)
            case "periodic*":
                return thence.moments.not_before(parts[0], limit, parts[1])
            case "periodic":
                return thence.moments.periodic(*parts, limit, *absent)
            case "relative+":
                return thence.moments.relative_plus(*parts)
            case "aperiodic*":
                collected = self.pattern(pattern.collected[0])
                return thence.moments.accumulated(parts[0], collected, parts[1])
            case "without":
                unwanted, earlier = pattern.absent
                own = [] if earlier == pattern.parts[1] else [self.pattern(earlier)]
                return thence.moments.without(parts[0], self.pattern(unwanted), parts[1], *own)
            case "other_than":
                return thence.moments.other_than(*absent, *self.choice(pattern.parts[0]))
            case "immediately":
                return thence.moments.immediately(*parts, *self.choice(pattern.absent[0]))
        return getattr(thence.moments, pattern.operator)(*parts, *absent)

    def choice(self, pattern: ops.Pattern) -> list[Any]:
        parts = pattern.parts if isinstance(pattern, ops.Or) else (pattern,)
        return [self.pattern(part) for part in parts]

    def policy(self, policy: Policy) -> dict[str, Any]:
        """The labels that a policy names, as arguments of ``using``."""
        named = {which: [] for _, which in policy.labels}
        for label, which in policy.labels:
            named[which].append(self.labelled[label])
        return named

    def term(self, term: e.Expr | e.Aggregate) -> Any:
        if not isinstance(term, e.Aggregate):
            return self.value(term)
        if term.arg is None:
            return fn.count()
        aggregate = getattr(fn, term.function)
        arg = self.value(term.arg)
        return aggregate(arg, distinct=True) if term.distinct else aggregate(arg)

    def value(self, expr: e.Expr) -> Any:
        match expr:
            case e.Const(value, type_):
                if type_.kind == "timestamp":
                    return fn.timestamp(format_timestamp(value))
                if type_.kind == "duration":
                    return fn.duration(timedelta(microseconds=value))
                # Two plain values would be compared by Python, at once.
                return fn.lit(value)
            case e.Var(name):
                return thence.var(name)
            case e.Attr(label, name):
                return self.labelled[label][name]
            case e.TimeOf(label, which):
                return getattr(self.labelled[label], which)
            case e.Folded(aggregate):
                return self.term(aggregate)
            case e.CausedBy(effect, cause):
                return fn.caused_by(self.labelled[effect], self.labelled[cause])
            case e.Call("is_null", (arg,)):
                return self.value(arg).is_null()
            case e.Call("in", (arg, *choices)):
                return self.value(arg).is_in(*map(self.value, choices))
            case e.Call("like", (arg, like)):
                return self.value(arg).like(self.value(like))
            case e.Call("is distinct from", (left, right)):
                return self.value(left).is_distinct_from(self.value(right))
            case e.Call("||", (left, right)):
                return self.value(left).concat(self.value(right))
            case e.Call("if", args):
                return fn.if_(*map(self.value, args))
            case e.Call(function, args):
                made = SYMBOLS.get(function) or getattr(fn, function)
                return made(*map(self.value, args))
        raise AssertionError(f"no objects are made of {expr}")


def in_order(program: ops.LogicProgram) -> ops.LogicProgram:
    """A program in which the arguments of each event stand in the order of its attributes."""
    columns = {schema.name: schema.names for schema in program.declared}
    for rule in (*program.deductions, *program.rules):
        columns.setdefault(rule.event, tuple(term.name for term in rule.terms))
    for fact in program.facts:
        columns.setdefault(fact.relation, fact.columns)

    def ordered(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(map(ordered, node))
        if isinstance(node, ops.Atom):
            given = dict(node.args)
            return replace(
                node, args=tuple((n, given[n]) for n in columns[node.event] if n in given)
            )
        if isinstance(node, (ops.Pattern, ops.Rule)) and is_dataclass(node):
            return replace(node, **{f.name: ordered(getattr(node, f.name)) for f in fields(node)})
        return node

    deductions = ordered(program.deductions)
    return replace(program, rules=ordered(program.rules), deductions=deductions)
