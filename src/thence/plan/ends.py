"""A join split by which of its events are the first and the last.

The interval of ``a and b and c`` is from the earliest start to the latest end. A join would go
through all triples, most of which give the same interval as many others. But once it is said which
of them starts first and which ends last, the interval is a matter of these two: of the others it is
enough that there is one in between. So the join falls into several, one for each pair of parts that
may be the first and the last; each of them needs about as long as it has results.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from thence.logic.bounds import Constraint
from thence.logic.conjunct import Conjunct, Extreme, Shifted

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

MOST = 36
"""Into how many joins one is split at most: six events that may be the first, and the last."""


def by_ends(prepared: Prepared) -> tuple[Prepared, ...]:
    """The joins whose union is a join, each of which knows its first and its last event; none where
    that would not help: where all events are read anyway."""
    conjunct = prepared.conjunct
    ends = [
        (node, definition)
        for node in dict.fromkeys((conjunct.head.start, conjunct.head.end))
        if isinstance(definition := conjunct.nodes[node], Extreme)
    ]
    if not ends or conjunct.waits or conjunct.windows or prepared.ticks:
        return ()
    ways = list(product(*(definition.nodes for _, definition in ends)))
    if len(ways) > MOST:
        return ()
    found = [
        type(prepared)(
            _decided(conjunct, ends, way),
            decided=True,
            as_written=prepared.as_written,
            by_values=prepared.by_values,
        )
        for way in ways
    ]
    if not any(unread(split) for split in _most_read(prepared, ways, found)):
        return ()
    return tuple(split for split in found if split.conjunct.bounds.satisfiable)


def _most_read(
    prepared: Prepared, ways: list[tuple[int, ...]], found: list[Prepared]
) -> list[Prepared]:
    """The joins whose ends are of different events, if there are such."""
    sizes = [len(frozenset().union(*map(prepared.node_atoms, way))) for way in ways]
    return [split for split, size in zip(found, sizes, strict=True) if size == max(sizes)]


def unread(prepared: Prepared) -> frozenset[int]:
    """The positive atoms of which nothing is read once they are bound."""
    read = prepared.atoms_of(prepared.after_join)
    return frozenset(atom for atom in prepared.conjunct.positive if atom not in read)


def _decided(
    conjunct: Conjunct, ends: list[tuple[int, Extreme]], chosen: tuple[int, ...]
) -> Conjunct:
    """A conjunct in which it is known of some extremes which part each of them is: of several that
    are, the first in the order of the text."""
    nodes = list(conjunct.nodes)
    more: list[Constraint] = []
    for (node, extreme), part in zip(ends, chosen, strict=True):
        nodes[node] = Shifted(part, 0)
        more += [Constraint(node, part, 0), Constraint(part, node, 0)]
        before = True
        for other in extreme.nodes:
            before = before and other != part
            if other != part:
                pair = (part, other) if extreme.which == "earliest" else (other, part)
                more.append(Constraint(*pair, -1 if before else 0))
    bounds = conjunct.bounds.with_constraints(more)
    constraints = (*conjunct.constraints, *more)
    return replace(conjunct, nodes=tuple(nodes), constraints=constraints, bounds=bounds)
