"""Aliases that an EVENT clause repeats: ``SEQ(a, b+, c)``.

Such an alias stands for several events of one match. Aggregates read it, and conditions are asked
of each of its events; so it stands in one repetition and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thence.lang.report import Refused
from thence.lang.sql.events import Node, Place, occurring
from thence.lang.sql.names import Names, span_of
from thence.logic.expr import Expr, has_aggregate, labels
from thence.model.source import Span

Owners = Mapping[str, tuple[Node, ...]]
"""The outermost repetitions in which an alias stands, by its name: one in each alternative."""


def owners_of(places: Sequence[Place], names: Names) -> Owners:
    """The aliases that are repeated. Raises Refused for one that is a single event as well."""
    owners: dict[str, tuple[Node, ...]] = {}
    for place in places:
        for alias, owner in _leaves(place.root):
            if owner is not None and owner not in owners.get(alias.alias, ()):
                owners[alias.alias] = (*owners.get(alias.alias, ()), owner)
    for place in places:
        for alias, owner in _leaves(place.root):
            known = owners.get(alias.alias)
            if known is None:
                continue
            if owner is None or _times(place.root, alias.alias) > 1:
                stream = names.aliases[alias.alias].stream
                raise Refused(
                    alias.span,
                    f"'{alias.alias}' is repeated, so it is several events, and cannot be one of "
                    "them elsewhere in EVENT",
                    f"give the stream a second alias: FROM {stream} {alias.alias} {alias.alias}2",
                )
    return owners


def _leaves(root: Node) -> Iterator[tuple[Node, Node | None]]:
    """The aliases that occur in a node, each with the outermost repetition around it."""
    stack: list[tuple[Node, Node | None]] = [(root, None)]
    while stack:
        node, owner = stack.pop()
        if node.kind == "alias":
            yield node, owner
        inside = node if owner is None and node.kind == "repeat" else owner
        stack.extend((part, inside) for part in reversed(node.parts))


def _times(node: Node, alias: str) -> int:
    """How many repetitions, or single events, an alias is in one occurrence."""
    if node.kind in ("alias", "repeat"):
        return int(any(part.alias == alias for part in occurring(node)))
    found = [_times(part, alias) for part in node.parts]
    return max(found) if node.kind in ("or", "anyone") else sum(found)


def alone(places: Sequence[Place]) -> bool:
    """Whether everything that stands in an EVENT clause is inside one repetition: then nothing else
    says that its events agree in a column."""
    owners = {owner for place in places for _, owner in _leaves(place.root)}
    return len(owners) == 1 and None not in owners


def check_collecting(collected: Sequence[Node], root: Node) -> None:
    """Refuse a query that collects events and repeats others: aggregates are over either."""
    inside = (part for node in (root, *collected) for part in occurring(node))
    repeat = next((part for part in inside if part.kind == "repeat"), None)
    if collected and repeat is not None:
        raise Refused(
            repeat.span,
            "a query collects events, or repeats them, but not both",
            "do one of the two in a query of its own: FROM (SELECT … EVENT …) a",
        )


def check_apart(one: str, two: str, owners: Owners, span: Span) -> None:
    """Refuse to tell the events of two repetitions from each other where time does not."""
    if one in owners and two in owners and owners[one] != owners[two]:
        raise Refused(
            span,
            f"'{one}' and '{two}' are repeated, and stand for different events of one stream, "
            "which cannot be told apart here",
            f"put them in an order: SEQ({one}+, {two}+)",
        )


def check_condition(condition: Expr, owners: Owners) -> None:
    """Refuse a condition that cannot be asked of each repetition."""
    plain = sorted(alias for alias in labels(condition) if alias in owners)
    if not plain:
        return
    other = next((each for each in plain if owners[each] != owners[plain[0]]), None)
    if other is not None:
        raise Refused(
            span_of(condition),
            f"this condition is asked of each '{plain[0]}', and of each '{other}', which are "
            "repeated one without the other",
            f"compare aggregates: FIRST({plain[0]}.x) < LAST({other}.x)",
        )
    if has_aggregate(condition):
        raise Refused(
            span_of(condition),
            f"this condition is asked of each '{plain[0]}', while its aggregate is about all "
            "repetitions together",
            f"compare aggregates with each other: MAX({plain[0]}.x) < 2 * AVG({plain[0]}.x)",
        )
