"""The history that a pattern is finalised on, where that is only what begins after something else.

COMPOSE's ``relative(e, f)`` is ``f`` in the history that begins after ``e``: of all that ``f`` is
made of, and of all that must be absent for it, only what begins later counts. For an event that is
one more bound. Where more than an event must be absent, the rule made for it (``windows.py``) has
to know which history it is about: it is joined with the *contexts*, the instants after which a
history may begin, and hands out the one that it holds for.

Patterns that are evaluated on their own and repetitions are events of the whole history, like those
that rules derive: they count if they begin later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from thence.logic.alternatives import alternatives
from thence.logic.auxiliary import OWN, Auxiliary
from thence.logic.changes import changed
from thence.logic.conjunct import INNER
from thence.logic.expr import Const, Var, conjuncts, labels, variables
from thence.logic.moments import OPERATORS
from thence.logic.ops import (
    And,
    AnyOne,
    Atom,
    HeadTerm,
    Label,
    Moments,
    NoFact,
    Not,
    Pattern,
    Ref,
    Repeat,
    Rule,
    SemiJoin,
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
from thence.logic.scope import own_labels, positive_parts, positive_variables

CONTEXT = f"{INNER}context"
"""The label of a context, and the column for the instant after which a history begins."""

MADE = f"{INNER}made"
"""The column for when the first of the events began that something is made of."""


def only_adds(pattern: Pattern) -> bool:
    """Whether a pattern occurs in a longer history wherever it does in a shorter one.

    What follows an event in ``relative`` has a history of its own, which is the same in both.

    >>> a, b = Atom("a"), Atom("b")
    >>> only_adds(Seq((a, b))), only_adds(Not(b, a, a))
    (True, False)
    """
    match pattern:
        case Using() | Repeat() | Moments(operator="periodic"):
            return True
        case Not() | While() | Until():
            return False
        case Moments(operator, parts) if OPERATORS[operator].history:
            return only_adds(parts[0])
        case Moments() if pattern.absent or pattern.collected:
            return False
    return all(map(only_adds, children(pattern)))


def is_row(pattern: Pattern) -> bool:
    """Whether a pattern is a row of what depends on where its history begins, so that each one in
    it has to be looked for again. Of anything else, any one is a row."""
    match pattern:
        case Moments(operator="relative+", parts=(inner,)):
            return not only_adds(inner)
    return False


def is_own_rule(pattern: Pattern) -> bool:
    """Whether a pattern is a rule of its own, so that its occurrences are events."""
    match pattern:
        case Using() | Moments(operator="periodic"):
            return True
    return is_row(pattern)


def has_instants(pattern: Pattern) -> bool:
    """Whether something in a pattern occurs at an instant and is made of what came earlier. The
    ticks of a clock are instants by themselves."""
    return any(isinstance(part, Moments | AnyOne) for part in positive_parts(pattern))


def hides_its_past(pattern: Pattern) -> bool:
    """Whether the interval of a pattern does not tell in which histories it occurs."""
    for part in positive_parts(pattern):
        match part:
            case Moments() | AnyOne() | Ticks() | While():
                return True
            case Not(absent) if hides_its_past(absent):
                return True
            case Until(closing=closing) if hides_its_past(closing):
                return True
    return False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the place of a pattern in a body says: whether the history is all there is, which
    patterns it may begin after, whether it is limited how long before the pattern's end what it
    is made of begins, and how long the pattern lasts at most."""

    whole: bool = True
    firsts: tuple[Pattern, ...] = ()
    limited: bool = False
    limit: int | None = None


ANYWHERE = Surroundings()


def surroundings(
    body: Pattern, target: Pattern, around: Surroundings = ANYWHERE
) -> Surroundings | None:
    """The surroundings of a pattern in a body; None where it does not stand there."""
    if body is target:
        return around
    for place, part in enumerate(children(body)):
        inside = around
        match body:
            case Using() | Moments(operator="periodic"):
                inside = Surroundings(limited=around.limited)
            case Repeat():
                inside = Surroundings(limit=around.limit)
            case Within(_, limit):
                shorter = limit if around.limit is None else min(limit, around.limit)
                inside = replace(around, limited=True, limit=shorter)
            case While() | Ticks():
                inside = replace(around, limit=None)
            case Moments(_, parts) if place >= len(parts):
                inside = replace(around, limit=None)
            case Moments(operator, parts) if OPERATORS[operator].history and place:
                first = parts[0] if place == 1 else replace(body, parts=parts[:place])
                inside = replace(around, whole=False, firsts=(first,))
            case Moments() if is_row(body):
                inside = replace(around, firsts=(*around.firsts, part))
        found = surroundings(part, target, inside)
        if found is not None:
            return found
    return None


def context_of(
    first: Pattern,
    inside: Iterable[str],
    definitions: Mapping[str, Label],
    auxiliary: Auxiliary,
) -> Label:
    """The event at whose end a history begins: that of an occurrence of ``first``.

    It has those of its variables that are ``inside`` what is finalised on the history. There may be
    more of these events than histories that are asked about, so that nothing needs to be absent.
    """
    bodies = alternatives(_occurring(first, definitions))
    bound = [set(positive_variables(body)) for body in bodies]
    common = set(inside).intersection(*bound)
    shared = [name for name in positive_variables(bodies[0]) if name in common]
    bare = bodies[0]
    while isinstance(bare, Label):
        bare = bare.pattern
    if len(bodies) == 1 and isinstance(bare, Atom):
        args = [
            (name, value)
            for name, value in bare.args
            if isinstance(value, Const) or (isinstance(value, Var) and value.name in shared)
        ]
        return Label(CONTEXT, Atom(bare.event, tuple(args), bare.span), hidden=True)
    terms = tuple(HeadTerm(each, Var(each)) for each in shared)
    event = auxiliary.event([Rule(OWN, terms, AnyOne((body,))) for body in bodies])
    return Label(CONTEXT, Atom(event, tuple((each, Var(each)) for each in shared)), hidden=True)


def _occurring(first: Pattern, definitions: Mapping[str, Label]) -> Pattern:
    """A pattern without what must be absent, and without conditions on what stands elsewhere, but
    with the definitions of the labels that it uses."""
    needed: dict[str, Pattern] = {}
    waiting = [first]
    known = own_labels(first)
    for pattern in waiting:
        for part in positive_parts(pattern):
            label = {Ref: "label", Timer: "of"}.get(type(part))
            name = None if label is None else getattr(part, label)
            if name is not None and name not in known and name not in needed:
                needed[name] = definitions[name]
                waiting.append(definitions[name])
    whole = first if not needed else SemiJoin(first, And(tuple(needed.values())))
    bound = set(positive_variables(whole))
    named = own_labels(whole)

    def change(node: Any) -> Any:
        match node:
            case Not(_, one, other):
                return Seq((changed(one, change), changed(other, change)), node.span)
            case Until(inner, closing):
                return Seq((changed(inner, change), changed(closing, change)), node.span)
            case Moments() if node.absent or node.collected:
                parts = changed(node.parts, change)
                return Moments(node.operator, parts, (), node.limit, node.span)
            case And(parts) if any(isinstance(part, While | NoFact) for part in parts):
                rest = tuple(part for part in parts if not isinstance(part, While | NoFact))
                return changed(rest[0] if len(rest) == 1 else And(rest, node.span), change)
            case Atom(_, args):
                kept = tuple((n, v) for n, v in args if variables(v) <= bound and not labels(v))
                return node if kept == args else Atom(node.event, kept, node.span)
            case Where(inner, condition):
                parts = [
                    part
                    for part in conjuncts(condition)
                    if variables(part) <= bound and labels(part) <= named
                ]
                inner = changed(inner, change)
                for part in parts:
                    inner = Where(inner, part, node.span)
                return inner
        return node

    found: Pattern = changed(whole, change)
    return found
