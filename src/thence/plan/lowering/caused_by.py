"""``caused_by(x, y)``: whether ``y`` is among the events that ``x`` was made of, at any depth.

Derivations tell. For each pair of types that a program asks about there is an auxiliary event, at
the interval of the effect, whose attributes are those of the effect, those of a cause, and its
times. It has no rule of its own: the engine fills it by reading derivations. The condition is a
join with that event; negated, its absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from thence.logic.auxiliary import OWN, Auxiliary
from thence.logic.changes import changed
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, view_of
from thence.logic.common_attributes import made_of, same_variable, shared_attributes
from thence.logic.conjunct import INNER
from thence.logic.expr import Attr, Call, CausedBy, Const, Expr, TimeOf, Var, conjuncts, read_by
from thence.logic.ops import (
    And,
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    Pattern,
    Ref,
    Rule,
    SemiJoin,
    Where,
    Within,
    exprs_of,
    walk,
)
from thence.logic.scope import positive_parts
from thence.model.schema import EventSchema
from thence.model.suggestions import did_you_mean
from thence.model.types import TIMESTAMP


def with_causes(
    program: LogicProgram, auxiliary: Auxiliary, schemas: Mapping[str, EventSchema]
) -> LogicProgram:
    """The same program, with joins in the place of ``caused_by`` and the auxiliary events they
    need.

    The program is one that was checked, with these ``schemas``, and has no patterns with rules of
    their own. Raises a CheckError where a cause cannot be asked for.
    """
    if not any(map(_asks, program.rules)):
        return program
    causes = _Causes(program, auxiliary, schemas)
    for event in auxiliary.events:
        auxiliary.define(event, map(causes.answered, auxiliary.rules_of(event)))
    rules = [causes.answered(rule) for rule in program.rules if rule.event not in auxiliary]
    causes.problems.raise_if_any()
    return replace(program, rules=(*rules, *auxiliary.rules))


def _asks(rule: Rule) -> bool:
    return any(isinstance(leaf, CausedBy) for expr in exprs_of(rule) for leaf in read_by(expr))


@dataclass(slots=True)
class _Causes:
    """The auxiliary events that a program needs, made as they are asked for."""

    program: LogicProgram
    auxiliary: Auxiliary
    schemas: Mapping[str, EventSchema]
    problems: Problems = field(init=False)
    names: dict[str, tuple[str, ...]] = field(init=False)
    rules_of: dict[str, list[Rule]] = field(init=False)
    tables: frozenset[str] = field(init=False)
    _reach: dict[str, frozenset[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.problems = Problems(self.program.source)
        self.names = {event.name: event.names for event in self.program.events}
        self.tables = self.program.looked_up
        self.rules_of = {}
        for rule in self.program.rules:
            self.names.setdefault(rule.event, tuple(term.name for term in rule.terms))
            self.rules_of.setdefault(rule.event, []).append(rule)

    # -- the condition

    def answered(self, rule: Rule) -> Rule:
        """A rule with joins in the place of its questions."""
        if not _asks(rule):
            return rule
        view = view_of(rule)
        positive = {id(part) for part in positive_parts(rule.body)}

        def change(node: object) -> object:
            if isinstance(node, Where) and id(node) in positive:
                inner = changed(node.pattern, change)
                for condition in conjuncts(node.condition):
                    inner = self._with_condition(inner, condition, view)
                return inner
            return node

        answered: Rule = replace(rule, body=changed(rule.body, change))
        for expr in exprs_of(answered):
            for leaf in read_by(expr):
                if isinstance(leaf, CausedBy):
                    self.problems.error(
                        leaf.span,
                        "caused_by is a condition on events that occur, by itself or joined to "
                        "others by `and`",
                        "put it into `where`, outside of what is absent or collected; for a "
                        "choice, write a rule for each",
                    )
        return answered

    def _with_condition(self, pattern: Pattern, condition: Expr, view: RuleView) -> Pattern:
        match condition:
            case CausedBy():
                return self._joined(pattern, condition, view)
            case Call("not", (CausedBy() as asked,)):
                return self._without(pattern, asked, view)
        return Where(pattern, condition)

    def _joined(self, pattern: Pattern, asked: CausedBy, view: RuleView) -> Pattern:
        found = self._pair_of(asked, view)
        if found is None:
            return pattern
        name, effect, cause = found
        alike = same_variable(*(_atoms(view, label) for label in (asked.effect, asked.cause)))
        shared = shared_attributes(effect, cause, self.rules_of, self.reach, self.names)
        common = sorted({*shared, *alike})
        number = next(self._numbers)
        pair, moment = f"{INNER}pair {number}", f"{INNER}moment {number}"
        times = {which: Var(f"{INNER}{which} {number}") for which in ("start", "end")}
        args = [(f"y.{which}", time) for which, time in times.items()]
        when = list(times.items())
        for (mine, theirs), variable in alike.items():
            # Events that share a variable have no null there, so equal is identical.
            args += [(f"x.{mine}", Var(variable)), (f"y.{theirs}", Var(variable))]
            when.append((f"y.{theirs}", Var(variable)))
        timed = self._timed_event(cause, tuple(dict.fromkeys(theirs for _, theirs in common)))
        partner = And((_labelled(pair, name, args), _labelled(moment, timed, when)))
        conditions = [
            *_same_times(pair, asked.effect),
            *_same_times(moment, asked.cause),
            Call("<=", (TimeOf(asked.cause, "end"), TimeOf(asked.effect, "end"))),
            *self._same_values(pair, "x", asked.effect, effect),
            *self._same_values(pair, "y", asked.cause, cause),
        ]
        for mine, theirs in common:
            if (mine, theirs) not in alike:
                conditions += [
                    same(Attr(asked.effect, mine), Attr(asked.cause, theirs)),
                    same(Attr(moment, f"y.{theirs}"), Attr(asked.cause, theirs)),
                ]
        return _where(SemiJoin(pattern, partner, asked.span), conditions)

    def _without(self, pattern: Pattern, asked: CausedBy, view: RuleView) -> Pattern:
        found = self._pair_of(asked, view)
        if found is None:
            return pattern
        name, effect, cause = found
        pair = f"{INNER}pair {next(self._numbers)}"
        conditions = [
            Call("=", (TimeOf(pair, "start"), TimeOf(asked.effect, "start"))),
            *(
                Call("=", (Attr(pair, f"y.{which}"), _time(asked.cause, which)))
                for which in ("start", "end")
            ),
            *self._same_values(pair, "x", asked.effect, effect),
            *self._same_values(pair, "y", asked.cause, cause),
        ]
        absent = _where(_labelled(pair, name), conditions)
        none = Moments("other_than", (Ref(asked.effect),), (absent,), span=asked.span)
        return SemiJoin(pattern, none, asked.span)

    def _same_values(self, pair: str, side: str, label: str, event: str) -> Iterator[Expr]:
        """That the attributes of a pair are those of an event, nulls too."""
        for name in self.names[event]:
            yield same(Attr(pair, f"{side}.{name}"), Attr(label, name))

    def _pair_of(self, asked: CausedBy, view: RuleView) -> tuple[str, str, str] | None:
        """The auxiliary event for a question, the type of the effect and that of the cause."""
        effect, cause = (self._type_of(label, asked, view) for label in (asked.effect, asked.cause))
        if effect is None or cause is None:
            return None
        if effect not in self.rules_of:
            self.problems.error(
                asked.span,
                f"'{effect}' comes from outside, so nothing in the program is its cause",
                "the first label names a derived event, the second one that it was made of",
            )
        elif cause not in self.reach(effect):
            self.problems.error(
                asked.span,
                f"no '{effect}' is made of '{cause}', so this is never true",
                did_you_mean(cause, self.reach(effect), self._made_of(effect)),
            )
        else:
            return self.pair(effect, cause), effect, cause
        return None

    def _made_of(self, effect: str) -> str:
        known = sorted(each for each in self.reach(effect) if each not in self.auxiliary)
        return f"it is made of {', '.join(known)}"

    def _type_of(self, label: str, asked: CausedBy, view: RuleView) -> str | None:
        events = set()
        for definition in view.definitions.get(label, ()):
            pattern: Pattern = definition
            while isinstance(pattern, Label | Within | Where):
                pattern = pattern.pattern
            events.add(pattern.event if isinstance(pattern, Atom) else "")
        if len(events) == 1 and events != {""} and view.root.sees_label(label):
            return events.pop()
        self.problems.error(
            asked.span,
            f"'{label}' does not name one event of one type that occurs",
            f"label the event itself: {label}: event(…)",
        )
        return None

    def reach(self, effect: str) -> frozenset[str]:
        """The types of events that an event of a type can be made of, at any depth."""
        if effect not in self._reach:
            found: set[str] = set()
            waiting = [effect]
            for event in waiting:
                read = {
                    part.event for rule in self.rules_of.get(event, ()) for part in made_of(rule)
                }
                waiting += sorted(read - found - self.tables)
                found |= read - self.tables
            self._reach[effect] = frozenset(found)
        return self._reach[effect]

    # -- the auxiliary events

    def _timed_event(self, event: str, attributes: tuple[str, ...]) -> str:
        """An auxiliary event with the times of others as attributes, so that they can be joined on;
        and with those of their own attributes that go with them."""
        label = f"{INNER}e"
        terms = [HeadTerm(which, _time(label, which)) for which in ("start", "end")]
        terms += [HeadTerm(f"y.{each}", Attr(label, each)) for each in attributes]
        return self.auxiliary.event([Rule(OWN, tuple(terms), _labelled(label, event))])

    def pair(self, effect: str, cause: str) -> str:
        """The auxiliary event of which there is one for each effect of one type and its cause of
        another. What its rule says of the cause is nothing but types."""
        name, new = self.auxiliary.reserved(f"{effect!r} by {cause!r}")
        if new:
            label, (of_effect, of_cause) = f"{INNER}x", (self.schemas[e] for e in (effect, cause))
            told = [(a.name, a.type) for a in of_cause.attributes]
            told += [(which, TIMESTAMP) for which in ("start", "end")]
            terms = [HeadTerm(f"x.{each}", Attr(label, each)) for each in of_effect.names]
            terms += [HeadTerm(f"y.{each}", Const(None, kind)) for each, kind in told]
            self.auxiliary.define(name, [Rule(OWN, tuple(terms), _labelled(label, effect))])
            self.auxiliary.causes[name] = cause
        return name


def same(one: Expr, other: Expr) -> Expr:
    """That two values are identical, nulls too."""
    return Call("not", (Call("is distinct from", (one, other)),))


def _atoms(view: RuleView, label: str) -> list[Atom]:
    """The atoms that a label stands for, one for each place where it is defined."""
    parts = [list(walk(definition)) for definition in view.definitions.get(label, ())]
    return [part for inside in parts for part in inside if isinstance(part, Atom)]


def _labelled(label: str, event: str, args: Sequence[tuple[str, Var]] = ()) -> Label:
    return Label(label, Atom(event, tuple(args)), hidden=True)


def _time(label: str, which: str) -> TimeOf:
    return TimeOf(label, "start" if which == "start" else "end")


def _same_times(one: str, other: str) -> Iterator[Expr]:
    for which in ("start", "end"):
        yield Call("=", (_time(one, which), _time(other, which)))


def _where(pattern: Pattern, conditions: list[Expr]) -> Pattern:
    for condition in conditions:
        pattern = Where(pattern, condition)
    return pattern
