"""Where a pattern occurs: the patterns half of the oracle.

It is brute force over all combinations. To find the occurrences of a pattern:

1. *choose* an event for each of its atoms and a branch for each of its alternatives, in every way;
2. *bind* the variables and labels that these choices give, if they agree with each other;
3. ask at which *interval* the pattern, so chosen and bound, occurs, if at all.

Absence is asked the same way: whatever must be absent is looked for under the bindings at hand.

**Gates.** Absence, timers and time points are known only once time has passed. Whatever must have
passed is a gate of the match, and a match is reported when no gate lies after the horizon. A gate
never lies after the end of its match. So whatever is looked for inside a window that has passed has
itself no gate that has not, which is why the gates of absent or collected patterns need no asking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any, NamedTuple

from oracle_values import equal, evaluate, instant, order

from thence.logic.expr import (
    Aggregate,
    Attr,
    Call,
    CausedBy,
    Const,
    Expr,
    Folded,
    TimeOf,
    Var,
    conjuncts,
    has_aggregate,
    variables,
)
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
    Or,
    Par,
    Pattern,
    Ref,
    Repeat,
    Rule,
    SemanticWindow,
    Seq,
    Ticks,
    Timer,
    Until,
    Using,
    Where,
    While,
    Within,
    children,
)
from thence.logic.policy import UNRESTRICTED, Policy


@dataclass(frozen=True)
class Known(Expr):
    """A value that has been looked up already."""

    value: Any


def reads_previous(expr: Expr) -> bool:
    return isinstance(expr, Call) and (
        expr.function == "prev" or any(reads_previous(arg) for arg in expr.args)
    )


class Interval(NamedTuple):
    """From start to end, in microseconds; both belong to it."""

    start: int
    end: int


ALWAYS = Interval(float("inf"), -float("inf"))
"""The interval of a fact: it is inside nothing, and adds nothing to an interval that it joins."""


class Event(NamedTuple):
    """An event *is* its type, its attributes in declared order, and its interval."""

    type: str
    values: tuple[Any, ...]
    at: Interval


@dataclass(frozen=True)
class History:
    """All events known so far, the names of each type's attributes, the horizon and the rules.

    The horizon is None if nothing has been seen and no end was stated: then nothing is judged.
    """

    events: dict[str, set[Event]]
    names: dict[str, tuple[str, ...]]
    horizon: int | None
    rules: tuple[Rule, ...] = ()

    def attribute(self, event: Event, name: str) -> Any:
        return event.values[self.names[event.type].index(name)]


# --- 1. choose ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chosen(Pattern):
    """An atom, and the event chosen for it."""

    atom: Atom
    event: Event


@dataclass(frozen=True, eq=False)
class Nth(Pattern):
    """The n-th tick of an occurrence, counted from 0."""

    ticks: Ticks
    number: int


@dataclass(frozen=True, eq=False)
class Repeated(Pattern):
    """A repetition, and what is chosen for each time."""

    repeat: Repeat
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, eq=False)
class Judged(Pattern):
    """A pattern that is judged by itself, and one occurrence of it: an event like any other."""

    chosen: Pattern
    event: Event


def asserted(pattern: Pattern) -> tuple[Pattern, ...]:
    """The children of a pattern that must occur: not what is absent, nor what is collected."""
    match pattern:
        case Judged(chosen):
            return (chosen,)
        case While() | Repeated() | NoFact():
            return ()
        case Not(_, first, last):
            return (first, last)
        case SemanticWindow("notfollows" | "notprecedes", left):
            return (left,)
        case Moments(_, parts):
            return parts
        case Nth(ticks):
            return (ticks.pattern,)
    return children(pattern)


def with_asserted(pattern: Pattern, parts: tuple[Pattern, ...]) -> Pattern:
    """The pattern with other asserted children."""
    match pattern:
        case Seq() | And() | Moments():
            return replace(pattern, parts=parts)
        case Par() | Allen():
            return replace(pattern, left=parts[0], right=parts[1])
        case SemanticWindow("notfollows" | "notprecedes"):
            return replace(pattern, left=parts[0])
        case SemanticWindow():
            return replace(pattern, left=parts[0], right=parts[1])
        case Not():
            return replace(pattern, first=parts[0], last=parts[1])
        case Label() | Within() | Where():
            return replace(pattern, pattern=parts[0])
        case Until():
            return replace(pattern, pattern=parts[0], closing=parts[1])
    return pattern


def choices(pattern: Pattern, history: History) -> Iterator[Pattern]:
    """Every way to choose an event for each asserted atom and a branch for each alternative."""
    match pattern:
        case Atom():
            for event in history.events[pattern.event]:
                yield Chosen(pattern, event)
        case Repeat(inner, least):
            for chain in chains(sorted_choices(inner, history)):
                if chain or least == 0:
                    yield Repeated(pattern, chain)
        case Using() | Moments("periodic"):
            from oracle_judged import by_itself  # each asks the other

            for scope, chosen, at in by_itself(pattern, history):
                yield Judged(chosen, Event("#", tuple(scope.variables.values()), at))
        case Or(parts):
            for part in parts:
                yield from choices(part, history)
        case AnyOne(parts):
            for part in parts:
                for chosen in choices(part, history):
                    yield AnyOne((chosen,))
        case Ticks(inner, period, reach):
            for chosen in choices(inner, history):
                for number in range(reach // period + 1):
                    yield Nth(replace(pattern, pattern=chosen), number)
        case _:
            for parts in product(*(choices(part, history) for part in asserted(pattern))):
                yield with_asserted(pattern, parts)


def sorted_choices(pattern: Pattern, history: History) -> list[Pattern]:
    """What a repetition can be of; what is more than one event is judged by itself."""
    if not isinstance(bare(pattern), Atom):
        pattern = by_itself_inside(pattern)
    return sorted(choices(pattern, history), key=lambda chosen: bare(chosen).event.at)


def by_itself_inside(pattern: Pattern) -> Pattern:
    """A pattern that is judged by itself, with the conditions around it left where they are."""
    if isinstance(pattern, Where):
        return replace(pattern, pattern=by_itself_inside(pattern.pattern))
    return Using(pattern, UNRESTRICTED)


def chains(events: list[Pattern]) -> Iterator[tuple[Pattern, ...]]:
    """Every row of events in which each starts after the one before has ended, none included."""
    yield ()
    for number, chosen in enumerate(events):
        end = bare(chosen).event.at.end
        rest = [other for other in events[number + 1 :] if bare(other).event.at.start > end]
        for chain in chains(rest):
            yield (chosen, *chain)


# --- 2. bind --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    """What the choices give: values of variables and, for each label, the pattern it names.

    A label's pattern comes with the scope it belongs to, for what is absent or collected sees the
    labels outside it. ``gates`` and ``collected`` are found out while the interval is asked.
    """

    history: History
    variables: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, tuple[Pattern, Scope]] = field(default_factory=dict)
    definitions: list[Expr] = field(default_factory=list)
    gates: list[int] = field(default_factory=list)
    policy: Policy = UNRESTRICTED
    shared: frozenset[str] = frozenset()
    """The variables that have one value for all repetitions."""
    joining: frozenset[str] = frozenset()
    """The variables that several parts of the rule have."""
    previous: Scope | None = None
    repeated: dict[Repeat, list[tuple[Scope, Pattern, Interval]]] = field(default_factory=dict)
    having: list[Expr] = field(default_factory=list)
    collected: dict[Pattern, list[tuple[Scope, Pattern, Interval]]] = field(default_factory=dict)

    def value(self, expr: Expr) -> Any:
        return evaluate(self._without_previous(expr), self._leaf)

    def _without_previous(self, expr: Expr) -> Expr:
        """An expression with what it reads of the repetition before already looked up."""
        match expr:
            case Call("prev", (inner,)):
                assert self.previous is not None
                return Known(self.previous.value(inner))
            case Call(_, args):
                return replace(expr, args=tuple(self._without_previous(arg) for arg in args))
        return expr

    def fold(self, aggregate: Aggregate) -> Any:
        from oracle import over_repetitions

        return over_repetitions(aggregate, self)

    def place(self, label: str) -> Interval | None:
        pattern, home = self.labels[label]
        return interval(pattern, home)

    def _leaf(self, expr: Expr) -> Any:
        match expr:
            case Known(value):
                return value
            case Folded(aggregate):
                return self.fold(aggregate)
            case Var(name):
                return self.variables[name]
            case CausedBy(effect, cause):
                from oracle_causes import caused  # each asks the other

                events = (the_event(self.labels[label][0]) for label in (effect, cause))
                return caused(*events, self.history)
            case TimeOf(label, which):
                place = self.place(label)
                return None if place is None else instant(getattr(place, which))
            case Attr(label, name):
                event = the_event(self.labels[label][0])
                return None if event is None else self.history.attribute(event, name)
        raise AssertionError(expr)


def bind(chosen: Pattern, outer: Scope) -> Scope | None:
    """The scope that the choices give inside another one; None if they disagree."""
    scope = replace(
        outer,
        variables=dict(outer.variables),
        labels=dict(outer.labels),
        definitions=[],
        gates=[],
        repeated={},
        having=[],
        collected={},
        previous=None,
    )
    nodes = list(walk_asserted(chosen))
    named = {id(bare(node.pattern)): node.name for node in nodes if isinstance(node, Label)}
    bound_by: dict[str, tuple[Any, str]] = {}
    for node in nodes:
        if isinstance(node, Chosen):
            for name, term in node.atom.args:
                if isinstance(term, Var):
                    value = scope.history.attribute(node.event, name)
                    # One attribute of one event, under one label written twice, binds once.
                    origin = (named.get(id(node), id(node)), name)
                    if term.name in scope.variables and bound_by.get(term.name) != origin:
                        if equal(scope.variables[term.name], value) is not True:
                            return None
                    scope.variables[term.name] = value
                    bound_by[term.name] = origin
        elif isinstance(node, Label):
            scope.labels.setdefault(node.name, (node.pattern, scope))
        elif isinstance(node, Repeated):
            for part in node.parts:
                for inner in walk_asserted(part):
                    if isinstance(inner, Chosen) and not share(inner, scope):
                        return None
    conditions = [c for node in nodes if isinstance(node, Where) for c in conjuncts(node.condition)]
    while any(define(condition, scope) for condition in conditions):
        pass
    return scope


def share(chosen: Chosen, scope: Scope) -> bool:
    """Bind the variables that all repetitions share; whether they agree."""
    for name, term in chosen.atom.args:
        if isinstance(term, Var) and term.name in scope.shared:
            value = scope.history.attribute(chosen.event, name)
            if term.name in scope.variables:
                if equal(scope.variables[term.name], value) is not True:
                    return False
            scope.variables[term.name] = value
    return True


def define(condition: Expr, scope: Scope) -> bool:
    """``c = a + b`` with ``c`` unbound binds it, once ``a`` and ``b`` are bound."""
    if isinstance(condition, Call) and condition.function == "=":
        for target, source in (condition.args, condition.args[::-1]):
            if isinstance(target, Var) and target.name not in scope.variables:
                if variables(source) <= scope.variables.keys():
                    scope.variables[target.name] = scope.value(source)
                    scope.definitions.append(condition)
                    return True
    return False


def walk_asserted(pattern: Pattern) -> Iterator[Pattern]:
    yield pattern
    for part in asserted(pattern):
        yield from walk_asserted(part)


def walk_events(pattern: Pattern) -> Iterator[Pattern]:
    """The same, and what is chosen for each repetition."""
    for node in walk_asserted(pattern):
        yield node
        if isinstance(node, Repeated):
            for part in node.parts:
                yield from walk_events(part)


def the_event(pattern: Pattern) -> Event | None:
    """The event that a label names, if it names one event and not a combination."""
    pattern = bare(pattern)
    return pattern.event if isinstance(pattern, Chosen) else None


def bare(pattern: Pattern) -> Pattern:
    """A pattern without the labels and conditions around it."""
    while isinstance(pattern, (Label, Where, Within)):
        pattern = pattern.pattern
    return pattern


# --- 3. the interval ------------------------------------------------------------------------------


def occurrences(pattern: Pattern, outer: Scope) -> Iterator[tuple[Scope, Pattern, Interval]]:
    """Every occurrence of a pattern that agrees with the bindings outside it."""
    for chosen in choices(pattern, outer.history):
        scope = bind(chosen, outer)
        if scope is not None:
            at = interval(chosen, scope)
            if at is not None:
                yield scope, chosen, at


def interval(pattern: Pattern, scope: Scope) -> Interval | None:
    """Where a chosen pattern occurs, if it does: DESIGN's table of operators, line by line."""
    match pattern:
        case Chosen(atom, event):
            for name, term in atom.args:
                if not isinstance(term, Var):
                    if equal(scope.history.attribute(event, name), scope.value(term)) is not True:
                        return None
            return event.at
        case Judged(_, event):
            return event.at
        case Label(name, inner):
            named, home = scope.labels[name]
            if named is not inner and not same(inner, scope, named, home):
                return None
            return interval(inner, scope)
        case Ref(label):
            return scope.place(label)
        case Where(inner, condition):
            for part in conjuncts(condition):
                if has_aggregate(part):
                    scope.having.append(part)
                elif reads_previous(part) and scope.previous is None:
                    continue
                elif part not in scope.definitions and scope.value(part) is not True:
                    return None
                match part:
                    case Call("not", (CausedBy(effect),)):  # no cause is known once all are
                        scope.gates.append(scope.place(effect).end)
            return interval(inner, scope)
        case Repeated():
            return repetition(pattern, scope)
        case Until(inner, closing):
            whole = sequence([inner, closing], scope)
            at1, at2 = interval(inner, scope), interval(closing, scope)
            if whole is None:
                return None
            scope.gates.append(at2.start)
            alike = occurrences(unchosen(closing), alone(scope))
            return None if any(inside(at, at1.start, at2.start) for _, _, at in alike) else whole
        case Within(inner, limit):
            at = interval(inner, scope)
            return at if at is not None and at.end - at.start <= limit else None
        case At(time):
            scope.gates.append(time)
            return Interval(time, time)
        case Timer(of):
            return timer(pattern, scope.place(of), scope)
        case Seq(parts):
            return sequence(list(parts), scope)
        case And(parts):
            if not all(judged(part, scope) for part in parts if isinstance(part, While)):
                return None
            return span([interval(part, scope) for part in parts if not isinstance(part, While)])
        case NoFact(inner):
            return None if any(occurrences(inner, scope)) else ALWAYS
        case Par(left, right):
            at1, at2 = interval(left, scope), interval(right, scope)
            if at1 is None or at2 is None:
                return None
            return span([at1, at2]) if max(at1.start, at2.start) < min(at1.end, at2.end) else None
        case Allen(relation, left, right):
            at1, at2 = interval(left, scope), interval(right, scope)
            if at1 is None or at2 is None or not allen(relation, at1, at2):
                return None
            return span([at1, at2])
        case Not(absent, first, last):
            at1, at2 = interval(first, scope), interval(last, scope)
            if at1 is None or at2 is None or not at1.end < at2.start:
                return None
            scope.gates.append(at2.start)
            if any(inside(at, at1.end, at2.start) for _, _, at in occurrences(absent, scope)):
                return None
            return span([at1, at2])
        case AnyOne((inner,)):
            at = interval(inner, scope)
            return None if at is None else Interval(at.end, at.end)
        case Nth(ticks, number):
            at = interval(ticks.pattern, scope)
            if at is None:
                return None
            first = at.end + -at.end % ticks.period  # the first whole multiple from there on
            time = first + number * ticks.period
            scope.gates.append(time)
            return Interval(time, time) if time < at.end + ticks.reach else None
        case SemanticWindow(operator, left, right, limit):
            time = semantic_window(operator, left, right, limit, scope)
            return None if time is None else Interval(time, time)
        case Moments():
            time = moment(pattern, scope)
            return None if time is None else Interval(time, time)
    raise AssertionError(pattern)


def sequence(parts: list[Pattern], scope: Scope) -> Interval | None:
    """One after another; where the policy is strict, with nothing of either's kind between."""
    flat = [inner for part in parts for inner in flattened(part)]
    present = [p for p in flat if not (isinstance(p, Repeated) and not p.parts)]
    empty = [p for p in flat if isinstance(p, Repeated) and not p.parts]
    if any(repetition(part, scope, may_be_empty=True) is None for part in empty):
        return None
    ats = [interval(part, scope) for part in present]
    if None in ats or not all(a.end < b.start for a, b in pairwise(ats)):
        return None
    if scope.policy.strict:
        for (one, a), (other, b) in pairwise(zip(present, ats, strict=True)):
            scope.gates.append(b.start)
            for part in (one, other):
                if between(kind(part, scope), a.end, b.start, scope):
                    return None
    return span(ats)


def flattened(pattern: Pattern) -> list[Pattern]:
    if isinstance(pattern, Seq):
        return [inner for part in pattern.parts for inner in flattened(part)]
    return [pattern]


def repetition(pattern: Repeated, scope: Scope, may_be_empty: bool = False) -> Interval | None:
    """From the first to the last, if each fulfils its conditions and follows the one before."""
    repeat, most = pattern.repeat, pattern.repeat.most
    size = len(pattern.parts)
    if not scope.policy.greedy and (size < repeat.least or (most is not None and size > most)):
        return None
    found: list[tuple[Scope, Pattern, Interval]] = []
    for part in pattern.parts:
        inner = bind(part, scope)
        if inner is None:
            return None
        inner = replace(inner, previous=found[-1][0] if found else None)
        at = interval(part, inner)
        if at is None:
            return None
        if found and scope.policy.strict:
            if between(kind(part, scope), found[-1][2].end, at.start, scope):
                return None
        found.append((inner, part, at))
    scope.repeated[repeat] = found
    if not found:
        return Interval(0, 0) if may_be_empty else None
    return span([at for _, _, at in found])


def kind(pattern: Pattern, scope: Scope) -> Pattern | None:
    """What stands for all events of a part's kind: with its constants, and with those of its
    variables that other parts have too."""
    if isinstance(pattern, Repeated):
        pattern = pattern.parts[0]
    pattern = bare(pattern)
    if isinstance(pattern, Judged):
        return unchosen(pattern.chosen)
    if not isinstance(pattern, Chosen):
        return None
    args = [
        (name, term)
        for name, term in pattern.atom.args
        if isinstance(term, Const) or (isinstance(term, Var) and term.name in scope.joining)
    ]
    return Atom(pattern.atom.event, tuple(args))


def between(pattern: Pattern | None, start: int, end: int, scope: Scope) -> bool:
    """Whether something lies strictly between two times."""
    if pattern is None:
        return False
    return any(inside(at, start, end) for _, _, at in occurrences(pattern, alone(scope)))


def alone(scope: Scope) -> Scope:
    """A scope that knows only the variables that several parts of the rule have."""
    known = {name: value for name, value in scope.variables.items() if name in scope.joining}
    return replace(scope, variables=known)


def unchosen(pattern: Pattern) -> Pattern:
    """The pattern of which events were chosen."""
    if isinstance(pattern, Chosen):
        return pattern.atom
    return with_asserted(pattern, tuple(unchosen(part) for part in asserted(pattern)))


def names_of(rule: Rule) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that have one value for all repetitions, and those that several atoms have."""
    inside_of: list[set[str]] = []
    outside: set[str] = set()
    everywhere: list[str] = []

    def visit(pattern: Pattern, own: set[str] | None) -> None:
        if isinstance(pattern, Repeat) and own is None:
            own = set()
            inside_of.append(own)
        if isinstance(pattern, Atom):
            names = {term.name for _, term in pattern.args if isinstance(term, Var)}
            everywhere.extend(names)
            (outside if own is None else own).update(names)
        for part in children(pattern):
            visit(part, own)

    visit(rule.body, None)
    for term in rule.terms:
        if isinstance(term.value, Expr):
            outside |= variables(term.value)
    repeated = [name for own in inside_of for name in own]
    shared = {name for name in repeated if name in outside or repeated.count(name) > 1}
    joining = shared | {name for name in everywhere if everywhere.count(name) > 1}
    return frozenset(shared), frozenset(joining)


def span(ats: list[Interval | None]) -> Interval | None:
    """From the first start to the last end, if all of them occur."""
    if any(at is None for at in ats):
        return None
    return Interval(min(at.start for at in ats), max(at.end for at in ats))


def inside(at: Interval, start: int, end: int) -> bool:
    return start < at.start and at.end < end


def same(a: Pattern, a_scope: Scope, b: Pattern, b_scope: Scope) -> bool:
    """Whether two things of one label are one and the same event."""
    return the_event(a) == the_event(b) and interval(a, a_scope) == interval(b, b_scope)


def timer(timer: Timer, of: Interval | None, scope: Scope) -> Interval | None:
    if of is None:
        return None
    start = getattr(of, timer.start_anchor) + timer.start_shift
    end = getattr(of, timer.end_anchor) + timer.end_shift
    scope.gates.append(end)
    return Interval(start, end) if start <= end else None


def allen(relation: str, a: Interval, b: Interval) -> bool:
    """The thirteen relations; seven as the papers give them, six with the sides exchanged."""
    inverse = {
        "after": "before",
        "met_by": "meets",
        "contains": "during",
        "started_by": "starts",
        "finished_by": "finishes",
        "overlapped_by": "overlaps",
    }
    if relation in inverse:
        return allen(inverse[relation], b, a)
    return {
        "equals": a.start == b.start and a.end == b.end,
        "before": a.end < b.start,
        "meets": a.end == b.start,
        "during": b.start < a.start and a.end < b.end,
        "starts": a.start == b.start and a.end < b.end,
        "finishes": b.start < a.start and a.end == b.end,
        "overlaps": a.start < b.start < a.end < b.end,
    }[relation]


def semantic_window(
    operator: str, left: Pattern, right: Pattern, d: int, scope: Scope
) -> int | None:
    """The point at which a window operator of paper 0 occurs; ``t`` is the end of an occurrence."""
    at1 = interval(left, scope)
    if at1 is None:
        return None
    t1 = at1.end
    if operator == "notfollows":
        scope.gates.append(t1 + d)
        found = any(t1 < at.end <= t1 + d for _, _, at in occurrences(right, scope))
        return None if found else t1 + d
    if operator == "notprecedes":
        scope.gates.append(t1)
        found = any(t1 - d <= at.end < t1 for _, _, at in occurrences(right, scope))
        return None if found else t1
    at2 = interval(right, scope)
    if at2 is None:
        return None
    t2 = at2.end
    if operator == "follows":
        return t2 if t1 < t2 <= t1 + d else None
    if operator == "precedes":
        return t1 if t1 - d <= t2 < t1 else None
    assert operator == "both"
    return max(t1, t2) if abs(t1 - t2) <= d else None


def moment(pattern: Moments, scope: Scope) -> int | None:
    """The point at which an operator of SNOOP or COMPOSE occurs, as paper 0 writes each down."""
    ats = [interval(part, scope) for part in pattern.parts]
    if None in ats:
        return None
    times = [at.end for at in ats]
    t1, t = times[0], times[-1]

    def absent(which: int, first: int, last: int) -> bool:
        scope.gates.append(t)
        found = occurrences(pattern.absent[which], scope)
        return not any(first <= at.end <= last for _, _, at in found)

    match pattern.operator:
        case "then":  # (E1; E2)(t): E1(t1), E2(t), t1 <= t
            holds = all(a <= b for a, b in pairwise(times))
        case "prior":  # F after E
            holds = all(a < b for a, b in pairwise(times))
        case "relative+":  # the union of all relative^i(E): E is one of them, and all end with an E
            holds = True
        case "simultaneous":  # E and F at one time
            holds = len(set(times)) == 1
        case "immediately":  # F after E, and nothing in between
            holds = t1 < t and absent(0, t1 + 1, t - 1)
        case "other_than":  # an event, and no E at its time
            holds = absent(0, t, t)
        case "aperiodic":  # A(E1, E2, E3)(t): t1 <= t, and no E3 with t1 <= t2 < t
            holds = t1 <= t and absent(0, t1, t - 1)
        case "aperiodic*":  # A*(E1, E2, E3)(t): t1 <= t, over all E2 from t1 to t
            holds = t1 <= t
            scope.gates.append(t)
            found = occurrences(pattern.collected[0], scope)
            scope.collected[pattern] = [one for one in found if t1 <= one[2].end <= t]
        case "without":  # E3(t), no E2 at t; and neither E2 nor E3 with t1 <= t2 < t
            holds = t1 <= t and absent(0, t1, t) and absent(1, t1, t - 1)
        case "periodic*":  # P*(E1, [T], E2)(t): t1 + T <= t
            holds = t1 + pattern.limit <= t
        case other:
            raise AssertionError(other)
    return t if holds else None


def judged(part: While, scope: Scope) -> bool:
    """Whether ``while w: not p`` or ``while w: collect p`` holds."""
    window = scope.place(part.window)
    if window is None:
        return False
    scope.gates.append(window.end)
    found = occurrences(part.pattern, scope)
    if part.over:
        found = [(s, p, at) for s, p, at in found if ends_in(at, window.end, part.reach)]
        found = last_of(found, part, scope)
    else:
        found = [(s, p, at) for s, p, at in found if inside(at, *window)]
    if part.mode == "not":
        return not found
    scope.collected[part] = found
    return bool(found)


def ends_in(at: Interval, end: int, reach: int | None) -> bool:
    """Whether something ends up to a time, less than so long before it."""
    return at.end <= end and (reach is None or end - reach < at.end)


Found = tuple[Scope, Pattern, Interval]


def last_of(found: list[Found], part: While, outer: Scope) -> list[Found]:
    """Of what is collected, the last events by end, start and attributes; all ways to each."""
    if part.rows is None:
        return found

    def event(one: Found) -> tuple[Any, ...]:
        scope, chosen, at = one
        return at.end, at.start, order(identity(part.pattern, chosen, scope, outer))

    last = sorted(set(map(event, found)))[-part.rows :]
    return [one for one in found if event(one) in last]


def identity(pattern: Pattern, chosen: Pattern, inner: Scope, outer: Scope) -> tuple[Any, ...]:
    """What tells collected events of one interval apart: the attributes of a simple event, the
    variables of a compound one (null where the branch taken leaves one unbound)."""
    if isinstance(bare(pattern), Atom):
        return bare(chosen).event.values
    names = dict.fromkeys(own_variables(pattern, outer))
    return tuple(inner.variables.get(name) for name in names)


def own_variables(pattern: Pattern, outer: Scope) -> Iterator[str]:
    """The variables that a pattern binds, by arguments or by definitions, in order."""
    for node in walk_asserted(pattern):
        if isinstance(node, Atom):
            yield from (term.name for _, term in node.args if isinstance(term, Var))
        elif isinstance(node, Where):
            yield from sorted(variables(node.condition) - outer.variables.keys())
