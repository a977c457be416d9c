"""Where the conditions of a query go in its EVENT clause, and what they say of repeated aliases.

A condition on aliases that occur goes to the top; one on aliases that are repeated is asked of each
repetition from there. One that reads an alias which must be absent, or is collected, goes around
that pattern. One that reads an alias of some alternatives only goes to where that alias is, and one
that reads only what closes an UNTIL says what that is.

An alias that is repeated, as in ``SEQ(a, b+, c)``, stands for several events of one match.
Aggregates read it, and conditions are asked of each of its events; so it stands in one repetition
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from thence.lang.report import Refused
from thence.lang.sql.clause import (
    Place,
    certain,
    occurring,
    occurring_aliases,
    parts_of,
)
from thence.lang.sql.names import Names, span_of
from thence.lang.sql.names import reads as read_by
from thence.logic.expr import Expr, has_aggregate, labels
from thence.logic.ops import AnyOne, Label, Or, Pattern, Repeat, Until
from thence.logic.repetition import reads_previous
from thence.model.source import Span


def targets(condition: Expr, places: Sequence[Place]) -> list[Pattern]:
    """The nodes around which a condition goes. ``places`` begin with the clause itself."""
    reads = read_by(condition)
    inner = [place for place in places[1:] if reads & place.aliases]
    if not inner:
        return _nodes(condition, reads, places[0])
    if has_aggregate(condition):
        raise Refused(
            span_of(condition),
            "this condition is about all repetitions of what must be absent",
            "how often it must not come is said in EVENT, NOT b{3,}; for more, make it a query of "
            "its own: FROM (SELECT … EVENT …) a",
        )
    seeing = [place for place in inner if reads <= _visible(place)]
    for place in inner:
        if place not in seeing and not any(place in other.around() for other in seeing):
            raise _nowhere(condition, inner)
    return [node for place in seeing for node in _inner_nodes(condition, place)]


def _inner_nodes(condition: Expr, place: Place) -> list[Pattern]:
    """The nodes in an absent or collected pattern around which a condition goes. Only directly
    around the pattern, or an alternative of it, can a condition read what is just outside."""
    reads = read_by(condition)
    found = _nodes(condition, reads & place.aliases, place)
    outside = reads - place.aliases
    beyond = outside - (place.parent.aliases if place.parent is not None else set())
    direct = not beyond and set(map(id, found)) <= set(map(id, _with_alternatives(place.root)))
    direct = direct and not any(isinstance(node, Repeat) for node in occurring(place.root))
    if direct or not outside:
        return found
    inside = min(reads & place.aliases)
    raise Refused(
        span_of(condition),
        f"this condition compares '{inside}', which is deep inside what must be absent, with "
        f"'{min(beyond or outside)}' outside of it",
        "columns that must be equal can stand in PARTITION BY; else, make a simpler EVENT clause",
    )


def _with_alternatives(node: Pattern) -> list[Pattern]:
    """A node and, where it is an OR, its parts."""
    found = [node]
    for each in found:
        if isinstance(each, Or):
            found.extend(parts_of(each))
    return found


def _visible(place: Place) -> set[str]:
    return place.aliases.union(*(around.aliases for around in place.around()))


def _nowhere(condition: Expr, inner: Iterable[Place]) -> Refused:
    absent = {alias for place in inner for alias in place.aliases} & read_by(condition)
    shown = " and ".join(f"'{alias}'" for alias in sorted(absent))
    return Refused(
        span_of(condition),
        f"this condition reads {shown}, which are looked for one by one",
        "a condition can read one alias that must be absent or is collected, and aliases that "
        "occur; combine two of them in a query of their own: FROM (SELECT … EVENT …) a",
    )


def _nodes(condition: Expr, reads: frozenset[str] | set[str], place: Place) -> list[Pattern]:
    """The outermost nodes of a place at which all that a condition reads is bound."""
    if (
        reads <= labels(condition)
        and not reads_previous(condition)
        and (found := _closing(reads, place))
    ):
        return found
    if reads <= certain(place.root):
        return [place.root]
    found = []
    stack = [place.root]
    while stack:
        node = stack.pop()
        here = set(occurring_aliases(node))
        if not reads & here:
            continue
        if reads <= certain(node):
            found.append(node)
        elif isinstance(node, Or | AnyOne) or reads <= here:
            stack.extend(reversed(parts_of(node)))
        else:
            raise _in_some_alternatives(condition)
    return found


def _closing(reads: frozenset[str] | set[str], place: Place) -> list[Pattern]:
    """What closes an UNTIL, where a condition reads nothing else."""
    untils = [node for node in occurring(place.root) if isinstance(node, Until)]
    return [node.closing for node in untils if reads and reads <= certain(node.closing)]


def _in_some_alternatives(condition: Expr) -> Refused:
    return Refused(
        span_of(condition),
        "this condition reads aliases that do not all occur in the same alternatives",
        "write one CREATE EVENT for each alternative",
    )


# -- aliases that are repeated

Owners = Mapping[str, frozenset[int]]
"""The outermost repetitions in which an alias stands, one in each alternative, by their identity;
by the name of the alias."""


def owners_of(places: Sequence[Place], names: Names) -> Owners:
    """The aliases that are repeated. Raises Refused for one that is a single event as well."""
    owners: dict[str, frozenset[int]] = {}
    for place in places:
        for alias, owner in _leaves(place.root):
            if owner is not None:
                owners[alias.name] = owners.get(alias.name, frozenset()) | {owner}
    for place in places:
        for alias, owner in _leaves(place.root):
            name = alias.name
            if name in owners and (owner is None or _times(place.root, name) > 1):
                stream = names.aliases[name].stream
                raise Refused(
                    alias.span,
                    f"'{name}' is repeated, so it is several events, and cannot be one of "
                    "them elsewhere in EVENT",
                    f"give the stream a second alias: FROM {stream} {name} {name}2",
                )
    return owners


def _leaves(root: Pattern) -> Iterator[tuple[Label, int | None]]:
    """The aliases that occur in a pattern, each with the outermost repetition around it."""
    stack: list[tuple[Pattern, int | None]] = [(root, None)]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, Label):
            yield node, owner
        inside = id(node) if owner is None and isinstance(node, Repeat) else owner
        stack.extend((part, inside) for part in reversed(parts_of(node)))


def _times(node: Pattern, alias: str) -> int:
    """How many repetitions, or single events, an alias is in one occurrence."""
    if isinstance(node, Label | Repeat):
        return int(alias in occurring_aliases(node))
    found = [_times(part, alias) for part in parts_of(node)]
    return max(found) if isinstance(node, Or | AnyOne) else sum(found)


def is_one_repetition(places: Sequence[Place]) -> bool:
    """Whether everything that stands in an EVENT clause is inside one repetition: then nothing else
    says that its events agree in a column."""
    owners = {owner for place in places for _, owner in _leaves(place.root)}
    return len(owners) == 1 and None not in owners


def check_collecting(collected: Sequence[Pattern], root: Pattern) -> None:
    """Refuse a query that collects events and repeats others: aggregates are over either."""
    inside = (part for node in (root, *collected) for part in occurring(node))
    repeat = next((part for part in inside if isinstance(part, Repeat)), None)
    if collected and repeat is not None:
        raise Refused(
            repeat.span,
            "a query collects events, or repeats them, but not both",
            "do one of the two in a query of its own: FROM (SELECT … EVENT …) a",
        )


def check_distinct(one: str, two: str, owners: Owners, span: Span) -> None:
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
