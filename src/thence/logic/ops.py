"""The operators of the pattern algebra: what each one is, one immutable class per operator.

``I(p)`` is the set of (bindings, [s, e]) at which a pattern occurs. Every operator takes patterns
and is a pattern, so they nest without limit. All infix operators occur at the span of their
operands, ``[min s, max e]``; what sets them apart is the condition on the four end points.

Labels are rule-wide: ``Ref(l)`` is the same event that ``Label(l, p)`` binds, which is what makes
``o: order(id), s: shipped(id), o before s`` a conjunction like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from thence.logic.expr import Aggregate, Const, Expr, Folded
from thence.logic.policy import UNRESTRICTED, Policy
from thence.logic.roles import PART, VALUE, FieldRole, role, roles
from thence.model.schema import EventSchema, Role
from thence.model.source import NOWHERE, Source, Span

if TYPE_CHECKING:
    from thence.logic.reactions import Reaction


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that occurs at intervals, under bindings."""


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Atom(Pattern):
    """``order(id, _, qty)``: an event of a type.

    ``args`` holds one (attribute, expression) pair for each argument that is not ``_``, with
    positions already turned into attribute names. A bare :class:`~thence.logic.expr.Var` binds or,
    where it is bound already, must be equal; any other expression must be equal to the attribute.
    """

    event: str
    args: tuple[tuple[str, Expr], ...] = field(default=(), metadata=VALUE)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Label(Pattern):
    """``l: p``: gives the occurrence a name. Two labels of one name are one and the same event."""

    name: str
    pattern: Pattern = field(metadata=PART)
    span: Span = _span()
    hidden: bool = field(default=False, compare=False, repr=False)
    """Whether no user wrote it; only rewrites say so."""


@dataclass(frozen=True, slots=True)
class Ref(Pattern):
    """A label used as a pattern: the very event it names, wherever in the rule that is bound."""

    label: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Seq(Pattern):
    """``p1 seq p2 seq …``: each ends strictly before the next starts."""

    parts: tuple[Pattern, ...] = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Until(Pattern):
    """``p until c``: ``p seq c``, with no other ``c`` since ``p`` began.

    Where ``closing`` is one of several alternatives, ``another`` is any of them.
    """

    pattern: Pattern = field(metadata=PART)
    closing: Pattern = field(metadata=PART)
    span: Span = _span()
    another: Pattern | None = field(default=None, metadata=role("copy"))


@dataclass(frozen=True, slots=True)
class And(Pattern):
    """``p1 and p2``, and the comma of a conjunctive body: all of them, in any order."""

    parts: tuple[Pattern, ...] = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or(Pattern):
    """``p1 or p2``: occurs wherever one of them does."""

    parts: tuple[Pattern, ...] = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Par(Pattern):
    """``p1 par p2``: both, with ``max s < min e``."""

    left: Pattern = field(metadata=PART)
    right: Pattern = field(metadata=PART)
    span: Span = _span()


AllenRelation = Literal[
    "equals", "before", "after", "meets", "met_by", "during", "contains", "starts", "started_by",
    "finishes", "finished_by", "overlaps", "overlapped_by", "intersects",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Allen(Pattern):
    """One of the thirteen relations between two intervals, or ``intersects``.

    With ``p1`` at [s1, e1] and ``p2`` at [s2, e2]: ``equals`` s1=s2, e1=e2; ``before`` e1<s2;
    ``meets`` e1=s2; ``during`` s2<s1, e1<e2; ``starts`` s1=s2, e1<e2; ``finishes`` s2<s1, e1=e2;
    ``overlaps`` s1<s2, s2<e1, e1<e2; ``intersects`` s1<=e2, s2<=e1, so they share an instant
    at least; the others are these with the sides exchanged.
    """

    relation: AllenRelation
    left: Pattern = field(metadata=PART)
    right: Pattern = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not(Pattern):
    """``not(absent).[first, last]``: ``first seq last`` with no ``absent`` inside (e1, s2)."""

    absent: Pattern = field(metadata=role("absent"))
    first: Pattern = field(metadata=PART)
    last: Pattern = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within(Pattern):
    """``p within d``: ``e - s <= d``, with ``d`` in microseconds, where ``s`` is the first start of
    the events that ``p`` is made of: an instant is made of more than its own time."""

    pattern: Pattern = field(metadata=PART)
    limit: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Where(Pattern):
    """``p where c``: ``p``, when the condition is true (neither false nor null) of its bindings.

    ``v = e`` with ``v`` unbound everywhere else binds it.
    """

    pattern: Pattern = field(metadata=PART)
    condition: Expr = field(metadata=VALUE)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class At(Pattern):
    """``at '2026-01-01T06:00:00Z'``: the instant, in microseconds UTC, used as an event."""

    time: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Timer(Pattern):
    """``extend(o, 6h)`` and its kin: an interval relative to the event that a label names.

    Occurs at ``[start_anchor(o) + start_shift, end_anchor(o) + end_shift]``, if that is not
    negative in length. ``extend`` is (start, 0, end, d); ``extend_backward`` (start, -d, end, 0);
    ``shift`` moves both ends, ``shift_begin`` and ``shift_end`` one; ``from_end`` is
    (end, 0, end, d) and so on. The table stands in ``lang/timers.py``.
    """

    of: str
    start_anchor: Literal["start", "end"]
    start_shift: int
    end_anchor: Literal["start", "end"]
    end_shift: int
    name: str = field(default="extend", compare=False)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class While(Pattern):
    """``while w: not p`` and ``while w: collect p``, a part of a conjunction.

    It adds nothing to the interval. ``p`` counts if ``w.start < p.start`` and ``p.end < w.end``.
    ``over d of w: collect p`` has a ``reach``, and looks at ends only: ``p`` counts if
    ``w.end - reach <= p.end <= w.end``. ``over n rows of w: collect p`` has ``rows``: of the ``p``
    with ``p.end <= w.end``, inside the reach if there is one, the last so many count, in the order
    of (end, start, attributes). Variables and labels that stand only inside ``not`` are local to
    it; those inside ``collect`` can be read by the head's aggregates. With ``collect``, a match
    needs at least one ``p``.
    """

    window: str
    mode: Literal["not", "collect"]
    pattern: Pattern = field(
        metadata=role(lambda node: "absent" if node.mode == "not" else "collected")
    )
    span: Span = _span()
    reach: int | None = None
    rows: int | None = None

    @property
    def over(self) -> bool:
        """Whether it is about what ends up to the end of ``window``, not about what lies in it."""
        return self.reach is not None or self.rows is not None


@dataclass(frozen=True, slots=True)
class NoFact(Pattern):
    """``not catalogue(id, _)``, a part of a conjunction: no row of a table is so.

    ``pattern`` is an atom of a table, perhaps with a label and conditions. It adds nothing to the
    interval. Variables and labels that stand only inside are local to it.
    """

    pattern: Pattern = field(metadata=role("absent"))
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Moments(Pattern):
    """``follows(a, b, d)``, ``aperiodic(a, b, c)`` and their kin: a point event, where the instants
    at which its parts end lie as the operator says (``moments.py``) and nothing of ``absent`` ends
    where it says that nothing may. What it collects can be read by the head's aggregates; there may
    be none.
    """

    operator: str
    parts: tuple[Pattern, ...] = field(metadata=PART)
    absent: tuple[Pattern, ...] = field(default=(), metadata=role("absent"))
    limit: int = 0
    span: Span = _span()
    collected: tuple[Pattern, ...] = field(default=(), metadata=role("collected"))


@dataclass(frozen=True, slots=True)
class Repeat(Pattern):
    """``p{n,m}``, ``p+``, ``p*``: repetitions one after another, from the first to the last.

    ``most`` is None where there is no limit. Variables inside that stand nowhere else in the rule
    have a value for each repetition, as labels inside have (``repetition.py``).
    """

    pattern: Pattern = field(metadata=role("repeated"))
    least: int
    most: int | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AnyOne(Pattern):
    """``anyone(p1, p2, …)``: occurs at the end point of whichever occurs."""

    parts: tuple[Pattern, ...] = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Ticks(Pattern):
    """``ticks(p, d, r)``: a point event at each whole multiple ``t`` of ``period`` since 1970 with
    ``e <= t <= e + reach``, ``e`` being the end of ``p``."""

    pattern: Pattern = field(metadata=PART)
    period: int
    reach: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Using(Pattern):
    """``(p using chronicle)``: of the occurrences of ``p`` by itself, those that a policy chooses,
    whatever stands around it."""

    pattern: Pattern = field(metadata=PART)
    policy: Policy
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SemiJoin(Pattern):
    """``pattern``, where ``other`` occurs too, which adds nothing: neither to its interval nor to
    what it is made of. Only rewrites make it; it cannot be written."""

    pattern: Pattern = field(metadata=PART)
    other: Pattern = field(metadata=PART)
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Since(Pattern):
    """``pattern``, evaluated on what begins after ``context`` has ended; which adds nothing itself,
    as in :class:`SemiJoin`. The pattern ends at most ``limit`` later. Where the context depends on
    the pattern, ``like`` occurs wherever it does. Only rewrites make it.
    """

    pattern: Pattern = field(metadata=PART)
    context: Pattern = field(metadata=PART)
    limit: int | None = None
    span: Span = _span()
    like: Pattern | None = field(default=None, metadata=role("copy"))


@dataclass(frozen=True, slots=True)
class HeadTerm:
    """One column of a rule's head: its name, what it holds, and whether the name was given to it,
    as by ``as``."""

    name: str
    value: Expr | Aggregate = field(metadata=VALUE)
    span: Span = _span()
    role: Role = "value"
    named: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """``head(terms) <- body using policy``."""

    event: str
    terms: tuple[HeadTerm, ...] = field(metadata=VALUE)
    body: Pattern = field(metadata=PART)
    span: Span = _span()
    head_span: Span = _span()
    policy: Policy = UNRESTRICTED
    hidden: bool = False
    """Whether its event stands for a pattern inside another rule."""
    limit: int | None = None
    """How long its events last at most, where longer ones are of no use; only rewrites say so."""


@dataclass(frozen=True, slots=True)
class Fact:
    """``linked('a', 'b');``: a row of a table, or of a relation that no rule need derive."""

    relation: str
    values: tuple[Const, ...]
    span: Span = _span()

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns are called where neither a declaration nor a rule says."""
        return tuple(f"c{place}" for place in range(1, len(self.values) + 1))


@dataclass(frozen=True, slots=True)
class Change:
    """``on road_closed(a, b): delete linked(a, b);``: what an event does to a table, at its end.

    The body of ``rule`` is the event, its terms are the columns of the row that is inserted, or of
    the rows that are deleted: those of which nothing is said may have any value.
    """

    verb: Literal["insert", "delete"]
    table: str
    rule: Rule
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LogicProgram:
    """Declared events and rules, in the order of the text they were read from."""

    events: tuple[EventSchema, ...]
    rules: tuple[Rule, ...]
    source: Source = field(default=Source(""), compare=False, repr=False)
    tables: tuple[EventSchema, ...] = ()
    """The static tables. An atom of one is met by a fact, which has no interval."""
    deductions: tuple[Rule, ...] = ()
    """The rules that derive relations from tables: their rows are facts, too."""
    facts: tuple[Fact, ...] = ()
    """The rows that the program itself says."""
    reactions: tuple[Reaction, ...] = ()
    """What is done with results; nothing of what is detected follows from it."""
    changes: tuple[Change, ...] = ()
    """What events do to tables."""
    timeless: bool = False
    """Whether all its events happen at one instant, as if they were rows. What they compute may be
    endless then, and is bounded while it runs."""

    @property
    def declared(self) -> tuple[EventSchema, ...]:
        """Everything that comes from outside: events and tables."""
        return (*self.events, *self.tables)

    @property
    def changed(self) -> frozenset[str]:
        """The names of the tables that events change."""
        return frozenset(change.table for change in self.changes)

    @property
    def looked_up(self) -> frozenset[str]:
        """The names of all that has rows: of tables, and of the relations beside them."""
        names = {table.name for table in self.tables} | {rule.event for rule in self.deductions}
        return frozenset(names | {fact.relation for fact in self.facts})


def span_of(pattern: Pattern) -> Span:
    """Where a pattern stands in the text."""
    found: Span = getattr(pattern, "span", NOWHERE)
    return found


def inside(pattern: Pattern) -> Iterator[tuple[FieldRole, Pattern]]:
    """The patterns directly inside a pattern, in order, each with its role.

    >>> [(role, part.event) for role, part in inside(Not(Atom("c"), Atom("a"), Atom("b")))]
    [('absent', 'c'), ('part', 'a'), ('part', 'b')]
    """
    for name, said in roles(type(pattern)):
        found: FieldRole = said(pattern) if callable(said) else said
        if found not in ("copy", "value"):
            held = getattr(pattern, name)
            for part in held if isinstance(held, tuple) else (held,):
                yield found, part


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside a pattern, in order."""
    names = _CHILDREN.get(type(pattern))
    if names is None:
        said = roles(type(pattern))
        names = tuple(name for name, each in said if each not in ("copy", "value"))
        _CHILDREN[type(pattern)] = names
    return _held(pattern, names)


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside a pattern that take part in its match."""
    names = _PARTS.get(type(pattern))
    if names is None:
        names = tuple(name for name, each in roles(type(pattern)) if each == "part")
        _PARTS[type(pattern)] = names
    return _held(pattern, names)


# Rules are walked over and over while a program is compiled, so what their classes have is noted.
_CHILDREN: dict[type, tuple[str, ...]] = {}
_PARTS: dict[type, tuple[str, ...]] = {}


def _held(pattern: Pattern, names: tuple[str, ...]) -> tuple[Pattern, ...]:
    """The patterns in some fields of a pattern; each holds one, or several."""
    if not names:
        return ()
    if len(names) == 1:
        only = getattr(pattern, names[0])
        return only if isinstance(only, tuple) else (only,)
    found: list[Pattern] = []
    for name in names:
        held = getattr(pattern, name)
        if isinstance(held, tuple):
            found += held
        else:
            found.append(held)
    return tuple(found)


def with_parts(pattern: Pattern, parts: Iterable[Pattern]) -> Pattern:
    """A pattern with others in place of those that take part in its match.

    >>> with_parts(Par(Atom("a"), Atom("b")), [Atom("c"), Atom("d")])
    Par(left=Atom(event='c', args=()), right=Atom(event='d', args=()))
    """
    given = iter(parts)
    found: dict[str, Any] = {}
    for name, said in roles(type(pattern)):
        if said == "part":
            now = getattr(pattern, name)
            several = isinstance(now, tuple)
            found[name] = tuple(islice(given, len(now))) if several else next(given)
    return replace(pattern, **found) if found else pattern


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and everything inside it, outermost first."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        yield node
        held = children(node)
        if held:
            stack.extend(held[::-1])


def exprs_of(node: Rule | Pattern) -> Iterator[Expr]:
    """The expressions of a rule or a pattern: those of the head, of its events and conditions.

    Aggregates are among them; ``read_by`` looks inside."""
    if isinstance(node, Rule):
        for term in node.terms:
            yield Folded(term.value) if isinstance(term.value, Aggregate) else term.value
    for part in walk(node.body if isinstance(node, Rule) else node):
        for name, said in roles(type(part)):
            if said == "value":
                yield from _listed(getattr(part, name))


def _listed(held: Any) -> Iterator[Expr]:
    """The expressions among what a field holds: one, or several with names."""
    if isinstance(held, tuple):
        for each in held:
            yield from _listed(each)
    elif isinstance(held, Expr):
        yield held
