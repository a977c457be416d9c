"""The EVENT clause as a pattern, and where in it the aliases stand.

An alias is a label on an event of its stream; its arguments, and the conditions of the query, come
into the pattern when all of it is known (``body.py``). Patterns are told from each other by their
identity: one alias may stand in several places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import Any

from thence.lang import syntax as s
from thence.lang.moments import any_of, moments
from thence.lang.precedence import join
from thence.lang.problem import check_nesting, too_many
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.sql.names import Alias, Names, free, span_of
from thence.lang.words import ALLEN, CALLS, MOST_PATTERNS, WINDOW_OPERATORS
from thence.logic import ops
from thence.logic.alternatives import MOST_ALTERNATIVES
from thence.logic.expr import Expr, Var
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    Atom,
    Label,
    Moments,
    Not,
    Or,
    Par,
    Pattern,
    Repeat,
    Seq,
    Until,
    Where,
    Within,
    children,
)
from thence.model.source import Span
from thence.model.suggestions import did_you_mean

_ROWS: Mapping[str, type[Seq | And | Or | AnyOne]] = {
    "seq": Seq, "and": And, "or": Or, "anyone": AnyOne
}  # fmt: skip
_PAIRS: Mapping[str, type[Par | Until]] = {"par": Par, "until": Until}
_NEGATED = frozenset(name for name in WINDOW_OPERATORS if "absent" in CALLS[name].roles)
_EXACTLY_TWO = frozenset({"between", *_PAIRS, *ALLEN, *_NEGATED})
OPERATORS = frozenset({"any", *_EXACTLY_TWO, *_ROWS, *CALLS})
"""What can be called in an EVENT clause."""

_NUMBERS = {1: "one", 2: "two", 3: "three"}


# -- patterns


def atom(label: str, event: str, span: Span, columns: Iterable[tuple[str, Var]] = ()) -> Label:
    """A labelled event, with the variables that some of its columns are."""
    return Label(label, Atom(event, tuple(columns), span), span)


def filtered(pattern: Pattern, conditions: Sequence[Expr]) -> Pattern:
    """A pattern with conditions around it, if there are any."""
    span = span_of(pattern)
    return Where(pattern, join("and", conditions, span), span) if conditions else pattern


def conjunction(parts: Sequence[Pattern]) -> Pattern:
    """All of some patterns."""
    return parts[0] if len(parts) == 1 else And(tuple(parts), span_of(parts[0]))


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """What takes part in the occurrence of a pattern, directly; an alias has no parts."""
    match pattern:
        case Label():
            return ()
        case Not(_, first, last):
            return (first, last)
        case Moments(_, parts):
            return parts
    return children(pattern)


def unseen(pattern: Pattern) -> tuple[Pattern, ...]:
    """What must be absent from a pattern, or is collected in it, directly. No alternative of what
    must be absent may occur, so each stands for itself."""
    match pattern:
        case Not(absent):
            return alternatives(absent)
        case Moments(name, _, absent, collected=collected):
            if CALLS[name].last == "among":
                absent = tuple(part for each in absent for part in alternatives(each))
            return (*absent, *collected)
    return ()


def alternatives(pattern: Pattern) -> tuple[Pattern, ...]:
    """The parts of an OR; else, the pattern itself."""
    return pattern.parts if isinstance(pattern, Or) else (pattern,)


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and everything inside it, what must be absent or is collected included."""
    stack = [pattern]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed((*parts_of(top), *unseen(top))))


def occurring(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and what takes part in its occurrence: what must be absent, or is collected, is
    left out."""
    stack = [pattern]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(parts_of(top)))


def occurring_aliases(pattern: Pattern) -> list[str]:
    """The aliases that take part in the occurrence of a pattern, in the order of the text."""
    return list(dict.fromkeys(p.name for p in occurring(pattern) if isinstance(p, Label)))


def rebuilt(root: Pattern, change: Callable[[Pattern, Pattern], Pattern]) -> Pattern:
    """A pattern with others in place of its parts, from the inside out, without recursion.

    ``change`` gets a part as it was, and as it is with what is inside it changed.
    """
    done: dict[int, Pattern] = {}

    def now(held: Any) -> Any:
        return tuple(map(now, held)) if isinstance(held, tuple) else done.get(id(held), held)

    for part in reversed(list(ops.walk(root))):
        inside = {each.name: now(getattr(part, each.name)) for each in fields(part)}
        done[id(part)] = change(part, replace(part, **inside))
    return done[id(root)]


def holds(pattern: Pattern, other: Pattern) -> bool:
    """Whether this very pattern is another, or the other stands inside it."""
    return any(part is other for part in walk(pattern))


def certain(pattern: Pattern) -> frozenset[str]:
    """The aliases that are bound whenever a pattern occurs: of alternatives, those in each."""
    if isinstance(pattern, Label):
        return frozenset({pattern.name})
    inside = map(certain, parts_of(pattern))
    if isinstance(pattern, Or | AnyOne):
        return frozenset.intersection(*inside)
    return frozenset[str]().union(*inside)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A pattern that occurs, or one that must be absent or is collected, with its own aliases.

    The aliases of the places around it can be read in it, not the other way round.
    """

    root: Pattern
    parent: Place | None
    aliases: set[str] = field(default_factory=set)

    def around(self) -> Iterator[Place]:
        """The places around this one, from the inside out."""
        place = self.parent
        while place is not None:
            yield place
            place = place.parent


def places(root: Pattern) -> list[Place]:
    """The place of the clause itself, then those of what must be absent or is collected, outermost
    first."""
    found = [Place(root, None)]
    for place in found:
        for part in occurring(place.root):
            if isinstance(part, Label):
                place.aliases.add(part.name)
            found.extend(Place(inner, place) for inner in unseen(part))
    return found


# -- reading it


@dataclass(frozen=True, slots=True)
class Clause:
    """An EVENT clause: its pattern, its BETWEEN windows, and the names that stand for *the next*
    one.

    ``copies`` has, for each window and each WITHOUT, the name under which an event that would have
    closed it earlier is looked for, by the alias of what closes it.
    """

    root: Pattern
    windows: tuple[Pattern, ...] = ()
    copies: tuple[Mapping[str, str], ...] = ()


def event_of(alias: Alias, span: Span | None = None) -> Label:
    """An alias as a pattern."""
    return atom(alias.name, alias.event, span or alias.span)


def clause_of(event: q.EventExpr, names: Names, base: Sequence[str]) -> Clause:
    """The pattern of an EVENT clause; ``base`` are the events that come in. Raises Refused."""
    reader = _Reader(names, base)
    root = reader.pattern(event)
    check_nesting(root, span_of(root))
    return Clause(root, tuple(reader.windows), tuple(reader.copies))


class _Reader:
    def __init__(self, names: Names, base: Sequence[str]) -> None:
        self.names, self.base = names, base
        self.windows: list[Pattern] = []
        self.copies: list[Mapping[str, str]] = []
        self.made = 0

    def pattern(self, node: q.EventExpr) -> Pattern:
        span = Span(node.start, node.end)
        self.count(1, span)
        match node:
            case s.Name():
                alias = self.names.alias(node.text, span)
                if alias.table:
                    raise Refused(
                        span,
                        f"'{alias.name}' is a row of the table '{alias.stream}', which has no "
                        "time, so EVENT cannot be about it",
                        "leave it out of EVENT, and say in WHERE which row is meant: "
                        f"WHERE e.x = {alias.name}.x",
                    )
                return event_of(alias, span)
            case q.Limited():
                return Within(self.pattern(node.base), node.limit, span)
            case q.Repeated():
                return Repeat(self.pattern(node.base), node.least, node.most, span)
            case q.Negation():
                return self.negation(node, span)
            case q.Several():
                raise Refused(
                    span, "a comma does not join events here", "write AND(a, b), SEQ(a, b)"
                )
            case q.Operation():
                return self.operation(node, span)

    def count(self, patterns: int, span: Span) -> None:
        """Refuse what stands for too many patterns, with all choices and copies written out."""
        self.made += patterns
        if self.made > MOST_PATTERNS:
            raise too_many(span)

    def operation(self, node: q.Operation, span: Span) -> Pattern:
        name = node.name
        if name not in OPERATORS:
            known = [each.upper() for each in sorted(OPERATORS)]
            hint = did_you_mean(name, known, f"operators are {', '.join(known)}")
            raise Refused(
                Span(node.start, node.name_end), f"unknown operator '{name.upper()}'", hint
            )
        if name == "any":
            # Each choice is read anew: what is said of its parts is said of each choice.
            rows = [_row(And, [*map(self.pattern, c)], span) for c in _choices(node)]
            return AnyOne(tuple(rows), span)
        _check_arguments(node, span)
        if name == "seq":
            return self.sequence(node.parts, span)
        parts = tuple(map(self.pattern, node.parts))
        if name in _ROWS:
            return _ROWS[name](parts, span)
        if name in _PAIRS:
            return _PAIRS[name](parts[0], parts[1], span)
        if name == "between":
            return self.between(parts, (), span)
        if name in CALLS:
            return self.moments(name, parts, 0 if node.limit is None else node.limit.micros, span)
        return Allen(name, parts[0], parts[1], span)  # type: ignore[arg-type]

    def moments(self, name: str, given: tuple[Pattern, ...], limit: int, span: Span) -> Pattern:
        """An operator over moments, such as ``APERIODIC(a, b, c)``."""
        if name == "follows":
            return _folded(lambda a, b: Moments("follows", (a, b), (), limit, span), given)
        if name == "precedes":
            # c precedes b, which precedes a.
            return _folded(lambda b, a: Moments("precedes", (a, b), (), limit, span), given[::-1])
        if name == "both" and len(given) > 2:
            points = tuple(AnyOne((part,), span_of(part)) for part in given)
            return AnyOne((Within(And(points, span), limit, span),), span)
        if CALLS[name].last == "same":
            given += (self.earlier(given[-1]),)
        return moments(name, given, limit, self.base, span)

    def sequence(self, parts: Sequence[q.EventExpr], span: Span) -> Pattern:
        """``SEQ(a, !c, b)``: absent is ``c`` between its neighbours."""
        done: list[Pattern] = []
        absent: list[Pattern] = []
        for at, part in enumerate(parts):
            if isinstance(part, q.Negation) and len(part.parts) == 1:
                if not done or at == len(parts) - 1:
                    raise Refused(
                        Span(part.start, part.end),
                        f"an absence at the {'end' if done else 'beginning'} of SEQ has no limit "
                        "in time",
                        "write NOTFOLLOWS(SEQ(a, b), c, '1 min') for what does not follow, "
                        "NOTPRECEDES for what did not come before",
                    )
                absent.append(self.pattern(part.parts[0]))
                continue
            done.append(self.pattern(part))
            if absent:
                *before, last = done
                done = [Not(any_of(absent, (), span), _row(Seq, before, span), last, span)]
                absent = []
        return _row(Seq, done, span)

    def negation(self, node: q.Negation, span: Span) -> Pattern:
        *absent, window = node.parts
        if not absent or not isinstance(window, q.Operation) or window.name != "between":
            raise Refused(
                span,
                "an absence needs the time in which nothing happens",
                "write SEQ(a, NOT c, b), NOT(c, BETWEEN(a, b)), or NOTFOLLOWS(a, c, '1 min')",
            )
        _check_arguments(window, span)
        parts = tuple(map(self.pattern, window.parts))
        return self.between(parts, map(self.pattern, absent), span)

    def between(self, parts: Sequence[Pattern], absent: Iterable[Pattern], span: Span) -> Pattern:
        """A window that the next event of its second part closes: none comes earlier."""
        first, last = parts
        found = Not(any_of((self.earlier(last), *absent), (), span), first, last, span)
        self.windows.append(found)
        return found

    def earlier(self, closing: Pattern) -> Pattern:
        """What would have closed a window earlier: the closing part under other names."""
        inside = list(walk(closing))
        self.count(len(inside), span_of(closing))
        check_nesting(closing, span_of(closing))
        mark = f"′{len(self.copies) + 1}" if self.copies else "′"
        standing = dict.fromkeys(part.name for part in inside if isinstance(part, Label))
        names = {alias: free(alias + mark, self.names.aliases) for alias in standing}
        self.copies.append(names)

        def copied(_: Pattern, part: Pattern) -> Pattern:
            return replace(part, name=names[part.name]) if isinstance(part, Label) else part

        return rebuilt(closing, copied)


def _row(kind: type[Seq | And], parts: Sequence[Pattern], span: Span) -> Pattern:
    return parts[0] if len(parts) == 1 else kind(tuple(parts), span)


def _folded(join: Callable[[Pattern, Pattern], Pattern], parts: Sequence[Pattern]) -> Pattern:
    done = parts[0]
    for part in parts[1:]:
        done = join(done, part)
    return done


def _check_arguments(node: q.Operation, span: Span) -> None:
    """Refuse a call with too few or too many arguments, or without a duration that it needs."""
    name, shown, given = node.name, node.name.upper(), len(node.parts)
    operator = CALLS.get(name)
    duration = None if operator is None else operator.duration
    if duration is not None and node.limit is None:
        place = "second" if duration == 1 else "last"
        raise Refused(span, f"{shown} needs a duration", f"it comes {place}: {_example(name)}")
    if duration is None and node.limit is not None:
        hint = f"to limit how long it may last, write {shown}(…) WITHIN 1 min"
        if operator is not None:
            hint = (
                f"to limit how far its events are apart, write {shown}(…) in FOLLOWS or BOTH, or "
                "compare their times in WHERE"
            )
        raise Refused(Span(node.limit.start, node.limit.end), f"{shown} takes no duration", hint)
    least = _least(name)
    folds = name in WINDOW_OPERATORS and name not in _NEGATED
    more = name in _ROWS or folds or (operator is not None and operator.more)
    if given < least or (given > least and not more):
        hint = _example(name)
        if name in _NEGATED and given > 2:
            hint = f"{shown}(a, ANYONE(b, c), '1 min')"
        raise Refused(
            span,
            f"{shown} takes {_NUMBERS[least]}{' or more' if more else ''} "
            f"{'event' if least == 1 and not more else 'events'}, and {given} "
            f"{'is' if given == 1 else 'are'} given",
            f"write {hint}",
        )


def _least(name: str) -> int:
    """How many events an operator takes at least."""
    return CALLS[name].least if name in CALLS else 1 if name in _ROWS else 2


def _example(name: str) -> str:
    """
    >>> _example("aperiodic"), _example("periodic*"), _example("during")
    ('APERIODIC(a, b, c)', "PERIODIC*(a, '1 min', b)", 'DURING(a, b)')
    """
    shown = list("abc"[: _least(name)])
    operator = CALLS.get(name)
    if operator is not None and operator.duration is not None:
        shown.insert(operator.duration, "'1 min'")
    return f"{name.upper()}({', '.join(shown)})"


def _choices(node: q.Operation) -> Iterator[tuple[q.EventExpr, ...]]:
    """``ANY(m, a, b, …)``: every way to choose so many of them."""
    given, whole = len(node.parts), Span(node.start, node.end)
    if not given:
        raise Refused(whole, "ANY takes one event or more", "write ANY(2, a, b, c)")
    assert node.limit is not None
    number = node.limit.micros
    if not 1 <= number <= given:
        raise Refused(
            Span(node.limit.start, node.limit.end),
            f"ANY {number} of {given} {'event' if given == 1 else 'events'} is not possible",
            f"write a number from 1 to {given}",
        )
    for count, choice in enumerate(combinations(node.parts, number)):
        if count >= MOST_ALTERNATIVES:
            raise Refused(
                whole,
                f"{number} of {given} events can be chosen in more than a thousand ways",
                "give parts of it names of their own, with WITH",
            )
        yield choice
