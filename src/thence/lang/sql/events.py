"""The EVENT clause as a tree of few kinds of nodes, and where in it the aliases stand.

Every operator of event SQL is written with operators of the rule language here; what is left to do
is to say which conditions go where, and to write it down as a rule's body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thence.lang import syntax as s
from thence.lang.problem import too_deep, too_many
from thence.lang.report import Refused
from thence.lang.sql import moments
from thence.lang.sql import syntax as q
from thence.lang.sql.names import Names, free
from thence.lang.words import ALLEN, CALLS, MOMENT_OPERATORS, MOST_PATTERNS, WINDOW_OPERATORS
from thence.model.names import did_you_mean
from thence.model.source import Span

_OF_TWO = ALLEN | {"par", "until"}
_ROWS = frozenset({"seq", "and", "or", "anyone"})
_NEGATED = frozenset(name for name in WINDOW_OPERATORS if "absent" in CALLS[name].roles)
OPERATORS = _OF_TWO | _ROWS | {"between", "any"} | moments.POINTS
"""What can be called in an EVENT clause."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An alias, or an operator of the rule language over nodes.

    ``kind`` is ``alias``, ``within``, ``repeat``, ``between`` (``not(absent).[first, last]``) or
    the operator's name. ``absent`` must not occur: in the window of ``notfollows`` and
    ``notprecedes``, between the parts of ``between``, or where an operator over moments says.
    ``collected`` is what APERIODIC* accumulates. ``times`` is how often ``repeat`` has its part: at
    least, and at most.
    """

    kind: str
    parts: tuple[Node, ...]
    span: Span
    alias: str = ""
    absent: tuple[Node, ...] = ()
    limit: int = 0
    depth: int = 1
    times: tuple[int, int | None] = (1, 1)
    collected: tuple[Node, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        """Everything directly inside."""
        return (*self.parts, *self.absent, *self.collected)


def operator(
    kind: str,
    parts: Sequence[Node],
    span: Span,
    absent: Sequence[Node] = (),
    limit: int = 0,
    collected: Sequence[Node] = (),
) -> Node:
    """A node over others. A row of operands may nest deeper than it was written."""
    depth = 1 + max(part.depth for part in (*parts, *absent, *collected))
    if depth > s.MAX_DEPTH:
        raise too_deep(Span(span.start, min(span.end, span.start + 40)))
    return Node(
        kind, tuple(parts), span, "", tuple(absent), limit, depth, collected=tuple(collected)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A pattern that occurs, or one that must be absent or is collected, with its own aliases.

    The aliases of the places around it can be read in it, not the other way round.
    """

    root: Node
    parent: Place | None
    aliases: set[str] = field(default_factory=set)

    def around(self) -> Iterator[Place]:
        """The places around this one, from the inside out."""
        place = self.parent
        while place is not None:
            yield place
            place = place.parent


@dataclass(frozen=True, slots=True)
class Expression:
    """An EVENT clause: its tree, its BETWEEN windows, and the names that stand for *the next* one.

    ``copies`` has, for each window and each WITHOUT, the name under which an event that would have
    closed it earlier is looked for, by the alias of what closes it.
    """

    root: Node
    windows: tuple[Node, ...] = ()
    copies: tuple[Mapping[str, str], ...] = ()


def expression(happening: q.Happening, names: Names) -> Expression:
    """The tree of an EVENT clause. Raises Refused."""
    reader = _Reader(names)
    root = reader.node(happening)
    return Expression(root, tuple(reader.windows), tuple(reader.copies))


class _Reader:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.windows: list[Node] = []
        self.copies: list[Mapping[str, str]] = []
        self.made = 0

    def node(self, node: q.Happening) -> Node:
        span = Span(node.start, node.end)
        self.count(1, span)
        match node:
            case s.Name():
                alias = self.names.alias(node)
                if alias.table:
                    raise Refused(
                        span,
                        f"'{alias.name}' is a row of the table '{alias.stream}', which has no "
                        "time, so EVENT cannot be about it",
                        "leave it out of EVENT, and say in WHERE which row is meant: "
                        f"WHERE e.x = {alias.name}.x",
                    )
                return Node("alias", (), span, alias.name)
            case q.Limited():
                return operator("within", (self.node(node.base),), span, limit=node.limit)
            case q.Repeated():
                inner = operator("repeat", (self.node(node.base),), span)
                return replace(inner, times=(node.least, node.most))
            case q.Negation():
                return self.negation(node)
            case q.Several():
                raise Refused(
                    span, "a comma does not join events here", "write AND(a, b), SEQ(a, b)"
                )
            case q.Operation():
                return self.operation(node, span)

    def count(self, nodes: int, span: Span) -> None:
        """Refuse what stands for too many nodes, with all choices and copies written out."""
        self.made += nodes
        if self.made > MOST_PATTERNS:
            raise too_many(span)

    def operation(self, node: q.Operation, span: Span) -> Node:
        name = node.name
        if name not in OPERATORS:
            raise self.unknown(node)
        if name in MOMENT_OPERATORS - WINDOW_OPERATORS:
            return self.moments(node, span)
        self.check_arguments(node, span)
        if name == "seq":
            return self.sequence(node.parts, span)
        parts = tuple(map(self.node, node.parts))
        limit = node.limit.micros if node.limit is not None else 0
        if name == "between":
            return self.between(parts, (), span)
        if name in _NEGATED:
            return operator(name, parts[:1], span, absent=parts[1:], limit=limit)
        if name == "follows":
            return _folded(lambda a, b: operator("follows", (a, b), span, limit=limit), parts)
        if name == "precedes":
            # c precedes b, which precedes a.
            return _folded(
                lambda b, a: operator("precedes", (a, b), span, limit=limit), parts[::-1]
            )
        if name == "both" and len(parts) > 2:
            points = tuple(operator("anyone", (part,), part.span) for part in parts)
            close = operator("within", (operator("and", points, span),), span, limit=limit)
            return operator("anyone", (close,), span)
        return operator(name, parts, span, limit=limit)

    def moments(self, node: q.Operation, span: Span) -> Node:
        """An operator over moments, such as ``APERIODIC(a, b, c)``."""
        name = node.name
        if name == "any":
            # Each choice is read anew: what is said of its parts is said of each choice.
            rows = [_row("and", [*map(self.node, c)], span) for c in moments.choices(node)]
            return operator("anyone", rows, span)
        moments.check(node, span)
        parts, absent, collected = moments.divided(name, [*map(self.node, node.parts)])
        if name == "without":
            absent += (self.earlier(parts[1]),)
        if name == "other_than" and len(parts) > 1:
            parts = (operator("or", parts, span),)
        limit = node.limit.micros if node.limit is not None else 0
        return operator(name, parts, span, absent=absent, limit=limit, collected=collected)

    def check_arguments(self, node: q.Operation, span: Span) -> None:
        name, given = node.name, len(node.parts)
        shown = name.upper()
        if name in WINDOW_OPERATORS and node.limit is None:
            raise Refused(
                span, f"{shown} needs a duration", f"it comes last: {shown}(a, b, '1 min')"
            )
        if name not in WINDOW_OPERATORS and node.limit is not None:
            raise Refused(
                Span(node.limit.start, node.limit.end),
                f"{shown} takes no duration",
                f"to limit how long it may last, write {shown}(…) WITHIN 1 min",
            )
        exactly = name in _NEGATED or name in _OF_TWO or name == "between"
        if (exactly and given != 2) or (name not in _ROWS and given < 2):
            hint = f"{shown}(a, b)" if node.limit is None else f"{shown}(a, b, '1 min')"
            if name in _NEGATED and given > 2:
                hint = f"{shown}(a, ANYONE(b, c), '1 min')"
            raise Refused(
                span,
                f"{shown} takes {'two' if exactly else 'two or more'} events, and {given} "
                f"{'is' if given == 1 else 'are'} given",
                f"write {hint}",
            )

    def unknown(self, node: q.Operation) -> Refused:
        span = Span(node.start, node.name_end)
        known = [name.upper() for name in sorted(OPERATORS)]
        hint = did_you_mean(node.name, known, f"operators are {', '.join(known)}")
        return Refused(span, f"unknown operator '{node.name.upper()}'", hint)

    def sequence(self, parts: Sequence[q.Happening], span: Span) -> Node:
        """``SEQ(a, !c, b)``: absent is ``c`` between its neighbours."""
        done: list[Node] = []
        absent: list[Node] = []
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
                absent.append(self.node(part.parts[0]))
                continue
            node = self.node(part)
            if absent:
                before = _row("seq", done, span)
                done = [operator("between", (before, node), span, absent=tuple(absent))]
                absent = []
            else:
                done.append(node)
        return _row("seq", done, span)

    def negation(self, node: q.Negation) -> Node:
        *absent, window = node.parts
        span = Span(node.start, node.end)
        if not absent or not isinstance(window, q.Operation) or window.name != "between":
            raise Refused(
                span,
                "an absence needs the time in which nothing happens",
                "write SEQ(a, NOT c, b), NOT(c, BETWEEN(a, b)), or NOTFOLLOWS(a, c, '1 min')",
            )
        self.check_arguments(window, span)
        parts = tuple(map(self.node, window.parts))
        return self.between(parts, tuple(map(self.node, absent)), span)

    def between(self, parts: tuple[Node, ...], absent: tuple[Node, ...], span: Span) -> Node:
        """A window that the next event of its second part closes: none comes earlier."""
        found = operator("between", parts, span, absent=(self.earlier(parts[1]), *absent))
        self.windows.append(found)
        return found

    def earlier(self, closing: Node) -> Node:
        """What would have closed a window earlier: the closing part under other names."""
        mark = f"′{len(self.copies) + 1}" if self.copies else "′"
        names = {alias: free(alias + mark, self.names.aliases) for alias in aliases(closing)}
        self.copies.append(names)
        self.count(sum(1 for _ in walk(closing)), closing.span)
        return _renamed(closing, names)


def _row(kind: str, parts: Sequence[Node], span: Span) -> Node:
    return parts[0] if len(parts) == 1 else operator(kind, tuple(parts), span)


def _folded(join: Callable[[Node, Node], Node], parts: Sequence[Node]) -> Node:
    done = parts[0]
    for part in parts[1:]:
        done = join(done, part)
    return done


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    return replace(
        node,
        alias=names.get(node.alias, node.alias),
        parts=tuple(_renamed(part, names) for part in node.parts),
        absent=tuple(_renamed(part, names) for part in node.absent),
        collected=tuple(_renamed(part, names) for part in node.collected),
    )


def walk(node: Node) -> Iterator[Node]:
    """A node and everything inside it, what must be absent or is collected included."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(top.children))


def aliases(node: Node) -> list[str]:
    """The aliases that stand in a node, absent ones included, in the order of the text."""
    return list(dict.fromkeys(part.alias for part in walk(node) if part.kind == "alias"))


def occurring(node: Node) -> Iterator[Node]:
    """A node and what takes part in its occurrence: what must be absent, or is collected, is left
    out."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(top.parts))


def certain(node: Node) -> frozenset[str]:
    """The aliases that are bound whenever a node occurs: of alternatives, those in each."""
    if node.kind == "alias":
        return frozenset({node.alias})
    inside = [certain(part) for part in node.parts]
    if node.kind in ("or", "anyone"):
        return frozenset.intersection(*inside)
    return frozenset[str]().union(*inside)


def places(root: Node) -> list[Place]:
    """The place of the clause itself, then those of what must be absent or is collected, outermost
    first."""
    found = [Place(root, None)]
    for place in found:
        for node in occurring(place.root):
            if node.kind == "alias":
                place.aliases.add(node.alias)
            found.extend(Place(inner, place) for inner in (*node.absent, *node.collected))
    return found
