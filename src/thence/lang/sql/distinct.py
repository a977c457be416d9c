"""Two aliases over one stream are two different events: where time alone does not say so.

The operators order the ends of their operands. Where that order puts two events apart, as
``FOLLOWS`` does, nothing needs to be said; elsewhere, as in ``BOTH(P1, P2, '3 sec')``, a condition
says that they differ in some column or in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from thence.lang.precedence import join
from thence.lang.report import Refused
from thence.lang.sql.clause import (
    Place,
    alternatives,
    certain,
    holds,
    occurring,
    occurring_aliases,
    parts_of,
    rebuilt,
    unseen,
    walk,
)
from thence.lang.sql.names import Alias, span_of
from thence.logic.expr import Attr, Call, Expr, TimeOf
from thence.logic.moments import OPERATORS, RELATIVE, Shape
from thence.logic.ops import Allen, AnyOne, Label, Moments, Not, Or, Pattern, Seq, Until, Within
from thence.model.source import Span

_Point = tuple[int | str, str]
"""The start or the end of a pattern, by its identity, or of an alias, by its name."""

_BEFORE: dict[str, tuple[tuple[int, str, int, str], ...]] = {
    "before": ((0, "e", 1, "s"),),
    "after": ((1, "e", 0, "s"),),
    "during": ((1, "s", 0, "s"), (0, "e", 1, "e")),
    "contains": ((0, "s", 1, "s"), (1, "e", 0, "e")),
    "starts": ((0, "e", 1, "e"),),
    "started_by": ((1, "e", 0, "e"),),
    "finishes": ((1, "s", 0, "s"),),
    "finished_by": ((0, "s", 1, "s"),),
    "overlaps": ((0, "s", 1, "s"), (0, "e", 1, "e")),
    "overlapped_by": ((1, "s", 0, "s"), (1, "e", 0, "e")),
}
"""What lies strictly before what: (side, its start or end, side, its start or end)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two aliases of one stream, and the pattern around which it is said that they differ."""

    one: str
    two: str
    at: Pattern


def pairs(
    found: Sequence[Place], events: Mapping[str, Alias], copies: Sequence[Mapping[str, str]]
) -> Iterator[Pair]:
    """The aliases that need a condition to be different events. Raises Refused where none can say
    it. Any event at all may close a window earlier, so the aliases of ``copies`` are told apart
    only from each other; and from what opens the time in which WITHOUT looks for them, which is
    closed."""
    root = found[0].root
    closing = [set(each.values()) for each in copies]
    opening = {
        id(part.absent[1]): part.parts[0]
        for part in walk(root)
        if isinstance(part, Moments) and part.operator == "without"
    }
    for place in found:
        yield from _in_one_place(place, root, events)
        opens = opening.get(id(place.root))
        opened = set() if opens is None else set(occurring_aliases(opens))
        for around in place.around():
            yield from _across(place, around, root, events, closing, opened)


def _across(
    place: Place,
    around: Place,
    root: Pattern,
    events: Mapping[str, Alias],
    closing: Sequence[set[str]],
    opens: set[str],
) -> Iterator[Pair]:
    """An alias of an absent pattern, and one of what it is absent from."""
    if {events[one].event for one in around.aliases}.isdisjoint(
        events[two].event for two in place.aliases
    ):
        return
    around_both = _with(around.root, place.root)
    for one in occurring_aliases(around_both):
        for two in occurring_aliases(place.root):
            if events[one].event != events[two].event:
                continue
            if one not in opens and any((one in each) != (two in each) for each in closing):
                continue
            if differ_in_time(one, two, root, place):
                continue
            readable = around is place.parent and one in certain(around_both)
            if not readable or two not in certain(place.root):
                raise _cannot_say(one, two, span_of(place.root))
            yield Pair(one, two, place.root)


def _in_one_place(place: Place, root: Pattern, events: Mapping[str, Alias]) -> Iterator[Pair]:
    for node in occurring(place.root):
        parts = parts_of(node)
        if len(parts) < 2 or isinstance(node, Or | AnyOne):
            continue
        inside = list(map(occurring_aliases, parts))
        bound = list(map(certain, parts))
        known = certain(node)
        done: set[tuple[str, str]] = set()
        for at, left in enumerate(inside):
            for right in inside[at + 1 :]:
                for one in left:
                    for two in right:
                        if one == two or events[one].event != events[two].event:
                            continue
                        if {(one, two), (two, one)} & done:
                            continue
                        if any(one in part and two in part for part in bound):
                            continue  # said inside that part
                        done.add((one, two))
                        if any(differ_in_time(one, two, each, place) for each in (node, root)):
                            continue
                        if not {one, two} <= known:
                            raise _cannot_say(one, two, span_of(node))
                        yield Pair(one, two, node)


def _with(pattern: Pattern, absent: Pattern) -> Pattern:
    """A pattern without the alternatives in which an absent pattern inside it plays no part."""

    def chosen(was: Pattern, now: Pattern) -> Pattern:
        if not isinstance(was, Or | AnyOne):
            return now
        pairs = zip(was.parts, parts_of(now), strict=True)
        return next((part for each, part in pairs if holds(each, absent)), now)

    return rebuilt(pattern, chosen)


def _cannot_say(one: str, two: str, span: Span) -> Refused:
    return Refused(
        span,
        f"'{one}' and '{two}' stand for two different events of one stream, which cannot be told "
        "apart here: one of them occurs in some alternatives only, or in another absence",
        "write one CREATE EVENT for each alternative, or give the inner part a name with WITH",
    )


def differ(one: Alias, two: Alias, equal: frozenset[str], span: Span) -> Expr:
    """The condition that two events of one stream are not the same: a column differs, or a time.

    ``equal`` are columns that are the same anyway.
    """
    read = [
        *(
            (Attr(one.name, c, span), Attr(two.name, c, span))
            for c in one.columns
            if c not in equal
        ),
        (TimeOf(one.name, "start", span), TimeOf(two.name, "start", span)),
        (TimeOf(one.name, "end", span), TimeOf(two.name, "end", span)),
    ]
    return join("or", [Call("is distinct from", pair, span) for pair in read], span)


# -- what the operators say about time


def differ_in_time(one: str, two: str, root: Pattern, place: Place) -> bool:
    """Whether the operators alone make two events different, one of which is of the place."""
    graph = _Graph(one, two, root, {id(place.root), *(id(each.root) for each in place.around())})
    graph.add(root)
    return any(
        graph.strictly_before((left, which), (right, which))
        for which in ("s", "e")
        for left, right in ((one, two), (two, one))
    )


class _Graph:
    """Which start or end comes before which, for occurrences that have both aliases."""

    def __init__(self, one: str, two: str, root: Pattern, assumed: set[int]) -> None:
        self.leaves: dict[str, set[int]] = {one: set(), two: set()}
        for part in walk(root):
            if isinstance(part, Label) and part.name in self.leaves:
                self.leaves[part.name].add(id(part))
        self.assumed = assumed
        """Absent patterns that are assumed to occur, since they are what is asked about."""
        self.edges: dict[_Point, list[tuple[_Point, bool]]] = {}

    def before(self, earlier: _Point, later: _Point, strict: bool = False) -> None:
        self.edges.setdefault(earlier, []).append((later, strict))

    def same(self, one: _Point, two: _Point) -> None:
        self.before(one, two)
        self.before(two, one)

    def strictly_before(self, earlier: _Point, later: _Point) -> bool:
        seen: set[tuple[_Point, bool]] = set()
        stack = [(earlier, False)]
        while stack:
            point, strict = stack.pop()
            for following, more in self.edges.get(point, ()):
                state = (following, strict or more)
                if state == (later, True):
                    return True
                if state not in seen:
                    seen.add(state)
                    stack.append(state)
        return False

    def add(self, node: Pattern) -> None:
        """Add what a pattern says, and what its parts say."""
        start, end = (id(node), "s"), (id(node), "e")
        self.before(start, end)
        if isinstance(node, Label):
            self.same(start, (node.name, "s"))
            self.same(end, (node.name, "e"))
            return
        parts = self.branch(node) if isinstance(node, Or | AnyOne) else parts_of(node)
        for part in parts:
            self.add(part)
        self.interval(node, parts)
        if isinstance(node, Allen):
            for side, which, later, other in _BEFORE.get(node.relation, ()):
                self.before((id(parts[side]), which), (id(parts[later]), other), strict=True)
        if _in_a_row(node):
            for first, second in pairwise(parts):
                self.before((id(first), "e"), (id(second), "s"), strict=True)
            self.same(end, (id(parts[-1]), "e"))
            if not isinstance(node, Moments):
                self.same(start, (id(parts[0]), "s"))
        for inner in unseen(node):
            if id(inner) in self.assumed:
                self.add(inner)
                if isinstance(node, Not):
                    self.before((id(node.first), "e"), (id(inner), "s"), strict=True)
                    self.before((id(inner), "e"), (id(node.last), "s"), strict=True)
        if isinstance(node, Moments):
            self.moments(node, OPERATORS[node.operator].shape(len(parts), node.limit))

    def branch(self, node: Or | AnyOne) -> tuple[Pattern, ...]:
        """The alternative that must be the one: all of what is asked about is in it, or one of the
        two aliases stands nowhere else. None where that cannot be told."""
        if len(node.parts) == 1:
            return node.parts
        for part in node.parts:
            inside = set(map(id, walk(part)))
            if self.assumed & inside or any(own <= inside for own in self.leaves.values()):
                return (part,)
        return ()

    def interval(self, node: Pattern, parts: tuple[Pattern, ...]) -> None:
        """Where a pattern occurs, as far as its parts say."""
        start, end = (id(node), "s"), (id(node), "e")
        for part in parts:
            self.before((id(part), "e"), end)
            if isinstance(node, AnyOne | Or | Within):
                self.same((id(part), "e"), end)
            if isinstance(node, Or | Within):
                self.same((id(part), "s"), start)
            elif not isinstance(node, AnyOne | Moments):
                self.before(start, (id(part), "s"))
        if isinstance(node, Moments | AnyOne):
            self.same(start, end)

    def moments(self, node: Moments, shape: Shape) -> None:
        """What an operator over moments says of the ends of its parts, and of what is absent or
        collected."""
        end = (id(node), "e")
        ends: list[_Point] = [(id(part), "e") for part in node.parts]
        for bound in shape.bounds:
            if bound.limit <= 0:
                self.before(ends[bound.later], ends[bound.earlier], strict=bound.limit < 0)
        if len(shape.at) == 1 and shape.later == 0:
            self.same(end, ends[shape.at[0]])
        placed = [
            *zip(node.absent, shape.absences, strict=True),
            *zip(node.collected, shape.collections, strict=True),
        ]
        for pattern, stretch in placed:
            for inner in (pattern, *alternatives(pattern)):
                if id(inner) not in self.assumed:
                    continue
                if stretch.first >= 0:
                    since = ends[stretch.since]
                    strict = stretch.after or stretch.first > 0
                    self.before(since, (id(inner), "e"), strict=strict)
                if stretch.until in shape.at and stretch.last <= shape.later:
                    strict = stretch.before or stretch.last < shape.later
                    self.before((id(inner), "e"), end, strict=strict)


def _in_a_row(node: Pattern) -> bool:
    """Whether each part of a pattern ends before the next one starts."""
    if isinstance(node, Moments):
        return node.operator == RELATIVE
    return isinstance(node, Seq | Not | Until)
