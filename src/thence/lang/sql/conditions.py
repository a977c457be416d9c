"""Where the conditions of a query go in its EVENT clause.

A condition on aliases that occur goes to the top; one on aliases that are repeated is asked of each
repetition from there. One that reads an alias which must be absent, or is collected, goes around
that pattern. One that reads an alias of some alternatives only goes to where that alias is, and one
that reads only what closes an UNTIL says what that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thence.lang.report import Refused
from thence.lang.sql.events import Node, Place, certain, occurring
from thence.lang.sql.names import reads as read_by
from thence.lang.sql.names import span_of
from thence.logic.expr import Expr, has_aggregate, labels
from thence.logic.repetition import reads_previous


def targets(condition: Expr, places: Sequence[Place]) -> list[Node]:
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


def _inner_nodes(condition: Expr, place: Place) -> list[Node]:
    """The nodes in an absent or collected pattern around which a condition goes. Only directly
    around the pattern, or an alternative of it, can a condition read what is just outside."""
    reads = read_by(condition)
    found = _nodes(condition, reads & place.aliases, place)
    outside = reads - place.aliases
    beyond = outside - (place.parent.aliases if place.parent is not None else set())
    direct = not beyond and set(found) <= set(_alternatives(place.root))
    direct = direct and not any(node.kind == "repeat" for node in occurring(place.root))
    if direct or not outside:
        return found
    inside = min(reads & place.aliases)
    raise Refused(
        span_of(condition),
        f"this condition compares '{inside}', which is deep inside what must be absent, with "
        f"'{min(beyond or outside)}' outside of it",
        "columns that must be equal can stand in PARTITION BY; else, make a simpler EVENT clause",
    )


def _alternatives(node: Node) -> list[Node]:
    """A node and, where it is an OR, its parts."""
    found = [node]
    for each in found:
        if each.kind == "or":
            found.extend(each.parts)
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


def _nodes(condition: Expr, reads: frozenset[str] | set[str], place: Place) -> list[Node]:
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
        here = {part.alias for part in occurring(node) if part.kind == "alias"}
        if not reads & here:
            continue
        if reads <= certain(node):
            found.append(node)
        elif node.kind in ("or", "anyone") or reads <= here:
            stack.extend(reversed(node.parts))
        else:
            raise _in_some_alternatives(condition)
    return found


def _closing(reads: frozenset[str] | set[str], place: Place) -> list[Node]:
    """What closes an UNTIL, where a condition reads nothing else."""
    untils = [node for node in occurring(place.root) if node.kind == "until"]
    return [node.parts[1] for node in untils if reads and reads <= certain(node.parts[1])]


def _in_some_alternatives(condition: Expr) -> Refused:
    return Refused(
        span_of(condition),
        "this condition reads aliases that do not all occur in the same alternatives",
        "write one CREATE EVENT for each alternative",
    )
