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
from itertools import product
from typing import Any

from oracle_history import ALWAYS, INFINITY, Event, History, Interval, types_in
from oracle_values import equal, evaluate, instant

from thence.logic.expr import (
    Aggregate,
    Attr,
    Call,
    CausedBy,
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
    Seq,
    Ticks,
    Timer,
    Until,
    Using,
    Where,
    While,
    Within,
    children,
    with_parts,
)
from thence.logic.ops import inside as held_by
from thence.logic.policy import UNRESTRICTED, Policy
from thence.logic.roles import role


@dataclass(frozen=True)
class Known(Expr):
    """A value that has been looked up already."""

    value: Any


def reads_previous(expr: Expr) -> bool:
    return isinstance(expr, Call) and (
        expr.function == "prev" or any(reads_previous(arg) for arg in expr.args)
    )


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
    parts: tuple[Pattern, ...] = field(metadata=role("copy"))


@dataclass(frozen=True, eq=False)
class Judged(Pattern):
    """A pattern that is evaluated on its own, and one occurrence of it: an event like any other.

    ``variables`` and ``labels`` are what the occurrence binds for others, ``repeated`` what
    aggregates around it may be over, ``chosen`` what it is made of, and ``history`` what it was
    judged on.
    """

    pattern: Pattern = field(metadata=role("copy"))
    event: Event
    variables: dict[str, Any]
    labels: dict[str, tuple[Pattern, Scope]] = field(metadata=role("copy"))
    repeated: dict[Repeat, list[tuple[Scope, Pattern, Interval]]] = field(metadata=role("copy"))
    chosen: Pattern = field(metadata=role("copy"))
    history: History


def asserted(pattern: Pattern) -> tuple[Pattern, ...]:
    """The children of a pattern that must occur: not what is absent, nor what is collected."""
    if isinstance(pattern, Nth):
        return (pattern.ticks.pattern,)
    return tuple(part for role, part in held_by(pattern) if role in ("part", "repeated"))


def with_asserted(pattern: Pattern, parts: tuple[Pattern, ...]) -> Pattern:
    """The pattern with other asserted children."""
    if isinstance(pattern, Until):
        pattern = replace(pattern, another=pattern.closing)
    return with_parts(pattern, parts)


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
        case Using() | Moments("periodic"):  # whatever stands around it
            yield from judged(pattern, history.whole or history)
        case Moments("relative+", (inner,)) if not only_adds(inner):
            for left in history.cuts():
                yield from judged(pattern, left)
        case Moments("relative", (first, *rest)):
            later = replace(history, cut=True)
            for parts in product(choices(first, history), *(choices(p, later) for p in rest)):
                yield with_asserted(pattern, parts)
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


def judged(pattern: Pattern, history: History) -> Iterator[Judged]:
    from oracle_judged import by_itself, handed_out, read_outside  # each asks the other

    for scope, chosen, at in by_itself(pattern, history):
        values = handed_out(pattern, scope)
        event = Event("#", (*values.values(), *read_outside(pattern, scope)), at)
        yield Judged(pattern, event, values, scope.labels, scope.repeated, chosen, history)


def only_adds(pattern: Pattern) -> bool:
    """Whether a pattern occurs in a longer history wherever it does in a shorter one. What has
    a rule of its own or is repeated are events; and what follows an event has its own history."""
    match pattern:
        case Using() | Repeat() | Moments("periodic"):
            return True
        case Not() | While() | Until():
            return False
        case Moments("relative", (first, *_)):
            return only_adds(first)
        case Moments() if pattern.absent or pattern.collected:
            return False
    return all(map(only_adds, children(pattern)))


def sorted_choices(pattern: Pattern, history: History) -> list[Pattern]:
    """What a repetition can be of; what is more than one event is evaluated on its own."""
    if not isinstance(bare(pattern), Atom):
        pattern = by_itself_inside(pattern)
    return sorted(choices(pattern, history), key=lambda chosen: bare(chosen).event.at)


def by_itself_inside(pattern: Pattern) -> Pattern:
    """A pattern that is evaluated on its own, with the conditions around it left where they are."""
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
    labels outside it. ``gates``, ``looked`` and ``collected`` are found out while the interval is
    asked.
    """

    history: History
    variables: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, tuple[Pattern, Scope]] = field(default_factory=dict)
    definitions: list[Expr] = field(default_factory=list)
    gates: list[int] = field(default_factory=list)
    looked: set[str] = field(default_factory=set)
    """The types that windows of the match look at."""
    waits: list[tuple[float, set[str]]] = field(default_factory=list)
    """Up to when which types must have been seen, for what a table holds to be known."""
    policy: Policy = UNRESTRICTED
    shared: frozenset[str] = frozenset()
    """The variables that have one value for all repetitions."""
    joining: frozenset[str] = frozenset()
    """The variables that several parts of the rule have."""
    previous: Scope | None = None
    repeated: dict[Repeat, list[tuple[Scope, Pattern, Interval]]] = field(default_factory=dict)
    having: list[Expr] = field(default_factory=list)
    asking: bool = True
    """Whether it is asked if something occurs, and not only where."""
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
        """Where the occurrence that a label names lies. Whether it is one is asked elsewhere: the
        conditions in it may be on this very label."""
        pattern, home = self.labels[label]
        apart = replace(home, asking=False, gates=[], looked=set(), repeated={}, having=[])
        return interval(pattern, apart)

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
                return caused(*events, self.history.whole or self.history)
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
        looked=set(),
        waits=[],
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
        elif isinstance(node, Judged):
            if not agree(node.variables, scope):
                return None
            for name, named_inside in node.labels.items():
                scope.labels.setdefault(name, named_inside)
            scope.repeated.update(node.repeated)
        elif isinstance(node, Label):
            scope.labels.setdefault(node.name, (node.pattern, scope))
        elif isinstance(node, Repeated):
            for part in node.parts:
                for inner in walk_asserted(part):
                    if not share(inner, scope):
                        return None
    conditions = [c for node in nodes if isinstance(node, Where) for c in conjuncts(node.condition)]
    while any(define(condition, scope) for condition in conditions):
        pass
    return scope


def share(node: Pattern, scope: Scope) -> bool:
    """Bind the variables that all repetitions share; whether they agree."""
    match node:
        case Chosen(atom, event):
            for name, term in atom.args:
                if isinstance(term, Var) and term.name in scope.shared:
                    if not agree({term.name: scope.history.attribute(event, name)}, scope):
                        return False
        case Judged():
            own = node.variables
            return agree({name: own[name] for name in own.keys() & scope.shared}, scope)
    return True


def agree(values: dict[str, Any], scope: Scope) -> bool:
    """Bind variables; whether they agree with what is bound."""
    for name, value in values.items():
        if name in scope.variables and equal(scope.variables[name], value) is not True:
            return False
        scope.variables[name] = value
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
    """The same, and what is chosen for each repetition and inside what is evaluated on its own."""
    for node in walk_asserted(pattern):
        yield node
        if isinstance(node, Repeated):
            for part in node.parts:
                yield from walk_events(part)
        elif isinstance(node, Judged):
            yield from walk_events(node.chosen)


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


def found_beside(pattern: Pattern, scope: Scope) -> list[tuple[Scope, Pattern, Interval]]:
    """The occurrences of a pattern that is no part of the match: what must be absent, or is
    collected. The policy says nothing about these. Where nothing is asked there are none."""
    if not scope.asking:
        return []
    scope.looked.update(types_in(pattern))
    found = occurrences(pattern, replace(scope, policy=UNRESTRICTED))
    return [each for each in found if all(each[0].value(part) is True for part in each[0].having)]


def interval(pattern: Pattern, scope: Scope) -> Interval | None:
    """Where a chosen pattern occurs, if it does: DESIGN's table of operators, line by line."""
    match pattern:
        case Chosen(atom, event):
            if not event.at.start > scope.history.since:
                return None
            for name, term in atom.args:
                if not isinstance(term, Var) and scope.asking:
                    if equal(scope.history.attribute(event, name), scope.value(term)) is not True:
                        return None
            return event.at
        case Judged(Moments("relative+"), event, history=history):
            return event.at if history.events == scope.history.events else None
        case Judged(_, event):
            return event.at if event.at.start > scope.history.since else None
        case Label(name, inner):
            named, home = scope.labels[name]
            if scope.asking and named is not inner and not same(inner, scope, named, home):
                return None
            return interval(inner, scope)
        case Ref(label):
            return scope.place(label)
        case Where(inner, condition):
            for part in conjuncts(condition) if scope.asking else ():
                if has_aggregate(part):
                    scope.having.append(part)
                elif reads_previous(part) and scope.previous is None:
                    continue
                elif part not in scope.definitions and scope.value(part) is not True:
                    return None
                match part:
                    case Call("not", (CausedBy(effect),)):  # no cause is known once all are
                        scope.gates.append(scope.place(effect).end)
                        scope.looked.add(the_event(scope.labels[effect][0]).type)
            return interval(inner, scope)
        case Repeated():
            return sequences().repetition(pattern, scope)
        case Until(inner, closing, another=another):
            whole = sequences().sequence([inner, closing], scope)
            at1, at2 = interval(inner, scope), interval(closing, scope)
            if whole is None:
                return None
            scope.gates.append(at2.start)
            alike = found_beside(another, sequences().alone(scope, another))
            return None if any(inside(at, at1.start, at2.start) for _, _, at in alike) else whole
        case Within(inner, limit):
            at = interval(inner, scope)
            return at if at is not None and at.end - made_since(inner, at, scope) <= limit else None
        case At(time):
            scope.gates.append(time)
            return Interval(time, time)
        case Timer(of):
            return moments().timer(pattern, scope.place(of), scope)
        case Seq(parts):
            return sequences().sequence(list(parts), scope)
        case And(parts):
            if not all(windows().judged(part, scope) for part in parts if isinstance(part, While)):
                return None
            at = span([interval(part, scope) for part in parts if not isinstance(part, While)])
            if at is None or at == ALWAYS or not scope.asking:
                return at
            found = all(true_at(at.end, part, scope) for part in parts)
            await_changes(at.end, parts, scope)
            return at if found else None
        case NoFact(inner):
            rows = [the_event(chosen) for _, chosen, _ in found_beside(inner, scope)]
            at_all_times = any(row.is_valid(-INFINITY) and row.valid[1] == INFINITY for row in rows)
            return None if at_all_times else ALWAYS  # of others, true_at says when
        case Par(left, right):
            at1, at2 = interval(left, scope), interval(right, scope)
            if at1 is None or at2 is None:
                return None
            return span([at1, at2]) if max(at1.start, at2.start) < min(at1.end, at2.end) else None
        case Allen(relation, left, right):
            at1, at2 = interval(left, scope), interval(right, scope)
            if at1 is None or at2 is None or not moments().allen(relation, at1, at2):
                return None
            return span([at1, at2])
        case Not(absent, first, last):
            at1, at2 = interval(first, scope), interval(last, scope)
            if at1 is None or at2 is None or not at1.end < at2.start:
                return None
            scope.gates.append(at2.start)
            if scope.history.unseen(absent, at1.end + 1, at2.start - 1):
                return None
            if any(inside(at, at1.end, at2.start) for _, _, at in found_beside(absent, scope)):
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
            return Interval(time, time) if time <= at.end + ticks.reach else None
        case Moments():
            time = moments().moment(pattern, scope)
            return None if time is None else Interval(time, time)
    raise AssertionError(pattern)


def true_at(time: float, part: Pattern, scope: Scope) -> bool:
    """Whether what has no time of its own is true at the end of the conjunction that it stands in.
    A conjunction of events inside has an end of its own."""
    match part:
        case Chosen(_, event):
            return event.at != ALWAYS or event.is_valid(time)
        case NoFact(inner):
            found = [the_event(chosen) for _, chosen, _ in found_beside(inner, scope)]
            return not any(row.is_valid(time) for row in found)
        case Label(_, inner) | Where(inner, _):
            return true_at(time, inner, scope)
        case And(parts):
            if interval(part, scope) == ALWAYS:
                return all(true_at(time, inner, scope) for inner in parts)
    return True


def await_changes(time: float, parts: tuple[Pattern, ...], scope: Scope) -> None:
    """Wait until it is known what tables hold that events change: a row is there once no delete of
    it can come, and is not there once neither what asks for it nor an insert can come either."""
    asking = [part for part in parts if not isinstance(part, While | NoFact)]
    left = list(parts)
    while left:
        part = left.pop()
        while isinstance(part, (Label, Where)):
            part = part.pattern
        if isinstance(part, And) and interval(part, scope) == ALWAYS:
            left += part.parts
        if isinstance(part, Chosen) and part.event.type in scope.history.changed_by:
            deleting = scope.history.changed_by[part.event.type]["delete"]
            scope.waits.extend([(time, deleting)] if deleting else [])
        elif isinstance(part, NoFact) and types_in(part) & scope.history.changed_by.keys():
            nodes = [node for each in asking for node in walk_asserted(each)]
            scope.gates.append(time)
            scope.looked.update(
                node.event.type
                for node in nodes
                if isinstance(node, Chosen) and node.event.at != ALWAYS
            )


def sequences() -> Any:
    """What sequences and repetitions mean, which asks in turn where patterns occur."""
    import oracle_sequences

    return oracle_sequences


def windows() -> Any:
    """What lies in windows, which asks in turn where patterns occur."""
    import oracle_windows

    return oracle_windows


def moments() -> Any:
    """What operators over intervals and instants mean, which asks in turn where patterns occur."""
    import oracle_moments

    return oracle_moments


def made_since(pattern: Pattern, at: Interval, scope: Scope) -> float:
    """When the first of the events began that an occurrence is made of: an instant is made of more
    than its own time. The instants of a clock are just that, and what is repeated are events."""
    match pattern:
        case At() | Nth():
            place = interval(pattern, replace(scope, gates=[], looked=set()))
            return at.start if place is None else place.start
        case Chosen(_, event) | Judged(Moments("periodic"), event):
            return event.at.start
        case Judged(_, event, chosen=chosen):
            return made_since(chosen, event.at, scope)
        case Ref(label):
            named, home = scope.labels[label]
            place = scope.place(label)
            return at.start if place is None else made_since(named, place, home)
    return min([at.start, *(made_since(part, at, scope) for part in asserted(pattern))])


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
