"""The body of a query's rule: FROM, PARTITION BY, EVENT, WHERE and WITHIN as patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.sql import moments
from thence.lang.sql import syntax as q
from thence.lang.sql.apart import differ, pairs
from thence.lang.sql.conditions import targets
from thence.lang.sql.events import (
    Expression,
    Node,
    Place,
    certain,
    expression,
    occurring,
    operator,
    places,
)
from thence.lang.sql.names import Alias, Names, Value, conjuncts, renamed
from thence.lang.sql.refusal import Refused
from thence.lang.sql.repeated import (
    alone,
    check_apart,
    check_collecting,
    check_condition,
    owners_of,
)
from thence.model.source import Span
from thence.model.types import DURATION


@dataclass(frozen=True, slots=True)
class Body:
    """The items of a rule's body, and what the select list must know of its aliases.

    ``certain`` aliases are bound in every match and ``occurring`` ones in some. Those that are
    ``collected``, or that ``names`` has as repeated, may be many; ``beside`` are those that stand
    in FROM alone, each with its place there. ``loose`` are partition columns on which repetitions
    agree only if the rule's head shows them. ``merged`` says that the policy makes one result of
    several matches, over which aggregates are.
    """

    items: tuple[s.Node, ...]
    names: Names
    certain: frozenset[str]
    occurring: frozenset[str]
    collected: frozenset[str]
    beside: Mapping[str, Span]
    loose: frozenset[str] = frozenset()
    merged: bool = False


def body(select: q.Select, names: Names) -> Body:
    """The body of a select. Raises Refused."""
    clause = _clause(select, names)
    streams = places(clause.root)
    clause = _with_tables(clause, names)
    found = places(clause.root)
    beside = _beside(clause, found, names)
    top = found[0]
    found += [Place(node, top, {node.alias}) for node in beside]
    collected = [*beside, *(inner for node in occurring(top.root) for inner in node.collected)]
    _check_once(found, names)
    known = _with_copies(clause, names)
    owners = owners_of(found, names)
    check_collecting(collected, top.root)
    shared = names.partition if owners else _shared(found, names.partition)
    names = replace(names, shared=shared, repeated=frozenset(owners))
    conditions: dict[Node, list[s.Node]] = {}
    for node in select.conditions:
        for part in conjuncts(node):
            condition = names.value(part)
            check_condition(condition, owners)
            _add(condition, found, clause, conditions)
    for pair in pairs(streams, known, clause.copies):
        check_apart(pair.one, pair.two, owners, pair.at.span)
        different = differ(known[pair.one], known[pair.two], names.partition, pair.at.span)
        conditions.setdefault(pair.at, []).append(different)
    writer = _Writer(known, select, shared, conditions)
    window = clause.windows[0] if beside else None
    main = writer.pattern(clause.root, window)
    items = (main, *(writer.collect(node) for node in beside))
    return Body(
        items,
        names,
        certain(clause.root),
        frozenset(top.aliases),
        frozenset(part.alias for node in collected for part in occurring(node) if part.alias),
        {node.alias: names.aliases[node.alias].span for node in beside},
        shared if alone(streams) else frozenset(),
        any(word.word == "cumulative" for word in select.policy),
    )


def _clause(select: q.Select, names: Names) -> Expression:
    """The EVENT clause; without one, the only alias, or all of them within the limit given."""
    if select.happening is not None:
        found = expression(select.happening, names)
    else:
        streams = [alias for alias in names.aliases.values() if not alias.table]
        leaves = [Node("alias", (), alias.span, alias.name) for alias in streams]
        if not leaves:
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "nothing occurs in this query: its tables have rows, which are true at all times, "
                "and no events",
                "add the stream that the rows are looked up for: FROM stream e, table t",
            )
        if len(leaves) > 1 and not select.limits:
            shown = ", ".join(alias.name for alias in streams)
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "the query does not say how its events relate in time",
                f"add EVENT, such as EVENT SEQ({shown}), or WITHIN for all of them in any order",
            )
        span = Span(leaves[0].span.start, leaves[-1].span.end)
        found = Expression(leaves[0] if len(leaves) == 1 else operator("and", leaves, span))
    root = found.root
    for limit in select.limits:
        root = operator("within", (root,), Span(root.span.start, limit.end), limit=limit.micros)
    return replace(found, root=root)


def _with_tables(clause: Expression, names: Names) -> Expression:
    """The clause with the rows of tables beside it, which are there at all times."""
    tables = [alias for alias in names.aliases.values() if alias.table]
    if not tables:
        return clause
    leaves = [Node("alias", (), alias.span, alias.name) for alias in tables]
    return replace(clause, root=operator("and", (clause.root, *leaves), clause.root.span))


def _beside(clause: Expression, found: list[Place], names: Names) -> list[Node]:
    """The aliases that stand in FROM only: a BETWEEN window collects them."""
    standing = {alias for place in found for alias in place.aliases}
    left = [alias for alias in names.aliases.values() if alias.name not in standing]
    if not left:
        return []
    always = {node for node in clause.windows if _always_occurs(node, clause.root)}
    if not always:
        raise Refused(
            left[0].span,
            f"'{left[0].name}' stands in FROM, and EVENT says nothing about it",
            "say when it occurs, or leave it out; it can be collected in a window: "
            "EVENT BETWEEN(a, b)",
        )
    if len(clause.windows) > 1:
        raise Refused(
            clause.windows[1].span,
            f"there are several windows in which '{left[0].name}' could be collected",
            "write a query for each window, and use one in the FROM of the other",
        )
    return [Node("alias", (), alias.span, alias.name) for alias in left]


def _always_occurs(wanted: Node, node: Node) -> bool:
    if node is wanted:
        return True
    return node.kind not in ("or", "anyone") and any(
        _always_occurs(wanted, part) for part in node.parts
    )


def _check_once(found: list[Place], names: Names) -> None:
    """An alias that occurs cannot be absent as well: it is one event."""
    for place in found[1:]:
        for node in occurring(place.root):
            if node.kind == "alias" and any(node.alias in p.aliases for p in place.around()):
                raise Refused(
                    node.span,
                    f"'{node.alias}' occurs in this query, so it cannot be absent as well",
                    f"give the stream a second alias: FROM {names.aliases[node.alias].stream} "
                    f"{node.alias} {node.alias}2",
                )


def _with_copies(clause: Expression, names: Names) -> dict[str, Alias]:
    """All aliases, those of what would close a window earlier included."""
    known = dict(names.aliases)
    for copies in clause.copies:
        known |= {copy: replace(known[alias], name=copy) for alias, copy in copies.items()}
    return known


def _shared(found: list[Place], partition: frozenset[str]) -> frozenset[str]:
    """Partition columns are variables where there is something to share."""
    uses = Counter(alias for place in found for alias in place.aliases)
    return partition if uses.total() > 1 else frozenset()


def _add(
    condition: Value,
    found: list[Place],
    clause: Expression,
    conditions: dict[Node, list[s.Node]],
) -> None:
    values = [condition]
    for copies in clause.copies:
        # What is said of the closing event alone says which events close the window.
        values += [
            replace(
                value,
                node=renamed(value.node, copies),
                plain=frozenset(copies[alias] for alias in value.plain),
                folded=frozenset(copies[alias] for alias in value.folded),
            )
            for value in values
            if value.reads and value.reads <= copies.keys()
        ]
    for value in values:
        for node in targets(value, found):
            conditions.setdefault(node, []).append(value.node)


class _Writer:
    """Writes nodes down as patterns of the rule language, with their conditions around them."""

    def __init__(
        self,
        aliases: Mapping[str, Alias],
        select: q.Select,
        shared: frozenset[str],
        conditions: Mapping[Node, list[s.Node]],
    ) -> None:
        self.aliases, self.conditions = aliases, conditions
        columns = {column.text: column for column in select.partition if column.text in shared}
        self.columns = tuple(columns.values())
        self.label = "window"
        while self.label in aliases:
            self.label += "′"

    def pattern(self, node: Node, window: Node | None = None) -> s.Node:
        """A node as a pattern; ``window`` is the node that gets the label of the window."""
        found = self.bare(node, window)
        if node is window:
            found = s.Labelled(
                self.label, found, found.start, found.start, found.end, found.depth + 1
            )
        return filtered(found, self.conditions.get(node, ()))

    def bare(self, node: Node, window: Node | None) -> s.Node:
        start, end, kind = node.span.start, node.span.end, node.kind
        if kind == "alias":
            return self.atom(node)
        parts = tuple(self.pattern(part, window) for part in node.parts)
        absent = tuple(self.pattern(part, window) for part in node.absent)
        collected = tuple(self.pattern(part, window) for part in node.collected)
        depth = 1 + max(part.depth for part in (*parts, *absent, *collected))
        if kind == "within":
            return s.WithinSuffix(parts[0], node.limit, start, end, depth)
        if kind == "repeat":
            return s.Repeated(parts[0], *node.times, start, end, depth)
        if kind == "between":
            missing = absent[0] if len(absent) == 1 else _chain("or", absent, node.span)
            inner = s.Paren((missing,), missing.start, missing.end, missing.depth + 1)
            first, last = parts
            return s.Between(inner, first, last, start, end, max(depth, inner.depth + 1))
        if kind == "anyone":
            return s.Apply(kind, parts, start, start, end, depth)
        if kind in ("follows", "precedes", "both", "notfollows", "notprecedes"):
            limit = s.Literal_(node.limit, DURATION, start, end)
            return s.Apply(kind, (*parts, *absent, limit), start, start, end, depth)
        if kind in moments.POINTS:
            args = moments.arguments(kind, parts, absent, collected, node.limit, node.span)
            return s.Apply(kind, args, start, start, end, depth)
        return _chain(kind, parts, node.span)

    def atom(self, node: Node) -> s.Node:
        alias = self.aliases[node.alias]
        columns = () if alias.table else self.columns
        return atom(node.alias, alias.event, columns, node.span)

    def collect(self, node: Node) -> s.Node:
        start, end = node.span.start, node.span.end
        target = self.pattern(node)
        return s.WhileItem(self.label, start, end, "collect", target, start, end, target.depth + 1)


def atom(label: str, event: str, columns: Sequence[s.Name], span: Span) -> s.Labelled:
    """A labelled event, with columns that are variables of the same name."""
    start, end = span.start, span.end
    args = tuple(
        s.Chain(
            (column, s.Op("infix", "=", column.start, column.end), column),
            column.start,
            column.end,
            1,
        )
        for column in columns
    )
    return s.Labelled(label, s.Apply(event, args, end, start, end, 2), end, start, end, 3)


def filtered(pattern: s.Node, conditions: Sequence[s.Node]) -> s.Node:
    """A pattern with conditions around it, if there are any."""
    if not conditions:
        return pattern
    condition = conditions[0]
    if len(conditions) > 1:
        start, end = conditions[0].start, conditions[-1].end
        depth = 1 + max(part.depth for part in conditions)
        condition = s.Paren(tuple(conditions), start, end, depth)
    depth = 1 + max(pattern.depth, condition.depth)
    return s.WhereSuffix(pattern, condition, pattern.start, pattern.end, depth)


def _chain(kind: str, parts: tuple[s.Node, ...], span: Span) -> s.Node:
    row: list[s.Node | s.Op] = []
    for part in parts:
        if row:
            row.append(s.Op("infix", kind, span.start, span.end))
        inner = s.Paren((part,), part.start, part.end, part.depth + 1)
        row.append(inner if isinstance(part, (s.WhereSuffix, s.WithinSuffix, s.Chain)) else part)
    depth = 1 + max(part.depth for part in row)
    return s.Chain(tuple(row), span.start, span.end, depth) if len(row) > 1 else parts[0]
