"""Two aliases over one stream are two different events: where time alone does not say so.

The operators order the ends of their operands. Where that order puts two events apart, as
``FOLLOWS`` does, nothing needs to be said; elsewhere, as in ``BOTH(P1, P2, '3 sec')``, a condition
says that they differ in some column or in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from thence.lang.precedence import join
from thence.lang.report import Refused
from thence.lang.sql.events import Node, Place, certain, occurring, walk
from thence.lang.sql.moments import POINTS
from thence.lang.sql.names import Alias
from thence.logic.expr import Attr, Call, Expr, TimeOf
from thence.logic.moments import OPERATORS, Shape
from thence.model.source import Span

_Point = tuple[object, str]
"""The start or the end of a node or, by its name, of an alias."""

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
    "between": ((0, "e", 1, "s"),),
    "until": ((0, "e", 1, "s"),),
}
"""What lies strictly before what: (part, its start or end, part, its start or end)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two aliases of one stream, and the node around which it is said that they differ."""

    one: str
    two: str
    at: Node


def pairs(
    found: Sequence[Place], events: Mapping[str, Alias], copies: Sequence[Mapping[str, str]]
) -> Iterator[Pair]:
    """The aliases that need a condition to be different events. Raises Refused where none can say
    it. Any event at all may close a window earlier, so the aliases of ``copies`` are told apart
    only from each other; and from what opens the time in which WITHOUT looks for them, which is
    closed."""
    root = found[0].root
    closing = [set(each.values()) for each in copies]
    opening = {node.absent[1]: node.parts[0] for node in walk(root) if node.kind == "without"}
    for place in found:
        yield from _in_one_place(place, root, events)
        opens = set(_aliases(opening[place.root])) if place.root in opening else set()
        for around in place.around():
            yield from _across(place, around, root, events, closing, opens)


def _across(
    place: Place,
    around: Place,
    root: Node,
    events: Mapping[str, Alias],
    closing: Sequence[set[str]],
    opens: set[str],
) -> Iterator[Pair]:
    """An alias of an absent pattern, and one of what it is absent from."""
    beside = _with(around.root, place.root)
    for one in _aliases(beside):
        for two in _aliases(place.root):
            if events[one].event != events[two].event:
                continue
            if one not in opens and any((one in each) != (two in each) for each in closing):
                continue
            if apart(one, two, root, place):
                continue
            readable = around is place.parent and one in certain(beside)
            if not readable or two not in certain(place.root):
                raise _cannot_say(one, two, place.root.span)
            yield Pair(one, two, place.root)


def _in_one_place(place: Place, root: Node, events: Mapping[str, Alias]) -> Iterator[Pair]:
    for node in occurring(place.root):
        if len(node.parts) < 2 or node.kind in ("or", "anyone"):
            continue
        inside = [_aliases(part) for part in node.parts]
        bound = [certain(part) for part in node.parts]
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
                        if apart(one, two, node, place) or apart(one, two, root, place):
                            continue
                        if not {one, two} <= known:
                            raise _cannot_say(one, two, node.span)
                        yield Pair(one, two, node)


def _with(node: Node, absent: Node) -> Node:
    """A node without the alternatives in which an absent pattern inside it plays no part."""
    if absent not in walk(node):
        return node
    if node.kind in ("or", "anyone"):
        return next(_with(part, absent) for part in node.parts if absent in walk(part))
    return replace(node, parts=tuple(_with(part, absent) for part in node.parts))


def _aliases(node: Node) -> list[str]:
    return list(dict.fromkeys(part.alias for part in occurring(node) if part.kind == "alias"))


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


def apart(one: str, two: str, root: Node, place: Place) -> bool:
    """Whether the operators alone make two events different, one of which is of the place."""
    graph = _Graph(one, two, root, {place.root, *(each.root for each in place.around())})
    graph.add(root)
    return any(
        graph.strictly_before((left, which), (right, which))
        for which in ("s", "e")
        for left, right in ((one, two), (two, one))
    )


class _Graph:
    """Which start or end comes before which, for occurrences that have both aliases."""

    def __init__(self, one: str, two: str, root: Node, assumed: set[Node]) -> None:
        self.requested = {one, two}
        self.leaves = [node for node in walk(root) if node.alias in self.requested]
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

    def add(self, node: Node) -> None:
        """Add what a node says, and what its parts say."""
        kind, parts = node.kind, node.parts
        self.before((node, "s"), (node, "e"))
        if kind == "alias":
            self.same((node, "s"), (node.alias, "s"))
            self.same((node, "e"), (node.alias, "e"))
            return
        if kind in ("or", "anyone"):
            parts = self.branch(node)
        for part in parts:
            self.add(part)
        for earlier, which, later, other in _BEFORE.get(kind, ()):
            self.before((node.parts[earlier], which), (node.parts[later], other), strict=True)
        if kind in ("seq", "relative"):
            for first, second in pairwise(parts):
                self.before((first, "e"), (second, "s"), strict=True)
        self.span(node, parts)
        if kind in OPERATORS:
            self.moments(node, OPERATORS[kind].shape(len(parts), node.limit))
        for inner in (*node.absent, *node.collected):
            if inner in self.assumed:
                self.add(inner)
                if kind == "between":
                    self.before((parts[0], "e"), (inner, "s"), strict=True)
                    self.before((inner, "e"), (parts[1], "s"), strict=True)

    def branch(self, node: Node) -> tuple[Node, ...]:
        """The alternative that must be the one: all of what is asked about is in it, or one of the
        two aliases stands nowhere else. None where that cannot be told."""
        if len(node.parts) == 1:
            return node.parts
        for part in node.parts:
            inside = set(walk(part))
            if not self.assumed.isdisjoint(inside) or any(
                all(leaf in inside for leaf in self.leaves if leaf.alias == alias)
                for alias in self.requested
            ):
                return (part,)
        return ()

    def span(self, node: Node, parts: tuple[Node, ...]) -> None:
        """Where a node occurs, as far as its parts say."""
        kind = node.kind
        for part in parts:
            self.before((part, "e"), (node, "e"))
            if kind == "anyone":
                self.same((part, "e"), (node, "e"))
            elif kind in ("or", "within"):
                self.same((part, "s"), (node, "s"))
                self.same((part, "e"), (node, "e"))
            elif kind not in POINTS:
                self.before((node, "s"), (part, "s"))
        if kind in POINTS or kind == "anyone":
            self.same((node, "s"), (node, "e"))
        if kind in ("seq", "between", "until"):
            self.same((node, "s"), (parts[0], "s"))
        if kind in ("seq", "between", "until", "relative"):
            self.same((node, "e"), (parts[-1], "e"))

    def moments(self, node: Node, shape: Shape) -> None:
        """What an operator over moments says of the ends of its parts, and of what is absent or
        collected."""
        ends: list[_Point] = [(part, "e") for part in node.parts or (node,)]
        for later, earlier, limit in shape.bounds:
            if limit <= 0:
                self.before(ends[later], ends[earlier], strict=limit < 0)
        if len(shape.at) == 1 and shape.later == 0:
            self.same((node, "e"), ends[shape.at[0]])
        # The last absence is that of all alternatives.
        absences = [*shape.absences, *shape.absences[-1:] * len(node.absent)]
        placed = [
            *zip(node.absent, absences, strict=False),
            *zip(node.collected, shape.collections, strict=True),
        ]
        for inner, stretch in placed:
            if inner not in self.assumed:
                continue
            if stretch.first >= 0:
                self.before(ends[stretch.since], (inner, "e"), strict=stretch.first > 0)
            if stretch.until in shape.at and stretch.last <= shape.later:
                self.before((inner, "e"), (node, "e"), strict=stretch.last < shape.later)
