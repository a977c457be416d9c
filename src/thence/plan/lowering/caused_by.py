"""``caused_by(x, y)``: whether ``y`` is among the events that ``x`` was made of, at any depth.

What ``x`` can be made of is written in the rules that derive it. So for each pair of types that a
program asks about there is an auxiliary event, at the interval of the effect, whose attributes are
those of the effect, those of a cause, and its times. Its rules are the effect's own: once for each
event in them that is such a cause itself, and once for each that was made of one in turn. The
condition then is a join with that event; negated, its absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from thence.logic.alternatives import TooManyAlternatives
from thence.logic.auxiliary import OWN, Auxiliary, canonical
from thence.logic.changes import changed
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, view_of
from thence.logic.common_attributes import Shared, Way, same_variable, shared_attributes
from thence.logic.conjunct import INNER
from thence.logic.derivations import Derivation, derivations
from thence.logic.expr import Aggregate, Attr, Call, CausedBy, Expr, TimeOf, Var, conjuncts, read_by
from thence.logic.ops import (
    And,
    AnyOne,
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    Or,
    Pattern,
    Ref,
    Rule,
    SemiJoin,
    Where,
    While,
    Within,
    exprs_of,
    walk,
)
from thence.logic.policy import UNRESTRICTED
from thence.logic.scope import positive_parts
from thence.model.source import Span
from thence.model.suggestions import did_you_mean


def with_causes(program: LogicProgram, auxiliary: Auxiliary) -> LogicProgram:
    """The same program, with joins in the place of ``caused_by`` and the auxiliary rules they need.

    The program is one that was checked and has no patterns with rules of their own. Raises a
    CheckError where a cause cannot be asked for.
    """
    if not any(map(_asks, program.rules)):
        return program
    causes = _Causes(program, auxiliary)
    for event in auxiliary.events:
        auxiliary.define(event, map(causes.answered, auxiliary.rules_of(event)))
    rules = [causes.answered(rule) for rule in program.rules if rule.event not in auxiliary]
    causes.problems.raise_if_any()
    return replace(program, rules=(*rules, *auxiliary.rules))


def _asks(rule: Rule) -> bool:
    return any(isinstance(leaf, CausedBy) for expr in exprs_of(rule) for leaf in read_by(expr))


@dataclass(slots=True)
class _Causes:
    """The auxiliary rules that a program needs, made as they are asked for."""

    program: LogicProgram
    auxiliary: Auxiliary
    problems: Problems = field(init=False)
    names: dict[str, tuple[str, ...]] = field(init=False)
    rules_of: dict[str, list[Rule]] = field(init=False)
    _reach: dict[str, frozenset[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.problems = Problems(self.program.source)
        self.names = {event.name: event.names for event in self.program.events}
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
        common = sorted({*self._shared(effect, cause), *alike})
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
            return self.pair(effect, cause, asked.span), effect, cause
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
            found: dict[str, None] = {}
            waiting = [effect]
            for event in waiting:
                for rule in self.rules_of.get(event, ()):
                    for derivation in self._makings(rule):
                        events = [atom.event for _, atom in derivation.atoms]
                        fresh = [
                            e for e in (*events, *sorted(derivation.repeated)) if e not in found
                        ]
                        found |= dict.fromkeys(fresh)
                        waiting += dict.fromkeys(fresh)
            self._reach[effect] = frozenset(found)
        return self._reach[effect]

    def _makings(self, rule: Rule) -> list[Derivation]:
        """The ways in which a rule makes results, of events."""
        tables = self.program.looked_up
        try:
            found = derivations(rule)
        except TooManyAlternatives:
            return []
        return [
            replace(each, atoms=tuple(part for part in each.atoms if part[1].event not in tables))
            for each in found
        ]

    # -- the auxiliary events

    def _timed_event(self, event: str, attributes: tuple[str, ...]) -> str:
        """An auxiliary event with the times of others as attributes, so that they can be joined on;
        and with those of their own attributes that go with them."""
        label = f"{INNER}e"
        terms = [HeadTerm(which, _time(label, which)) for which in ("start", "end")]
        terms += [HeadTerm(f"y.{each}", Attr(label, each)) for each in attributes]
        return self.auxiliary.event([Rule(OWN, tuple(terms), _labelled(label, event))])

    def _shared(self, effect: str, cause: str) -> Shared:
        """What an effect of a type always has in common with its causes of another."""

        found: dict[str, list[Way]] = {}

        def ways(event: str) -> list[Way]:
            if event not in found:
                rules = self.rules_of.get(event, ())
                found[event] = [(rule, self._makings(rule)) for rule in rules]
            return found[event]

        return shared_attributes(effect, cause, ways, self.reach, self.names)

    def pair(self, effect: str, cause: str, span: Span) -> str:
        """The auxiliary event of which there is one for each effect of one type and its cause of
        another."""
        # Pairs may be of pairs of themselves, so they have a name before they have rules.
        name, new = self.auxiliary.reserved(f"{effect!r} by {cause!r}")
        found: list[Rule] = []
        for rule in self.rules_of[effect] if new else ():
            if not self._can_look_into(rule, span):
                continue
            self._check_repeated(rule, cause, span)
            self._check_counted(rule, cause, span)
            for derivation in self._makings(rule):
                results = self._results(rule) if derivation.group else None
                for label, atom in derivation.atoms:
                    if atom.event == cause:
                        found.append(self._pair(derivation, label, derivation.body, results, rule))
                    if cause in self.reach(atom.event):
                        found += self._pair_through(cause, derivation, (label, atom), results, rule)
        if new:
            self.auxiliary.define(name, found)
        return name

    def _results(self, rule: Rule) -> str:
        """The event for the results of one rule of an event."""
        name, new = self.auxiliary.reserved(f"results of {canonical([rule])}")
        if new:
            self.auxiliary.define(name, [self.answered(rule)])
        return name

    def _check_repeated(self, rule: Rule, cause: str, span: Span) -> None:
        """Refuse to look for a cause among repetitions."""
        for derivation in self._makings(rule):
            for event in sorted(derivation.repeated):
                if event == cause or cause in self.reach(event):
                    self.problems.error(
                        span,
                        f"'{rule.event}' repeats '{event}', and causes cannot be asked for among "
                        "repetitions",
                        "ask for the events around them, or collect instead of repeating",
                    )

    def _check_counted(self, rule: Rule, cause: str, span: Span) -> None:
        """Refuse to look for a cause among so many rows: which those are, no pattern says."""
        for part in walk(rule.body):
            if isinstance(part, While) and part.mode == "collect" and part.rows is not None:
                for event in sorted({a.event for a in walk(part.pattern) if isinstance(a, Atom)}):
                    if event == cause or cause in self.reach(event):
                        self.problems.error(
                            span,
                            f"'{rule.event}' collects the last {part.rows} '{event}', and causes "
                            "cannot be asked for among a number of rows",
                            "collect over a duration instead, `over 10 s of …`, or ask for the "
                            "event that the window looks back from",
                        )

    def _can_look_into(self, rule: Rule, span: Span) -> bool:
        """Whether a rule's own body tells what its results are made of."""
        policy = rule.policy
        collecting = any(derivation.group for derivation in self._makings(rule))
        choosing = any(isinstance(p, Or | AnyOne) and len(p.parts) > 1 for p in walk(rule.body))
        if policy == UNRESTRICTED or not (policy.merges or collecting or choosing):
            return True
        why = "merges matches" if policy.merges else "chooses among what it collects"
        if not policy.merges and not collecting:
            why = "chooses among alternatives"
        self.problems.error(
            span,
            f"the policy of '{rule.event}' {why}, so its causes cannot be asked for",
            "give what it chooses from a rule of its own",
        )
        return False

    def _pair(
        self,
        derivation: Derivation,
        cause: str,
        body: Pattern,
        results: str | None,
        rule: Rule,
        through: str | None = None,
    ) -> Rule:
        """A rule of a pair: the effect's own, with the values of the cause in the head. They are
        those of an event, or, ``through`` one that it was made of in turn, of that one's pair."""
        group = f"{INNER}group"
        shown = list(zip(self.names[rule.event], rule.terms, strict=True))
        values = {each: Attr(group, each) if results else term.value for each, term in shown}
        if results is not None:
            whole = f"{INNER}whole"
            plain = [(n, t.value) for n, t in shown if not isinstance(t.value, Aggregate)]
            body = _where(
                SemiJoin(Label(whole, body, hidden=True), _labelled(group, results)),
                [
                    *_same_times(group, whole),
                    *(same(Attr(group, each), value) for each, value in plain),
                ],
            )
        terms = [HeadTerm(f"x.{each}", value) for each, value in values.items()]
        event = through or derivation.event(cause)
        for each in self.names[event]:
            read = Attr(cause, f"y.{each}" if through else each)
            terms.append(HeadTerm(f"y.{each}", read))
        for which in ("start", "end"):
            time = Attr(cause, f"y.{which}") if through else _time(cause, which)
            terms.append(HeadTerm(f"y.{which}", time))
        return self.answered(Rule(OWN, tuple(terms), body, rule.span, rule.head_span, rule.policy))

    def _pair_through(
        self,
        cause: str,
        derivation: Derivation,
        part: tuple[str, Atom],
        results: str | None,
        rule: Rule,
    ) -> Iterator[Rule]:
        """A rule of a pair by way of an event between effect and cause."""
        label, atom = part
        if rule.policy != UNRESTRICTED:
            self.problems.error(
                rule.policy.span,
                f"the policy of '{rule.event}' chooses before it is known what '{atom.event}' was "
                "made of, so causes behind that cannot be asked for",
                "give what it chooses from a rule of its own",
            )
            return
        between = f"{INNER}between"
        pair = self.pair(atom.event, cause, atom.span)
        joined = _where(
            SemiJoin(derivation.body, _labelled(between, pair)),
            [
                *_same_times(between, label),
                *(same(Attr(between, f"x.{n}"), Attr(label, n)) for n in self.names[atom.event]),
            ],
        )
        yield self._pair(derivation, between, joined, results, rule, through=cause)


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
